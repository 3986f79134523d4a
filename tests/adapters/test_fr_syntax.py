"""What the French adapter says of content that it cannot read, and what it overlooks with a note."""

from __future__ import annotations

from io import BytesIO

import pytest

from adapters.common.conformance.subject import read, sniff
from adapters.fr_enedis import adapter, ondemand
from adapters.fr_enedis import codes as documented
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Sniff
from tests.adapters.french import codes, content, digest

ENTRIES = "c15_entries.xml"


def test_every_error_is_listed_with_path_value_and_what_was_expected() -> None:
    refused = digest("c15_mistakes.xml").transactions[1].refusals
    assert [(found.code, found.path, found.value) for found in refused] == [
        ("SYN_VALUE", "/PRM/Jour_Fixe_Releve", "premier"),
        ("SYN_VALUE", "/PRM/Evenement_Declencheur/Date_Evenement", "2026-02-30T00:00:00+01:00"),
    ]
    assert "date-time" in refused[1].expected
    assert all(found.advice for found in refused)


def test_errors_behind_a_misplaced_element_are_found_too() -> None:
    found = digest(
        ENTRIES,
        ("<Segment_Clientele>C5</Segment_Clientele>", "<Segment_Clientele>C5</Segment_Clientele><Valeur>1</Valeur>"),
        ("<Jour_Fixe_Releve>1<", "<Jour_Fixe_Releve>x<"),
        ("<Valeur>12340<", "<Valeur>12 340<"),
    ).transactions[0]
    assert sorted(refused.code for refused in found.refusals) == ["SYN_UNEXPECTED", "SYN_VALUE", "SYN_VALUE"]


@pytest.mark.parametrize(
    ("edit", "code", "path"),
    [
        (("<Id_PRM>99000000000101</Id_PRM>", ""), "SYN_MISSING", "/PRM"),
        (("<Id_PRM>99000000000101</Id_PRM>", "<Id_PRM/>"), "SYN_VALUE", "/PRM/Id_PRM"),
        (
            ("<Type_Evenement>CONTRAT<", "<Type_Evenement>FETE<"),
            "SYN_CODE",
            "/PRM/Evenement_Declencheur/Type_Evenement",
        ),
        (("<Type_Evenement>CONTRAT</Type_Evenement>", ""), "SYN_MISSING", "PRM/Evenement_Declencheur/Type_Evenement"),
        (
            ("<Date_Evenement>2026-01-05T00:00:00+01:00</Date_Evenement>", ""),
            "SYN_MISSING",
            "PRM/Evenement_Declencheur/Date_Evenement",
        ),
        (
            ("<Date_Evenement>2026-01-05T", "<Date_Evenement>0026-01-05T"),
            "SYN_VALUE",
            "PRM/Evenement_Declencheur/Date_Evenement",
        ),
        (
            ("<Type_Evenement>CONTRAT</Type_Evenement>", "<Type_Evenement>CONTRAT</Type_Evenement>" * 2),
            "SYN_UNEXPECTED",
            "Evenement_Declencheur/Type_Evenement",
        ),
    ],
)
def test_a_refusal_says_where_and_why(edit: tuple[str, str], code: str, path: str) -> None:
    found = digest(ENTRIES, edit)
    refused = found.transactions[0].refusals
    assert [(one.code, one.path) for one in refused] == [(code, path)]
    assert all(transaction.messages for transaction in found.transactions[1:])


def test_unknown_elements_and_attributes_are_noted_and_overlooked() -> None:
    plain = digest(ENTRIES).transactions[0]
    found = digest(
        ENTRIES,
        ("<Segment_Clientele>", "<Nouveaute><a>1</a></Nouveaute><Segment_Clientele>"),
        ("<Type_Evenement>", '<Annonce>2</Annonce><Type_Evenement source="x">'),
    ).transactions[0]
    assert found.messages == plain.messages
    assert codes(found) == ["NOTE_ELEMENT_UNKNOWN"] * 3
    assert {note.path for note in found.notes} == {
        "/PRM/Nouveaute",
        "/PRM/Evenement_Declencheur/Annonce",
        "/PRM/Evenement_Declencheur/Type_Evenement/@source",
    }


