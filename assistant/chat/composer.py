"""The extractive answer: verbatim sentences chosen by the rationale model, each with its source. It invents nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from assistant.chat.answer import Flag, Highlight, Statement
from assistant.chat.answertype import asked_type, denies_alike, enumerates, fitness, settles, things_of
from assistant.chat.safety import gives_orders
from assistant.chat.surroundings import ROW, After, beside, column_names, introduces, none_after, points_back
from assistant.chat.words import say
from assistant.knowledge.documents import Passage
from assistant.knowledge.lexical import tokens
from assistant.knowledge.sentences import Sentence, split
from assistant.rationale.port import Question, Rationale
from assistant.retrieval.asking import Asked, plain
from assistant.retrieval.query import Found, firsts

_WORD = re.compile(r"[^\W_]{2,}")

READ, SURE_OF_EACH = 4, 2
"""Passages, of the best that were found, of which some sentences are read in any case, and how many."""

EXAMPLE_SHARE = 0.6
"""What a sentence among examples counts beside one of the rule."""

TWIN_SHARE = 0.8
"""What a rule's sentence counts when the rule is there in the question's language too."""

LINE_SHARE = 0.75
"""What a line counts that is no sentence, unless it is asked how something is done."""

DEFINED, DEFINITION = 0.2, 0.4
"""What a sentence gains that begins with the very word that the question wants explained, and what more one that goes
on as a definition does."""

_DEFINING = re.compile(
    r"(?i)\s*(?:\([^)]*\)\s*)?(?::|–|-\s|\b(?:means?|refers|denotes|describes|désigne|signifie|betekent|"
    r"(?:is|are|est|sont|zijn)\s(?:an?|the|one|any|une?|l[ea]s?|l'\w|des|een|de|het)\b))"
)

_ARTICLE = r"(?i:\W*(?:(?:an?|the|une?|l[ea]s?|l'|de|het|een)\s+)?)"

POINTS_ELSEWHERE = 0.6
"""What a sentence counts that only says where more is to be read."""

_ELSEWHERE = re.compile(
    r"(?i)^\W*(?:for (?:a |an |the )?(?:more|further|detailed|details|full)|see (?:also |the )?|pour plus|voir |"
    r"voor meer|zie )"
)

DENIED = 0.1
"""What a sentence gains that denies what the question denies, and what another loses."""

_HANDS_ON = re.compile(r"(?i)\b(?:command|commande|commando|type|run|how do|how can|how to|comment|hoe)\b")

MOST_STATEMENTS = 3
MOST_REPEATED = 2
"""Further passages that are cited for one sentence, where it stands in them too."""

MOST_SENTENCES = 16
"""Sentences that are scored at most: what the model reads in well under a second."""

ANSWERED_NEXT = 0.9
"""What a sentence has of what the question before it names: a page may ask what it answers."""

LEAST_WORDS, MOST_WORDS = 4, 60
"""Words of a sentence that may answer; what is longer is a condition spelled out, or an example."""

LEAST_CELLS = 2
"""The same of a table's row: one word may stand for another in it."""

NEAR_BEST = 0.75
"""Share of the best sentence's score that a further one needs."""

ADDED = 0.15
"""Share of what is asked that a further sentence has to name beside what is said already."""

FITS, BARELY = 0.25, 0.4
"""What a sentence gains that holds an answer of the type that is asked for: so much times what it names, and `BARELY`
more, so that a number on another topic gains little. These two, `DEFINITION` and `SAME_PAGE` were chosen on
`foreign.jsonl`, `foreign_second.jsonl`, `foreign_third.jsonl` and the odd questions of `foreign_fourth.jsonl`."""

ENUMERATED = 0.4
"""How well a sentence fits that names several things itself, where a list is asked for."""

ONE_OF = 0.8
"""The same of a table's row that names the things that are asked for."""

UNSETTLED = 0.5
"""How well a sentence fits that says neither what may be nor what is not, where yes or no is asked for."""

OTHER_LIST = 0.4
"""How well a list fits whose lead-in does not name the things that are asked for."""

SAME_PAGE = 0.15
"""What a sentence gains in the document that answers the part of the question before."""

LEADS = 0.9
"""What a lead-in, or a sentence that points back, has of what the sentence before it names."""


CLOSE = 1.5
"""What the cross-encoder's relevance counts beside the rest, where one reads along."""


