"""R64 and R67: JSON in pieces, naive times, energies that are taken back."""

from __future__ import annotations

import io
import json
from typing import IO, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.common import jsonform
from adapters.common.codes import Unreadable
from adapters.common.conformance.subject import read
from adapters.fr_enedis import adapter, ondemand
from energycomm.kernel.messages import MeteredVolume, MeterReading
from tests.adapters.french import codes, content, digest, only


class Dripping(io.RawIOBase):
    """A stream that gives few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data, self._size = io.BytesIO(data), size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._data.read(self._size)


def pieces(data: bytes, size: int = 1 << 16) -> list[Any]:
    """The pieces of a document that comes in drips."""
    parts = jsonform.split(cast("IO[bytes]", Dripping(data, size)), [("mesures",)])
    return [found for path, found in parts if path == ("mesures",)]


def test_all_indexes_of_an_instant_make_one_reading() -> None:
    [transaction] = digest("r64_indexes.json").transactions
    readings = only(transaction, MeterReading)
    assert [reading.effective.isoformat() for reading in readings] == [
        "2026-02-20T00:00:00+01:00",
        "2026-02-21T00:00:00+01:00",
    ]
    assert [register.value for register in readings[1].registers] == [208120, 101640, 0, 0, 309760]
    assert readings[0].request_reference == "60000404"


def test_the_time_of_writing_is_that_of_the_name_else_the_end_of_the_period() -> None:
    data = content("r64_indexes.json")
    named = read(adapter, data, "ENEDIS_R64_P_INDEX_1_20260223120000.json").transactions[0]
    assert only(named, MeterReading)[0].created.isoformat() == "2026-02-23T12:00:00+01:00"
    plain = read(adapter, data, "r64.json").transactions[0]
    assert only(plain, MeterReading)[0].created.isoformat() == "2026-02-22T00:00:00+01:00"
    assert named.identity == plain.identity


def test_a_doubtful_index_is_marked() -> None:
    [transaction] = digest("r64_indexes.json", ('"iv": 0', '"iv": 1')).transactions
    assert [register.doubtful for register in only(transaction, MeterReading)[0].registers][:2] == [True, False]


def test_a_reading_bears_how_it_was_taken_and_the_index_of_the_total() -> None:
    [transaction] = digest(
        "r64_indexes.json", ('"typeReleve": "AQ",', '"typeReleve": "AQ", "motifReleve": "Essai",')
    ).transactions
    borne = [{one.name: one.value for one in reading.particulars} for reading in only(transaction, MeterReading)]
    assert borne[0]["contexteReleve"] == "COL"
    assert (borne[0]["typeReleve"], borne[0]["motifReleve"]) == ("AQ", "Essai")
    assert borne[0]["DI000003/HPH/codeCadran"] == "IDX_EAS_D4"
    totals = json.loads(content("r64_indexes.json"))["mesures"][0]["contexte"][0]["grandeur"][0]["cadranTotalisateur"]
    assert [one["cadranTotalisateur/IDX_EAS_T"] for one in borne] == [value["v"] for value in totals["valeur"]]


def test_an_index_of_which_no_doubt_is_told_is_read() -> None:
    """Enedis' schema allows null, which says nothing: neither that the index is doubted nor that it is not."""
    [transaction] = digest("r64_indexes.json", ('"iv": 0', '"iv": null')).transactions
    assert [register.doubtful for register in only(transaction, MeterReading)[0].registers][:2] == [None, False]


def test_an_energy_without_codes_is_read_by_their_words() -> None:
    """Enedis' schema needs the words and not the codes."""
    document = json.loads(content("r67_energies.json"))
    grandeur = document[0]["mesures"][0]["contexte"][0]["grandeur"][0]
    for calendar in grandeur["calendrier"]:
        del calendar["codeCalendrier"], calendar["codeGrille"]
        for time_class in calendar["classeTemporelle"]:
            for amount in time_class["quantite"]:
                del amount["codeNature"], amount["codeStatut"]
                amount.update(libelleNature="Estimé", libelleStatut="Rectificatif")
    [transaction] = read(adapter, json.dumps(document).encode(), "r67.json").transactions
    first, _ = only(transaction, MeteredVolume)
    assert (first.nature, first.function, first.calendar) == ("estimated", "replace", None)
    assert {volume.grid for volume in first.volumes} == {"distributor", "supplier"}
    assert codes(transaction) == []


def test_a_volume_bears_when_its_energies_were_made() -> None:
    first, second = only(digest("r67_energies.json").transactions[0], MeteredVolume)
    assert {one.name: one.value for one in first.particulars} == {
        "etapeMetier": "FACT",
        "dateCreation": "2026-02-01 05:03:10",
        "codeCalendrier": "FC000202",  # of the supplier; that of the distributor is a field
    }
    assert {one.name: one.value for one in second.particulars}["dateCreation"] == "2026-02-10 05:03:10"