@pytest.mark.parametrize(
    ("edit", "path"),
    [
        (("<Identifiant_Emetteur>17XGRIDFICTIF01X</Identifiant_Emetteur>", ""), "En_Tete_Flux/Identifiant_Emetteur"),
        (("<Date_Creation>2026", "<Date_Creation>le 2026"), "En_Tete_Flux/Date_Creation"),
        (
            ("<Identifiant_Destinataire>", "<Identifiant_Destinataire>" + "9" * 60),
            "En_Tete_Flux/Identifiant_Destinataire",
        ),
    ],
)
def test_a_header_that_cannot_be_read_ends_the_member(edit: tuple[str, str], path: str) -> None:
    found = digest(ENTRIES, edit)
    assert found.refusal is not None
    assert found.refusal.code == "HEADER_INVALID"
    assert found.refusal.path == f"{ENTRIES}: {path}"
    assert found.transactions == []


def test_head_data_beside_the_header_that_no_message_could_hold_end_the_member() -> None:
    found = digest("r151_daily.xml", ("<Unite_Mesure_Index>Wh", "<Unite_Mesure_Index>" + "x" * 65))
    assert found.refusal is not None
    assert (found.refusal.code, found.transactions) == ("HEADER_INVALID", [])


def test_a_header_that_names_another_flux_is_noted() -> None:
    found = digest(ENTRIES, ("<Identifiant_Flux>C15<", "<Identifiant_Flux>R15<"))
    assert found.head is not None
    assert (found.head.type, [note.code for note in found.head.notes]) == ("C15", ["NOTE_TYPE_DECLARED"])


def test_a_member_under_the_wrong_label_is_refused() -> None:
    found = read(adapter, content("r15_periodic.xml"), label="C15")
    assert found.refusal is not None
    assert found.refusal.code == "ROOT_UNEXPECTED"


def test_a_doctype_is_refused_before_anything_is_read() -> None:
    hostile = content(ENTRIES).replace(b"<C15>", b'<!DOCTYPE C15 [<!ENTITY a "CFNE">]><C15>', 1)
    found = read(adapter, hostile, label="C15")
    assert found.refusal is not None
    assert found.refusal.code == "XML_DOCTYPE"
    assert found.head is None


def test_a_message_inside_a_message_is_refused() -> None:
    found = digest(ENTRIES, ("<Segment_Clientele>", "<PRM><Id_PRM>1</Id_PRM></PRM><Segment_Clientele>"))
    assert found.transactions[0].refusals
    assert all(transaction.messages for transaction in found.transactions[1:])


def test_a_member_without_messages_gives_its_head_alone() -> None:
    text = content("r151_daily.xml").decode()
    empty = text[: text.index("<PRM>")] + "</R151>"
    found = read(adapter, empty.encode())
    assert found.head is not None
    assert (found.head.type, found.transactions, found.refusal) == ("R151", [], None)


def test_a_fault_of_a_digester_is_refused_and_harms_no_neighbour(monkeypatch: pytest.MonkeyPatch) -> None:
    from adapters.fr_enedis import c15

    def fail(*_: object) -> None:
        raise KeyError("Etat_Contractuel")

    monkeypatch.setattr(c15, "_installation", fail)
    found = digest("c15_exit.xml")
    assert [codes(transaction) for transaction in found.transactions] == [[], ["DIGEST_FAILED"]]


def test_unread_fluxes_are_told_from_strangers() -> None:
    unread = (
        Sniff("any.xml", "xml", "Recapitulatif", None),
        Sniff("ENEDIS_R50_17X_1_00001_20260101000000.xml", "xml", "R50_whatever", None),
    )
    for member in unread:
        refused = adapter.dispatch(member)
        assert isinstance(refused, Refusal)
        assert refused.code == "TYPE_UNKNOWN"


def test_codes_are_documented_once_with_meaning_and_advice() -> None:
    names = [row.code for row in documented.CODES]
    assert len(set(names)) == len(names)
    assert all(row.meaning and row.advice for row in documented.CODES)


