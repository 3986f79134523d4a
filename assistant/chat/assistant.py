"""The assistant: search, read, answer with citations or abstain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy

import msgspec
from msgspec import Struct

from assistant.chat import confidence as confidence_
from assistant.chat.answer import Answer, Flag, Highlight, Source, Statement
from assistant.chat.answertype import asked_type, fitness
from assistant.chat.citations import check, highlights
from assistant.chat.composer import READ, Evidence, choose_evidence, compose, row_in_words
from assistant.chat.followup import Turn, in_context
from assistant.chat.generators import Generator, open_generator
from assistant.chat.parts import in_full, parts_of
from assistant.chat.prompting import answer_prompt, hypothetical_prompt
from assistant.chat.safety import orders_in
from assistant.chat.scorer import open_rationale
from assistant.chat.surroundings import ROW, beside, column_names
from assistant.chat.words import name_of, say
from assistant.chat.working import called_answer, leans, markets_in_words, worked_answer
from assistant.config import AssistantConfig
from assistant.knowledge.documents import Passage
from assistant.knowledge.embedding import Embedder
from assistant.knowledge.index import Index, open_index
from assistant.knowledge.language import detect
from assistant.knowledge.models import Remembering, open_embedder
from assistant.operations.house import House
from assistant.rationale.port import Rationale
from assistant.retrieval.asking import Asked
from assistant.retrieval.joined import Joined, Searching
from assistant.retrieval.query import Filters, Found, Query
from assistant.retrieval.reranker import CrossEncoder, open_reranker
from assistant.retrieval.search import Search

UNFIT_WEAK = 0.2
"""What an answer that only weakly is of the type that is asked for lacks, beside one that is not at all."""

NEAREST = 3
"""Passages that an abstaining answer names."""


class _Part(Struct, frozen=True, kw_only=True):
    """One part of a question, read: its sentences, best first, and how sure it is that they answer it."""

    question: str
    asked: Asked
    found: list[Found]
    evidence: list[Evidence]
    noticed: tuple[Flag, ...]
    sure: float


class Assistant:
    """Answers questions over one index."""

    def __init__(
        self,
        config: AssistantConfig,
        index: Index,
        embedder: Embedder,
        rationale: Rationale,
        generator: Generator | None = None,
        search: Search | None = None,
        confidence: confidence_.Confidence | None = None,
        house: House | None = None,
    ) -> None:
        self.config = config
        self.embedder = embedder
        self.house = house
        self._others: bool | None = None
        if house is not None:
            house.know(lambda: versions_of(index))
        self.index = index
        reranker = open_reranker(config.reranker, config.threads)
        self.search_engine: Searching = search or Search(index, embedder, reranker, config.interaction)
        self._reader = reranker if isinstance(reranker, CrossEncoder) else None
        self._rationale = rationale
        self._generator = generator
        self._confidence = confidence or confidence_.shipped()

    @classmethod
    def open(cls, config: AssistantConfig, house: House | None = None) -> Assistant:
        """Open the index and the models that the configuration names.

        Args:
          config: the configuration.
          house: works out what can be worked out; without it passages answer everything.

        Raises:
          UserError: nothing is indexed, or a package or model is missing.
        """
        index = open_index(config.folder / "index")
        embedder = Remembering(open_embedder(config))
        return cls(config, index, embedder, open_rationale(config, embedder), open_generator(config), house=house)

    def prepare(self) -> None:
        """Do what the first question would wait for: whoever answers several calls it before."""
        self.embedder.embed_queries(["warm"])  # the first run of a model costs more than all that follow
        if self.house is not None:
            self.house.prepare()

    def beside(self, own: Searching) -> Assistant:
        """An assistant that reads further passages besides those of the index.

        Args:
          own: finds them.
        """
        made = copy(self)
        made.search_engine = Joined(own, self.search_engine)
        made._others = True
        return made

    def search(
        self, question: str, filters: Filters | None = None, limit: int | None = None, *, rerank: bool = True
    ) -> list[Found]:
        """The passages for a question, best first, by the configured method.

        Args:
          question: the question.
          filters: which passages may be found.
          limit: how many; those that are read for an answer when None.
          rerank: whether the configured reranker orders them.
        """
        config = self.config
        hyde = None
        if config.hyde and self._generator is not None:
            hyde = "".join(self._generator.stream(hypothetical_prompt(question), 128)).strip() or None
        return self.search_engine.search(
            Query(
                text=question,
                filters=filters or Filters(),
                limit=limit or config.passages,
                method=config.method,
                expand=config.expand,
                hyde=hyde,
                rerank=rerank,
            )
        )

    def ask(
        self,
        question: str,
        filters: Filters | None = None,
        history: Sequence[Turn] = (),
        streamed: Callable[[str], None] | None = None,
        *,
        tried: bool = False,
    ) -> Answer:
        """Answer a question: worked out where it is one to the house, else from passages.

        Args:
          question: the question.
          filters: which passages may be used.
          history: the turns before, for follow-up questions.
          streamed: called with each piece of a generator's text as it comes, before it is checked.
          tried: whether the grammar of the house was asked already, and knew no answer.
        """
        worked = self._worked(question, filters, tried=tried)
        if worked is None:
            return self._from_passages(question, filters, history, streamed)
        if not (self.others and leans(worked)):
            return worked
        quoted = self._from_passages(question, filters, history, streamed)
        theirs = any(not self._is_own(source.passage) for source in quoted.cited)
        return quoted if theirs and not quoted.abstained else worked

    @property
    def others(self) -> bool:
        """Whether documents are read that are not the product's rules and documentation."""
        if self._others is None:
            self._others = any(
                not self._is_own_address(one.metadata.address) for one in self.index.one_of_each_source()
            )
        return self._others

    def _is_own(self, passage: Passage) -> bool:
        return self._is_own_address(passage.metadata.address)

    def _is_own_address(self, address: str) -> bool:
        return self.house is not None and self.house.own(address)

    def _from_passages(
        self, question: str, filters: Filters | None, history: Sequence[Turn], streamed: Callable[[str], None] | None
    ) -> Answer:
        """The answer from passages, or none."""
        filters = in_named_markets(question, filters)
        seconds: dict[str, float] = {}
        understood = in_context(question, history)
        language = detect(question) or detect(understood) or "en"
        with _timed(seconds, "search"):
            # Who reads the sentences of the best passages need not order the passages before, at four times the cost.
            found = self.search(understood, filters, rerank=self._reader is None)
        with _timed(seconds, "read"):
            parts = (understood,) if self._generator else parts_of(understood)
            read: list[_Part] = []
            for part in parts:
                page = read[0].evidence[0].passage.document if read and read[0].evidence else None
                read.append(self._read_part(part, parts[0], understood, language, found, filters, page))
        threshold = self._confidence.least(language) if self.config.threshold is None else self.config.threshold
        sure = [part for part in read if part.evidence and part.sure >= threshold]
        answer = Answer(
            question=question,
            language=language,
            text="",
            confidence=round(max(part.sure for part in read), 3),
            flags=tuple(dict.fromkeys(flag for part in read for flag in part.noticed)),
            understood=understood if understood != question else None,
            generator=self._generator.name if self._generator else "extractive",
            seconds=seconds,
            missing=tuple(part.question for part in read if part not in sure) if sure else (),
        )
        if not sure:
            return self._abstain(answer, read[0].found)
        if self._generator is None:
            return self._quote(answer, sure)
        return self._generate(answer, self._generator, understood, sure[0].found, sure[0].evidence, streamed)

    def _read_part(
        self, part: str, first: str, whole: str, language: str, found: Sequence[Found], filters: Filters | None,
        page: str | None = None,
    ) -> _Part:  # fmt: skip
        """The sentences for one part of a question; of its topic the whole question tells.

        Args:
          page: the document that answers the first part.
        """
        seen = list(found)
        said = in_full(part, first, language)
        if part != whole:
            there = {item.passage.id for item in found}
            seen += [
                item for item in self.search(said, filters, rerank=self._reader is None) if item.passage.id not in there
            ]
        asked = Asked(said, language, self.index.bm25, self.index.lexicon)
        evidence, seen, noticed = self.read(asked, seen, filters, page)
        topic = asked if part == whole else Asked(whole, language, self.index.bm25, self.index.lexicon)
        fit = self._fits(asked, evidence) if evidence else 0.0
        return _Part(
            question=part, asked=asked, found=seen, evidence=evidence, noticed=noticed,
            sure=self.sureness(topic, seen, evidence, fit=fit),
        )  # fmt: skip

    def _fits(self, asked: Asked, evidence: Sequence[Evidence]) -> float:
        """How well what would be quoted first holds an answer of the type that is asked for, 0..1."""
        best = evidence[0]
        pieces = beside(best.passage, best.sentence, listed=False, after=self.search_engine.after)
        if asked_type(asked.question) == "list":
            return 1.0
        return max(
            fitness(
                asked.question,
                piece.sentence.text,
                alike=piece.passage.metadata.language == asked.language,
                heads=column_names(piece.passage),
            )
            for piece in pieces
        )

    def _quote(self, answer: Answer, parts: Sequence[_Part]) -> Answer:
        """The answer in quoted sentences, part by part."""
        statements: dict[tuple[str, ...], Statement] = {}
        marked: dict[str, dict[Highlight, None]] = {}
        found = {item.passage.id: item for part in parts for item in part.found}
        for part in parts:
            said, by_passage = compose(part.evidence, part.found, part.asked, self.search_engine.after)
            for statement in said:
                statements.setdefault((statement.text, *statement.citations), statement)
            for id, items in by_passage.items():
                marked.setdefault(id, {}).update(dict.fromkeys(item.highlight for item in items))
                found.setdefault(id, Found(passage=items[0].passage, score=0.0))
        highlights_ = {id: tuple(spans) for id, spans in marked.items()}
        return self._finish(answer, tuple(statements.values()), list(found.values()), highlights_)

    def _worked(self, question: str, filters: Filters | None, *, tried: bool) -> Answer | None:
        """What the house works out; filters other than the market's ask for passages."""
        chosen = filters or Filters()
        if self.house is None or not msgspec.structs.replace(chosen, markets=None).empty:
            return None
        answer = None if tried else worked_answer(self.house, question, chosen.markets or ())
        if answer is None and self._generator is not None:
            answer = called_answer(self.house, self._generator, question)
        return answer

    def read(
        self, asked: Asked, found: Sequence[Found], filters: Filters | None = None, page: str | None = None
    ) -> tuple[list[Evidence], list[Found], tuple[Flag, ...]]:
        """The sentences that answer best, and the passages with the beginnings of the best one's rule.

        Args:
          asked: the question, term by term.
          found: the passages, best first.
          filters: which passages may be used.
          page: the document that answers the part of the question before.

        Returns:
          The sentences, the passages, and what was noticed.
        """
        evidence, noticed = choose_evidence(asked, found, self._rationale, self.search_engine.after, self._reader, page)
        passages = list(found)
        if evidence and evidence[0].passage.metadata.codes:
            there = {item.passage.id for item in found}
            wanted = filters or Filters()
            passages += [
                head
                for head in self.search_engine.beginnings(evidence[0].passage.metadata.codes[0])
                if head.passage.id not in there and wanted.allow(head.passage.metadata)
            ]
        return evidence, passages, noticed

    def sureness(
        self, asked: Asked, found: Sequence[Found], evidence: Sequence[Evidence], *, fit: float = 1.0
    ) -> float:
        """How sure it is that the sources answer, 0..1.

        Args:
          asked: the question, term by term.
          found: the passages.
          evidence: the sentences, best first.
          fit: how well the first holds an answer of the type that is asked for, 0..1.
        """
        seen = confidence_.features(*rests_on(asked, found, evidence), self._confidence.dense_centre)
        seen["unfit"] = UNFIT_WEAK * (fit < 1) if fit else 1.0
        seen["fit"] = float(fit == 1 and asked_type(asked.question) is not None)
        return self._confidence(seen, asked.language)

    def _generate(
        self, answer: Answer, generator: Generator, question: str, found: Sequence[Found],
        evidence: Sequence[Evidence], streamed: Callable[[str], None] | None,
    ) -> Answer:  # fmt: skip
        setting = self.config.generator
        passages = {item.passage.id: item.passage for item in found}
        prompt = answer_prompt(
            question, answer.language, list(passages.values()), examples=setting.examples, order=setting.order
        )
        pieces = []
        with _timed(answer.seconds, "generate"):
            for piece in generator.stream(prompt, setting.max_tokens):
                pieces.append(piece)
                if streamed:
                    streamed(piece)
        text = "".join(pieces).strip()
        flags: list[Flag] = list(answer.flags)
        if orders_in(passage.text for passage in passages.values()) and "orders_in_source" not in flags:
            flags.append("orders_in_source")
        if _refuses(text):
            return self._abstain(msgspec.structs.replace(answer, flags=tuple(flags)), found)
        with _timed(answer.seconds, "check"):
            statements, faults = check(text, passages)
        answer = msgspec.structs.replace(answer, flags=tuple(dict.fromkeys((*flags, *faults))))
        if not statements:
            return self._abstain(answer, found)
        marked: dict[str, tuple[Highlight, ...]] = {}
        for statement in statements:
            for id in statement.citations:
                own = highlights(statement, passages[id])
                # A statement in the model's own words: the rationale's sentences of its source carry it.
                own = own or tuple(item.highlight for item in evidence if item.passage.id == id)[:1]
                marked[id] = tuple(dict.fromkeys((*marked.get(id, ()), *own)))
        return self._finish(answer, statements, found, marked)

    def _finish(
        self, answer: Answer, statements: tuple[Statement, ...], found: Sequence[Found],
        marked: dict[str, tuple[Highlight, ...]],
    ) -> Answer:  # fmt: skip
        order = list(dict.fromkeys(id for statement in statements for id in statement.citations))
        numbers = {id: number for number, id in enumerate(order, start=1)}
        known = {item.passage.id: item for item in found}
        sources = [source_of(known[id], numbers[id], marked.get(id, ())) for id in order]
        sources += [source_of(item) for item in found if item.passage.id not in numbers]
        flags = list(answer.flags)
        if all(source.passage.metadata.language != answer.language for source in sources if source.number):
            flags.append("other_language")
        versions = {item.passage.metadata.version for item in found} - {None}
        lines = [
            _worded(statement, numbers, known, answer.language, versioned=len(versions) > 1) for statement in statements
        ]
        lines += [say(answer.language, "missing", part=part) for part in answer.missing]
        text = "\n".join(lines)
        return msgspec.structs.replace(
            answer, text=text, statements=statements, sources=tuple(sources), flags=tuple(flags)
        )

    def _abstain(self, answer: Answer, found: Sequence[Found]) -> Answer:
        language = answer.language
        lines = [say(language, "unknown")]
        documents = dict.fromkeys(item.passage.document for item in found)
        nearest = [next(item for item in found if item.passage.document == key) for key in list(documents)[:NEAREST]]
        if nearest:
            lines.append(say(language, "looked", count=len(found)))
            lines += [f"- {item.passage.metadata.title} ({item.passage.metadata.address})" for item in nearest]
        else:
            lines.append(say(language, "nothing"))
        sources = tuple(map(source_of, found))
        return msgspec.structs.replace(answer, text="\n".join(lines), sources=sources, abstained=True, statements=())