class Reader(Protocol):
    """Reads a question and a text together, such as a cross-encoder.

    Attributes:
      languages: languages in which both may be.
    """

    languages: frozenset[str]

    def pairs(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers, 0..1."""
        ...


class Evidence(Struct, frozen=True, kw_only=True):
    """A sentence that carries the answer.

    Attributes:
      score: what the sentences are ordered by.
      support: the rationale model's score, 0..1.
      named: share of what is asked that it names, 0..1.
      close: how well it answers by whoever reads question and sentence together, 0..1; None where nobody does.
    """

    passage: Passage
    sentence: Sentence
    score: float
    support: float
    named: float = 0.0
    close: float | None = None

    @property
    def highlight(self) -> Highlight:
        """Its span in the document."""
        return Highlight(start=self.sentence.start, end=self.sentence.end, text=self.sentence.text)


def choose_evidence(
    asked: Asked, found: Sequence[Found], rationale: Rationale, after: After = none_after, reader: Reader | None = None,
    page: str | None = None,
) -> tuple[list[Evidence], tuple[Flag, ...]]:  # fmt: skip
    """The sentences that answer a question best, best first.

    Args:
      asked: the question, term by term.
      found: the passages, best first.
      rationale: scores sentences within their passage.
      after: the passage behind one, where a list may go on.
      reader: reads question and sentence together, in its languages.
      page: the document that answers the part of the question before: what is asked next is mostly said there too.

    Returns:
      The sentences, and what was noticed.
    """
    found = firsts(found)
    pieces, flags = _worth_reading(asked, found, after)
    items = [
        Question(
            question=asked.question, sentences=tuple(sentence.text for sentence, _ in read),
            context=item.passage.context,
        )
        for item, read in pieces
    ]  # fmt: skip
    supports = rationale.score(items)
    closes = _read_together(asked, pieces, reader)
    best = max((item.score for item, _ in pieces), default=1.0) or 1.0
    both = _said_in(found)
    evidence = []
    places = {item.passage.id: place for place, item in enumerate(found)}
    for (item, read), scores, near in zip(pieces, supports, closes, strict=True):
        top = max(scores, default=0.0)
        place = 0.15 * item.score / best + 0.1 / (1 + places[item.passage.id]) + 0.3 * item.by_code
        for (sentence, named), support, close in zip(read, scores, near, strict=True):
            within = support / top if top > 0 else 0.0
            score = _worth(asked, item.passage, sentence, support, within, named, after)
            score = _share(asked, item.passage, both) * (score + place) + CLOSE * (close or 0.0)
            score += SAME_PAGE * (item.passage.document == page)
            evidence.append(
                Evidence(
                    passage=item.passage, sentence=sentence, score=score, support=support, named=named, close=close
                )
            )
    evidence.sort(key=lambda e: (-e.score, e.passage.id, e.sentence.start))
    return evidence, flags


def _worth(
    asked: Asked, passage: Passage, sentence: Sentence, support: float, within: float, named: float, after: After
) -> float:
    """What a sentence is worth: what its words say of it, and what it is.

    Args:
      support: the rationale model's score, and as a share of the best in its passage: `within`.
      named: share of what is asked that it names.
    """
    text = sentence.text
    score = 0.2 * support + 0.1 * within + 0.45 * named + _defines(text, asked, passage)
    score *= 1.0 if whole(text) or _HANDS_ON.search(asked.question) else LINE_SHARE
    score *= POINTS_ELSEWHERE if _ELSEWHERE.match(text) else 1.0
    score += {True: DENIED, False: -DENIED, None: 0.0}[denies_alike(asked.question, text)]
    much = BARELY + named if asked_type(asked.question) else 1.0
    return score + FITS * much * fits(asked, passage, sentence, after)


def _share(asked: Asked, passage: Passage, both: Mapping[tuple[str, ...], Collection[str | None]]) -> float:
    """What the sentences of a passage count: an example shows a rule; what the rule says stands above it."""
    facts = passage.metadata
    share = EXAMPLE_SHARE if passage.headings[-1:] == ("Examples",) else 1.0
    if facts.language != asked.language and asked.language in both.get(facts.codes[:1], ()):
        share *= TWIN_SHARE
    return share


def _read_together(
    asked: Asked, pieces: Sequence[tuple[Found, Sequence[tuple[Sentence, float]]]], reader: Reader | None
) -> list[list[float | None]]:
    """How well each sentence below its titles answers, by whoever reads it together with the question."""
    closes: list[list[float | None]] = [[None] * len(read) for _, read in pieces]
    if reader is None or asked.language not in reader.languages:
        return closes
    able = [number for number, (item, _) in enumerate(pieces) if item.passage.metadata.language in reader.languages]
    texts = [f"{pieces[n][0].passage.context}\n{sentence.text}" for n in able for sentence, _ in pieces[n][1]]
    scores = iter(reader.pairs(asked.question, texts) if texts else ())
    for number in able:
        closes[number] = [next(scores) for _ in closes[number]]
    return closes


def fits(asked: Asked, passage: Passage, sentence: Sentence, after: After = none_after) -> float:
    """How well a sentence holds an answer of the type that is asked for, 0..1; where a list is, it leads one in."""
    if asked_type(asked.question) == "list":
        if introduces(passage, sentence, after):
            things = things_of(asked.question)
            return (
                1.0 if things in sentence.text.casefold() or passage.metadata.language != asked.language else OTHER_LIST
            )
        if _lists(asked, passage, sentence):
            return 1.0
        named = things_of(asked.question) in sentence.text.casefold() and ROW in sentence.text
        return (ONE_OF if named else ENUMERATED) * enumerates(sentence.text)
    alike = passage.metadata.language == asked.language
    fit = fitness(asked.question, sentence.text, alike=alike, heads=column_names(passage))
    return fit if not alike or settles(asked.question, sentence.text) else UNSETTLED * fit


def _lists(asked: Asked, passage: Passage, sentence: Sentence) -> bool:
    """Whether a sentence is a row of a table whose first column is of the things that are asked for."""
    if ROW not in sentence.text or passage.metadata.codes:
        return False
    head = column_names(passage).partition(ROW)[0]
    spoken = passage.metadata.language
    return bool(head) and any(term.within(frozenset(tokens(head, spoken)), spoken) for term in asked.terms)


def units(text: str, offset: int = 0) -> list[Sentence]:
    """What can be quoted of a text: its sentences, and a table's row as a whole, whose cells explain each other.

    Args:
      text: the text.
      offset: what to add to every offset.
    """
    found: list[Sentence] = []
    at = offset
    for line in text.split("\n"):
        row = line.strip()
        if ROW in row and len(_WORD.findall(row)) <= MOST_WORDS:
            start = at + len(line) - len(line.lstrip())
            found.append(Sentence(start, start + len(row), row))
        else:
            found += split(line, at)
        at += len(line) + 1
    return found


def whole(text: str) -> bool:
    """Whether it is a sentence or a table's row, rather than a command, a title or a piece of code."""
    return ROW in text or text.rstrip("\"'»”’)").endswith((".", "!", "?", ":", ";", "…"))


def _opens(text: str, subject: str, passage: Passage) -> int:
    """Where a sentence goes on that begins with a subject, or with its initials where the passage names it; else 0."""
    initials = "".join(word[0] for word in subject.split()).upper()
    names = r"\W+".join(map(re.escape, subject.split()))
    found = re.match(rf"(?i){_ARTICLE}{names}\b", text)
    if found is None and len(initials) > 1 and re.search(rf"(?i)\b{names}", passage.embedded):
        found = re.match(rf"{_ARTICLE}{initials}\b", text)
    return found.end() if found else 0


def _defines(text: str, asked: Asked, passage: Passage) -> float:
    """What a sentence gains as one that explains a subject.

    It begins with the subject, names it at its end, as in `The common model is Nemo.`, or is the first one below the
    subject as a title.
    """
    gained = 0.0
    for subject in asked.subjects:
        at = _opens(text, subject, passage)
        names = r"\W+".join(map(re.escape, subject.split()))
        if at:
            gained = max(gained, DEFINED + (DEFINITION if _DEFINING.match(text, at) else 0.0))
        elif re.search(rf"(?i)\bis\s+(?:an?\s+|the\s+)?{names}\b(?!\s+\w+ed\b)", text) or (
            passage.headings
            and plain(passage.headings[-1]) == subject
            and passage.text.lstrip().startswith(text)
            and not points_back(text)
        ):
            gained = max(gained, DEFINED + DEFINITION)
    return gained


def _said_in(found: Sequence[Found]) -> dict[tuple[str, ...], set[str | None]]:
    """The languages in which each rule was found."""
    spoken: dict[tuple[str, ...], set[str | None]] = {}
    for item in found:
        facts = item.passage.metadata
        if facts.codes:
            spoken.setdefault(facts.codes[:1], set()).add(facts.language)
    return spoken


def _worth_reading(
    asked: Asked, found: Sequence[Found], after: After
) -> tuple[list[tuple[Found, list[tuple[Sentence, float]]]], tuple[Flag, ...]]:
    """What the rationale model reads: sentences that name most of what is asked, and some of each good passage.

    Returns:
      Passages with their sentences and how much of what is asked each of these names, and what was noticed.
    """
    flags: set[Flag] = set()
    question = plain(asked.question)
    listed: list[tuple[float, int, Sentence, float]] = []
    for place, item in enumerate(found):
        spoken = item.passage.metadata.language
        titles = frozenset(tokens(item.passage.context, spoken))
        own: list[tuple[float, Sentence]] = []
        carried = before = 0.0
        for sentence in units(item.passage.text, item.passage.start):
            if gives_orders(sentence.text):
                flags.add("orders_in_source")
                continue
            leads = introduces(item.passage, sentence, after)
            if not leads and not _may_answer(sentence.text, item.passage, asked):
                continue
            named = asked.named(frozenset(tokens(sentence.text, spoken)), titles, spoken)
            if any(_opens(sentence.text, subject, item.passage) for subject in asked.subjects):
                named = 1.0
            if leads and asked_type(asked.question) in (None, "list"):
                named = before = max(named, LEADS * before)
            elif points_back(sentence.text):
                # What several such sentences in a row speak of is what the one before the first names.
                before = max(named, before)
                named = max(named, LEADS * before)
            else:
                before = named
            if sentence.text.endswith("?"):
                carried = ANSWERED_NEXT * named
            elif question not in plain(sentence.text):
                own.append((max(named, carried), sentence))
                carried = 0.0
        own.sort(key=lambda pair: -pair[0])
        for number, (named, sentence) in enumerate(own):
            sure = 1.0 if place < READ and number < SURE_OF_EACH else 0.0
            apt = FITS * fits(asked, item.passage, sentence, after)
            listed.append((sure + named + apt + 1 / (place + 3), place, sentence, named))
    listed.sort(key=lambda entry: (-entry[0], entry[1], entry[2].start))
    chosen: dict[int, list[tuple[Sentence, float]]] = {}
    for _, place, sentence, named in listed[:MOST_SENTENCES]:
        chosen.setdefault(place, []).append((sentence, named))
    pieces = [(found[place], sorted(chosen[place], key=lambda pair: pair[0].start)) for place in sorted(chosen)]
    return pieces, tuple(flags)


def _may_answer(sentence: str, passage: Passage, asked: Asked) -> bool:
    least = LEAST_CELLS if ROW in sentence else LEAST_WORDS
    if "-->" in sentence or not least <= len(_WORD.findall(sentence)) <= MOST_WORDS:
        return False
    if asked.subject and len(sentence.partition(ROW)[2].split()) < LEAST_WORDS and ROW in sentence:
        return False  # a row that has no room for an explanation
    if passage.metadata.codes and ROW in sentence:
        # Every rule has the same rows of facts: one answers only who asks for what it states, and none the origin.
        key = sentence.partition(ROW)[0]
        spoken = passage.metadata.language
        return key != "Source" and asked.named(frozenset(tokens(key, spoken)), (), spoken) > 0
    return True


def compose(
    evidence: Sequence[Evidence], found: Sequence[Found], asked: Asked, after: After = none_after
) -> tuple[tuple[Statement, ...], dict[str, list[Evidence]]]:
    """The statements of an answer: the best sentence, whole, and further ones only where they add what was asked.

    Args:
      evidence: the sentences, best first.
      found: the passages.
      asked: the question, term by term.
      after: the passage behind one.

    Returns:
      The statements in order, and the sentences by id of their passage.
    """
    if not evidence:
        return (), {}
    listed = asked_type(asked.question) == "list"
    said: list[Evidence] = []
    for item in _chosen(evidence, found, asked):
        whole_list = listed and (ROW not in item.sentence.text or _lists(asked, item.passage, item.sentence))
        pieces = beside(item.passage, item.sentence, listed=whole_list, after=after)
        for piece in pieces:
            part = msgspec.structs.replace(item, passage=piece.passage, sentence=piece.sentence)
            if not gives_orders(piece.sentence.text) and not _doubled(part, said):
                said.append(part)
    statements = []
    by_passage: dict[str, list[Evidence]] = {}
    seen_codes: set[str] = set()
    for item in said:
        lead = ""
        codes = item.passage.metadata.codes
        if codes and codes[0] not in seen_codes and codes[0] not in item.sentence.text:
            lead = item.passage.metadata.title
        seen_codes.update(codes[:1])
        also = _also_said(item, found)
        ids = (item.passage.id, *(other.passage.id for other in also))
        statements.append(Statement(text=item.sentence.text, citations=ids, quoted=True, lead=lead))
        for one in (item, *also):
            by_passage.setdefault(one.passage.id, []).append(one)
    return tuple(statements), by_passage


def _chosen(evidence: Sequence[Evidence], found: Sequence[Found], asked: Asked) -> list[Evidence]:
    """The best sentence, its rule's own words, and those that name what these do not."""
    first = evidence[0]
    chosen = [first]
    rule = _rule_words(first, found)
    if rule is not None:
        chosen.append(rule)
    named = _named_by(chosen, asked)
    for item in evidence[1:]:
        if len(chosen) >= MOST_STATEMENTS:
            break
        if rule is not None and item.passage.metadata.codes[:1] == first.passage.metadata.codes[:1]:
            continue  # the rule's words are said
        same = item.passage.document == first.passage.document
        if (
            not whole(item.sentence.text)
            or item.score < (NEAR_BEST if same else 0.9) * first.score
            or _doubled(item, chosen)
        ):
            continue
        together = _named_by([*chosen, item], asked)
        if together >= named + ADDED:
            chosen.append(item)
            named = together
    return chosen


def _named_by(chosen: Sequence[Evidence], asked: Asked) -> float:
    """The share of what is asked that sentences name together."""
    spoken = chosen[0].passage.metadata.language
    words = frozenset(token for item in chosen for token in tokens(item.sentence.text, item.passage.metadata.language))
    return asked.named(words, frozenset(), spoken)


def _doubled(item: Evidence, said: Sequence[Evidence]) -> bool:
    text = item.sentence.text
    return any(text in other.sentence.text or other.sentence.text in text for other in said)


def row_in_words(row: str, context: str, language: str) -> str:
    """A table's row as a reader takes it in: each cell, in quotation marks, behind the name of its column."""
    cells = row.split(ROW)
    names = context.rpartition("\n")[2].split(ROW)
    if len(names) != len(cells):
        names = [""] * len(cells)
    quoted = [f"{say(language, 'open')}{cell.strip()}{say(language, 'close')}" for cell in cells]
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, quoted, strict=True))


