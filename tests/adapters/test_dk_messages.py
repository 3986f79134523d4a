"""Messages made of the hub's own schemas: what is valid by them is digested whole, what they forbid is refused with a
code of the hub beside ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapters.common.conformance.subject import read, sniff
from adapters.dk_energinet import adapter
from adapters.dk_energinet.codes import hub_code
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from tests.adapters.danish import LABELS, PERIODS, Schema, Wanted, message, schemas, spoiled

WANTED = (
    Wanted(),
    *(Wanted(full=True, pieces=number, resolution=step, turn=number) for number, step in enumerate(PERIODS, start=1)),
    *(Wanted(full=True, turn=turn) for turn in range(5, 40)),
)
"""The smallest message, those of several transactions and of every resolution, and with every code of the lists."""
OF_ONE = ("Acknowledgement", "DK_Acknowledgement")
"""Documents that are one CH message."""
NO_ID, LONG_ID, NO_PIECE_ID, LONG_PIECE_ID = "00201", "00305", "00202", "00205"
RECEIVER, VERSION, TYPE, SCHEMA, TWIN = "00303", "00301", "00401", "00302", "00102"
each_document = pytest.mark.parametrize("label", LABELS)


def _digested(content: bytes, name: str) -> tuple[list[Refusal], list[KernelMessage], list[str]]:
    """Refusals, messages, and codes of notes."""
    label = adapter.dispatch(sniff(name, content))
    if isinstance(label, Refusal):
        return [label], [], []
    found = read(adapter, content, name, label)
    refusals = [found.refusal] if found.refusal else []
    for one in found.transactions:
        refusals += one.refusals
    messages = [one for transaction in found.transactions for one in transaction.messages]
    return refusals, messages, [note.code for one in found.transactions for note in one.notes]


def _made(schema: Schema, wanted: Wanted) -> bytes:
    made = message(schema.declared, wanted)
    return made.xml() if schema.form == "xml" else made.json()


def _valid(schema: Schema, content: bytes) -> bool:
    try:
        schema.check(content)
    except Exception:
        return False
    return True


@each_document
def test_what_is_valid_by_the_hubs_schema_is_digested(label: str, shared: Path) -> None:
    for schema in schemas(shared, label):
        for wanted in WANTED:
            content = _made(schema, wanted)
            schema.check(content)
            refusals, messages, notes = _digested(content, f"message.{schema.form}")
            assert refusals == [], wanted
            assert len(messages) >= (1 if label in OF_ONE else wanted.pieces)
            assert set(notes) <= {"NOTE_CODE_UNKNOWN"}


@pytest.mark.thorough
@each_document
def test_what_the_hubs_schema_forbids_is_refused(label: str, shared: Path) -> None:
    for schema in schemas(shared, label):
        content = _made(schema, Wanted(full=True, resolution="P1M"))
        taken = []
        for what, wrong in spoiled(content):
            if _valid(schema, wrong):
                continue
            refusals, _, _ = _digested(wrong, f"message.{schema.form}")
            if not refusals:
                taken.append(what)
            assert all(hub_code(one) for one in refusals), (what, refusals)
        assert taken == []


# --- by class ---------------------------------------------------------------------------------------------------------


def _measures(shared: Path, form: str) -> str:
    schema = next(one for one in schemas(shared, "NotifyValidatedMeasureData") if one.form == form)
    return _made(schema, Wanted(full=True, pieces=2, resolution="P1M")).decode()


def _refused(content: bytes, name: str = "message.xml") -> list[tuple[str, str | None]]:
    refusals, _, _ = _digested(content, name)
    for one in refusals:
        assert f"The hub itself refuses this with {hub_code(one)}." in one.advice
    return [(one.code, (hub_code(one) or "").partition(" ")[0]) for one in refusals]


OF_XML = {
    "a version that nobody knows": ("data:0:1", "data:9:9", [("VERSION_UNKNOWN", VERSION)]),
    "a namespace of somebody else": ("urn:ediel.org:", "urn:example:", [("VERSION_UNKNOWN", VERSION)]),
    "an unknown document of the hub": ("NotifyValidated", "NotifyStrange", [("TYPE_UNKNOWN", TYPE)]),
    "the type of another document": (">E66<", ">E31<", [("TYPE_DECLARED", TYPE)]),
    "an empty receiver": (">5790000432752<", "><", [("HEADER_INVALID", RECEIVER)]),
    "a coding scheme that is none": ('codingScheme="A10">5790001330552', 'codingScheme="A1">5790001330552', None),
    "a declaration of a document type": ("<cim:Notify", "<!DOCTYPE x><cim:Notify", None),
    "a document that is cut": ("</cim:NotifyValidatedMeasureData_MarketDocument>", "", None),
    "an entity": ("<cim:type>E66", "<cim:type>&strange;E66", None),
}
"""What -> its text, what stands there instead, and what the hub says: that it forbids it by its schema, for None."""


@pytest.mark.parametrize("what", OF_XML)
def test_what_is_wrong_in_a_document_of_xml_has_its_class(what: str, shared: Path) -> None:
    right, wrong, expected = OF_XML[what]
    content = _measures(shared, "xml")
    assert right in content
    found = _refused(content.replace(right, wrong).encode())
    assert found
    assert expected is None or found == expected
    assert expected is not None or {code for _, code in found} == {SCHEMA}


def test_identifiers_have_codes_of_their_own(shared: Path) -> None:
    """Of the document (00201, 00305) and of its transactions (00202, 00205, twins 00102): each is refused by itself."""
    content = json.loads(_measures(shared, "json"))
    (document,) = content.values()
    first, second = document["Series"]

    def found() -> list[tuple[str, str | None]]:
        return _refused(json.dumps(content).encode(), "message.json")

    document["mRID"], kept = "", document["mRID"]
    assert found() == [("HEADER_INVALID", NO_ID)]
    document["mRID"] = "x" * 37
    assert found() == [("HEADER_INVALID", LONG_ID)]
    del document["mRID"]
    assert found() == [("HEADER_MISSING", NO_ID)]
    document["mRID"] = kept
    second["mRID"], own = first["mRID"], second["mRID"]
    assert found() == [("TRANSACTION_REPEATED", TWIN)]
    second["mRID"] = "x" * 37
    assert found() == [("SYN_VALUE", LONG_PIECE_ID)]
    second["mRID"] = ""
    assert found() == [("SYN_MISSING", NO_PIECE_ID)]
    second["mRID"] = own
    assert found() == []


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (b"{}", "message.json", ("TYPE_NOT_OURS", SCHEMA)),
        (b'{"StrangeThing_MarketDocument": {}}', "message.json", ("TYPE_UNKNOWN", TYPE)),
        (b'<DK_NotifyMasterDataCharge xmlns="un:unece:260:data:EEM-DK_NotifyMasterDataCharge:v3"/>', "m.xml",
         ("TYPE_UNKNOWN", TYPE)),
        (b'{"NotifyValidatedMeasureData_MarketDocument": {"mRID": "1", "mRID": "2"}}', "m.json",
         ("JSON_SYNTAX", SCHEMA)),
        (b'{"NotifyValidatedMeasureData_MarketDocument": {"Series": ' + b"[" * 300, "m.json", None),
        (b'{"NotifyValidatedMeasureData_MarketDocument": ', "m.json", ("JSON_TRUNCATED", SCHEMA)),
    ],
)  # fmt: skip
def test_what_is_no_message_at_all_has_its_class(content: bytes, name: str, expected: tuple[str, str] | None) -> None:
    (found,) = _refused(content, name)
    assert found == expected or (expected is None and found[1] == SCHEMA)


def test_a_form_under_the_name_of_another_is_said_to_be_that(shared: Path) -> None:
    assert _refused(_measures(shared, "json").encode(), "message.xml") == [("FORM_UNEXPECTED", SCHEMA)]
    assert _refused(_measures(shared, "xml").encode(), "message.json") == [("FORM_UNEXPECTED", SCHEMA)]


def test_the_same_content_in_another_writing_is_the_same(shared: Path) -> None:
    """A byte order mark, UTF-16, no prefix, comments, CDATA, a place of the schema: all of them say the same."""
    content = _measures(shared, "xml")
    _, told, _ = _digested(content.encode(), "message.xml")
    assert told
    head, root = content.split("\n", 1)
    place = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="urn:x x.xsd" xmlns:cim='
    others = (
        b"\xef\xbb\xbf" + content.encode(),
        ('<?xml version="1.0" encoding="UTF-16"?>' + root).encode("utf-16"),
        content.replace("<cim:", "<").replace("</cim:", "</").replace("xmlns:cim=", "xmlns=").encode(),
        content.replace("<cim:Series>", "<!-- one --><cim:Series><!-- two -->").encode(),
        content.replace(">E66<", "><![CDATA[E66]]><").encode(),
        content.replace("xmlns:cim=", place).encode(),
        root.encode(),
    )
    assert head.startswith("<?xml")
    for other in others:
        refusals, messages, notes = _digested(other, "message.xml")
        assert (refusals, notes) == ([], [])
        assert messages == told


def test_keys_of_json_have_no_order(shared: Path) -> None:
    """A part of the header that may be missing counts behind the transactions too."""
    content = json.loads(_measures(shared, "json"))
    ((root, document),) = content.items()
    _, told, _ = _digested(json.dumps(content).encode(), "message.json")
    turned = {root: dict(reversed(document.items()))}
    assert next(iter(turned[root])) == "Series"
    refusals, messages, notes = _digested(json.dumps(turned).encode(), "message.json")
    assert (refusals, notes) == ([], [])
    assert messages == told
    assert all(one.energy == "electricity" for one in messages)
