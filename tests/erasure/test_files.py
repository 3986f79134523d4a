"""Files outside of the store: what channels keep is written anew, what is out of reach is told."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from energycomm.erasure import erasing
from tests.end_to_end.conftest import Place
from tests.erasure.left import MOREL, MOREL_POINT, WHY, ended
from tests.erasure.searching import inside

SETTINGS = """
[[channels]]
name = "enedis"
market = "FR"
direction = "in"
kind = "folder"
path = "drop"

[[channels]]
name = "away"
market = "FR"
direction = "out"
kind = "folder"
path = "out"
sends = ["*"]

[retention]
copies_days = 30
"""

NAMESAKE = b"<a><PRM>99000000000994</PRM><Nom>MOREL</Nom></a>"


@pytest.fixture
def kept(french: Place) -> Place:
    """Files in the folders of a channel: the envelope of the store, one that nobody could read, one of a namesake."""
    (french.folder / "energycomm.toml").write_text(SETTINGS)
    for name in ("done", "failed", "duplicate"):
        (french.folder / "drop" / name).mkdir(parents=True)
    (french.folder / "out").mkdir()
    drop = french.folder / "drop"
    (drop / "done" / "FR_C15.zip").write_bytes((french.folder / "inbox" / "FR_C15.zip").read_bytes())
    broken = f"<C15>\n<PRM>{MOREL_POINT}</PRM>\n<Nom>MOREL</Nom><Mail>x</Tel>0600000101</Tel>\n".encode("latin-1")
    (drop / "failed" / "broken.xml").write_bytes(broken)
    (drop / "failed" / "broken.xml.reason").write_text("not well-formed beside Camille Morel\n")
    (drop / "failed" / "namesake.xml").write_bytes(NAMESAKE)
    spool = french.folder / "spool" / "server" / "failed"
    spool.mkdir(parents=True)
    (spool / "late.csv").write_text(f"{MOREL_POINT};Morel;Camille\n99000000000994;Morel;Anne\n")
    (drop / "waits.xml").write_text(f"<a><PRM>{MOREL_POINT}</PRM><Nom>Morel</Nom></a>")
    ended(french)
    return french


def words_in(path: Path) -> set[str]:
    text = b" ".join(inside(path.read_bytes())).decode("latin-1").lower()
    return {word for word in MOREL if word in text}


def test_what_channels_keep_is_written_anew_and_the_rest_is_told(kept: Place) -> None:
    drop = kept.folder / "drop"
    kept_files = [drop / "done" / "FR_C15.zip", drop / "failed" / "broken.xml", drop / "failed" / "broken.xml.reason"]
    assert words_in(kept_files[0]) == set(MOREL)
    before = zipfile.ZipFile(io.BytesIO(kept_files[0].read_bytes())).namelist()
    planned = kept("customer", "erase", MOREL_POINT).out
    assert "files 4" in " ".join(planned.split())
    assert words_in(kept_files[0]) == set(MOREL)
    done = kept("customer", "erase", MOREL_POINT, *WHY, "--yes")
    assert done.code == 0, done.err
    assert [(path.name, words_in(path)) for path in kept_files if words_in(path)] == []
    late = (kept.folder / "spool" / "server" / "failed" / "late.csv").read_text()
    assert late == f"{MOREL_POINT};***;***\n99000000000994;Morel;Anne\n"
    # Of others nothing was touched, nor what is not in the store yet.
    assert (drop / "failed" / "namesake.xml").read_bytes() == NAMESAKE
    assert "Morel" in (drop / "waits.xml").read_text()
    assert zipfile.ZipFile(io.BytesIO(kept_files[0].read_bytes())).namelist() == before
    assert kept_files[0].stat().st_mode & 0o077 == 0
    found = kept("customer", "evidence", 1).json
    assert found["counts"]["files"] == 4
    (told,) = [one for one in found["runs"][0]["kept"] if one["what"].startswith("copies of before")]
    assert len(told["until"]) == 10


def test_a_file_that_cannot_be_written_is_waited_for_with_the_words_to_look_for(
    kept: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The messages are done last: without them nobody would know what to look for."""

    def full(path: Path, content: bytes) -> None:
        raise OSError(28, os.strerror(28), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(erasing, "replace", full)
        kept("customer", "erase", MOREL_POINT, *WHY, "--yes")
    found = kept("customer", "evidence", 1).json
    assert found["done_at"] is None
    assert set(found["waits"].values()) == {"it cannot be written: No space left on device"}
    assert kept.rows("SELECT name FROM customer WHERE name <> '***' AND name IS NOT NULL") != []
    assert kept("customer", "erasures", "--again").code == 0
    assert kept("customer", "evidence", 1).json["done_at"] is not None
    assert words_in(kept.folder / "drop" / "done" / "FR_C15.zip") == set()


def test_the_same_file_that_comes_again_is_cleaned_where_the_channel_keeps_it(kept: Place) -> None:
    assert kept("customer", "erase", MOREL_POINT, *WHY, "--yes").code == 0
    again = kept.folder / "drop" / "duplicate" / "again.zip"
    again.write_bytes((kept.folder / "inbox" / "FR_C15.zip").read_bytes())
    assert words_in(again) == set(MOREL)
    assert kept("customer", "erasures", "--again").code == 0
    assert words_in(again) == set()