def _also_said(item: Evidence, found: Sequence[Found]) -> list[Evidence]:
    """The other passages in which the sentence stands word for word: a rule's is repeated in the list of codes."""
    also: list[Evidence] = []
    text = item.sentence.text
    for other in found:
        at = other.passage.text.find(text) if other.passage.id != item.passage.id else -1
        if at >= 0 and len(also) < MOST_REPEATED:
            start = other.passage.start + at
            sentence = Sentence(start, start + len(text), text)
            also.append(Evidence(passage=other.passage, sentence=sentence, score=item.score, support=item.support))
    return also


def _rule_words(first: Evidence, found: Sequence[Found]) -> Evidence | None:
    """What the rule says itself beside the sentence that was chosen of it; None when that is all or it is no rule.

    The first sentence of a rule's document is the rule in English, or its verdict in the document's language.
    """
    codes = first.passage.metadata.codes[:1]
    of_rule = [
        item.passage
        for item in found
        if codes and item.passage.metadata.codes[:1] == codes and item.passage.headings[-1:] != ("Examples",)
    ]
    for passage in sorted(of_rule, key=lambda passage: (passage.metadata.language != "en", passage.start)):
        sentence = next(iter(split(passage.text, passage.start)), None)
        if sentence is not None and sentence.text != first.sentence.text and not gives_orders(sentence.text):
            return Evidence(passage=passage, sentence=sentence, score=first.score, support=first.support)
        if sentence is not None and passage.metadata.language == first.passage.metadata.language == "en":
            return None
    return None
