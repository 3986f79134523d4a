"""What is packed inside of documents, or spelt otherwise, is searched and written anew, whoever's it is."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zlib
from collections.abc import Callable
from urllib.parse import quote

import pytest

from energycomm.eis import tables
from energycomm.eis.archive import archive, open_raw
from energycomm.erasure.erasing import carry_out
from energycomm.erasure.redaction import Whose, redacted
from energycomm.erasure.traces import Traces
from energycomm.erasure.wiping import wipe_files
from energycomm.kernel.personal import PersonalValue
from tests.eis.rows import NOW, put
from tests.erasure.left import OTHER, PRM, means, mine, zipped
from tests.erasure.searching import on_disk, values
from tests.erasure.spellings import everything, spelt_in
from tests.pipeline.desk import Desk

NAME, MAIL = "Quinquengrogne", "aldegonde@example.org"
WORDS = [NAME.lower(), MAIL]
TRACES = Traces(
    [
        PersonalValue("surname", "name", NAME),
        PersonalValue("first_name", "name", "Aldegonde"),
        PersonalValue("email", "contact", MAIL),
    ]
)
WHOSE = Whose(TRACES, frozenset((PRM,)), frozenset((OTHER,)))


def told(point: str) -> bytes:
    return f"<Client><PRM>{point}</PRM><Nom>{NAME}</Nom><Mail>{MAIL}</Mail></Client>".encode()


def in_lines(text: str, between: str = "\n") -> str:
    return between.join(text[start : start + 64] for start in range(0, len(text), 64))


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


PACKINGS: dict[str, Callable[[bytes], str]] = {
    "base64": encoded,
    "base64 of the web": lambda content: base64.urlsafe_b64encode(content).decode().rstrip("="),
    "base64 in lines": lambda content: in_lines(encoded(content)),
    "base64 in lines that XML writes": lambda content: in_lines(encoded(content), "&#13;&#10;"),
    "base64 behind other signs": lambda content: f"data:text/xml;base64,{encoded(content)}",
    "gzip": lambda content: encoded(gzip.compress(content)),
    "zlib": lambda content: encoded(zlib.compress(content)),
    "zip": lambda content: encoded(zipped({"a.xml": content})),
    "base64 of base64": lambda content: encoded(encoded(content).encode()),
    "gzip of base64 in XML": lambda content: encoded(gzip.compress(b"<a>" + encoded(content).encode() + b"</a>")),
    "UTF-16": lambda content: encoded(content.decode().encode("utf-16-le")),
}
CARRIERS: dict[str, Callable[[str], str]] = {
    "XML": lambda text: f"<All><Doc>{text}</Doc></All>",
    "attribute": lambda text: f'<All><Doc content="{text}"/></All>',
    "JSON": lambda text: json.dumps({"documents": [{"content": text}]}),
    "lines": lambda text: f"Content-Transfer-Encoding: base64\n\n{text}\n",
}


@pytest.mark.parametrize("carrier", sorted(CARRIERS))
@pytest.mark.parametrize("packing", sorted(PACKINGS))
def test_a_packed_document_loses_the_customer_and_keeps_its_packing(packing: str, carrier: str) -> None:
    before = CARRIERS[carrier](PACKINGS[packing](told(PRM))).encode()
    assert NAME.encode() in everything(before).replace(b"\x00", b"")
    after = redacted(before, WHOSE)
    left = everything(after)
    assert spelt_in(left, WORDS) == []
    left = left.replace(b"\x00", b"")
    assert PRM.encode() in left
    assert b"***" in left


@pytest.mark.parametrize("packing", sorted(PACKINGS))
def test_a_packed_document_of_a_namesake_stays_byte_by_byte(packing: str) -> None:
    theirs = PACKINGS[packing](told(OTHER))
    clean = redacted(f"<All><Doc>{PACKINGS[packing](told(PRM))}</Doc><Doc>{theirs}</Doc></All>".encode(), WHOSE)
    assert clean.endswith(f"<Doc>{theirs}</Doc></All>".encode())
    assert redacted(f"<All><Doc>{theirs}</Doc></All>".encode(), WHOSE) == f"<All><Doc>{theirs}</Doc></All>".encode()


REFERENCES = "".join(f"&#{ord(sign)};" for sign in NAME)
ESCAPES = "".join(f"\\u{ord(sign):04x}" for sign in NAME)
PERCENTS = "".join(f"%{ord(sign):02X}" for sign in NAME)


@pytest.mark.parametrize("written", [REFERENCES, PERCENTS, encoded(NAME.encode()), encoded(f"of {MAIL}".encode())])
def test_a_value_that_is_spelt_otherwise_is_taken_out_of_the_own_record_alone(written: str) -> None:
    own, other = (f"<S><PRM>{point}</PRM><Nom>{written}</Nom></S>" for point in (PRM, OTHER))
    assert redacted(f"<All>{own}{other}</All>".encode(), WHOSE).decode() == (
        f"<All><S><PRM>{PRM}</PRM><Nom>***</Nom></S>{other}</All>"
    )


def test_json_and_lines_in_other_spellings() -> None:
    own, other = (f'{{"prm": "{point}", "nom": "{ESCAPES}"}}' for point in (PRM, OTHER))
    assert json.loads(redacted(f"[{own}, {other}]".encode(), WHOSE)) == [
        {"prm": PRM, "nom": "***"},
        {"prm": OTHER, "nom": NAME},
    ]
    lines = f"PRM;Nom;Index\n{PRM};{PERCENTS};1\n{OTHER};{PERCENTS};2\n"
    assert redacted(lines.encode(), WHOSE).decode() == f"PRM;Nom;Index\n{PRM};***;1\n{OTHER};{PERCENTS};2\n"
    broken = f"<C15><PRM>{PRM}</PRM><Nom>{REFERENCES}</Nom>"
    assert redacted(broken.encode(), WHOSE).decode() == f"<C15><PRM>{PRM}</PRM><Nom>***</Nom>"


def test_a_file_that_is_gzip_itself_and_a_comment() -> None:
    packed = gzip.compress(told(PRM))
    assert NAME.encode() not in gzip.decompress(redacted(packed, WHOSE))
    commented = f"<All><S><PRM>{PRM}</PRM><!-- {NAME} called --></S><S><PRM>{OTHER}</PRM></S></All>"
    assert NAME not in redacted(commented.encode(), WHOSE).decode()


def test_words_that_look_like_base64_stay() -> None:
    other = "<All><S><Ref>ENEDIS_R151_20260101/ABCDEFGHIJKLMNOP-0123456789</Ref></S></All>"
    own = f"<All><PRM>{PRM}</PRM><Nom>{NAME}</Nom><Ref>QUJDREVGR0hJSktMTU5PUA==</Ref><Id>17A100A100A0001A</Id></All>"
    assert redacted(other.encode(), WHOSE) == other.encode()
    assert redacted(own.encode(), WHOSE).decode() == own.replace(NAME, "***")


def test_a_bomb_is_left_as_it_is() -> None:
    """Nothing is opened beyond a bound, however small it looks."""
    bomb = gzip.compress(gzip.compress(b"\x00" * 30_000_000))
    assert redacted(bomb, WHOSE) == bomb


@pytest.mark.thorough
def test_a_byte_search_in_every_spelling_finds_nothing_of_an_erased_customer(desk: Desk) -> None:
    """Envelopes of channels that were refused, texts of the store; then the files of the database."""
    contents = [CARRIERS[carrier](pack(told(PRM))).encode() for carrier in CARRIERS for pack in PACKINGS.values()]
    contents += [f"<C15><PRM>{PRM}</PRM><Nom>{REFERENCES}</Nom>".encode()]
    contents += [f'{{"prm": "{PRM}", "nom": "{ESCAPES}"'.encode(), f"{PRM} {PERCENTS} {quote(MAIL)}".encode()]
    contents += [zipped({"a.xml": contents[0]}), gzip.compress(contents[1])]
    with desk.store.transaction() as tx:
        numbers = [archive(tx, f"x{n}", io.BytesIO(one), "as4", NOW).envelope_id for n, one in enumerate(contents)]
        tx.driver.many("UPDATE envelope SET state = 'failed' WHERE id = ?", [(number,) for number in numbers])
        hashes = [bytes(row[0]) for row in tx.driver.matching("SELECT sha256 FROM envelope WHERE true", numbers, "id")]
        text = f"{encoded(told(PRM))} {PERCENTS} {REFERENCES} {ESCAPES}"
        sql = "UPDATE outbox SET last_error = ? WHERE last_error LIKE ?"  # the one of the customer's message
        tx.driver.run(sql, (text, "Mme%"))
        put(tx, tables.note, {"at": NOW, "by": "anna", "text": f"{encoded(told(PRM))} {quote(MAIL, safe='')}"})
    assert any(spelt_in(everything(content), WORDS) for _, content in values(desk.database))
    carry_out(means(desk), mine(desk))
    wipe_files(desk.store, NOW)
    held = {place for place, content in values(desk.database) if spelt_in(everything(content), WORDS)}
    assert held == set()
    for sha256 in hashes:
        with open_raw(desk.database, sha256) as raw:
            content = raw.read()
        assert spelt_in(everything(content), WORDS) == []
    assert on_disk(desk.database, WORDS) == []