def test_an_energy_that_is_taken_back_is_a_regularisation() -> None:
    [transaction] = digest("r67_energies.json").transactions
    first, second = only(transaction, MeteredVolume)
    assert (first.nature, second.nature) == ("measured", "regularised")
    assert [int(volume.quantity) for volume in second.volumes] == [-12000, -5000, -12000, -5000]
    assert (second.start, second.effective.isoformat()) == (first.effective, "2026-02-10T00:00:00+01:00")


def test_a_corrected_energy_names_the_one_it_replaces() -> None:
    text = content("r67_energies.json").decode().replace('"codeStatut": "I"', '"codeStatut": "R"').encode()
    volume = only(read(adapter, text, "r67.json").transactions[0], MeteredVolume)[0]
    original = only(digest("r67_energies.json").transactions[0], MeteredVolume)[0]
    assert (volume.function, volume.correlation) == ("replace", original.reading_reference)


def test_an_unknown_nature_is_carried_and_noted() -> None:
    edits = ('"codeNature": "R"', '"codeNature": "Z"'), ('"libelleNature": "Réel"', '"libelleNature": "Zélé"')
    [transaction] = digest("r67_energies.json", *edits).transactions
    assert codes(transaction) == ["NOTE_CODE_UNKNOWN"]


def test_a_nature_whose_letter_is_unknown_is_that_of_its_label() -> None:
    edits = ('"codeNature": "R"', '"codeNature": "Z"'), ('"libelleNature": "Réel"', '"libelleNature": "REGULARISE"')
    [transaction] = digest("r67_energies.json", *edits).transactions
    assert "regularised" in {volume.nature for volume in only(transaction, MeteredVolume)}
    assert codes(transaction) == []


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (('"v": 201350', '"v": "many"'), "SYN_VALUE"),
        (('"d": "2026-02-20 00:00:00"', '"d": "2026-02-30 00:00:00"'), "SYN_VALUE"),
        (('"idPrm": "99000000000404",', ""), "SYN_MISSING"),
        (('"libelleGrille": "Distributeur"', '"libelleGrille": "Autre"'), None),
    ],
)
def test_a_bad_piece_is_refused_with_the_place(edit: tuple[str, str], code: str | None) -> None:
    [transaction] = digest("r64_indexes.json", edit).transactions
    assert [refused.code for refused in transaction.refusals] == ([code] if code else [])
    assert all(refused.path.startswith("mesures") for refused in transaction.refusals)


def test_one_bad_point_harms_no_other() -> None:
    document = json.loads(content("r64_indexes.json"))
    document["mesures"].insert(0, {"idPrm": 7})
    found = read(adapter, json.dumps(document).encode(), "r64.json")
    assert [bool(transaction.refusals) for transaction in found.transactions] == [True, False]


def test_measures_before_the_header_wait_for_it() -> None:
    """Members of a JSON object have no order."""
    document = json.loads(content("r64_indexes.json"))
    turned = {"mesures": document["mesures"], "header": document["header"]}
    found = read(adapter, json.dumps(turned).encode(), "r64.json")
    assert found == read(adapter, json.dumps(document).encode(), "r64.json")
    assert found.transactions


def test_measures_without_a_header_and_more_of_them_than_memory_holds_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = json.loads(content("r64_indexes.json"))
    alone = read(adapter, json.dumps({"mesures": document["mesures"]}).encode(), "r64.json", "R6X")
    assert (alone.refusal and alone.refusal.code, alone.transactions) == ("HEADER_MISSING", [])
    monkeypatch.setattr(ondemand, "MAX_PIECE", 500_000)
    many = {"mesures": document["mesures"] * 500, "header": document["header"]}
    found = read(adapter, json.dumps(many).encode(), "r64.json", "R6X")
    assert found.refusal is not None
    assert found.refusal.code == "HEADER_MISSING"
    assert "before" in (found.refusal.expected or "")


@pytest.mark.parametrize("cut", [1, 40, 400, 2000, -2])
def test_a_truncated_document_ends_in_a_refusal(cut: int) -> None:
    found = read(adapter, content("r64_indexes.json")[:cut], "r64.json", "R6X")
    assert found.refusal is not None
    assert found.refusal.code == "JSON_TRUNCATED"


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.thorough
@given(measures=st.lists(_json, max_size=5), size=st.integers(1, 40), indent=st.sampled_from([None, 1]))
@settings(max_examples=80, deadline=None)
def test_pieces_are_the_same_however_the_bytes_arrive(measures: list[Any], size: int, indent: int | None) -> None:
    document = {"header": {"codeFlux": "R64"}, "mesures": measures, "fin": 12}
    for whole in (document, [document, document]):
        data = json.dumps(whole, indent=indent, ensure_ascii=False).encode("utf-8")
        assert pieces(data, size) == measures * (1 if whole is document else 2)


@pytest.mark.parametrize(
    "data", [b"{]", b'{"a": NaN}', b'{"a": 1} x', b'{"mesures": [1 2]}', b"[{}", b'{"a"', b"[" * 9000]
)
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable) as broken:
        pieces(data)
    assert broken.value.refusal.code in ("JSON_SYNTAX", "JSON_TRUNCATED", "JSON_LIMIT")
