"""The ledger of a market: no leaf of what it sends is lost without a reason."""

from __future__ import annotations

import copy
import csv
import json
import re
from io import BytesIO
from pathlib import Path

import pytest
from lxml import etree
from typer.testing import CliRunner

from adapters.common.coverage import (
    Entry,
    Ledger,
    LedgerDocument,
    LedgerFault,
    entries,
    faults,
    ledgered,
    matches,
    measured,
    read_reasons,
    write_xml,
)
from adapters.common.schemaleaves import SchemaElement, SchemaFault, documents_of
from energycomm import cli
from energycomm.market.contract import Adapter, Carrying, Sniff, Transaction
from energycomm.market.installed import installed_adapters


def _ledger(adapter: Adapter) -> Ledger:
    found = ledgered(adapter)
    assert found is not None
    return found


PARTICULARS = "particulars.csv"
KEPT = [adapter for adapter in installed_adapters().values() if ledgered(adapter) is not None]


def _french() -> Adapter:
    return installed_adapters()["FR"]


def _dutch() -> Adapter:
    return installed_adapters()["NL"]


def _document(adapter: Adapter, label: str) -> LedgerDocument:
    return next(one for one in _ledger(adapter).documents if one.label == label)


def _outcomes(found: list[Entry]) -> dict[str, Entry]:
    return {one.path: one for one in found}


@pytest.mark.parametrize(
    "adapter",
    [
        pytest.param(one, id=one.market, marks=[pytest.mark.thorough] if one.market in ("DK", "NL") else [])
        for one in KEPT
    ],
)
def test_every_leaf_is_carried_kept_or_left_out_with_a_reason(adapter: Adapter) -> None:
    assert faults(adapter, _ledger(adapter)) == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    "adapter",
    [one for one in KEPT if _ledger(one).reasons.with_name(PARTICULARS).exists()],
    ids=lambda adapter: adapter.market,
)
def test_every_particular_of_a_table_is_one_that_a_message_bears(adapter: Adapter) -> None:
    ledger = _ledger(adapter)
    with ledger.reasons.with_name(PARTICULARS).open(newline="", encoding="utf-8") as lines:
        rows = {(row["document"], row["path"]) for row in csv.DictReader(lines)}
    assert rows
    for document in ledger.documents:
        borne = {
            "/".join(leaf)
            for leaf, fields in measured(adapter, document).items()
            if any("particulars" in field for field in fields)
        }
        for label, path in rows:
            if label == document.label:
                assert any(f"/{path}" in f"/{leaf}" for leaf in borne), (label, path)
    assert {label for label, _ in rows} <= {document.label for document in ledger.documents}


@pytest.mark.thorough
def test_what_a_person_knows_of_a_c15_is_what_is_measured() -> None:
    """By hand, from the guide of the flux."""
    document = _document(_french(), "C15")
    found = _outcomes(entries(_french(), document, read_reasons(_ledger(_french()).reasons)))
    assert found["PRM/Id_PRM"].fields[0].endswith(".access_point")
    assert (
        "ContractTerms.subscribed_power"
        in found["PRM/Situation_Contractuelle/Structure_Tarifaire/Puissance_Souscrite"].fields
    )
    assert "AccessPointData.connection_status" in found["PRM/Alimentation/Etat_Alimentation"].fields
    assert "EndOfSupply.contract_end" in found["PRM/Situation_Contractuelle/Date_Resiliation"].fields
    assert found["PRM/Point_Sensible"].outcome == "particular"
    assert found["PRM/Evenement_Declencheur/Releves/Donnees_Releve/Libelle_Calendrier"].outcome == "left-out"