def _explain(name: str, position: int, *edits: tuple[str, str]) -> list[tuple[str, str, str | None]]:
    whole = content(name, *edits)
    label = adapter.dispatch(sniff(name, whole))
    assert isinstance(label, str)
    return [(found.code, found.path, found.value) for found in adapter.explain(label, BytesIO(whole), name, position)]


def test_a_person_is_told_every_schema_error_of_one_message() -> None:
    assert _explain("c15_mistakes.xml", 2) == [
        ("SYN_VALUE", "/PRM/Jour_Fixe_Releve", "premier"),
        ("SYN_VALUE", "/PRM/Evenement_Declencheur/Date_Evenement", "2026-02-30T00:00:00+01:00"),
    ]


def test_a_good_message_needs_no_explanation() -> None:
    assert _explain("c15_mistakes.xml", 1) == []
    assert _explain("c15_mistakes.xml", 99) == []


def test_an_explanation_tells_unknown_missing_and_unexpected_elements_and_codes() -> None:
    found = _explain(
        ENTRIES,
        1,
        ("<Segment_Clientele>C5</Segment_Clientele>", "<Nouveaute>1</Nouveaute>"),
        ("<Type_Evenement>CONTRAT", "<Type_Evenement>FETE"),
        ("<Mode_Alimentation>MONO", "<Mode_Alimentation>DUO"),
    )
    assert {code for code, _, _ in found} == {"NOTE_ELEMENT_UNKNOWN", "SYN_MISSING", "SYN_CODE"}
    assert ("SYN_CODE", "/PRM/Alimentation/Mode_Alimentation", "DUO") in found


def test_what_only_the_digester_misses_is_explained_too() -> None:
    edit = ("<Type_Evenement>CONTRAT</Type_Evenement>", "")
    assert _explain(ENTRIES, 1, edit) == [("SYN_MISSING", "PRM/Evenement_Declencheur/Type_Evenement", None)]


def test_a_milestone_is_explained_by_its_affaire() -> None:
    found = _explain("x12_day_1.xml", 2, ("<num>2</num>", "<num>two</num>"))
    assert [(code, value) for code, _, value in found] == [("SYN_VALUE", "two")]


def test_white_space_around_values_is_none_of_them() -> None:
    edits = (
        ("<Date_Evenement>2026-01-05T00:00:00+01:00<", "<Date_Evenement>\n 2026-01-05T00:00:00+01:00 \n<"),
        ("<Valeur>12340<", "<Valeur> 12340\t<"),
    )
    plain, spaced = digest(ENTRIES).transactions[0], digest(ENTRIES, *edits).transactions[0]
    assert spaced.refusals == ()
    assert spaced.messages == plain.messages


@pytest.mark.parametrize("name", ["r63_curve.json", "ENEDIS_R65_P_Energie_M0000AB7_00001_20260305120000.csv"])
def test_another_encoding_is_named(name: str) -> None:
    found = read(adapter, content(name).decode().encode("utf-16"), name, label=_label(name)).refusal
    assert found is not None
    assert (found.value, "UTF-8" in str(found.expected)) == ("UTF-16", True)


@pytest.mark.parametrize("separator", ["\t", ","])
def test_a_table_that_a_spreadsheet_has_written_is_read(separator: str) -> None:
    name = "ENEDIS_R65_P_Energie_M0000AB7_00001_20260305120000.csv"
    original = content(name)
    other = read(adapter, original.replace(b";", separator.encode()), name)
    assert [one.messages for one in other.transactions] == [
        one.messages for one in read(adapter, original, name).transactions
    ]


def test_a_key_with_two_values_is_refused_and_one_with_the_same_twice_is_read() -> None:
    whole = content("r64_indexes.json").decode()
    point = whole[whole.index('"idPrm"') :].partition(",")[0]
    for more, code in ((point, None), ('"idPrm": "99000000000909"', "JSON_SYNTAX")):
        found = read(adapter, whole.replace(point, f"{point}, {more}", 1).encode(), "r64_indexes.json").refusal
        assert (found and found.code) == code


def _label(name: str) -> str:
    return ondemand.TABLE if name.endswith(".csv") else ondemand.LABEL
