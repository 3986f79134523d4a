"""What was refused, and never digested, is found by its bytes: in any usual encoding, zipped, encrypted for us."""

from __future__ import annotations

import io
import zipfile

import pytest

from energycomm.eis.archive import archive, open_raw
from energycomm.erasure.erasing import carry_out
from energycomm.erasure.redaction import Whose, redacted
from energycomm.erasure.traces import Traces
from energycomm.kernel.personal import PersonalValue
from energycomm.transport.keys import Key, KeyRing
from tests.eis.rows import NOW
from tests.erasure.left import OTHER, PRM, means, mine
from tests.pipeline.desk import Desk
from tests.zips import encrypt

KEY = bytes(range(32))
RING = KeyRing([Key("new", "aes-256-iv-in-file", KEY)])

BROKEN = f"<C15><PRM>{PRM}</PRM><Nom>Quinquengrogne</Nom><Voie>Impasse du Canari</Voie><Tel>+33 7 99 11 12 22</Tel>"
SEGMENTS = f"UNB+UNOC:3'LOC+172+{PRM}'NAD+IT+++QUINQUENGROGNE'COM+0033799111222:TE'NAD+X+++Impasse du Canari'"
"""A document that ends in the middle: nobody digests it."""
LEFT = ("quinquengrogne", "canari", "11 12 22")


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.xml", content)
    return buffer.getvalue()


def closed(clear: bytes) -> bytes:
    return encrypt(clear, KEY, bytes(range(16)), iv_in_file=True)


FORMS = {
    "utf-8": BROKEN.encode(),
    "latin-1": BROKEN.encode("latin-1"),
    "utf-16 with a mark": BROKEN.encode("utf-16"),
    "utf-16 without": BROKEN.encode("utf-16-le"),
    "utf-16, the great end first": BROKEN.encode("utf-16-be"),
    "zip": zipped(BROKEN.encode()),
    "encrypted zip": closed(zipped(BROKEN.encode())),
    "encrypted, no zip in it": closed(BROKEN.encode()),
    "segments": SEGMENTS.encode(),
    "no access point in it": b"Mail of Aldegonde Quinquengrogne, Impasse du Canari, 07-99-11-12-22",
}


def clear(content: bytes) -> str:
    """A content as anybody reads it who has the key."""
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            content = file.read(file.namelist()[0])
    return content.replace(b"\x00", b"").decode("latin-1").lower()


@pytest.mark.parametrize("form", sorted(FORMS))
def test_an_envelope_that_failed_loses_the_customer(desk: Desk, form: str) -> None:
    content = FORMS[form]
    with desk.store.transaction() as tx:
        number = archive(tx, "x", io.BytesIO(content), "directory", NOW).envelope_id
        tx.driver.run("UPDATE envelope SET state = 'failed' WHERE id = ?", (number,))
        ((sha256,),) = tx.driver.rows("SELECT sha256 FROM envelope WHERE id = ?", (number,))
    carry_out(means(desk, keys=RING), mine(desk))
    with open_raw(desk.database, bytes(sha256)) as raw:
        left = clear(raw.read())
    assert [word for word in LEFT if word in left] == []
    assert "***" in left


WHO = Traces(
    [
        PersonalValue("surname", "name", "Quinquengrogne"),
        PersonalValue("first_name", "name", "Aldegonde"),
        PersonalValue("phone", "contact", "0799111222"),
    ]
)
WHOSE = Whose(WHO, frozenset((PRM,)), frozenset((OTHER,)))
THEIRS = f"<S><PRM>{OTHER}</PRM><C><Nom>Quinquengrogne</Nom><Prenom>Aldegonde</Prenom><Tel>0799111222</Tel></C></S>"
"""Of another point, where somebody of the same name lives: or the same person, who is customer there."""


def test_a_transaction_without_an_access_point_stands_by_itself() -> None:
    """It was refused for that; the neighbours' stay byte by byte."""
    alone = "<S><PRM/><C><Nom>Quinquengrogne</Nom><Prenom>Aldegonde</Prenom><Tel>0799111222</Tel></C></S>"
    namesake = "<S><PRM/><C><Nom>Quinquengrogne</Nom><Prenom>Anne</Prenom></C></S>"
    clean = redacted(f"<All>{THEIRS}{alone}{namesake}</All>".encode(), WHOSE).decode()
    assert clean.startswith(f"<All>{THEIRS}<S>")
    assert clean.endswith(f"{namesake}</All>")
    assert "***" in clean
    assert clean.count("Aldegonde") == clean.count("0799111222") == 1


def test_an_item_of_a_list_without_an_access_point_stands_by_itself() -> None:
    theirs = f'{{"prm": "{OTHER}", "client": {{"nom": "Quinquengrogne", "tel": "0799111222"}}}}'
    alone = '{"prm": "", "client": {"nom": "Quinquengrogne", "tel": "0799111222"}}'
    clean = redacted(f"[{theirs}, {alone}]".encode(), WHOSE).decode()
    assert clean.startswith(f"[{theirs}, {{")
    assert clean.count("Quinquengrogne") == clean.count("0799111222") == 1


def test_a_record_whose_point_stands_deeper_is_its_own() -> None:
    """The part with the name and the part with the point are of one record: no record of their own."""
    theirs = f"<S><Point><PRM>{OTHER}</PRM></Point><C><Nom>Quinquengrogne</Nom><Tel>0799111222</Tel></C></S>"
    xml = f"<All>{theirs}</All>".encode()
    assert redacted(xml, WHOSE) == xml