@pytest.mark.parametrize(
    ("label", "path"),
    [
        ("R50", "PRM"),
        ("R64", "mesures/contexte/grandeur"),
        ("R67", "mesures/contexte/grandeur/calendrier/classeTemporelle/quantite"),
        ("SGE-rechercherPointResponse", "Body/rechercherPointResponse/points/point"),
        ("SGE-Fault", "Body/Fault/detail/erreur"),
    ],
)
def test_a_new_leaf_of_a_schema_is_a_fault(label: str, path: str) -> None:
    document = copy.deepcopy(_document(_french(), label))
    held = document.root
    for step in path.split("/"):
        held = next(child for child in held.children if child.name == step)
    held.children.append(SchemaElement("Nouveaute", "text"))
    assert faults(_french(), Ledger([document], _ledger(_french()).reasons))[0].startswith(
        f"{label}: {path}/Nouveaute is neither"
    )


def test_a_document_that_is_never_taken_is_a_fault() -> None:
    document = _document(_french(), "R64")._replace(settings=({"codeFlux": "R63"},))
    with pytest.raises(LedgerFault, match="R64 is taken in none"):
        faults(_french(), Ledger([document], _ledger(_french()).reasons))


def test_what_a_person_knows_of_an_r64_is_what_is_measured() -> None:
    """By hand, from the guide of the flux."""
    document = _document(_french(), "R64")
    found = _outcomes(entries(_french(), document, read_reasons(_ledger(_french()).reasons)))
    calendar = "mesures/contexte/grandeur/calendrier"
    assert found["mesures/idPrm"].fields[0].endswith(".access_point")
    assert found[f"{calendar}/classeTemporelle/valeur/v"].fields == ("MeterReading.registers.value",)
    # That it is doubted, and why.
    assert found[f"{calendar}/classeTemporelle/valeur/iv"].fields == (
        "MeterReading.particulars",
        "MeterReading.registers.doubtful",
    )
    assert found["mesures/contexte/typeReleve"].outcome == "particular"
    assert found["mesures/contexte/grandeur/cadranTotalisateur/valeur/v"].outcome == "particular"
    assert found[f"{calendar}/libelleCalendrier"].outcome == "left-out"


def test_a_stale_row_and_a_short_reason_are_faults(tmp_path: Path) -> None:
    reasons = tmp_path / "left_out.csv"
    kept = "Our own contract which is the same in every file."
    reasons.write_text(
        "document,path,reason\n"
        f"R50,En_Tete_Flux/*,{kept}\n"
        "R50,PRM/Id_PRM,It is carried and so this row is stale.\n"
        "R15,Type_Client,none\n"
    )
    found = faults(_french(), Ledger([_document(_french(), "R50")], reasons))
    assert found == [
        "R15: Type_Client: 'none' is no sentence",
        "R50: PRM/Id_PRM leaves nothing out",
        "R15: Type_Client leaves nothing out",
    ]


@pytest.mark.parametrize(
    ("pattern", "path", "meant"),
    [
        ("Id_PRM", "PRM/Id_PRM", True),
        ("PRM/Id_PRM", "PRM/Id_PRM", True),
        ("PRM", "PRM/Id_PRM", False),
        ("PRM", "Id_PRM", False),
        ("Libelle_*", "PRM/Compteur/Libelle_Calendrier", True),
        ("@list", "A/B/@list", True),
    ],
)
def test_a_pattern_means_a_whole_path_or_its_end(pattern: str, path: str, meant: bool) -> None:
    assert matches(pattern, path) is meant


