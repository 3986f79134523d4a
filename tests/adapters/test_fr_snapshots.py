"""C68, the report that ends an order, and the notice of stopped services."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from adapters.common.conformance.subject import Read, read
from adapters.fr_enedis import adapter
from energycomm.kernel.check import explain
from energycomm.kernel.codec import encode
from energycomm.kernel.messages import AccessPointData, ContractTerms, CustomerData, MeterData, RequestStatus
from energycomm.market.contract import MemberHead, Sniff
from energycomm.transport.forms import json_root, text_root
from tests.adapters.french import codes, kinds, only
from tests.adapters.subjects import FIXTURES

FRENCH = FIXTURES / "fr"
SNAPSHOT = "ENEDIS_C68_P_ITC_M0000AC1_00001_20260306080000.json"
TABLE = "ENEDIS_C68_P_ITC_M0000AC2_00001_20260307080000.csv"
REPORT = "ENEDIS_CR.M023_P_CR_M0000AB1_00001_20260306090000.json"
NOTICE = "ENEDIS_NASS_Q_SERV_7100009_00001_20260306100000.json"


def _read(name: str) -> Read:
    return read(adapter, (FRENCH / name).read_bytes(), name)


def _points() -> Any:
    return json.loads((FRENCH / SNAPSHOT).read_text(encoding="utf-8"))


def _snapshot(points: Any, name: str = SNAPSHOT) -> Read:
    return read(adapter, json.dumps(points).encode(), name, "C68")


@pytest.mark.parametrize(
    ("name", "label"), [(SNAPSHOT, "C68"), (TABLE, "C68-CSV"), (REPORT, "CR.M023"), (NOTICE, "NASS")]
)
def test_every_message_is_valid(name: str, label: str) -> None:
    data = (FRENCH / name).read_bytes()[:1024]
    form = "other" if name.endswith("csv") else "json"
    root = text_root(data) if form == "other" else json_root(data)
    assert isinstance(root, str)
    assert adapter.dispatch(Sniff(name, form, root)) == label  # type: ignore[arg-type]
    for transaction in _read(name).transactions:
        assert not transaction.refusals
        assert all(not explain(encode(message)) for message in transaction.messages)


# --- C68 ---


def test_the_fixture_is_valid_by_the_operators_schema(shared: Path) -> None:
    (schema,) = (shared / "markets/fr/json_schemas").glob("Enedis.SGE.JSON.0514.*")
    jsonschema_rs.validator_for(json.loads(schema.read_text(encoding="utf-8-sig"))).validate(_points())


def test_a_snapshot_is_the_point_its_contract_its_meter_and_its_customer() -> None:
    first = _read(SNAPSHOT).transactions[0]
    [point], [terms] = only(first, AccessPointData), only(first, ContractTerms)
    [customer], [meter] = only(first, CustomerData), only(first, MeterData)
    assert point.effective == terms.effective == datetime.fromisoformat("2026-03-06T08:00+01:00")
    assert (point.segment, point.connection_status, point.phases, point.connection_power) == (
        "C5",
        "connected",
        1,
        Decimal(12),
    )
    assert (terms.tariff, terms.subscribed_power, terms.power_unit, terms.contract_start) == (
        "BTINFCU4",
        Decimal(6),
        "kVA",
        date(2026, 1, 20),
    )
    assert (terms.contract_status, terms.calendar, terms.off_peak) == ("in-service", "DI000003", "HC (22H00-6H00)")
    assert (customer.category, customer.surname, meter.meter, meter.action) == (
        "residential",
        "EXEMPLE",
        "00000000000404",
        "present",
    )
    told = {one.name: one.value for one in point.particulars}
    assert told["donneesGenerales/typage/borneFixe"] is True


def test_a_contract_about_what_is_fed_in_is_none_of_the_terms() -> None:
    second = _read(SNAPSHOT).transactions[1]
    [terms] = only(second, ContractTerms)
    assert (terms.tariff, terms.contract_start, codes(second)) == ("BTSUPCU4", date(2026, 1, 12), [])


def test_of_two_contracts_without_dates_no_terms_are_made() -> None:
    points = _points()
    old = json.loads(json.dumps(points[0]["situationsContractuelles"][0]))
    points[0]["situationsContractuelles"].append(old | {"segment": "C4"})
    [transaction] = _snapshot(points[:1]).transactions
    assert ("ContractTerms" in kinds(transaction), codes(transaction)) == (False, ["NOTE_CONTRACT_AMBIGUOUS"])
    points[0]["situationsContractuelles"][1]["dateDebut"] = "2026-02-20"
    [transaction] = _snapshot(points[:1]).transactions
    assert only(transaction, ContractTerms)[0].contract_start == date(2026, 2, 20)


def test_the_keys_of_a_meter_are_kept_nowhere() -> None:
    points = _points()
    points[0]["situationComptage"]["compteurs"][0]["parametresTeleAcces"] = {"cleClient": "SECRET99"}
    [transaction] = _snapshot(points[:1]).transactions
    assert all("SECRET99" not in encode(message) for message in transaction.messages)


def test_blocks_that_we_may_not_see_are_absent_and_no_fault() -> None:
    [transaction] = _snapshot([{"idPrm": "99000000000404", "donneesGenerales": {}}]).transactions
    assert kinds(transaction) == ["AccessPointData"]


def test_a_snapshot_under_a_name_without_time_is_dated_by_its_latest_change() -> None:
    transaction = _snapshot(_points(), "c68.json").transactions[0]
    assert only(transaction, ContractTerms)[0].effective == datetime.fromisoformat("2026-01-20T00:00+01:00")
    assert codes(transaction) == ["NOTE_TIME_OF_CHANGE"]
    [bare] = _snapshot([{"idPrm": "99000000000404"}], "c68.json").transactions
    assert [refused.code for refused in bare.refusals] == ["SYN_MISSING"]


def test_one_line_of_a_table_says_what_its_columns_are_called() -> None:
    [transaction] = _read(TABLE).transactions
    [point], [terms] = only(transaction, AccessPointData), only(transaction, ContractTerms)
    assert (point.segment, point.voltage, point.metering_method) == ("C5", "BTINF", "LINKY")
    assert (terms.tariff, terms.subscribed_power, terms.power_unit) == ("BTINFCU4", Decimal(6), "kVA")
    told = {one.name: one.value for message in transaction.messages for one in message.particulars}
    assert told["donneesGenerales/typage/borneFixe"] is True
    assert told["syntheseContractuelle/dateDerniereMiseEnServiceSoutirage"] == "2026-01-20"


def test_a_column_that_nobody_knows_is_kept_under_its_own_words() -> None:
    data = b"PRM;Segment;Couleur du volet\n99000000000404;C5;bleu\n"
    [transaction] = read(adapter, data, TABLE, "C68-CSV").transactions
    [point] = only(transaction, AccessPointData)
    assert {one.name: one.value for one in point.particulars} == {"colonnes/couleur_du_volet": "bleu"}


# --- CR.M023 ---


def _report(said: Any, name: str = REPORT) -> Read:
    return read(adapter, json.dumps(said).encode(), name, "CR.M023")


def test_a_report_ends_its_order_and_tells_what_became_of_each_point() -> None:
    found = _read(REPORT)
    assert isinstance(found.head, MemberHead)
    assert (found.head.request, found.head.files) == ("M0000AB1", 1)
    statuses = [only(transaction, RequestStatus)[0] for transaction in found.transactions]
    assert [(one.access_point, one.state, one.state_code) for one in statuses] == [
        (None, "done", "CR.M023"),
        ("99000000000404", "done", "OK"),
        ("99000000000606", "refused", "SGT570"),
    ]
    assert {one.request_reference for one in statuses} == {"M0000AB1"}


def test_a_report_is_read_whatever_its_elements_stand_in() -> None:
    """Its form is not public."""
    said = {"compteRendu": {"demande": {"affaireId": "M0000AB1"}, "livraison": {"nombreFichiers": "2"}}}
    found = _report(said, "ENEDIS_CR-M023_1_20260306090000.json")
    assert isinstance(found.head, MemberHead)
    assert (found.head.request, found.head.files) == ("M0000AB1", 2)
    listed = {"idDemande": "M0000AB1", "fichiers": [{"nom": "a.zip"}, {"nom": "b.zip"}, {"nom": "c.zip"}]}
    head = _report(listed).head
    assert isinstance(head, MemberHead)
    assert head.files == 3


def test_a_report_without_files_says_that_nothing_came_of_the_order() -> None:
    [whole] = _report({"idDemande": "M0000AB1", "nbFichiers": 0}).transactions
    assert only(whole, RequestStatus)[0].state == "refused"


def test_a_report_that_tells_no_number_of_files_is_refused() -> None:
    found = _report({"idDemande": "M0000AB1"})
    assert found.refusal is not None
    assert (found.refusal.code, found.refusal.path.endswith("nbFichiers")) == ("SYN_MISSING", True)


def test_a_report_may_be_a_table() -> None:
    data = "Numéro affaire;Nombre de fichiers;PRM;Statut\nM0000AB1;3;99000000000404;Refusé\n".encode("cp1252")
    found = read(adapter, data, "ENEDIS_CR.M023_P_CR_M0000AB1_00001_20260306090000.csv", "CR.M023")
    assert isinstance(found.head, MemberHead)
    assert (found.head.files, [only(one, RequestStatus)[0].state for one in found.transactions]) == (
        3,
        ["done", "refused"],
    )


# --- NASS ---


def test_a_stopped_service_ends_and_a_running_one_does_not() -> None:
    [transaction] = _read(NOTICE).transactions
    ended, running = only(transaction, RequestStatus)
    if ended.state != "done":
        ended, running = running, ended
    assert (ended.object_code, ended.market_reason, ended.effect_date) == ("CDC", "4", date(2026, 3, 1))
    assert (ended.effective, running.state) == (datetime.fromisoformat("2026-03-01T00:00+01:00"), "in-course")
    assert {one.name: one.value for one in ended.particulars}["motifFinLibelle"] == "Demande du client"
