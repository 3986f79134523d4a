"""The French adapter against real samples and real schemas of the market, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from adapters.common.conformance.subject import Read, read
from adapters.fr_enedis import adapter
from energycomm.kernel.check import explain
from energycomm.kernel.codec import encode
from energycomm.kernel.messages import GridCharge, MeteredVolume, MeterReading, RequestStatus
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Sniff
from tests.adapters.french import kinds, only
from tests.adapters.subjects import FIXTURES

SCHEMAS = {
    "C15": "GRD.XSD.0301.Flux_C15_v4.1.1.xsd",
    "R15": "ENEDIS.SGE.XSD.0293.Flux_R15_v2.3.2.xsd",
    "R151": "Enedis.SGE.XSD.0315.Flux_R151_v1.2.0.xsd",
    "F15_Detail_Facturation": "GRD.XSD.0299.Flux_F15_Donnees_Detail_v3.3.2.xsd",
    "F15_Donnees_Generales": "GRD.XSD.0302.Flux_F15_Donnees_Generales_v3.3.2.xsd",
}
"""Root element -> schema, of the fluxes whose schema is public."""

OF_A_PUBLIC_SCHEMA = [
    path for path in sorted((FIXTURES / "fr").glob("*.xml")) if etree.parse(str(path)).getroot().tag in SCHEMAS
]
OTHER_VERSIONS = {"FL_2_2.xml", "c15_version_5.xml", "c15_mistakes.xml"}
SAMPLES = {
    "c15_avec_releves.xml": 1,
    "r15.xml": 1,
    "r151.xml": 1,
    "f15.xml": 1,
    "affaires_X12.xml": 8,
    "affaires_X13.xml": 2,
    "f12.xml": 1,
    "r64.json": 2,
}
"""Sample -> number of its CH messages."""


def _sample(shared: Path, name: str) -> Read:
    return read(adapter, (shared / "markets/fr/samples" / name).read_bytes(), name)


@pytest.mark.parametrize("path", OF_A_PUBLIC_SCHEMA, ids=lambda path: path.name)
def test_fixtures_that_claim_a_version_are_valid_by_its_real_schema(shared: Path, path: Path) -> None:
    document = etree.parse(str(path))
    schema = SCHEMAS[document.getroot().tag]
    valid = etree.XMLSchema(file=str(shared / "markets/fr/xsd" / schema)).validate(document)
    assert valid == (path.name not in OTHER_VERSIONS)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_real_sample_is_digested_into_valid_kernel_messages(shared: Path, name: str) -> None:
    found = _sample(shared, name)
    assert found.refusal is None
    assert len(found.transactions) == SAMPLES[name]
    for transaction in found.transactions:
        assert transaction.refusals == ()
        for message in transaction.messages:
            assert explain(encode(message)) == []


def test_fluxes_that_no_digester_reads_are_known(shared: Path) -> None:
    refused = adapter.dispatch(Sniff("recap.xml", "xml", "Recapitulatif"))
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.value) == ("TYPE_UNKNOWN", "F12")
    content = (shared / "markets/fr/samples/r64.json").read_bytes().replace(b"R64", b"R69")
    found = read(adapter, content, "r69.json")
    assert found.refusal is not None
    assert (found.refusal.code, found.refusal.value) == ("TYPE_UNKNOWN", "R69")


def test_the_f12_sample_is_a_charge_whose_lines_make_up_its_total(shared: Path) -> None:
    [charge] = only(_sample(shared, "f12.xml").transactions[0], GridCharge)
    assert (charge.invoice, charge.charge_reference, charge.billing_type) == ("066521624609", "426595745577", "EVNT")
    assert sum(line.amount for line in charge.lines) == charge.total_excluding_tax
    assert {line.tariff for line in charge.lines} == {"HTACU5"}


def test_the_r64_sample_gives_wh_of_all_classes_at_midnight_in_paris(shared: Path) -> None:
    [reading] = only(_sample(shared, "r64.json").transactions[0], MeterReading)
    assert reading.effective.isoformat() == "2026-06-01T00:00:00+02:00"
    assert (reading.calendar, reading.supplier_calendar) == ("DI000003", "FC022034")
    assert [(register.grid, register.time_class, register.value) for register in reading.registers] == [
        ("distributor", "HPB", 2675549),
        ("distributor", "HPH", 6038145),
        ("distributor", "HCH", 1941120),
        ("distributor", "HCB", 789363),
        ("supplier", "BASE", 3602078),
    ]
    assert reading.request_reference == "62314283"


def test_the_c15_sample_declares_version_5_and_is_read_as_4(shared: Path) -> None:
    found = _sample(shared, "c15_avec_releves.xml")
    assert found.head is not None
    assert (found.head.declared_version, found.head.version) == ("5.0.0", "4.1.1")
    assert [note.code for note in found.head.notes] == ["NOTE_VERSION_DECLARED"]
    assert kinds(found.transactions[0]) == [
        "AccessPointData",
        "ContractTerms",
        "CustomerData",
        "MeterData",
        "MeterReading",
        "MeterReading",
    ]


def test_the_r15_sample_keeps_indexes_and_energies_apart(shared: Path) -> None:
    transaction = _sample(shared, "r15.xml").transactions[0]
    [reading], [volume] = only(transaction, MeterReading), only(transaction, MeteredVolume)
    assert [(register.grid, register.value, register.previous_value) for register in reading.registers] == [
        ("distributor", 10160, 10060),
        ("supplier", 15276, 15175),
    ]
    assert [(part.grid, int(part.quantity)) for part in volume.volumes] == [("distributor", 100), ("supplier", 101)]


def test_the_r151_sample_is_read_at_the_end_of_its_day_in_wh(shared: Path) -> None:
    [reading] = only(_sample(shared, "r151.xml").transactions[0], MeterReading)
    assert reading.effective.isoformat() == "2024-04-05T00:00:00+02:00"
    assert {register.unit for register in reading.registers} == {"Wh"}
    assert reading.registers[-1].time_class == "INCONNU"


def test_the_x12_sample_announces_three_affaires_and_holds_four(shared: Path) -> None:
    found = _sample(shared, "affaires_X12.xml")
    assert [note.code for note in found.transactions[-1].notes] == ["NOTE_COUNT"]
    states = [only(transaction, RequestStatus)[0].state for transaction in found.transactions]
    assert states == ["sent", "acknowledged", "in-course", "done", "sent", "sent", "refused", "sent"]