OFFICIAL = {
    "C15": ("xsd/GRD.XSD.0301.Flux_C15_v4.1.1.xsd", "xsd_2026/GRD.XSD.0301.Flux_C15_v5.2.0.xsd"),
    "R15": ("xsd/ENEDIS.SGE.XSD.0293.Flux_R15_v2.3.2.xsd",),
    "R151": ("xsd/Enedis.SGE.XSD.0315.Flux_R151_v1.2.0.xsd",),
    "F15-detail": (
        "xsd/GRD.XSD.0299.Flux_F15_Donnees_Detail_v3.3.2.xsd",
        "xsd_2026/GRD.XSD.0299.Flux_F15_Donnees_Detail_v4.0.4.xsd",
    ),
    "F15-general": (
        "xsd/GRD.XSD.0302.Flux_F15_Donnees_Generales_v3.3.2.xsd",
        "xsd_2026/GRD.XSD.0302.Flux_F15_Donnees_Generales_v4.0.4.xsd",
    ),
    "C12": ("xsd_2026/ENEDIS.SGE.XSD.0130.C12_v1.12.1.xsd",),
    "F12-detail": ("xsd_2026/Enedis.SGE.XSD.0126.F12_Donnees_Detail_1.10.4.xsd",),
    "F12-general": ("xsd_2026/Enedis.SGE.XSD.0125.F12_Donnees_Generales_1.10.4.xsd",),
    "F12-recapitulation": ("xsd_2026/Enedis.SGE.XSD.0127.F12_Donnees_Recap_1.10.4.xsd",),
    "F12-taxes": ("xsd_2026/Enedis.SGE.XSD.0128.F12_Donnees_Taxes_1.10.4.xsd",),
    "R50": ("xsd_2026/Enedis.SGE.GUI.0316.Flux_R50_v1.1.0.xsd",),
    "R4x": ("xsd_2026/Enedis.SGE.XSD.0409.R4x_v1.1.1.xsd",),
    "R17": ("xsd_2026/ENEDIS.SGE.XSD.0132.R17_v1.9.1.xsd",),
    "R171": ("xsd_2026/ENEDIS.SGE.XSD.0315.Flux_R171_v1.2.0.xsd",),
}
"""Label -> the schemas that Enedis publishes of it."""

OFFICIAL_DUTCH = (
    "xsd_p4/P4CollectedDataBatchResultResponse_2p0.xsd",
    "xsd_p4/P4CollectedDataBatchResponse_2p0.xsd",
    "xsd_portaal/car/SearchMeteringPointsResponse_1p6.xsd",
    "xsd_portaal/car/SearchMeteringPointsResponse_2p1.xsd",
    "xsd_portaal/cer/ContractDataResponse_1p2.xsd",
    "found_2026/xsd/MasterData_2p1/MasterDataResponse_2p1.xsd",
    "found_2026/xsd/MasterDataUpdate_2p1/MasterDataUpdateResponse_2p1.xsd",
    "found_2026/xsd/MoveIn_1p2/MoveInResponse_1p0.xsd",
    "found_2026/xsd/MoveOut_1p0/MoveOutResponse_1p0.xsd",
    "found_2026/xsd/ChangeOfSupplier_1p1/ChangeOfSupplierResponse_1p0.xsd",
    "found_2026/xsd/EndOfSupply_1p0/EndOfSupplyResponse_1p0.xsd",
    "found_2026/xsd/ChangeOfPV_1p0/ChangeOfPVResponse_1p0.xsd",
    "found_2026/xsd/NameChange_1p1/NameChangeResponse_1p1.xsd",
    "found_2026/xsd/MasterDataGain_1p1/MasterDataGainResponse_1p1.xsd",
    "found_2026/xsd/GetSCMPInformation_2p1/GetSCMPInformationResponse_2p1.xsd",
    "found_2026/xsd/NoticeEOS_1p3/NoticeEOSResponse_1p3.xsd",
    "found_2026/xsd/NoticeEOS_1p3/NoticeEOSNotification_1p3.xsd",
    "found_2026/xsd/NoticeEOS_1p3/NoticeEOSAcknowledgement_1p0.xsd",
    "found_2026/xsd/MoveInBatch_1p2/MoveInBatchResponse_1p0.xsd",
    "xsd_portaal/file/FileExchangeResponse_1p4.xsd",
    "xsd_portaal/file/FileExchangeAcknowledgement_1p1.xsd",
    "xsd_portaal/file/FileExchangeResultResponse_1p1.xsd",
    "xsd_portaal/file/FileExchangeSignOffAcknowledgement_1p1.xsd",
    "xsd_portaal/file/FileListResponse_1p0.xsd",
    "xsd_portaal/file/FileUploadAcknowledgement_1p0.xsd",
)
"""EDSN's schemas of what we read, each named by the label of its message and its version."""

