"""An interchange that came by a channel is acknowledged by itself: once, with what was wrong, by the channel out."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from energycomm import cli
from energycomm.config import Config
from energycomm.daemon.sending import Delivering
from energycomm.daemon.survey import survey
from energycomm.eis import migrations
from energycomm.eis.database import opened
from energycomm.eis.store import Store
from energycomm.errors import ExitCode
from energycomm.kernel.instants import now_micros
from energycomm.pipeline.progress import total
from energycomm.pipeline.records import to_process
from energycomm.transport.channel import TechnicalError
from tests.daemon.conftest import Office
from tests.transport.memory import MemoryOut


@pytest.fixture
def office(database_url: str, tmp_path: Path) -> Iterator[Office]:
    """A supplier that gets interchanges through a channel, on both databases."""
    channel = {"name": "atrias", "market": "BE", "direction": "in", "kind": "folder", "path": str(tmp_path)}
    config = Config.model_validate({"database": database_url, "channels": [channel]})
    with opened(database_url) as engine:
        migrations.upgrade(engine)
        made = Office(config, Store(engine))
        yield made
        made.desk.locks.close()


def arrive(office: Office, content: bytes, name: str = "a.edi", channel: str = "atrias") -> None:
    """An envelope comes in and is processed."""
    (archived,) = office.gateway.inbound.archive([(BytesIO(content), name)], channel)
    if archived.duplicate_of is None:
        total(office.gateway.inbound.process(to_process(archived, name, channel)))


def sent(office: Office, channel: MemoryOut) -> list[str]:
    """What goes out in one turn."""
    sending = Delivering(office.desk, channel)
    assert office.desk.locks.take(sending.key)
    before = len(channel.sent)
    sending.turn()
    return [one.content.decode() for one in list(channel.sent.values())[before:]]


def interchange(project_root: Path, name: str) -> bytes:
    return (project_root / "fixtures" / "be" / name).read_bytes()


def test_an_interchange_is_answered_once_however_often_it_comes(office: Office, project_root: Path) -> None:
    """Again under another name, in a zip, and by hand: one CONTRL that says 7, accepted."""
    content, out = interchange(project_root, "utilmd_start_and_data.edi"), MemoryOut(market="BE")
    arrive(office, content)
    reference = content.split(b"UNZ+")[1].split(b"+")[1].split(b"'")[0].decode()
    (answer,) = sent(office, out)
    assert "UNH+1+CONTRL:" in answer
    assert f"UCI+{reference}+" in answer
    assert answer.split("UCI+")[1].split("'")[0].endswith("+7")
    arrive(office, content, "b.edi")
    packed = BytesIO()
    with ZipFile(packed, "w") as zipped:
        zipped.writestr("c.edi", content)
    arrive(office, packed.getvalue(), "c.zip")
    arrive(office, content, "d.edi", "directory")
    assert sent(office, out) == []


def test_a_broken_message_and_a_broken_interchange_are_told_with_code_and_place(
    office: Office, project_root: Path
) -> None:
    """List 0085: 29, the number of segments of a message; 28, the references of an interchange."""
    content, out = interchange(project_root, "utilmd_start_and_data.edi"), MemoryOut(market="BE")
    head, tail = content.split(b"UNT+", 1)
    count = tail.split(b"+")[0]
    arrive(office, head + b"UNT+" + str(int(count) + 1).encode() + tail[len(count) :])
    (answer,) = sent(office, out)
    first = content.split(b"UNH+")[1].split(b"+")[0].decode()
    refused = [one for one in answer.split("'") if one.startswith(f"UCM+{first}+")]
    assert [one.split("+")[3:] for one in refused] == [["4", "29"]]
    head, tail = content.rsplit(b"UNZ+", 1)
    arrive(office, head + b"UNZ+" + tail.split(b"+")[0] + b"+OTHER'", "b.edi")
    (answer,) = sent(office, out)
    assert answer.split("UCI+")[1].split("'")[0].endswith("+4+28")


def test_what_is_no_interchange_a_contrl_or_taken_in_by_hand_is_not_answered(
    office: Office, project_root: Path
) -> None:
    arrive(office, interchange(project_root, "master_data.xml"), "a.xml")
    arrive(office, interchange(project_root, "mscons_readings.edi"), "b.edi", "directory")
    arrive(office, b"UNB+UNOC:3+nobody", "c.edi")
    out = MemoryOut(market="BE")
    arrive(office, interchange(project_root, "utilts_and_invoic.edi"))
    (answer,) = sent(office, out)
    arrive(office, answer.encode(), "contrl.edi")
    assert sent(office, out) == []


def test_an_acknowledgement_waits_for_the_channel_with_the_same_bytes(office: Office, project_root: Path) -> None:
    arrive(office, interchange(project_root, "mscons_readings.edi"))
    (owed,) = office.rows("SELECT content FROM acknowledgement")
    out = MemoryOut(market="BE")
    out.faults.append(TechnicalError(code="CHANNEL_UNREACHABLE", channel="memory-out", detail="as told"))
    assert sent(office, out) == []
    assert sent(office, out) == []  # not before its pause is over
    with office.store.transaction() as tx:
        tx.driver.run("UPDATE acknowledgement SET next_at = NULL", ())
    assert sent(office, out) == [bytes(owed[0]).decode()]
    assert office.rows("SELECT state, attempts, last_error FROM acknowledgement") == [("sent", 2, None)]


def test_a_dead_acknowledgement_alarms_until_it_is_sent_again_with_the_same_bytes(
    office: Office, project_root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the other side refuses as it is goes on being refused: a person corrects the channel, then retries it."""
    monkeypatch.setenv("ENERGYCOMM_DATABASE", office.config.database.get_secret_value())
    arrive(office, interchange(project_root, "mscons_readings.edi"))
    ((number, owed),) = office.rows("SELECT envelope_id, content FROM acknowledgement")
    out = MemoryOut(market="BE")
    out.faults.append(TechnicalError(code="CHANNEL_REFUSED", channel="memory-out", detail="no such inbox"))
    assert sent(office, out) == []

    def dead() -> list[tuple[int, str]]:
        found = survey(office.store.engine, now_micros(), 24).alarms()
        return [(many, words) for code, _, many, words in found if code == "ACKNOWLEDGEMENT_DEAD"]

    assert dead() == [(1, "1 acknowledgement was put aside")]
    assert sent(office, out) == []
    assert cli.main(["acknowledgement", "list", "--state", "dead"]) == 0
    assert "no such inbox" in capsys.readouterr().out
    assert cli.main(["acknowledgement", "list", "--state", "asleep"]) == ExitCode.USAGE
    assert cli.main(["acknowledgement", "retry"]) == ExitCode.USAGE
    capsys.readouterr()
    assert cli.main(["acknowledgement", "retry", str(number + 1)]) == ExitCode.USAGE
    assert str(number + 1) in capsys.readouterr().err
    assert cli.main(["acknowledgement", "retry", str(number)]) == 0
    assert capsys.readouterr().out.startswith("1 acknowledgement is")
    assert dead()[0][0] == 0
    assert sent(office, out) == [bytes(owed).decode()]
    assert cli.main(["acknowledgement", "retry", "--all"]) == 0
    assert sent(office, out) == []
