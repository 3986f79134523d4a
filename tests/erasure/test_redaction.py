"""One customer is taken out of a file of any form; what others are told of stays, byte by byte."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from energycomm.erasure.redaction import Whose, readable, redacted
from energycomm.erasure.traces import Traces
from energycomm.kernel.personal import PersonalValue
from energycomm.transport.keys import Key, KeyRing
from tests.zips import encrypt

OWN, OTHER = "99000000000017", "99000000000025"
VALUES = (
    PersonalValue("surname", "name", "Éloi & Fils"),
    PersonalValue("first_name", "name", "Zoë"),
    PersonalValue("phone", "contact", "0612345678"),
    PersonalValue("email", "contact", "zoe@example.org"),
    PersonalValue("address.street", "contact", "12 rue du Four"),
)
TRACES = Traces(VALUES)
WHOSE = Whose(TRACES, frozenset((OWN,)), frozenset((OTHER,)), frozenset(("Holder",)))

RECORD = """<n:Point born="{born}">
  <Id>{point}</Id><Holder><Name>{name}</Name><Born>{born}</Born></Holder>
  <Contact><Phone>{phone}</Phone><Note>kept of nobody</Note></Contact><Index>{index}</Index>
</n:Point>"""


def record(point: str, name: str, born: str, phone: str, index: int) -> str:
    return RECORD.format(point=point, name=name, born=born, phone=phone, index=index)


def document(*records: str, encoding: str = "utf-8") -> bytes:
    head = f'<?xml version="1.0" encoding="{encoding}"?>\n<n:All xmlns:n="urn:x">'
    return (head + "\n".join(records) + "</n:All>").encode(encoding)


MINE = record(OWN, "Éloi &amp; Fils", "1970-01-02", "06 12 34 56 78", 1234)
THEIRS = record(OTHER, "Éloi &amp; Fils", "1970-01-02", "0612345678", 4321)


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "utf-16"])
def test_xml_loses_the_record_of_one_and_keeps_that_of_a_namesake(encoding: str) -> None:
    """A name that both bear is taken out of the record of the one alone."""
    clean = redacted(document(MINE, THEIRS, encoding=encoding), WHOSE).decode(encoding)
    if encoding != "utf-16":  # is read line by line: what stands in the same line as another point is left alone
        assert THEIRS in clean
        before = clean[: clean.index(THEIRS)]
        assert f"<Id>{OWN}</Id>" in before
        assert "<Index>1234</Index>" in before
        assert all(word not in before for word in ("Éloi", "1970-01-02</Born>", "06 12"))
    else:
        assert "06 12 34 56 78" not in clean


def test_attributes_are_values_too() -> None:
    own = f'<m accessPoint="{OWN}" surname="Zoë" phone=\'+33612345678\' index="7"/>'
    xml = f'<all>{own}<m accessPoint="{OTHER}" surname="Zoë"/></all>'
    clean = redacted(xml.encode(), WHOSE).decode()
    assert clean.count("Zoë") == 1
    assert f'accessPoint="{OTHER}" surname="Zoë"' in clean
    assert 'index="7"' in clean
    assert "612345678" not in clean  # with the country


def test_what_names_nobody_is_the_same_bytes() -> None:
    xml = document(THEIRS)
    assert redacted(xml, Whose(TRACES, frozenset((OWN,)), frozenset((OTHER,)))) is xml
    assert redacted(b"\x00\xff\x80 binary", WHOSE) == b"\x00\xff\x80 binary"


def test_a_document_type_opens_no_entity_and_loses_the_words() -> None:
    xml = f'<!DOCTYPE a [<!ENTITY x "y">]>\n<a>\n<Id>{OWN}</Id>\n<N>zoe@example.org</N>\n</a>'.encode()
    assert b"zoe@" not in redacted(xml, WHOSE)


def test_json_lines_and_tables() -> None:
    rows = [{"point": OWN, "who": {"mail": "ZOE@example.org"}, "index": 5}, {"point": OTHER, "mail": "zoe@example.org"}]
    clean = json.loads(redacted(json.dumps(rows).encode(), WHOSE))
    assert clean == [{"point": OWN, "who": {"mail": "***"}, "index": 5}, rows[1]]
    lines = "\n".join(json.dumps(row) for row in rows).encode()
    assert [json.loads(line) for line in redacted(lines, WHOSE).splitlines()] == clean
    table = f"PRM;Nom;Index\n{OWN};Zoë;12\n{OTHER};Zoë;13\n".encode()
    assert redacted(table, WHOSE).decode() == f"PRM;Nom;Index\n{OWN};***;12\n{OTHER};Zoë;13\n"


def test_edifact_is_of_the_point_before() -> None:
    text = f"UNB+UNOC'LOC+172+{OWN}'NAD+IT+++ZOË'QTY+1:5'LOC+172+{OTHER}'NAD+IT+++ZOË'QTY+1:6'"
    assert redacted(text.encode(), WHOSE).decode() == text.replace("ZOË", "***", 1)
    split = f"UNB+UNOC'LOC+172+{OWN}'NAD+UD+++Éloi &:Fils''NAD+IT++++Caf?'s Place:1'".replace("&", "?&")
    assert redacted(split.encode(), WHOSE).decode() == split.replace("Éloi ?&:Fils", "***")


def test_zips_inside_zips_are_made_anew_with_the_other_files_as_they_were() -> None:
    def zipped(parts: dict[str, bytes]) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in parts.items():
                file.writestr(name, content)
        return buffer.getvalue()

    other = document(THEIRS)
    clean = redacted(zipped({"a.xml": other, "in.zip": zipped({"b.xml": document(MINE), "c.xml": other})}), WHOSE)
    with zipfile.ZipFile(io.BytesIO(clean)) as opened:
        assert opened.namelist() == ["a.xml", "in.zip"]
        assert opened.read("a.xml") == other
        with zipfile.ZipFile(io.BytesIO(opened.read("in.zip"))) as inner:
            assert inner.read("c.xml") == other
            assert "Éloi" not in inner.read("b.xml").decode()
    damaged = clean[: len(clean) // 2]
    assert redacted(damaged, WHOSE) == damaged


def test_an_encrypted_zip_is_kept_in_clear_without_the_customer_and_told_where_its_key_is_gone() -> None:
    ring = KeyRing([Key("new", "aes-256-iv-in-file", bytes(range(32)))])
    clear = io.BytesIO()
    with zipfile.ZipFile(clear, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("b.xml", document(MINE, THEIRS))
    closed = encrypt(clear.getvalue(), bytes(range(32)), bytes(range(16)), iv_in_file=True)
    assert readable(closed, ring)
    assert not readable(closed, KeyRing())
    with zipfile.ZipFile(io.BytesIO(redacted(closed, WHOSE, ring))) as opened:
        assert opened.read("b.xml") == redacted(document(MINE, THEIRS), WHOSE)
    nobody = Whose(Traces([]), frozenset((OWN,)))
    assert redacted(closed, nobody, ring) is closed


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Call Zoë on 06.12.34.56.78.", "Call *** on ***."),
        ("zoe", "***"),  # without accents
        ("Azoë stays", "Azoë stays"),
        ("0612345678999", "0612345678999"),
        ('{"name": "\\u00c9loi & Fils"}', '{"name": "***"}'),
        ("<n>Éloi &amp; Fils</n>", "<n>***</n>"),
        ("12  RUE du\nfour", "***"),
        ("?mail=zoe%40example.org&x=1", "?mail=***&x=1"),
    ],
)
def test_words_are_found_in_any_usual_writing(text: str, clean: str) -> None:
    assert TRACES.scrub(text) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("of Aldegonde Quinquengrogne, in person", "of ***, in person"),
        ("Quinquengrogne Marie", "***"),  # a part of the first names
        ("Marie-Louise Quinquengrogne and Anne", "*** and Anne"),
        ("Anne-Marie Quinquengrogne", "Anne-***"),
        ("Marie came", "Marie came"),  # nothing else tells of the customer
        ("Quinquengrogne\tMarie;Aldegonde", "***\tMarie;***"),  # columns stay columns
        ("Maries Quinquengrogne", "Maries ***"),
    ],
)
def test_a_name_of_which_a_part_is_found_leaves_no_other_part_beside_it(text: str, clean: str) -> None:
    values = [
        PersonalValue("first_name", "name", "Aldegonde"),
        PersonalValue("second_name", "name", "Marie Louise"),
        PersonalValue("surname", "name", "Quinquengrogne"),
    ]
    once = Traces(values).scrub(text)
    assert once == clean
    assert Traces([*values, PersonalValue("name", "name", "*** ***")]).scrub(once) == clean


def test_a_single_name_is_no_proof_in_a_text_about_anybody() -> None:
    assert TRACES.scrub_surely("Zoë asked") == "Zoë asked"
    assert TRACES.scrub_surely("Zoë asked, Éloi & Fils too") == "*** asked, *** too"
    assert TRACES.scrub_surely("of zoe@example.org") == "of ***"


def test_what_belongs_to_the_installation_is_not_looked_for() -> None:
    traces = Traces(VALUES, kept=("12 Rue du Four",))
    assert traces.scrub("12 rue du Four, Zoë") == "12 rue du Four, ***"
