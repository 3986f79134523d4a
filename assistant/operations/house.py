"""The house: its rules, its store and its documentation, asked by operations. It needs no model and no index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

from assistant.kept import Kept
from assistant.operations import across, codelists, family, grammar, manual, tables
from assistant.operations import catalogue as rules_
from assistant.operations.attributes import Texts, translations
from assistant.operations.family import Plan, named
from assistant.operations.leaving_out import says_less
from assistant.operations.likeness import Guess, Likeness
from assistant.operations.plaintext import contains
from assistant.operations.rule_forms import near
from assistant.operations.rulebook import read_rulebook, read_whole, rule_files
from assistant.operations.sentences import said_number
from assistant.operations.slots import Asking, Read
from assistant.operations.table_forms import in_tables
from assistant.operations.understanding import Lexicon, Understood, lexicon_of, said, understand
from assistant.operations.vocabulary import Match
from assistant.operations.wording import say
from assistant.operations.worked import Proof, Reply, Table, Worked
from energycomm.config import Config
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.problems import BrokenCatalogue
from energycomm.errors import UserError

if TYPE_CHECKING:
    from energycomm.eis.store import Store
    from energycomm.market.legaltime import LegalTime

DocumentVersions = Callable[[], list[tuple[str, str, str, str]]]
"""Gives the indexed documents that have a version: title, version, address, text."""


MOST_CHOICES = 12
"""Names that are shown where none is like the one that is not known."""


MOST_TOLD = 2
"""How often something that is told around a question is left out."""


_OF_CONDITIONS = ("condition", "reads")
"""Fields of a rule that are told from its conditions."""


class _Rules(Struct, frozen=True, kw_only=True):
    """The rules as they were read, and their names.

    Attributes:
      stamp: path, size and time of each of their files.
      whole: whether their conditions were read too.
    """

    stamp: tuple[tuple[str, int, int], ...]
    whole: bool
    catalogue: Catalogue
    lexicon: Lexicon


class Reading(Struct, frozen=True, kw_only=True):
    """How a question was read.

    Attributes:
      asked: the question, taken apart; None where it is none.
      read: its readings, or the parts of it, or what is asked back; None where it was not understood.
      missing: the part of a question in two parts that was not understood.
    """

    asked: Understood | None
    read: Read
    missing: str = ""


class House:
    """Understands questions and works out their answers. It never writes to what it reads.

    Args:
      config: the gateway's configuration: its rules and its store.
      docs: folder of the documentation; the one beside the rules by default.
      store: an open store, where there is one; else it is opened for each question that needs it.
      documents: gives the indexed documents with their versions, where an index is open.
      now: gives the time.
      kept: folder for what was read of rules and documentation, so that the next process need not read them; None
        keeps nothing.
      likeness: reads questions like known ones that no operation takes whole; without it these are not understood.
    """

    def __init__(
        self,
        config: Config,
        *,
        docs: Path | None = None,
        store: Store | None = None,
        documents: DocumentVersions | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        kept: Path | None = None,
        likeness: Likeness | None = None,
    ) -> None:
        self.config = config
        self.docs = docs or next(
            (
                one
                for one in (config.rules_folder.parent / "docs", Path("docs"))
                if (one / "configuration.md").is_file()
            ),
            None,
        )
        self._store = store
        self._documents = documents
        self._now = now
        self._kept = Kept(kept)
        self._likeness = likeness
        self._read: _Rules | None = None
        self._lock = threading.Lock()

    def own(self, address: str) -> bool:
        """Whether a document is one of its rules or of its documentation, by the address of its file."""
        place = Path(address.partition("#")[0]).resolve()
        return any(place.is_relative_to(folder.resolve()) for folder in (self.docs, self.config.rules_folder) if folder)

    def know(self, documents: DocumentVersions) -> None:
        """Let versions of documents be compared: an index was opened."""
        self._documents = documents

    def prepare(self) -> None:
        """Read rules and documentation, so that the first question waits for neither."""
        self._rules()
        tables.rows(self.docs, self._kept)

    def _rules(self, *, whole: bool = False) -> _Rules:
        """The rules as their files are now.

        Args:
          whole: with their conditions, which few questions ask for.
        """
        folder = self.config.rules_folder
        stats = {str(file): file.stat() for file in rule_files(folder)}
        stamp = tuple((name, one.st_size, one.st_mtime_ns) for name, one in sorted(stats.items()))
        with self._lock:
            if self._read is None or self._read.stamp != stamp or whole > self._read.whole:
                try:
                    catalogue = read_whole(folder) if whole else read_rulebook(folder, self._kept)
                except BrokenCatalogue as broken:
                    raise UserError(f"The rules are broken.\n{broken}", "`energycomm rules check` lists why.") from None
                settings = [one.name for one in manual.entries(self.docs, "setting")]
                commands = [one.name for one in manual.entries(self.docs, "command")]
                gateway = [one.name for one in manual.entries(self.docs, "code")]
                glossary = [word for one in manual.entries(self.docs, "word") for word in one.name.split(", ")]
                scopes = {one.section for one in manual.entries(self.docs, "setting") if one.section.islower()}
                kept = [one.name for one in manual.entries(self.docs, "field")]
                self._read = _Rules(
                    stamp=stamp,
                    whole=whole,
                    catalogue=catalogue,
                    lexicon=lexicon_of(
                        catalogue,
                        settings,
                        commands,
                        glossary,
                        scopes,
                        gateway,
                        self._translated,
                        kept,
                        self._in_others,
                    ),
                )
            return self._read

    @property
    def lexicon(self) -> Lexicon:
        """The names that the rules and the documentation have now."""
        return self._rules().lexicon

    def read(self, question: str, markets: tuple[str, ...] = ()) -> Reading:
        """A question, taken apart, and its readings.

        Args:
          question: the question.
          markets: markets that were chosen beside it; they count where it names none.
        """
        asked = self._understood(question, markets)
        if asked is None:
            return Reading(asked=None, read=None)
        today = self._now().date()
        text = (
            question if grammar.is_none(asked) else grammar.wished(question, lambda one: self._understood(one, markets))
        )
        parts = grammar.parts_of(text, asked)
        if len(parts) == 2:
            sides = [self._understood(part, markets) for part in parts]
            if sides[0] is not None and sides[1] is not None:
                grammar.share(sides[0], sides[1])
                reads = [grammar.plans(side, today) for side in sides if side is not None]
                known = [read for read in reads if isinstance(read, tuple)]
                missing = next((part for part, read in zip(parts, reads, strict=True) if read is None), "")
                if len(known) == 2 or (known and missing and not grammar.narrowed(question)):
                    together = tuple(plan for read in known for plan in read)
                    return Reading(asked=asked, read=together, missing=missing)
        whole = (asked if text == question else self._understood(text, markets)) or asked
        bare = None if grammar.is_none(asked) else grammar.without_apposition(whole.text)
        short = None if bare is None else self._understood(bare, markets)
        read = None if short is None else grammar.plans(short, today)
        if read is None:
            read = grammar.plans(whole, today)
        if read is None:
            shorter = (grammar.plans(short, today) for short in self._inquiries(asked, markets))
            read = next((one for one in shorter if one is not None), None)
        return Reading(asked=asked, read=self._suggested(read))

    def _inquiries(self, asked: Understood, markets: tuple[str, ...]) -> Iterator[Understood]:
        """The question without what is told around it: without a label, then without a statement behind that."""
        for _ in range(MOST_TOLD):
            short = grammar.inquiry(asked, lambda text: self._understood(text, markets))
            if short is None:
                return
            yield short
            asked = short

    def _understood(self, question: str, markets: tuple[str, ...]) -> Understood | None:
        asked = understand(question, self._rules().lexicon, self._now().date())
        if asked is not None and not asked.has("market"):
            asked.found += [Match(len(asked.tokens), len(asked.tokens), "market", market) for market in markets]
        return asked

    def _suggested(self, read: Read) -> Read:
        """What is asked back, with the names that are like the one that is not known."""
        if not isinstance(read, Asking) or read.choices:
            return read
        lexicon = self._rules().lexicon
        names = {"no_list": lexicon.lists, "no_setting": lexicon.settings, "no_script": lexicon.repairs}[read.key]
        close = near(read.name, sorted(names.values()))
        return Asking(read.key, close or tuple(sorted(names.values())[:MOST_CHOICES]), read.name)

    def reply(self, question: str, markets: tuple[str, ...] = ()) -> Reply | None:
        """The answer to a question; None where it is none that can be worked out.

        Args:
          question: the question.
          markets: markets that were chosen beside it.
        """
        reading = self.read(question, markets)
        asked, read = reading.asked, reading.read
        if asked is None:
            return None
        language = asked.language
        if isinstance(read, Asking):
            text = say(language, read.key, name=read.name)
            return Reply(language=language, plans=(), asked=text, choices=read.choices)
        answers = self.answers(read or (), language)
        for read in () if answers else self._other_readings(asked, markets):
            answers = self.answers(read, language)
            if answers:
                break
        guess = None if answers or reading.read else self._guessed(asked)
        if guess is not None:
            read, answers = guess.plans, self.answers(guess.plans, language)
        if not read or not answers:
            return None
        read, answers = _differing(read, answers)
        notes = [answers[-1].note]
        if guess is not None:
            notes.append(say(language, "read_like", question=guess.like))
        if asked.corrected:
            notes.append(say(language, "read_as", words=", ".join(asked.corrected.values())))
        if reading.missing:
            notes.append(say(language, "part_missing", part=reading.missing))
        answers[-1] = msgspec.structs.replace(answers[-1], note=" ".join(filter(None, notes)))
        sure = 1.0 if guess is None else guess.sure
        return Reply(language=language, plans=tuple(map(as_data, read)), answers=tuple(answers), sure=sure)

    def _guessed(self, asked: Understood) -> Guess | None:
        """The surest reading by likeness to a known question that has an answer."""
        if self._likeness is None or grammar.is_none(asked):
            return None
        guesses, today = self._likeness.guesses(asked), self._now().date()
        fitting = (guess for guess in guesses if not any(says_less(plan, asked, today) for plan in guess.plans))
        return next((guess for guess in fitting if self.answers(guess.plans, asked.language)), None)

    def answers(self, plans: tuple[Plan, ...], language: str) -> list[Worked]:
        """The answer of each plan; none where one has none.

        Args:
          plans: what is asked.
          language: of the answers.
        """
        answers = []
        for plan in plans:
            try:
                found = self.work_out(plan, language)
            except UserError:
                found = None  # what cannot be restricted or grouped so is no question to the house
            if found is None or _empty_guess(plan, found):
                return []
            answers.append(found)
        return answers

    def _other_readings(self, asked: Understood, markets: tuple[str, ...]) -> Iterator[tuple[Plan, ...]]:
        """Other ways to read a question whose first reading finds nothing: further operations, then the tables; both
        without what is told around it at last."""
        today = self._now().date()
        if not grammar.is_none(asked):
            further = list(grammar.readings(asked, today))[1:]
            yield from (read for read in further if isinstance(read, tuple))
        yield self._in_tables(asked)
        yield self._in_sentences(asked)
        for short in self._inquiries(asked, markets):
            if grammar.is_none(short):
                return
            yield from (read for read in grammar.readings(short, today) if isinstance(read, tuple))
            yield self._in_tables(short)

    def _in_tables(self, asked: Understood) -> tuple[Plan, ...]:
        """What a table of the documentation answers, of a question that nothing else does."""
        if grammar.is_none(asked):
            return ()
        return next(((plan,) for plan in in_tables(asked) if self._table_answer(plan, asked.language)), ())

    def _in_sentences(self, asked: Understood) -> tuple[Plan, ...]:
        """The rules whose sentence names the number that is asked for."""
        if grammar.is_none(asked):
            return ()
        return said_number(asked, self._rules().catalogue.rules, lambda: translations(self.config.rules_folder))

    def _table_answer(self, plan: family.Tables, language: str) -> Worked | None:
        return tables.table_answer(tables.rows(self.docs, self._kept), plan, language)

    def plan(self, question: str) -> dict[str, Any]:
        """What was understood of a question: what it names, and the operations."""
        reading = self.read(question)
        asked, read = reading.asked, reading.read
        if asked is None:
            return {"named": {}, "plans": [], "to": "passages"}
        like = ""
        if read is None:
            read = self._in_tables(asked) or self._in_sentences(asked)
            guess = None if read else self._guessed(asked)
            if guess is not None:
                read, like = guess.plans, guess.like
        plans = [as_data(plan) for plan in read] if isinstance(read, tuple) else []
        ask_back = say(asked.language, read.key, name=read.name) if isinstance(read, Asking) else None
        to = "operation" if plans else "person" if ask_back else "passages"
        shown: dict[str, Any] = {
            "language": asked.language,
            "named": said(asked),
            "plans": plans,
            "asked": ask_back,
            "to": to,
        }
        if like:
            shown["read_like"] = like
        return {**shown, "missing": reading.missing} if reading.missing else shown

    def called(self, name: str, arguments: Any, language: str = "en") -> Worked | None:
        """The answer of an operation that a model calls as a tool, held to its types.

        Raises:
          UserError: there is no such operation, an argument is wrong, or the store cannot be read.
        """
        given = arguments if isinstance(arguments, dict) else {}
        return self.work_out(family.planned({**given, "do": name}), language)

    def work_out(self, plan: Plan, language: str = "en") -> Worked | None:
        """The answer of one operation; None where what it asks is not there: no documentation, no index.

        Raises:
          UserError: the things cannot be restricted or grouped so, or a version is not known.
        """
        catalogue = self._rules(whole=_of_conditions(plan)).catalogue
        if isinstance(plan, family.Rules):
            return rules_.rules_answer(catalogue, plan, language, self._texts(plan.where))
        if isinstance(plan, family.RuleField):
            return rules_.field_answer(catalogue, plan, language)
        if isinstance(plan, family.CompareRules):
            return rules_.compare_answer(catalogue, plan, language)
        if isinstance(plan, family.OnlyThere):
            return across.only_answer(catalogue, plan, language, self._texts(plan.where))
        if isinstance(plan, family.CodeLists):
            return codelists.codes_answer(catalogue, plan, language)
        if isinstance(plan, family.Manual):
            return manual.manual_answer(self.docs, plan, language)
        if isinstance(plan, family.Tables):
            return self._table_answer(plan, language)
        if isinstance(plan, family.RuleChanges) and plan.old is None:
            return rules_.changes_answer(catalogue, plan, language)
        if isinstance(plan, family.Versions) and plan.what == "documents":
            return self._document_versions(plan, language)
        return self._of_store(catalogue, plan, language)

    def _in_others(self) -> Iterator[Mapping[str, str]]:
        """English text of a rule -> the same in another language, for each of them."""
        yield from translations(self.config.rules_folder).values()

    def _translated(self) -> Iterator[str]:
        """What rules say in other languages."""
        for texts in self._in_others():
            yield from texts.values()

    def _texts(self, where: family.RuleFilter) -> Texts:
        """What rules say in other languages, where words are looked for."""
        return translations(self.config.rules_folder) if where.words else {}

    def _of_store(self, catalogue: Catalogue, plan: Plan, language: str) -> Worked:
        # The store's packages take long to import: only when it is asked.
        from assistant.operations import points, requests, stored
        from energycomm.correction.impact import catalogue_named

        with self._opened() as (store, trouble):
            if store is None:
                proof = Proof(text=f"{named(plan)}: no store", command="energycomm eis upgrade")
                return Worked(sentence=say(language, "no_store", why=trouble), proofs=(proof,))
            if isinstance(plan, family.Stored):
                return stored.stored_answer(store.engine, catalogue, plan, language, self._now(), self._times)
            if isinstance(plan, family.WhyMessage):
                return stored.message_answer(store.engine, catalogue, plan, language, self._times)
            if isinstance(plan, family.RequestLife):
                return requests.request_answer(store.engine, catalogue, plan, language, self._times)
            if isinstance(plan, family.PointLife):
                if plan.about == "supplied":
                    return points.supplied_answer(store.engine, plan, language, self._times, self._now())
                return points.life_answer(store.engine, plan, language, self._times)
            if isinstance(plan, family.RuleChanges):
                old = catalogue_named(store, str(plan.old))
                new = catalogue_named(store, plan.new) if plan.new else catalogue
                return rules_.changes_answer(catalogue, plan, language, (old, new))
            listed = family.Stored(thing="rules_version", how="list")
            found = stored.stored_answer(store.engine, catalogue, listed, language, self._now(), self._times)
        rows = found.table.rows if found.table else ()
        sentence = say(language, "rules_versions", n=len(rows), version=catalogue.version)
        return msgspec.structs.replace(found, sentence=sentence, values=tuple(row[2] for row in rows))

    @cached_property
    def _times(self) -> LegalTime:
        from energycomm.market.installed import installed_adapters
        from energycomm.market.legaltime import LegalTime

        return LegalTime(installed_adapters(self.config.mapping_files).zones, ZoneInfo(self.config.web.zone))

    @contextmanager
    def _opened(self) -> Iterator[tuple[Store | None, str]]:
        if self._store is not None:
            yield self._store, ""
            return
        # The store's packages take long to import: only when it is asked.
        from energycomm.pipeline.opening import open_store

        try:
            opened = open_store(self.config)
            store = opened.__enter__()
        except UserError as error:
            yield None, str(error)
            return
        try:
            yield store, ""
        finally:
            opened.__exit__(None, None, None)

    def _document_versions(self, plan: family.Versions, language: str) -> Worked | None:
        if self._documents is None:
            return None
        known = self._documents()
        wanted = [one for one in known if plan.document is None or contains(one[0], plan.document.split())]
        if not wanted:
            return None
        if plan.old and plan.new:
            sides = [next((one for one in wanted if one[1] == version), None) for version in (plan.old, plan.new)]
            if sides[0] is None or sides[1] is None:
                return None
            return _lines_apart(sides[0], sides[1], language)
        rows = tuple(dict.fromkeys((title, version, address) for title, version, address, _ in wanted))
        return Worked(
            sentence=say(language, "documents", n=len(rows)),
            table=Table(columns=("document", "version", "address"), rows=rows),
            proofs=(Proof(text="index", command="energycomm assistant sources"),),
            values=tuple(f"{title} {version}" for title, version, _ in rows),
        )


def _lines_apart(old: tuple[str, str, str, str], new: tuple[str, str, str, str], language: str) -> Worked:
    import difflib

    compared = difflib.unified_diff(old[3].splitlines(), new[3].splitlines(), lineterm="", n=0)
    rows = tuple(
        ("added" if line[0] == "+" else "removed", line[1:].strip())
        for line in compared
        if line[:1] in "+-" and not line.startswith(("+++", "---")) and line[1:].strip()
    )
    return Worked(
        sentence=say(language, "document_changes", n=len(rows), old=old[1], new=new[1], document=new[0]),
        table=Table(columns=("change", "line"), rows=rows) if rows else None,
        proofs=(Proof(text=f"{old[2]} ({old[1]})"), Proof(text=f"{new[2]} ({new[1]})")),
        values=(len(rows),),
    )


def as_data(plan: Plan) -> dict[str, Any]:
    """A plan as data: its operation and what it restricts."""
    built: dict[str, Any] = msgspec.to_builtins(plan)
    return built


def _of_conditions(plan: Plan) -> bool:
    """Whether an operation looks into the conditions of rules."""
    if isinstance(plan, family.RuleField):
        told = plan.fields if plan.on is None else ("validity",)
        return plan.applies is not None or not told or any(one in _OF_CONDITIONS for one in told)
    if isinstance(plan, family.RuleChanges):
        return plan.old is not None and plan.new is None  # compares the rules of today with stored ones
    return isinstance(plan, family.CompareRules)


def _differing(plans: tuple[Plan, ...], answers: list[Worked]) -> tuple[tuple[Plan, ...], list[Worked]]:
    """Readings and their answers without those of rules that find the same rules as one before."""
    kept: list[tuple[Plan, Worked]] = []
    for plan, answer in zip(plans, answers, strict=True):
        same = any(answer.values == other.values for one, other in kept if isinstance(one, family.Rules))
        if not (same and isinstance(plan, family.Rules) and plan.how == "list"):
            kept.append((plan, answer))
    return tuple(plan for plan, _ in kept), [answer for _, answer in kept]


def _empty_guess(plan: Plan, found: Worked) -> bool:
    """Whether something was looked for by words and nothing has them: perhaps a passage has."""
    if isinstance(plan, family.Manual):
        return found.values in ((), (0,))
    return (
        isinstance(plan, family.Rules | family.CodeLists)
        and found.table is None
        and bool(plan.words if isinstance(plan, family.CodeLists) else plan.where.words)
    )
