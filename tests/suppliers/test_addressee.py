"""What is addressed to another supplier of the installation never comes into the wrong store."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import zipfile
from pathlib import Path

import pytest

from energycomm.cli import main
from energycomm.errors import ExitCode

FR, NL, BE = "17XLUMINEFICT01X", "8719999100104", "5419999000024"
"""Whom the fixtures of each market are addressed to, as their headers say: sud."""
SENT = (
    ("fr/c15_entries.xml", FR, "99000000000202"),
    ("nl/change_of_pv_taken.xml", NL, "5f1d2c3a-1111-4000-8000-000000000901"),
    ("be/mscons_readings.edi", BE, "541449000000001055"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation in which all of these are addressed to sud."""
    monkeypatch.chdir(tmp_path)
    parties = [word for party in (FR, NL, BE) for word in ("--party", party)]
    assert main(["supplier", "add", "nord", "--party", "17XSOMEBODYELS1X"]) == ExitCode.OK
    assert main(["supplier", "add", "sud", *parties]) == ExitCode.OK
    (tmp_path / "in").mkdir()
    return tmp_path


def stored(folder: Path, name: str) -> list[str]:
    """The file names of the envelopes in a store, which has raw bytes of no others."""
    with sqlite3.connect(folder / name / "energycomm.db") as connection:
        raw = connection.execute("SELECT count(*) FROM raw WHERE sha256 NOT IN (SELECT sha256 FROM envelope)")
        assert raw.fetchone() == (0,)
        return [row[0] for row in connection.execute("SELECT name FROM envelope ORDER BY id")]


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("packed", [False, True])
def test_a_header_with_the_identifier_of_another_supplier_is_refused(
    folder: Path, project_root: Path, capsys: pytest.CaptureFixture[str], *, packed: bool
) -> None:
    """Of each market, as it came and in a zip with a member that says nothing; the right supplier takes it."""
    for name, _, _ in SENT:
        source = project_root / "fixtures" / name
        if packed:
            with zipfile.ZipFile(folder / "in" / f"{source.name}.zip", "w") as made:
                made.writestr("a.txt", "nobody knows this")
                made.write(source, source.name)
        else:
            shutil.copy(source, folder / "in")
    assert main(["process", "in", "--supplier", "nord"]) == ExitCode.UNREADABLE
    told = capsys.readouterr()
    for name, party, _ in SENT:
        line = next(
            line for line in (told.out + told.err).splitlines() if Path(name).name in line and "ENV_OTHER" in line
        )
        assert party in line
        assert "hand the file to that supplier" in line
    assert "sud" not in told.out + told.err
    assert stored(folder, "nord") == []
    held = bytes_of(folder / "nord")
    kept = [known for _, _, known in SENT if known.encode() in held]
    assert kept == []
    main(["process", "in", "--supplier", "sud"])
    assert len(stored(folder, "sud")) == len(SENT)


def test_the_name_of_a_file_tells_it_where_the_content_cannot_be_read(folder: Path) -> None:
    """It is encrypted under the other's key."""
    name = f"17XGRIDFICTIF01X_C15_{FR}_90000101_DIR_00007_20260226051012.zip"
    (folder / "in" / name).write_bytes(bytes(range(256)) * 4)
    assert main(["process", "in", "--supplier", "nord"]) == ExitCode.UNREADABLE
    assert stored(folder, "nord") == []


def test_one_that_is_for_another_keeps_no_other_from_being_taken(folder: Path, project_root: Path) -> None:
    """They come together, and are archived in one transaction."""
    content = (project_root / "fixtures" / "fr" / "c15_entries.xml").read_bytes()
    for number, party in enumerate(("17XSOMEBODYELS1X", FR, "17XFARAWAYFICT1X", FR)):
        (folder / "in" / f"{number}.xml").write_bytes(content.replace(FR.encode(), party.encode()))
    assert main(["process", "in", "--supplier", "nord"]) == ExitCode.UNREADABLE
    assert stored(folder, "nord") == ["0.xml", "2.xml"], "an identifier that is nobody's here is the rules' matter"


def test_a_channel_keeps_as_failed_what_is_for_another(folder: Path, project_root: Path) -> None:
    """Nothing is lost: the file is there for who hands it on, with the reason beside it."""
    inbox = folder / "nord" / "in"
    inbox.mkdir()
    shutil.copy(project_root / "fixtures" / "fr" / "c15_entries.xml", inbox)
    with (folder / "nord" / "energycomm.toml").open("a") as file:
        file.write(
            '[[channels]]\nname = "in"\nmarket = "FR"\ndirection = "in"\nkind = "folder"\npath = "in"\nsettle = 0\n'
        )
    assert main(["channel", "poll", "in", "--once", "--supplier", "nord"]) == ExitCode.UNREADABLE
    assert (inbox / "failed" / "c15_entries.xml").exists()
    assert "ENV_OTHER_SUPPLIER" in (inbox / "failed" / "c15_entries.xml.reason.txt").read_text()
    assert stored(folder, "nord") == []


def test_who_is_alone_takes_what_comes(tmp_path: Path, project_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file for somebody else is the rules' matter there, as it was before."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "energycomm.toml").write_text('parties = ["17XSOMEBODYELS1X"]\n')
    shutil.copy(project_root / "fixtures" / "fr" / "c15_entries.xml", tmp_path)
    assert main(["process", "c15_entries.xml"]) == ExitCode.OK


def test_the_bytes_are_whole_for_the_archive_after_the_look() -> None:
    """A stream that was looked at is at its beginning again."""
    from energycomm.market.installed import installed_adapters
    from energycomm.pipeline.addressee import Addressee
    from energycomm.transport.keys import KeyRing
    from energycomm.transport.limits import Limits

    source = io.BytesIO(b"<unknown/>")
    looked = Addressee(frozenset({FR}), installed_adapters(), KeyRing(()), Limits(), {})
    assert looked.wrong(source, "a.xml", "in") is None
    assert source.read() == b"<unknown/>"


def test_a_message_for_another_supplier_is_not_injected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = {
        "kind": "EndOfSupply", "market": "FR", "market_type": "C15", "sender": "17XGRIDFICTIF01X", "receiver": FR,
        "sender_role": "grid-operator", "reference": "mail-1", "created": "2026-11-03T09:00:00+01:00",
        "market_reason": "RES", "reason": "termination", "access_point": "99000000000017",
        "effective": "2026-11-01T00:00:00+01:00", "contract_reference": "123456789",
    }  # fmt: skip
    (folder / "one.json").write_text(json.dumps(message))
    assert main(["inject", "one.json", "--supplier", "nord"]) not in (ExitCode.OK, ExitCode.INTERNAL)
    told = capsys.readouterr()
    assert "ENV_OTHER_SUPPLIER" in told.out + told.err
    assert stored(folder, "nord") == []
    (folder / "one.json").write_text(json.dumps({**message, "receiver": "17XSOMEBODYELS1X"}))
    assert main(["inject", "one.json", "--supplier", "nord"]) in (ExitCode.OK, ExitCode.REJECTED)