NOT_PUBLIC = {
    "GainResultResponse",
    "LossResultResponse",
    "MeterReadingExchangeResponse",
    "MeterReadingExchangeAcknowledgement",
    "RejectionMeterReadingResponse",
    "RejectionResultResponse",
    "UpdateResultResponse",
}
"""Labels that no public schema describes."""

OUTLINED = {
    "GetMeteringPointResponse",
    "SearchMeteringPointsResponse",
    "MasterDataBatchRejectionResponse",
    *(f"{name}BatchResponse" for name in ("MoveOut", "ChangeOfSupplier", "EndOfSupply", "ChangeOfPV", "MasterData")),
}
"""Labels of which the elements of the newest version are known by an outline alone."""

OFFICIAL_JSON = {
    "R64": "Enedis.SGE.JSON.0511.Flux.R64_v1.2.1.json",
    "R67": "Enedis.SGE.JSON.0515.Flux.R67_v1.3.0.json",
}


@pytest.mark.parametrize("label", OFFICIAL_JSON)
def test_every_leaf_of_an_official_schema_of_json_is_in_the_ledger(label: str, shared: Path) -> None:
    document = _document(_french(), label)
    known = {"/".join(leaf) for leaf, _ in document.root.leaves()}
    parts = [one.root for one in documents_of(shared / "markets/fr/json_schemas" / OFFICIAL_JSON[label])]
    official = {"/".join((part.name, *leaf)) for part in parts for leaf, _ in part.leaves()}
    assert {path.partition("/")[0] for path in official} == {"header", "mesures"}
    assert len(official) > 25
    assert official - known == set()


def _answered(shared: Path) -> dict[str, list[SchemaElement]]:
    """What the SGE answers with, by the name of the element, from all its WSDL files."""
    found: dict[str, list[SchemaElement]] = {}
    for file in sorted((shared / "markets/fr/sge_ws/wsdl").rglob("*.xsd")):
        try:
            roots = [one.root for one in documents_of(file)]
        except SchemaFault:
            continue  # a dictionary of types
        for root in roots:
            if re.search("Re(s)?ponse|acquittement$|erreur$", root.name):
                found.setdefault(root.name, []).append(root)
    return found


@pytest.mark.thorough
def test_every_leaf_of_an_official_answer_of_the_sge_is_in_the_ledger(shared: Path) -> None:
    documents = {one.label.removeprefix("SGE-"): one for one in _ledger(_french()).documents if "SGE-" in one.label}
    answered = _answered(shared)
    assert len(answered) == 18
    for name, roots in answered.items():
        document = documents["Fault" if name == "erreur" else name]
        known = {"/".join(leaf).partition(f"{name}/")[2] for leaf, _ in document.root.leaves()}
        kept_whole = tuple(one[:-1] for one in known if one.endswith("/*"))
        for root in roots:
            official = ["/".join(leaf) for leaf, _ in root.leaves()]
            assert official
            assert [one for one in official if one not in known and not one.startswith(kept_whole)] == [], name


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("label", "file"), [(label, file) for label, files in OFFICIAL.items() for file in files], ids=lambda value: value
)
def test_every_leaf_of_an_official_schema_is_in_the_ledger(label: str, file: str, shared: Path) -> None:
    """Enedis' own schema, whose header is declared too, against what our schemas and reasons know."""
    assert _lost(_french(), label, shared / "markets/fr" / file) == []


