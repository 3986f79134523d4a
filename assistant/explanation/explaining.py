"""An explanation of a verdict, put together of statements that each name their evidence. No model is needed for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from assistant.config import AssistantConfig
from assistant.explanation.cases import past_cases
from assistant.explanation.correcting import propose
from assistant.explanation.words import WORDS
from assistant.knowledge.index import Index, open_index
from assistant.knowledge.lexical import code_form, codes
from assistant.knowledge.sentences import split
from energycomm.config import Config
from energycomm.eis.message_parts import FindingRecord
from energycomm.eis.messages import MessageDetail, show_message
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.trace import RuleRun, trace
from energycomm.errors import UserError
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.gateway import open_catalogue, open_engine, open_store
from energycomm.pipeline.history import Known, history_before

MOST_SOURCES = 2


class Said(Struct, frozen=True, kw_only=True):
    """A statement and its evidence: what was read and where it stands."""

    text: str
    evidence: tuple[str, ...] = ()


class Part(Struct, frozen=True, kw_only=True):
    """A part of an explanation."""

    title: str
    statements: tuple[Said, ...]


class Explanation(Struct, frozen=True, kw_only=True):
    """Why a message was judged as it was."""

    message_id: int
    state: str
    summary: str
    parts: tuple[Part, ...]


def explain_message(config: Config, assistant: AssistantConfig, message_id: int, language: str = "en") -> Explanation:
    """Explain the verdict of a stored message.

    Args:
      config: the gateway's configuration: its store and rules.
      assistant: the assistant's: its index adds the house's documents, where there is one.
      message_id: the message.
      language: en or fr.

    Raises:
      UserError: there is no such message, or the store cannot be read.
    """
    with open_store(config) as store:
        detail = show_message(store.engine, message_id)
        if detail is None:
            raise UserError(f"There is no message {message_id}.", "`energycomm message list` lists them.")
        catalogue = open_catalogue(config.rules_folder)
        engine = open_engine(catalogue, config.engine)
        rebuilt = history_before(store, engine, installed_adapters(config.mapping_files), message_id)
        assert rebuilt is not None
        writer = _Writer(detail, rebuilt, catalogue, _index(assistant), language)
        findings = [finding for finding in detail.findings if finding.current]
        runs = trace(catalogue, rebuilt.message, rebuilt.history)
        violated = [run for run in runs if run.outcome == "violated" and run.rule.severity == "error"]
        parts = [writer.findings(findings, runs), writer.waiting(), writer.facts(violated), writer.rules(findings)]
        parts.append(writer.past([past_cases(store.engine, code, detail.summary.kind, message_id)
                                  for code in dict.fromkeys(f.error_code for f in findings)]))  # fmt: skip
        if violated:
            parts.append(writer.correction(*propose(engine, rebuilt.message, rebuilt.history, violated)))
        return Explanation(
            message_id=message_id,
            state=detail.summary.state,
            summary=writer.summary(findings),
            parts=tuple(part for part in parts if part.statements),
        )


def _index(assistant: AssistantConfig) -> Index | None:
    try:
        return open_index(assistant.folder / "index")
    except UserError:
        return None  # the rules themselves are enough


class _Writer:
    def __init__(
        self, detail: MessageDetail, rebuilt: Known, catalogue: Catalogue, index: Index | None, language: str
    ) -> None:
        self.detail, self.rebuilt, self.catalogue, self.index = detail, rebuilt, catalogue, index
        self.language = language if language in WORDS else "en"
        self.words = WORDS[self.language]

    def summary(self, findings: Sequence[FindingRecord]) -> str:
        summary = self.detail.summary
        listed = ", ".join(dict.fromkeys(f.error_code for f in findings)) or summary.waits_for or self.words["nothing"]
        return self.words["summary"].format(
            id=summary.id, kind=summary.kind, type=summary.type, day=f"{summary.effective:%Y-%m-%d}",
            state=self.words.get(summary.state, summary.state), codes=listed,
        )  # fmt: skip

    def findings(self, findings: Iterable[FindingRecord], runs: Sequence[RuleRun]) -> Part:
        said = []
        now = {run.rule.error_code for run in runs if run.outcome == "violated"}
        for finding in findings:
            comment = finding.comment_fr if self.language == "fr" else finding.comment
            evidence = [f"{finding.rule}: {finding.field} = {finding.value}"]
            if finding.error_code not in now:
                evidence.append(self.words["not_now"])
            said.append(Said(text=f"{finding.error_code}: {comment}", evidence=tuple(evidence)))
        return Part(title=self.words["verdict"], statements=tuple(said))

    def waiting(self) -> Part:
        summary = self.detail.summary
        if summary.state != "quarantined":
            return Part(title="", statements=())
        asked = trace(self.catalogue, self.rebuilt.message, self.rebuilt.history, "qualification")
        evidence = tuple(
            f"{run.rule.code}: {run.rule.sentence} ({_values(run)})"
            for run in asked
            if run.rule.wait and run.outcome == "applies"
        )
        until = f"{self.detail.waits_until:%Y-%m-%d}" if self.detail.waits_until else "-"
        text = self.words["waits"].format(what=summary.waits_for, until=until)
        return Part(title=self.words["waiting"], statements=(Said(text=text, evidence=evidence),))

    def facts(self, violated: Sequence[RuleRun]) -> Part:
        said = []
        for run in violated:
            item = f" ({self.words['item']} {run.item})" if run.item else ""
            said.append(
                Said(
                    text=f"{run.rule.error_code}{item}: {_values(run)}",
                    evidence=(run.rule.holds or run.rule.violated_when or "",),
                )
            )
        history = self.rebuilt.history
        known = self.words["history"].format(count=self.rebuilt.accepted)
        span = f"{history.supply_start} – {history.supply_end or '…'}" if history.supply_start else ""
        said.append(Said(text=known, evidence=(span,) if span else ()))
        return Part(title=self.words["facts"], statements=tuple(said))

    def rules(self, findings: Iterable[FindingRecord]) -> Part:
        said = []
        for code in dict.fromkeys(finding.rule for finding in findings):
            for rule in self.catalogue.find(code)[:1]:
                evidence = [f"{rule.file}:{rule.line}", rule.source, *self._documents(rule.error_code)]
                said.append(Said(text=f"{rule.error_code} {rule.title}: {rule.sentence}", evidence=tuple(evidence)))
        return Part(title=self.words["rules"], statements=tuple(said))

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

    def correction(self, found: Sequence[Any], tried: int) -> Part:
        said = [
            Said(
                text=self.words["proposal"].format(field=c.field, before=c.before, after=c.after),
                evidence=(
                    self.words["dry_run"].format(outcome=self.words.get(c.outcome, c.outcome)),
                    self.words["from"].format(why=c.why),
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


def _values(run: RuleRun) -> str:
    return ", ".join(f"{name} = {'-' if value is None else value}" for name, value in run.read.items())