def source_of(found: Found, number: int | None = None, highlights: tuple[Highlight, ...] = ()) -> Source:
    """A passage that was found, as a source of an answer.

    Args:
      found: the passage.
      number: its number in the answer.
      highlights: the sentences of it that carry the answer.
    """
    return Source(
        number=number, passage=found.passage, score=found.score, dense=found.dense, sparse=found.sparse,
        by_code=found.by_code, highlights=highlights,
    )  # fmt: skip


def versions_of(index: Index) -> list[tuple[str, str, str, str]]:
    """The indexed documents that have a version: title, version, address, text."""
    keys = dict.fromkeys(passage.document for passage in index.passages if passage.metadata.version)
    documents = (index.document(key) for key in keys)
    return [
        (one.metadata.title, one.metadata.version or "", one.metadata.address, one.text)
        for one in documents
        if one is not None
    ]


def in_named_markets(question: str, filters: Filters | None) -> Filters | None:
    """Filters with the markets that a question names in words; markets that were chosen stay."""
    named = markets_in_words(question)
    if not named or (filters is not None and filters.markets):
        return filters
    return msgspec.structs.replace(filters or Filters(), markets=named)


def rests_on(
    asked: Asked, found: Sequence[Found], evidence: Sequence[Evidence]
) -> tuple[Asked, Sequence[Found], list[Passage], float, float]:
    """What the confidence is reckoned from: the passage of the best sentence, and all of its rule."""
    if not evidence:
        return asked, found, [], 0.0, 0.0
    best = evidence[0].passage
    codes = best.metadata.codes[:1]
    texts = [best] + [item.passage for item in found if codes and item.passage.metadata.codes[:1] == codes]
    return asked, found, texts, max(item.support for item in evidence), evidence[0].named