@pytest.mark.parametrize("file", OFFICIAL_DUTCH)
def test_every_leaf_of_an_official_schema_of_edsn_is_in_the_ledger(file: str, shared: Path) -> None:
    """And its namespace is one that is read."""
    label = Path(file).name.partition("_")[0]
    path = shared / "markets/nl" / file
    (official,) = documents_of(path)
    sniff = Sniff(path.name, "xml", official.root.name, official.namespace)
    assert _dutch().dispatch(sniff) == label
    assert _lost(_dutch(), label, path) == []


def test_every_dutch_message_has_an_official_schema_or_is_known_to_have_none() -> None:
    labels = {Path(file).name.partition("_")[0] for file in OFFICIAL_DUTCH}
    assert labels | NOT_PUBLIC | OUTLINED == set(_dutch().types) - {"SOAP"}
    assert not labels & NOT_PUBLIC


@pytest.mark.parametrize("label", sorted(OUTLINED))
def test_every_leaf_of_an_outlined_message_of_edsn_is_in_the_ledger(label: str, shared: Path) -> None:
    with (shared / "markets/nl/found_2026/OUTLINE.csv").open(newline="", encoding="utf-8") as lines:
        paths = {row["path"].partition("/")[2] for row in csv.DictReader(lines) if f"/{label}_" in row["xsd"]}
    inner = {path.rpartition("/")[0] for path in paths}
    official = {path for path in paths - inner if "/" in path}
    assert official
    known = {"/".join(leaf) for leaf, _ in _document(_dutch(), label).root.leaves()}
    assert official - known == set()


@pytest.mark.parametrize("label", ["SOAP-1.1", "SOAP-1.2"])
def test_every_leaf_of_the_official_fault_is_carried(label: str, shared: Path) -> None:
    (official,) = documents_of(shared / "markets/nl/xsd_p4/SOAPFault_1p0.xsd")
    found = entries(_dutch(), _document(_dutch(), label), [])
    carried = {one.path.rpartition("/")[2] for one in found if "SOAPFault/" in one.path and one.outcome == "carried"}
    assert carried == {"/".join(leaf) for leaf, _ in official.root.leaves()}


@pytest.mark.parametrize(
    "name", ["MeterReadingExchangeResponse.xml", "MasterDataUpdateResponse_two_points_two_mutations.xml"]
)
def test_every_leaf_of_a_sample_of_edsn_is_in_the_ledger(name: str, shared: Path) -> None:
    """Of messages whose schema is not public the structure of a real one is."""
    sample = etree.parse(shared / "markets/nl/found_2026/samples" / name).getroot()[-1][0]
    label = etree.QName(sample).localname.removesuffix("Envelope")
    declared = {"/".join(leaf) for leaf, _ in _document(_dutch(), label).root.leaves()}
    tree = sample.getroottree()
    borne = {
        re.sub(r"\[[0-9]+\]|\{[^}]*\}", "", tree.getelementpath(one)).partition(f"{label}Envelope/")[2]
        for one in sample.iter(etree.Element)
        if not len(one)
    }
    assert len(borne) > 15
    assert borne <= declared


def test_a_document_of_every_leaf_that_edsn_sends_is_known_to_our_schemas() -> None:
    """No leaf of the ledger is one that the reading schema would leave out and note."""
    for document in _ledger(_dutch()).documents:
        values = {
            leaf: next((given[0] for path, given in document.values.items() if matches(path, "/".join(leaf))), "1")
            for leaf, _ in document.root.leaves()
        }
        content = (document.write or write_xml)(document, values)
        found = [one for one in _dutch().digest(document.type, BytesIO(content), "m") if isinstance(one, Transaction)]
        assert found
        assert [note.path for one in found for note in one.notes if note.code == "NOTE_ELEMENT_UNKNOWN"] == []


