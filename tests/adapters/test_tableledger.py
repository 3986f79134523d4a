"""The ledger of a market that a table describes: nothing has to be written for it but the table."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from adapters.common.coverage import Entry, entries, faults
from adapters.common.table import read_table
from adapters.common.tableadapter import TableAdapter

FICTIVE = Path(__file__).resolve().parents[2] / "fixtures" / "fictive" / "ruritania"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of Ruritania's table and schemas."""
    for path in (FICTIVE / "table.yaml", *FICTIVE.glob("*.xsd")):
        shutil.copy(path, tmp_path)
    return tmp_path


def adapter_of(package: Path, old: str = "", new: str = "") -> TableAdapter:
    table = package / "table.yaml"
    if old:
        assert old in table.read_text()
        table.write_text(table.read_text().replace(old, new, 1))
    return TableAdapter(read_table(table))


def outcomes(adapter: TableAdapter, label: str) -> dict[str, Entry]:
    ledger = adapter.ledger()
    document = next(one for one in ledger.documents if one.label == label)
    return {one.path: one for one in entries(adapter, document, ledger.reasoned())}


def test_what_a_person_reads_in_the_table_is_what_is_measured(package: Path) -> None:
    adapter = adapter_of(package)
    found = outcomes(adapter, "Dispatch")
    assert len(found) == 20
    assert found["Head/To"].fields[-2:] == ("StartOfSupply.receiver", "StartOfSupply.supplier")
    assert found["Reading/Index"].fields == ("MeterReading.registers.value",)
    assert found["Begin/Why"].fields == ("StartOfSupply.reason",)
    assert found["Reading/Remark"] == Entry(
        "Reading/Remark", "left-out", (), "words of the postman that no rule or person needs"
    )
    assert faults(adapter, adapter.ledger()) == []


def test_a_leaf_that_the_table_does_not_know_is_missing(package: Path) -> None:
    adapter = adapter_of(package, "          Contract: [contract_reference, key, needed]\n", "")
    assert outcomes(adapter, "Dispatch")["Begin/Contract"].outcome == "missing"
    assert faults(adapter, adapter.ledger()) == [
        "Dispatch: Begin/Contract is neither carried nor left out with a reason"
    ]


def test_a_leaf_that_only_goes_into_a_particular_is_one(package: Path) -> None:
    adapter = adapter_of(
        package, "Remark: [left-out, words of the postman that no rule or person needs]", "Remark: [particular]"
    )
    assert outcomes(adapter, "Dispatch")["Reading/Remark"].outcome == "particular"


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("Remark: [left-out, nobody cares]", "Dispatch: Reading/Remark: 'nobody cares' is no sentence"),
        (
            "Remark: [left-out, words of the postman that nobody needs]\n"
            "          Rumour: [left-out, words that the schema does not have at all]",
            "Dispatch: Reading/Rumour leaves nothing out",
        ),
    ],
)
def test_a_reason_is_a_sentence_and_leaves_something_out(package: Path, new: str, said: str) -> None:
    adapter = adapter_of(package, "Remark: [left-out, words of the postman that no rule or person needs]", new)
    assert faults(adapter, adapter.ledger()) == [said]


def test_an_element_that_is_left_out_takes_what_is_below_with_it(package: Path) -> None:
    schema = package / "dispatch.xsd"
    opening = '<xs:element name="Notes" minOccurs="0"><xs:complexType><xs:sequence>'
    closing = "</xs:sequence></xs:complexType></xs:element>"
    leaves = '<xs:element name="First" type="xs:string"/><xs:element name="Last" type="xs:string"/>'
    notes = opening + leaves + closing
    text = schema.read_text()
    remark = text.index('<xs:element name="Remark"')
    end = text.index("/>", remark) + 2
    schema.write_text(text[:end] + notes + text[end:])
    told = "          Notes: [left-out, notes of the postman to himself]\n"
    adapter = adapter_of(package, "          Remark: [left-out", told + "          Remark: [left-out")
    found = outcomes(adapter, "Dispatch")
    assert {found[path].reason for path in ("Reading/Notes/First", "Reading/Notes/Last")} == {
        "notes of the postman to himself"
    }
    assert faults(adapter, adapter.ledger()) == []


def test_a_code_list_of_one_code_is_carried_where_every_other_is_refused(package: Path) -> None:
    adapter = adapter_of(package, "nature: {seen: read, guessed: estimated}", "nature: {seen: read}")
    assert outcomes(adapter, "Dispatch")["Reading/Nature"].fields == ("one value alone is taken",)
    open_one = adapter_of(package, "codes:\n", "open: [nature]\ncodes:\n")
    assert outcomes(open_one, "Dispatch")["Reading/Nature"].outcome != "missing"


def test_a_document_without_a_schema_is_unknown(package: Path) -> None:
    adapter = adapter_of(package, "    schema: dispatch.xsd\n", "")
    ledger = adapter.ledger()
    assert ([one.label for one in ledger.documents], list(ledger.unknown)) == (["Plea", "Reply"], ["Dispatch"])


def test_a_json_schema_tells_leaves_too(package: Path) -> None:
    said = {
        "type": "object",
        "properties": {
            "Notice": {
                "type": "object",
                "required": ["sender", "at", "Item"],
                "properties": {
                    "sender": {"type": "string"},
                    "at": {"type": "string", "format": "date-time"},
                    "Item": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": {
                                    "type": "object",
                                    "properties": {"value": {"type": "string"}, "scheme": {"type": "string"}},
                                },
                                "day": {"type": "string", "format": "date"},
                                "power": {"type": "number"},
                                "colour": {"type": "string"},
                            },
                        },
                    },
                },
            }
        },
    }
    (package / "notice.json").write_text(json.dumps(said))
    (package / "table.yaml").write_text(
        """
market: QQ
zone: Europe/Prague
entry: {market_type: Notice, event: Item}
exit: {market_type: Notice, event: Item}
documents:
  Notice:
    about: notices
    form: json
    root: Notice
    versions: {"1": null}
    schema: notice.json
    header:
      sender: [sender, needed]
      at: [created, instant, needed]
    pieces:
      Item:
        makes: ContractTerms
        leaves:
          id: [reference access_point, needed]
          id@scheme: [left-out, the same scheme for all points]
          day: [effective, day, needed]
          power: [subscribed_power, number]
"""
    )
    adapter = adapter_of(package)
    found = outcomes(adapter, "Notice")
    assert {path: one.outcome for path, one in found.items()} == {
        "sender": "carried",
        "at": "carried",
        "Item/id": "carried",
        "Item/id/@scheme": "left-out",
        "Item/day": "carried",
        "Item/power": "carried",
        "Item/colour": "missing",
    }
    assert found["Item/power"].fields == ("ContractTerms.subscribed_power",)