def turn_of(answer: Answer) -> Turn:
    """What a follow-up question may lean on."""
    codes = tuple(dict.fromkeys(code for source in answer.cited for code in source.passage.metadata.codes[:1]))
    return Turn(understood=answer.understood or answer.question, codes=codes)


def _worded(
    statement: Statement, numbers: dict[str, int], known: dict[str, Found], language: str, *, versioned: bool = False
) -> str:
    """A statement as it is read: who says so, its words, of which version, in which language, its sources.

    Args:
      versioned: whether versions of documents were found that may say different things.
    """
    marks = " ".join(f"[{numbers[id]}]" for id in statement.citations)
    passage = known[statement.citations[0]].passage
    if ROW in statement.text:
        words = row_in_words(statement.text, passage.context, language)
    elif not statement.quoted or any(mark in statement.text for mark in '“«"'):
        words = statement.text
    else:
        words = f"{say(language, 'open')}{statement.text}{say(language, 'close')}"
    spoken = passage.metadata.language
    note = f" ({say(language, 'source_in', named=name_of(spoken, language))})" if spoken not in (language, None) else ""
    of = dict.fromkeys(known[id].passage.metadata.version for id in statement.citations)
    if versioned and any(of):
        note = f" ({say(language, 'version', named=', '.join(version for version in of if version))}){note}"
    lead = f"{statement.lead} — " if statement.lead else ""
    return f"{lead}{words}{note} {marks}"


def _refuses(text: str) -> bool:
    plain = text.casefold().strip()
    return not plain or any(
        plain.startswith(say(language, "unknown").casefold()[:12]) for language in ("en", "fr", "nl")
    )


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    began = time.perf_counter()
    try:
        yield
    finally:
        seconds[step] = round(time.perf_counter() - began, 3)


__all__ = ["READ", "Assistant", "turn_of"]