def test_what_a_person_knows_of_dutch_messages_is_what_is_measured() -> None:
    """By hand, from EDSN's definitions."""
    reasons = read_reasons(_ledger(_dutch()).reasons)
    point = "Portaal_Content/Portaal_MeteringPoint"
    found = _outcomes(entries(_dutch(), _document(_dutch(), "MasterDataUpdateResponse"), reasons))
    assert "AccessPointData.profile" in found[f"{point}/MPPhysicalCharacteristics/ProfileCategory"].fields
    assert "PointRelations.relations.access_point" in found[f"{point}/MeteringPointGroup/SAP/EANID"].fields
    assert found[f"{point}/MPPhysicalCharacteristics/MaxConsumption"].outcome == "particular"
    found = _outcomes(entries(_dutch(), _document(_dutch(), "MoveInResponse"), reasons))
    rejection = "Portaal_Content/Portaal_Rejection"
    assert "RequestAnswer.reasons.code" in found[f"{rejection}/Rejection/RejectionCode"].fields
    assert "RequestAnswer.grid_operator" in found[f"{rejection}/Portaal_MeteringPoint/GridOperator_Company/ID"].fields
    assert found[f"{point}/MPCommercialCharacteristics/BalanceSupplier_Company/ID"].outcome == "left-out"


def _lost(adapter: Adapter, label: str, file: Path) -> list[str]:
    """The leaves of a schema that the ledger does not know."""
    document = _document(adapter, label)
    known = _outcomes(entries(adapter, document, read_reasons(_ledger(adapter).reasons)))
    official = next(one.root for one in documents_of(file) if one.root.name == document.root.name)
    paths = ["/".join(leaf) for leaf, _ in official.leaves()]
    assert len(paths) > 10
    open_ones = [one[: -len("*")] for one in known if one.endswith("/*")]
    return [path for path in paths if path not in known and not path.startswith(tuple(open_ones))]


@pytest.mark.parametrize("part", ["Acheminement", "Prestations", "Option", "Frais_Divers"])
def test_a_line_of_an_f12_is_carried_whatever_it_bills(part: str) -> None:
    """Services, options and sundries are billed beside the use of the grid: Enedis' schema has all four."""
    found = measured(_french(), _document(_french(), "F12-detail"))
    assert "GridCharge.lines.amount" in found["Sous_Lot", "Element_Valorise", part, "Montant_HT"]


@pytest.mark.thorough
def test_the_command_counts_and_shows() -> None:
    shown = CliRunner().invoke(cli.app, ["adapter", "coverage", "fr", "--json", "--leaves"])
    assert shown.exit_code == 0, shown.output
    told = {one["document"]: one for one in json.loads(shown.stdout)}
    curve = told["R50"]
    assert curve["leaves"] == len(curve["each"]) == 16
    assert curve["carried"] + curve["particular"] + curve["left-out"] == 16
    by_path = {one["path"]: one for one in curve["each"]}
    assert by_path["PRM/Id_PRM"]["fields"] == ["MeasureSeries.access_point", "MeasureSeries.reference"]
    counted = CliRunner().invoke(cli.app, ["adapter", "coverage", "fr"])
    assert f"FR\tR50\t16\t{curve['carried']}\t{curve['particular']}\t{curve['left-out']}\t0" in counted.stdout


def test_a_market_that_is_not_installed_is_told() -> None:
    shown = CliRunner().invoke(cli.app, ["adapter", "coverage", "qq"])
    assert shown.exit_code != 0


def test_a_field_is_looked_for_where_the_market_writes_it() -> None:
    """R151: Indice_Vraisemblance tells that an index is doubtful; EDSN: PhysicalStatus tells the connection status."""

    def carriers(market: str, label: str, field: str) -> frozenset[str]:
        adapter: object = installed_adapters()[market]
        assert isinstance(adapter, Carrying)
        return adapter.carriers(label, field)

    assert carriers("FR", "R151", "MeterReading.registers.doubtful") == {"Indice_Vraisemblance"}
    assert "PhysicalStatus" in carriers("NL", "MasterDataResponse", "AccessPointData.connection_status")
    assert carriers("FR", "R63", "MeasureSeries.positions.doubtful") == {"iv"}
    assert carriers("FR", "none", "MeterReading.registers") == set()
