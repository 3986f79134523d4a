"""The grid operator's published samples, judged: real content meets no rule that it should not."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from adapters.fr_enedis import adapter
from energycomm.engine.parallel import ParallelEngine
from energycomm.kernel.history import NO_HISTORY
from energycomm.market.contract import Sniff, Transaction

WARNINGS = {
    "c15_avec_releves.xml": set(),
    "r15.xml": set(),
    "r151.xml": {"FR-R05"},  # the supplier's time class INCONNU
    "f15.xml": set(),
    "affaires_X12.xml": {"FR-A02"},  # references of ten characters, forged
    "affaires_X13.xml": {"FR-A02"},
    "f12.xml": set(),
    "r64.json": set(),
}
"""Sample -> codes of the warnings it deserves."""


@pytest.mark.parametrize("name", WARNINGS)
def test_a_published_sample_is_never_refused(engine: ParallelEngine, shared: Path, name: str) -> None:
    file = shared / "markets" / "fr" / "samples" / name
    label = adapter.dispatch(_sniff(file))
    assert isinstance(label, str)
    with file.open("rb") as stream:
        transactions = [item for item in adapter.digest(label, stream, name) if isinstance(item, Transaction)]
    messages = [message for transaction in transactions for message in transaction.messages]
    assert messages
    verdicts = [engine.judge(message, NO_HISTORY) for message in messages]
    assert {verdict.label for verdict in verdicts} <= {"accepted", "quarantined"}
    assert {finding.error_code for verdict in verdicts for finding in verdict.findings} == WARNINGS[name]


def _sniff(file: Path) -> Sniff:
    if file.suffix == ".json":
        return Sniff(file.name, "json", "header,mesures")
    root = etree.parse(file, etree.XMLParser(resolve_entities=False, no_network=True)).getroot()
    tag = etree.QName(root)
    return Sniff(file.name, "xml", tag.localname, tag.namespace)
