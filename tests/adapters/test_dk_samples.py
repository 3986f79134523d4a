"""The Danish hub's own test messages: what it takes is digested, what it refuses is refused, with its own code beside
ours. Its schemas: every leaf of them is in the ledger."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from adapters.common.conformance.subject import read, sniff
from adapters.common.schemaleaves import documents_of
from adapters.dk_energinet import adapter
from adapters.dk_energinet.codes import hub_code
from energycomm.kernel.verdicts import Refusal
from tests.adapters.danish import fault

SCHEMA, VERSION, TWIN, NO_ID = "00302 (B2B-005)", "00301 (B2B-007)", "00102 (B2B-009)", "00202 (B2B-009)"
REFUSED: dict[str, tuple[str, str]] = {
    "ebix/MeteredDataForMeteringPoint/BadVersionMeteredDataForMeteringPoint.xml": ("VERSION_UNKNOWN", VERSION),
    "ebix/MeteredDataForMeteringPoint/InvalidMeteredDataForMeteringPoint.xml": ("HEADER_INVALID", SCHEMA),
    "json/AggregatedMeasure/EmptyJsonObject.json": ("TYPE_NOT_OURS", SCHEMA),
    "json/AggregatedMeasure/FailSchemeValidationAggregatedMeasureData.json": ("HEADER_INVALID", SCHEMA),
    "json/AggregatedMeasure/InvalidJsonAggregatedMeasureData.json": ("FORM_UNEXPECTED", SCHEMA),
    "json/MeteredDataForMeteringPoint/InvalidMeteredDataForMeteringPoint.json": ("HEADER_MISSING", SCHEMA),
    "json/MeteredDataForMeteringPoint/InvalidMeteredDataForMeteringPointMissingRegistration.json": (
        "SYN_MISSING",
        SCHEMA,
    ),
    "json/WholesaleSettlement/EmptyJsonObject.json": ("TYPE_NOT_OURS", SCHEMA),
    "json/WholesaleSettlement/FailSchemeValidationRequestWholesaleSettlement.json": ("HEADER_INVALID", SCHEMA),
    "json/WholesaleSettlement/InvalidJsonRequestWholesaleSettlement.json": ("FORM_UNEXPECTED", SCHEMA),
    "xml/AggregatedMeasure/BadVersionRequestAggregatedMeasureData.xml": ("VERSION_UNKNOWN", VERSION),
    "xml/AggregatedMeasure/InvalidRequestAggregatedMeasureData.xml": ("FORM_UNEXPECTED", SCHEMA),
    "xml/AggregatedMeasure/TwoSeriesRequestAggregatedMeasureData.xml": ("TRANSACTION_REPEATED", TWIN),
    "xml/AggregatedMeasure/VersionIndexOutOfRangeRequestAggregatedMeasureData.xml": ("VERSION_UNKNOWN", VERSION),
    "xml/MeteredDataForMeteringPoint/BadVersionMeteredDataForMeteringPoint.xml": ("VERSION_UNKNOWN", VERSION),
    "xml/MeteredDataForMeteringPoint/InvalidMeteredDataForMeteringPoint.xml": ("SYN_MISSING", NO_ID),
    "xml/MeteredDataForMeteringPoint/InvalidMeteredDataForMeteringPointMissingRegistration.xml": (
        "SYN_MISSING",
        SCHEMA,
    ),
    "xml/WholesaleSettlement/RequestWholesaleSettlementTwoSeries.xml": ("TRANSACTION_REPEATED", TWIN),
}
"""Message that the hub refuses -> our code, and the hub's own for it (that of ebIX in brackets)."""

FIXTURES = sorted(path for path in (Path(__file__).parents[2] / "fixtures/dk").iterdir() if path.is_file())
WITH_MISTAKES = "measures_with_mistakes.xml"


def _first_refusal(path: Path) -> Refusal | None:
    content = path.read_bytes()
    label = adapter.dispatch(sniff(path.name, content))
    if isinstance(label, Refusal):
        return label
    found = read(adapter, content, path.name, label)
    if found.refusal is not None:
        return found.refusal
    return next((one for transaction in found.transactions for one in transaction.refusals), None)


def test_every_message_of_the_hub_is_taken_or_refused_as_the_hub_does(shared: Path) -> None:
    folder = shared / "markets" / "dk" / "samples"
    samples = sorted(path for path in folder.rglob("*") if path.is_file())
    assert samples
    found = {}
    for path in samples:
        refused = _first_refusal(path)
        if refused is not None:
            found[path.relative_to(folder).as_posix()] = (refused.code, hub_code(refused))
            assert f"The hub itself refuses this with {hub_code(refused)}." in refused.advice
    assert found == REFUSED


def test_what_the_hub_takes_gives_one_message_a_transaction(shared: Path) -> None:
    folder = shared / "markets" / "dk" / "samples"
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.relative_to(folder).as_posix() in REFUSED:
            continue
        content = path.read_bytes()
        label = adapter.dispatch(sniff(path.name, content))
        assert isinstance(label, str)
        found = read(adapter, content, path.name, label)
        pieces = content.count(b":Series>") or content.count(b"PayloadEnergyTimeSeries>")
        assert [len(one.messages) for one in found.transactions] == [1] * len(found.transactions)
        assert len(found.transactions) == (
            pieces // 2 or content.decode("utf-8-sig").count('"mRID": ') - 1 - charges(content)
        )
        for one in found.transactions:
            assert one.notes == ()
            assert adapter.explain(label, io.BytesIO(content), path.name, one.position) == []


def charges(content: bytes) -> int:
    """Charges that a document of JSON names: they have identifiers too."""
    return content.count(b'"EA-')


def test_the_fixtures_are_valid_by_the_hubs_schemas(shared: Path) -> None:
    found = {path.name: fault(path.read_bytes(), shared) for path in FIXTURES if path.name != WITH_MISTAKES}
    assert {name for name, wrong in found.items() if wrong is not None} == set()
    assert fault((FIXTURES[0].parent / WITH_MISTAKES).read_bytes(), shared) is not None


@pytest.mark.parametrize("label", [label for label in adapter.types if not label.startswith("DK_")])
def test_every_leaf_of_a_schema_of_the_hub_is_in_the_ledger(label: str, shared: Path) -> None:
    """The schemas of this package are our own: they have the leaves of the hub's, and no others."""
    document = adapter.table.documents[label]
    space = next(iter(document.versions.values()))
    assert space is not None
    name = space.replace(":", "-").replace(".", "-")
    (theirs,) = [
        one for one in documents_of(shared / "markets/dk/cim_xml" / f"{name}.xsd") if one.root.name == document.root
    ]
    assert document.described is not None
    (ours,) = documents_of(document.described)
    assert sorted("/".join(path) for path, _ in ours.root.leaves()) == sorted(
        "/".join(path) for path, _ in theirs.root.leaves()
    )
