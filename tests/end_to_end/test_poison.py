"""Files with one value that Kernel XML, a column or a driver cannot hold, beside good ones, as operators meet them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from energycomm.eis.database import opened, writing
from tests.end_to_end.conftest import Place

Places = Callable[..., Place]
FIXTURES = Path(__file__).parents[2] / "fixtures"
GOOD = FIXTURES / "fr/r15_periodic.xml"

POISON: dict[str, tuple[str, bytes, bytes, str, str]] = {
    "decimals": (
        "fr/c15_entries.xml",
        b">6.0</Puissance_Souscrite",
        b">0.00000000000000000001</Puissance_Souscrite",
        "KERNEL_XML_VALUE",
        "subscribedPower",
    ),
    "version": ("fr/c15_entries.xml", b"<Version_XSD>", b"<Version_XSD>" + b"9" * 50, "HEAD_VALUE", "declared_version"),
    "control": ("fr/r64_indexes.json", b'"Wh"', b'"W\\u0001h"', "KERNEL_XML_VALUE", "unit"),
    "half a character": ("fr/r64_indexes.json", b'"Wh"', b'"W\\ud800h"', "SYN_VALUE", "unite"),
    "substitute": ("be/utilmd_start_and_data.edi", b"UNOC:3+", b"UNOC:3+\x1a", "KERNEL_XML_VALUE", "sender"),
    "long sender": ("be/utilmd_start_and_data.edi", b"UNOC:3+", b"UNOC:3+" + b"9" * 60, "HEAD_VALUE", "sender"),
}
"""What is wrong -> fixture, what is replaced, by what, the code it gets, and what its place names."""


def poisoned(folder: Path, what: str) -> Path:
    """A fixture with one wrong value."""
    source, old, new, _, _ = POISON[what]
    content = (FIXTURES / source).read_bytes()
    assert old in content
    path = folder / f"poison-{Path(source).name}"
    path.write_bytes(content.replace(old, new))
    return path


@pytest.mark.parametrize("what", POISON)
def test_one_value_refuses_its_message_and_stops_nothing(
    place: Places, database_url: str, tmp_path: Path, what: str
) -> None:
    """Exit code 2 with code, field, value and what was expected; its neighbour is judged; the next run is quiet."""
    here = place(database_url)
    folder = tmp_path / "inbox"
    folder.mkdir()
    path = poisoned(folder, what)
    shutil.copy(GOOD, folder)
    answer = here.process(folder)
    assert answer.code == 2
    told = [one for one in answer.json["refusals"] if one["code"] == POISON[what][3]]
    assert told
    assert {one["file"] for one in told} == {path.name}
    assert all(POISON[what][4] in one["path"] and one["value"] and one["expected"] for one in told)
    assert here.rows(f"SELECT state FROM envelope WHERE name = '{GOOD.name}'") == [("done",)]
    assert here.rows(
        "SELECT count(*) FROM incident WHERE code IN ('CH_PUT_ASIDE', 'ENV_PUT_ASIDE', 'ADAPTER_FAULT')"
    ) == [(0,)]
    assert here.rows("SELECT count(*) FROM envelope WHERE state IN ('archived', 'processing')") == [(0,)]
    again = here.process(folder)
    assert again.json["kernel_messages"] == {}
    shown = here("process", str(folder))
    assert "Traceback" not in shown.out + shown.err


def test_the_files_of_the_attack_are_refused_or_judged(
    place: Places, database_url: str, shared: Path, tmp_path: Path
) -> None:
    """They stopped all intake, run after run."""
    here = place(database_url)
    files = sorted((shared / "findings/poison").iterdir())
    assert files
    for path in files:
        shutil.copy(path, tmp_path)
        answer = here.process(tmp_path / path.name)
        assert answer.code in (0, 1, 2), path.name
        assert answer.json["kernel_messages"] or answer.json["refusals"] or answer.json["ch_messages"]
    assert here.process(GOOD).code in (0, 1)
    put_aside = "SELECT count(*) FROM incident WHERE code IN ('CH_PUT_ASIDE', 'ENV_PUT_ASIDE')"
    assert here.rows(put_aside) == [(0,)]


def test_an_envelope_is_taken_out_of_the_way_and_tried_again_by_hand(place: Places, database_url: str) -> None:
    here = place(database_url)
    here.process(GOOD)
    done = here("envelope", "put-aside", "1")
    assert done.code == 3
    assert GOOD.name in done.err
    assert here("envelope", "retry", "1").code == 3
    assert here("envelope", "retry", "99").code == 3
    with opened(here.url) as engine, writing(engine) as connection:
        connection.exec_driver_sql("UPDATE envelope SET state = 'archived' WHERE id = 1")
    aside = here("envelope", "put-aside", "1", "--why", "kills the worker")
    assert (aside.code, aside.out) == (0, f"envelope 1 ({GOOD.name}) is put aside\n")
    assert here.rows("SELECT code, value FROM incident WHERE code = 'ENV_PUT_ASIDE'") == [
        ("ENV_PUT_ASIDE", "kills the worker")
    ]
    again = here("envelope", "retry", "1")
    assert again.code == 0
    assert again.out.endswith("it is done\n")


NAMES = (b"\xff\xfe-odd.xml", b"a\nb.xml", b"a\x1b[31mred.xml", "é".encode() * 120 + b".xml", b"=1+1.xml", b"%s{0}.xml")


def test_no_name_of_a_file_stops_the_intake(place: Places, database_url: str, tmp_path: Path) -> None:
    """Names that are no text, hold control characters or look like something else are kept with escapes."""
    here = place(database_url)
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    for number, name in enumerate(NAMES):
        (inbox / os.fsdecode(name)).write_bytes(GOOD.read_bytes() + b" " * number)
    answer = here.process(inbox)
    assert answer.json["envelopes"]["taken_in"] == len(NAMES)
    assert answer.json["envelopes"]["unreadable"] == 0
    kept = {name for (name,) in here.rows("SELECT name FROM envelope")}
    assert len(kept) == len(NAMES)
    assert all(name.isprintable() for name in kept)
    listed = here("envelope", "list")
    assert listed.code == 0
    assert "\x1b" not in listed.out
