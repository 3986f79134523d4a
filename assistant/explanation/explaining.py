"""The gateway's explanation of a message in words, with passages, similar cases and a proposal; no model is needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from assistant.config import AssistantConfig
from assistant.explanation.cases import past_cases
from assistant.explanation.correcting import propose
from assistant.explanation.words import WORDS
from assistant.knowledge.index import Index, open_index
from assistant.knowledge.lexical import code_form, codes
from assistant.knowledge.sentences import split
from assistant.repairs.foretelling import Foreteller, Foretold
from assistant.repairs.records import recorded
from energycomm.config import Config
from energycomm.console.view import Taste, Words
from energycomm.correction.explanation import Explanation, FailedRule, explain
from energycomm.correction.library import load_scripts
from energycomm.eis.states import STUCK
from energycomm.eis.store import Store
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.wording import condition_in_words
from energycomm.errors import UserError
from energycomm.market.installed import installed_adapters
from energycomm.market.legaltime import LegalTime
from energycomm.pipeline.gateway import open_catalogue, open_engine
from energycomm.pipeline.history import history_before
from energycomm.pipeline.opening import open_store

MOST_SOURCES = 2
MOST_REPAIRS = 3


class Said(Struct, frozen=True, kw_only=True):
    """A statement and its evidence: what was read and where it stands."""

    text: str
    evidence: tuple[str, ...] = ()


class Part(Struct, frozen=True, kw_only=True):
    """A part of an explanation."""

    title: str
    statements: tuple[Said, ...]


class Told(Struct, frozen=True, kw_only=True):
    """An explanation in words, with passages, similar cases and a proposal.

    Attributes:
      explanation: what the gateway itself says.
      summary: the message and its state in a sentence.
      parts: the rest, part by part.
    """

    explanation: Explanation
    summary: str
    parts: tuple[Part, ...]


def explain_message(config: Config, assistant: AssistantConfig, message_id: int, language: str = "en") -> Told:
    """Explain a stored message in words.

    Args:
      config: the gateway's configuration: its store and rules.
      assistant: the assistant's: its index adds the house's documents, where there is one.
      message_id: the message.
      language: en, fr or nl.

    Raises:
      UserError: there is no such message, or the store cannot be read.
    """
    with open_store(config) as store:
        catalogue = open_catalogue(config.rules_folder)
        engine = open_engine(catalogue, config.engine, config.curve_tolerance)
        markets = installed_adapters(config.mapping_files)
        found = explain(store, catalogue, engine, markets, message_id)
        if found is None:
            raise UserError(f"There is no message {message_id}.", "`energycomm message list` lists them.")
        folders = (config.rules_folder / "texts", *(folder / "texts" for folder in markets.sources))
        times = LegalTime(markets.zones, ZoneInfo(config.web.zone))
        writer = _Writer(found, catalogue, _index(assistant), Words(Taste(language, "auto", times, folders)))
        codes_ = dict.fromkeys(one.error_code for one in found.verdict)
        past = [past_cases(store.engine, code, found.kind or "", message_id) for code in codes_]
        parts = [
            writer.findings(),
            writer.waiting(),
            writer.settled(),
            writer.facts(),
            writer.rules(),
            writer.past(past),
        ]
        if found.state in STUCK:
            parts.append(writer.repairs(*_foretold(config, store, catalogue, message_id)))
        if any(one.outcome == "violated" and one.severity == "error" for one in found.failed):
            known = history_before(store, engine, markets, message_id)
            assert known is not None
            parts.append(writer.correction(*propose(catalogue, engine, known)))
    return Told(explanation=found, summary=writer.summary(), parts=tuple(part for part in parts if part.statements))


def _foretold(
    config: Config, store: Store, catalogue: Catalogue, message_id: int
) -> tuple[list[Foretold], tuple[str, ...]]:
    """The repairs that a stuck message is likely to need, and the codes that such messages had."""
    records = recorded(store.engine)
    stuck = records.stuck.get(message_id)
    past = [one for one in records.repairs if one.stuck.id != message_id]
    if stuck is None:
        return [], ()
    scripts = load_scripts(catalogue.rules, config.scripts_folder).values()
    return Foreteller(past, scripts).foretell(stuck)[:MOST_REPAIRS], stuck.codes


def _index(assistant: AssistantConfig) -> Index | None:
    try:
        return open_index(assistant.folder / "index")
    except UserError:
        return None  # the rules themselves are enough


class _Writer:
    def __init__(self, found: Explanation, catalogue: Catalogue, index: Index | None, reader: Words) -> None:
        self.found, self.catalogue, self.index, self.reader = found, catalogue, index, reader
        self.words = WORDS.get(reader.taste.language, WORDS["en"])

    def summary(self) -> str:
        found = self.found
        wrong = [*(one.code for one in found.schema_errors), *(one.error_code for one in found.verdict)]
        listed = ", ".join(dict.fromkeys(wrong))
        awaited = "" if found.waiting is None else self.reader.said(found.waiting.what)
        day = f"{found.effective:%Y-%m-%d}" if found.effective else self.words["no time"]
        return self.words["summary"].format(
            id=found.message_id, kind=found.kind, type=found.type, day=day,
            state=self.words.get(found.state, found.state), codes=listed or awaited or self.words["nothing"],
        )  # fmt: skip

    def findings(self) -> Part:
        said = [Said(text=f"{one.code}: {one.path} {one.value or ''}", evidence=(self.reader.said(one.expected),))
                for one in self.found.schema_errors]  # fmt: skip
        for one in self.found.verdict:
            comment = self.reader.comment(one, self.catalogue)
            evidence = [f"{one.rule}: {one.field} = {one.value}", *([] if one.still else [self.words["not_now"]])]
            said.append(Said(text=f"{one.error_code}: {comment}", evidence=tuple(evidence)))
        return Part(title=self.words["verdict"], statements=tuple(said))

    def waiting(self) -> Part:
        waiting = self.found.waiting
        if waiting is None:
            return Part(title="", statements=())
        evidence = tuple(
            f"{rule.code}: {self.reader.t(rule.sentence)} ({_values(rule)})"
            for rule in self.found.failed
            if rule.outcome == "waits"
        )
        until = f"{waiting.until:%Y-%m-%d}" if waiting.until else "-"
        said = [
            Said(text=self.words["waits"].format(what=self.reader.said(waiting.what), until=until), evidence=evidence)
        ]
        if waiting.misdated:
            said.append(
                Said(
                    text=self.words["misdated"],
                    evidence=tuple(self.reader.said(doubt.words) for doubt in waiting.doubts),
                )
            )
        return Part(title=self.words["waiting"], statements=tuple(said))

    def settled(self) -> Part:
        settled = self.found.settled
        if settled is None:
            return Part(title="", statements=())
        by = "" if settled.message_id is None else self.words["by_message"].format(id=settled.message_id)
        text = self.words["freed_on"].format(day=f"{settled.at:%Y-%m-%d}", by=settled.by)
        return Part(
            title=self.words["settled"],
            statements=(
                Said(text=text, evidence=tuple(one for one in (by, self.reader.said(settled.why or "")) if one)),
            ),
        )

    def facts(self) -> Part:
        said = []
        for rule in self.found.failed:
            if rule.outcome == "violated" and rule.severity == "error":
                item = f" ({self.words['item']} {rule.item})" if rule.item else ""
                said.append(Said(text=f"{rule.code}{item}: {_values(rule)}", evidence=(self._demanded(rule),)))
        known = self.words["history"].format(count=self.found.earlier)
        start, end = self.found.supply_start, self.found.supply_end
        said.append(Said(text=known, evidence=(f"{start} – {end or '…'}",) if start else ()))
        return Part(title=self.words["facts"], statements=tuple(said))

    def rules(self) -> Part:
        said = []
        for code in dict.fromkeys(one.rule for one in self.found.verdict):
            for rule in self.catalogue.find(code)[:1]:
                evidence = [f"{rule.file}:{rule.line}", rule.source, *self._documents(rule.error_code)]
                said.append(
                    Said(
                        text=f"{rule.error_code} {self.reader.t(rule.title)}: {self.reader.t(rule.sentence)}",
                        evidence=tuple(evidence),
                    )
                )
        return Part(title=self.words["rules"], statements=tuple(said))

    def _demanded(self, failed: FailedRule) -> str:
        """The condition of a rule in words of the reader."""
        language = self.reader.taste.language
        return next((condition_in_words(rule, language) for rule in self.catalogue.find(failed.rule)), failed.demands)

    def _documents(self, error_code: str) -> list[str]:
        """Sentences of the house's documents that name the error code, beside the rule itself."""
        if self.index is None:
            return []
        found = []
        for passage in self.index.passages:
            if passage.metadata.codes or error_code not in passage.text:
                continue
            for sentence in split(passage.text):
                if code_form(error_code) in codes(sentence.text):
                    found.append(f"[{passage.id}] {passage.metadata.address}: {sentence.text[:300]}")
        return found[:MOST_SOURCES]

    def past(self, known: Iterable[Any]) -> Part:
        said = []
        for past in known:
            text = self.words["past"].format(code=past.code, total=past.total, still=past.still)
            evidence = tuple(
                self.words["freed"].format(id=c.message_id, day=c.at, state=self.words.get(c.state, c.state))
                + (f": {c.why}" if c.why else "")
                + (f" ({self.words['corrected']})" if c.corrected else "")
                for c in past.cases
            )
            said.append(Said(text=text, evidence=evidence))
        return Part(title=self.words["similar"], statements=tuple(said))

    def repairs(self, foretold: Sequence[Foretold], codes_: Sequence[str]) -> Part:
        """What freed such messages before, with numbers."""
        said = []
        for one in foretold:
            what = self.words.get(one.what) or self.words["script"].format(name=one.what)
            if one.freed:
                text = self.words["foretold"].format(
                    what=what, freed=one.freed, alike=one.alike, codes=", ".join(codes_), share=f"{one.share:.0%}"
                )
            else:
                text = self.words["foretold_of_others"].format(
                    what=what, codes=", ".join(codes_), share=f"{one.share:.0%}"
                )
            evidence = tuple(self.words["message"].format(id=number) for number in one.messages)
            said.append(Said(text=text, evidence=evidence))
        return Part(title=self.words["repairs"], statements=tuple(said))

    def correction(self, found: Sequence[Any], tried: int) -> Part:
        said = [
            Said(
                text=self.words["proposal"].format(field=c.field, before=c.before, after=c.after),
                evidence=(
                    self.words["dry_run"].format(outcome=self.words.get(c.outcome, c.outcome)),
                    self.words["from"].format(why=c.why),
                    self.words["borne_out"].format(facts=", ".join(c.evidence)),
                    *((self.words["left"].format(codes=", ".join(c.left)),) if c.left else ()),
                ),
            )
            for c in found[:3]
        ]
        if not said:
            said = [Said(text=self.words["no_proposal"].format(tried=tried))]
        else:
            said.append(Said(text=self.words["confirm"]))
        return Part(title=self.words["correction"], statements=tuple(said))


def _values(run: FailedRule) -> str:
    return ", ".join(f"{name} = {'-' if value is None else value}" for name, value in run.read.items())
