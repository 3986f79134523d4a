"""The rule catalogue: each rule a document, in English, and in French what it says to French readers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from assistant.knowledge.documents import Document, Metadata
from assistant.knowledge.loaders.contract import Failure
from assistant.knowledge.writing import Writer
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.document import ERROR_CLASSES, asked, example_words, validity
from energycomm.engine.folder import read_catalogue
from energycomm.engine.rule import Rule
from energycomm.engine.wording import condition_in_words
from energycomm.errors import UserError

KINDS_FR = {
    "StartOfSupply": "entrée, début de fourniture",
    "EndOfSupply": "sortie, fin de fourniture",
    "ContractTerms": "données du contrat",
    "AccessPointData": "données du point",
    "CustomerData": "données du client",
    "MeterData": "compteur",
    "MeterReading": "relevé d'index",
    "MeteredVolume": "volume, consommation",
    "MeasureSeries": "courbe de charge",
    "AggregatedSeries": "courbe agrégée",
    "GridInvoice": "facture d'acheminement",
    "GridCharge": "ligne de facture d'acheminement",
    "RequestStatus": "état d'une affaire",
}
"""Kinds of messages in the words of French consultants, beside their names."""

READINGS_FR = "des flux C15, R15, R151"
"""The flows of France in which readings come."""

_VALUE = re.compile(r"\{[^{}]*\}(?:\s+\{[^{}]*\})*")


def is_catalogue(folder: Path) -> bool:
    """Whether a folder holds rules rather than documentation."""
    return (folder / "common").is_dir() and any(
        "rule_set:" in file.read_text("utf-8", "replace")[:2000] for file in sorted(folder.glob("*/*.yaml"))[:3]
    )


class RuleLoader:
    """The rules of a folder; ids are rule codes, followed by the first day where a rule has several periods."""

    def __init__(self, folder: Path, source: str = "rules") -> None:
        self.source = source
        self._folder = folder

    def ids(self) -> Iterable[str]:
        """Every rule, once for each language it speaks."""
        return [id for rule in self._catalogue().rules for id in _ids(rule)]

    def load(self, ids: Iterable[str] | None = None) -> Iterator[Document | Failure]:
        """The rules as documents."""
        wanted = None if ids is None else set(ids)
        for rule in self._catalogue().rules:
            for id in _ids(rule):
                if wanted is None or id in wanted:
                    yield self._document(id, rule)

    def poll(self, since: datetime) -> Iterable[str]:
        """All rules when a file of the folder was written since."""
        changed = any(
            datetime.fromtimestamp(file.stat().st_mtime, UTC) >= since for file in self._folder.rglob("*.yaml")
        )
        return self.ids() if changed else []

    def _catalogue(self) -> Catalogue:
        catalogue, problems = read_catalogue(self._folder, check_examples=False)
        if problems:
            raise UserError(
                f"The rules in {self._folder} are broken: {problems[0]}.", f"`energycomm rules check {self._folder}`"
            )
        return catalogue

    def _document(self, id: str, rule: Rule) -> Document:
        writer = Writer()
        french = id.endswith(".fr")
        (_write_fr if french else _write_en)(rule, writer)
        markets = rule.markets or ((rule.market,) if rule.market != "common" else ())
        return Document(
            id=id,
            metadata=Metadata(
                source=self.source,
                address=f"{rule.file}:{rule.line}",
                title=f"{rule.error_code or rule.code}: {rule.title}",
                market=markets[0] if len(markets) == 1 else None,
                language="fr" if french else "en",
                valid_from=rule.since,
                valid_to=rule.until,
                codes=tuple(code for code in (rule.error_code, rule.code) if code),
            ),
            text=writer.text,
            blocks=writer.blocks,
        )


def _ids(rule: Rule) -> list[str]:
    base = f"{rule.code}@{rule.since}" if rule.since else rule.code
    return [base, f"{base}.fr"] if rule.judges else [base]


def _write_en(rule: Rule, writer: Writer) -> None:
    writer.heading(1, f"Rule {rule.error_code}: {rule.title}" if rule.error_code else f"Rule {rule.code}: {rule.title}")
    writer.paragraph(rule.sentence)
    # Whatever stands in every rule alike stands in rows: as sentences they would all look like answers.
    facts = [["Rule", rule.code]]
    if rule.judges:
        verdict = "rejects" if rule.severity == "error" else "warns of"
        writer.paragraph(
            f"{rule.error_code} {verdict} a {' or '.join(rule.applies_to)} with the words: "
            f"{_readable(rule.comment['en'].text)}"
        )
        writer.paragraph(f"Demanded: {condition_in_words(rule).rstrip('.')}.")
        facts += [["Error code", rule.error_code], ["Error class", ERROR_CLASSES[rule.error_class]]]
        facts += [["ebIX reason code", rule.ebix]] if rule.ebix else []
        facts += [["Market's own code", rule.market_code]] if rule.market_code else []
    else:
        writer.paragraph(f"The rule {rule.code} asks for: {asked(rule)}.")
        writer.paragraph(f"When: {condition_in_words(rule).rstrip('.')}.")
    markets = ", ".join(rule.markets) or (rule.market if rule.market != "common" else "all")
    facts += [["Applies to", ", ".join(rule.applies_to)], ["Markets", markets], ["In force", validity(rule)]]
    writer.table([], [*facts, ["Source", rule.source]])
    if rule.examples:
        writer.heading(2, "Examples")
    for example in rule.examples:
        passes = example.judged == "passes"
        if rule.judges:
            label = "Good example" if passes else "Bad example"
        else:
            label = "Does not apply" if passes else "Applies"
        writer.paragraph(f"{label}: {example_words(example)}.", "item")


def _write_fr(rule: Rule, writer: Writer) -> None:
    writer.heading(1, f"Règle {rule.error_code} ({rule.code})")
    verb = "rejette" if rule.severity == "error" else "signale"
    kinds = ", ".join(KINDS_FR.get(kind, kind) for kind in rule.applies_to[:3])
    if "MeterReading" in rule.applies_to and rule.market in ("common", "fr", "FR"):
        kinds += f" {READINGS_FR}"
    writer.paragraph(f"La règle {rule.error_code} {verb} un message ({kinds}) : {_readable(rule.comment['fr'].text)}")
    facts = [["Règle", rule.code], ["Code d'erreur", rule.error_code]]
    facts += [["Code de motif ebIX", rule.ebix]] if rule.ebix else []
    facts += [["Code du marché", rule.market_code]] if rule.market_code else []
    writer.table([], [*facts, ["S'applique à", ", ".join(rule.applies_to)]])


def _readable(template: str) -> str:
    """A comment without the names of its values, which only a message gives."""
    return _VALUE.sub("[…]", template)
