"""The simulated Danish hub: its documents are valid by the hub's schemas, and it answers every request in its form."""

from __future__ import annotations

import ast
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lxml import etree

from adapters.common.conformance.subject import read
from adapters.dk_energinet import adapter
from adapters.dk_energinet import simulator as simulator_package
from adapters.dk_energinet.requests import KINDS, build
from adapters.dk_energinet.simulator import simulator
from energycomm.kernel.family import KINDS as KERNEL
from energycomm.kernel.messages import KernelMessage
from energycomm.market.contract import OutgoingMessage
from energycomm.pipeline.correlation import step_of
from energycomm.simulation.answering import Asked, Delivery, Manners, answer
from energycomm.simulation.scenario import Scenario
from tests.adapters.danish import fault

AT = datetime(2026, 3, 10, 9, 0, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {row["kind"]: row for row in json.loads((ROOT / "fixtures/requests/kinds/dk.json").read_text("utf-8"))}
CHANGES = {"SupplierSwitchRequest", "MoveInRequest", "CombinedSwitchRequest", "EndOfSupplyRequest", "MoveOutRequest"}
POINT = "RequestChangeAccountingPointCharacteristics"
each_kind = pytest.mark.parametrize("kind", sorted(KINDS))
each_form = pytest.mark.parametrize("form", ["xml", "json"])


def _asked(kind: str, form: Any) -> Asked:
    message = msgspec.convert({"market_type": "request", **EXAMPLES[kind]}, KERNEL[kind], strict=False)
    built = build(message, "1b4e28ba-2fa1-11d2-883f-0016d3cca427", form)
    assert isinstance(built, OutgoingMessage), built
    return Asked(kind, built.content, built.reference, AT)


def _said(asked: Asked) -> list[Delivery]:
    return answer(simulator.clerk, [asked], Manners())


def _messages(delivery: Delivery) -> list[KernelMessage]:
    found = read(adapter, delivery.document.content, delivery.document.name + delivery.document.suffix)
    assert found.refusal is None
    assert all(transaction.refusals == () for transaction in found.transactions)
    return [message for transaction in found.transactions for message in transaction.messages]


@pytest.mark.thorough
def test_simulated_documents_are_valid_by_the_hubs_schemas(shared: Path, tmp_path: Path) -> None:
    """Of CIM in XML and in JSON, and of ebIX, over a change of clock."""
    simulator.simulate(Scenario(24, 7, 6, daily_share=0.05), tmp_path)
    tried: Counter[str] = Counter()
    for path in sorted((tmp_path / "envelopes").iterdir()):
        assert fault(path.read_bytes(), shared) is None, path.name
        tried[path.name.split("_", 2)[2]] += 1
    assert set(tried) >= {
        "NotifyValidatedMeasureData.xml",
        "NotifyValidatedMeasureData-json.json",
        "NotifyAggregatedMeasureData-json.json",
        "NotifyWholesaleServices.xml",
        "DK_MeteredDataTimeSeries.xml",
        "DK_AggregatedMeteredDataTimeSeries.xml",
        "DK_NotifyAggregatedWholesaleServices.xml",
        "DK_NotifyMissingData.xml",
        "ReminderOfMissingMeasureData.xml",
        "ConfirmRequestChangeOfSupplier.xml",
        *(f"{word}{POINT}{form}" for word in ("", "Confirm", "Reject") for form in (".xml", "-json.json")),
    }


def test_a_cancelled_end_and_every_step_of_measures_are_among_what_the_hub_tells(tmp_path: Path) -> None:
    simulator.simulate(Scenario(30, 7, 6, daily_share=0.05), tmp_path)
    told = b"".join(path.read_bytes() for path in (tmp_path / "envelopes").glob("*.xml"))
    for text in ("processType>E05<", "originalTransactionIDReference_MktActivityRecord.mRID>E-", "processType>D32<"):
        assert text.encode() in told
    for step in ("PT15M", "PT1H", "P1D", "P1M"):
        assert f"<resolution>{step}<".encode() in told


def test_the_simulator_knows_nothing_of_the_tables_that_read_it() -> None:
    """What it writes would not show a mistake of theirs."""
    (folder,) = simulator_package.__path__
    for path in Path(folder).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                own = name.startswith("adapters.dk_energinet.simulator")
                assert own or not name.startswith("adapters."), (path.name, name)


@each_form
@each_kind
def test_a_request_is_received_and_done_in_the_form_in_which_it_was_asked(kind: str, form: str, shared: Path) -> None:
    asked = _asked(kind, form)
    deliveries = _said(asked)
    assert deliveries[0].document.name == "1_Acknowledgement"
    steps = []
    for delivery in deliveries:
        assert delivery.document.suffix == f".{form}"
        assert fault(delivery.document.content, shared) is None, delivery.document.name
        found = [(message, step) for message in _messages(delivery) if (step := step_of(message)) is not None]
        steps += [(step[0], message.correlation) for message, step in found]
    confirmed = [("acknowledged", asked.reference)] if kind in CHANGES else []
    assert steps == [("acknowledged", asked.reference), *confirmed, ("done", asked.reference)]


@each_form
@each_kind
def test_a_refusal_has_reasons_and_nothing_else_ends_the_request(kind: str, form: str, shared: Path) -> None:
    asked, codes = _asked(kind, form), set()
    for choice in range(6):
        states = []
        for document in simulator.clerk.refuse(asked, AT, choice):
            assert fault(document.content, shared) is None, document.name
            for message in _messages(Delivery(AT, asked.reference, document)):
                step = step_of(message)
                assert step is not None
                states.append(step[0])
                assert message.correlation == asked.reference
                codes |= {reason.code for reason in getattr(message, "reasons", ())}
        assert states in (["refused"], ["acknowledged", "refused"])
    assert codes == {"E10", "E17", "E16", "D27"}


def test_what_was_asked_for_is_what_is_sent() -> None:
    """The days, the grid area, the run and the charge of the request stand in what answers it."""
    (_, measures) = _said(_asked("MeteredDataRequest", "xml"))
    root = etree.fromstring(measures.document.content)
    assert root.findtext(".//{*}start") == "2026-01-31T23:00Z"
    assert root.findtext(".//{*}end") == "2026-02-28T23:00Z"
    assert len(root.findall(".//{*}Point")) == 28 * 24
    (_, sums) = _said(_asked("AggregatedDataRequest", "xml"))
    assert b"processType>D04<" in sums.document.content
    assert b">996<" in sums.document.content
    (_, amounts) = _said(_asked("SettlementRequest", "json"))
    (series,) = json.loads(amounts.document.content)["NotifyWholesaleServices_MarketDocument"]["Series"]
    assert (series["chargeType.mRID"], series["chargeType.type"]["value"]) == ("NT-001", "D03")
    assert series["Period"]["resolution"] == "P1M"
