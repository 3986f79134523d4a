"""What a question asks for, term by term, and what stands for each term in the languages that the texts are in."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from assistant.knowledge.concepts import CONCEPT_MARK
from assistant.knowledge.language import LANGUAGES, SMALL_WORDS
from assistant.knowledge.lexical import CODE_MARK, Bm25, tokens
from assistant.knowledge.lexicon import Lexicon

_WORD = re.compile(r"[^\W_]+(?:[-_./'’][^\W_]+)*")
_PIECE = re.compile(r"[^\W_]{2,}")
_DEFINITION = re.compile(
    r"(?i)^\s*(?:what (?:is|are) (?:meant by|(?:the )?(?:definition|meaning) of)|what (?:is|are)|what does|what do|"
    r"qu'est-ce qu(?:e|'est)|que (?:signifie|veut dire)|qu'entend-on par|c'est quoi|"
    r"wat (?:is|zijn) de (?:definitie|betekenis) van|wat (?:is|zijn|betekent)|define|explain)"
    r"\s+(?:an?\s|the\s|l['’]|une?\s|les?\s|la\s|de\s|het\s|een\s)?"
    r"(.+?)(?:\s+(?:mean|means|do))?(?:\s+(?:in|within|dans|binnen)\s.+?)?\s*\?*\s*$"
)
_MEANING = re.compile(
    r"(?i)\b(?:meant by|(?:definition|meaning) of|mean|means|signifie|veut dire|entend-on par|betekent|"
    r"(?:definitie|betekenis) van)\b"
)
"""What says that a definition is asked for, and is no word of it."""
_NEUTRAL = (CODE_MARK, CONCEPT_MARK)

SAME_FORM = 0.7
"""Weight of a word that both languages write alike: mostly a name or a loan, sometimes a false friend."""

CODE_COUNTS = 1.5
"""What a code counts beside a word: who names one means it."""

CONCEPT_BESIDE_WORD = 0.5
"""Weight of a concept in a text of the question's own language, where the word that names it counts already. At 1, BM25
loses a point and a half of MRR on XQuAD-R, whose words mean other things than ours."""

UNSAID = 0.4
"""What a term counts, in a text of a language for which nothing is known that stands for it."""


class Term(Struct, frozen=True, kw_only=True):
    """One thing that is asked for.

    Attributes:
      token: its token in the question's language; a concept or a code is the same in all.
      weight: how rare it is among the texts.
      others: language -> tokens that stand for it there, with their weights.
    """

    token: str
    weight: float
    others: Mapping[str, Mapping[str, float]]

    def within(self, found: Collection[str], language: str | None) -> float:
        """How well a text with these tokens names it, 0..1."""
        if self.token in found:
            return 1.0
        others = self.others.get(language or "", {})
        return max((weight**0.5 for token, weight in others.items() if token in found), default=0.0)

    def sayable(self, language: str | None, own: str) -> bool:
        """Whether a text in a language could be known to name it."""
        return language == own or self.token[0] in _NEUTRAL or bool(self.others.get(language or ""))


class Asked:
    """The terms of a question.

    Args:
      question: the question.
      language: its language; None is compared in all languages.
      bm25: tells how rare a word is.
      lexicon: words of one language for those of another.
    """

    def __init__(self, question: str, language: str | None, bm25: Bm25, lexicon: Lexicon) -> None:
        self.question = question
        self.language = language
        self._bm25 = bm25
        self._lexicon = lexicon
        self._own = language or "en"
        self._alike = {spoken: self._written_alike(spoken) for spoken in LANGUAGES if spoken != language}
        self.terms = tuple(
            Term(token=token, weight=bm25.rarity(token) * _importance(token), others=self._others(token))
            for token in asked_tokens(_MEANING.sub(" ", question) if self.subject else question, self._own)
        )

    def query(self, spoken: str | None) -> dict[str, float]:
        """The tokens to look for in texts of a language, with their weights."""
        if self.language is None:
            return {token: 1.0 for known in LANGUAGES for token in tokens(self.question, known)}
        own = tokens(self.question, self.language)
        if spoken == self.language or spoken not in LANGUAGES:
            return {token: CONCEPT_BESIDE_WORD if token[0] == CONCEPT_MARK else 1.0 for token in own}
        wanted = dict.fromkeys(self._alike[spoken].values(), SAME_FORM)
        for token in own:
            for other, weight in self._lexicon.others(token, self.language, spoken):
                wanted[other] = max(wanted.get(other, 0.0), weight)
        wanted.update({token: 1.0 for token in own if token[0] in _NEUTRAL})
        return wanted

    def sayable(self, spoken: str | None) -> float:
        """The share of what is asked that texts of a language could be known to name, 0..1."""
        total = sum(term.weight for term in self.terms)
        said = sum(term.weight for term in self.terms if term.sayable(spoken, self._own))
        return said / total if total else 0.0

    @property
    def subject(self) -> str:
        """What the question wants explained, as in `What is the outbox?`; empty for other questions."""
        found = _DEFINITION.match(self.question)
        return plain(found.group(1)) if found else ""

    @property
    def subjects(self) -> tuple[str, ...]:
        """The same in each of its names: `un modèle (model)` has two."""
        found = _DEFINITION.match(self.question)
        beside = re.match(r"\s*([^()]+)\(([^()]+)\)\s*$", found.group(1)) if found else None
        return tuple(map(plain, beside.groups())) if beside else (self.subject,) if self.subject else ()

    def names(self) -> list[str]:
        """The question's codes and capitalised words, as tokens: what may belong to one market alone."""
        found = [term.token for term in self.terms if term.token[0] == CODE_MARK]
        for place, word in enumerate(_WORD.findall(self.question)):
            if place and word[0].isupper():
                found += tokens(word, self._own)
        return [token for token in dict.fromkeys(found) if token[0] != CONCEPT_MARK]

    def named(self, text: Collection[str], titles: Collection[str], spoken: str | None) -> float:
        """The share of what is asked that a text names, weighed by rarity; what only its titles name counts half."""
        reached = wanted = 0.0
        for term in self.terms:
            reached += term.weight * max(term.within(text, spoken), 0.5 * term.within(titles, spoken))
            wanted += term.weight * (1.0 if term.sayable(spoken, self._own) else UNSAID)
        return min(1.0, reached / wanted) if wanted else 0.0

    def coverage(self, texts: Iterable[tuple[Collection[str], str | None]]) -> tuple[float, float]:
        """How much of what is asked some texts name together: of all, and of the two rarest terms.

        Args:
          texts: tokens and language of each text.
        """
        read = list(texts)
        counted = [term for term in self.terms if any(term.sayable(spoken, self._own) for _, spoken in read)]
        found = {term.token: max(term.within(text, spoken) for text, spoken in read) for term in counted}
        total = sum(term.weight for term in counted)
        rarest = sorted(counted, key=lambda term: -term.weight)[:2]
        return (
            sum(term.weight * found[term.token] for term in counted) / total if total else 0.0,
            sum(found[term.token] for term in rarest) / len(rarest) if rarest else 0.0,
        )

    def _others(self, token: str) -> dict[str, dict[str, float]]:
        if token[0] in _NEUTRAL:
            return {}
        found = {spoken: dict(self._lexicon.others(token, self.language, spoken)) for spoken in self._alike}
        for spoken, alike in self._alike.items():
            if alike.get(token):
                found[spoken].setdefault(alike[token], SAME_FORM)
        return {spoken: words for spoken, words in found.items() if words}

    def _written_alike(self, spoken: str) -> dict[str, str]:
        """The question's words as a text in another language would have them, where some text does: own -> other."""
        small = SMALL_WORDS.get(self.language or "", frozenset())
        alike: dict[str, str] = {}
        for word in _WORD.findall(self.question):
            for piece in re.split(r"['’]", word):
                if piece.lower() in small or len(piece) < 3:
                    continue
                own, other = tokens(piece, self._own), tokens(piece, spoken)
                if own and other and other[-1][0] not in _NEUTRAL and self._bm25.knows(other[-1]):
                    alike[own[-1]] = other[-1]
        return alike


def _importance(token: str) -> float:
    return CODE_COUNTS if token[0] == CODE_MARK else 1.0


def plain(text: str) -> str:
    """The words of a text in small letters, one space between them."""
    return " ".join(_PIECE.findall(text.casefold()))


def asked_tokens(question: str, language: str) -> list[str]:
    """What a question asks for: its concepts, its codes, and those of its words that name no concept."""
    found = dict.fromkeys(tokens(question, language))
    # A word that names a concept counts once, as the concept: its other forms are as good.
    words = [token for token in found if token[0] not in _NEUTRAL]
    covered = {word for word in words if _names_concept(word, question, language)}
    return [token for token in found if token not in covered]


def _names_concept(stem: str, question: str, language: str) -> bool:
    for word in re.findall(r"[^\W_]+", question):
        made = tokens(word, language)
        if stem in made and any(token[0] == CONCEPT_MARK for token in made):
            return True
    return False
