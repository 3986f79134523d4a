"""An incoming channel: archived first, acknowledged when it was processed, taken up again after anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from energycomm.daemon.polling import Polling
from energycomm.pipeline.progress import total
from energycomm.transport.channel import Arrival, TechnicalError
from tests.daemon.conftest import Office
from tests.transport.memory import MemoryIn


def fault(code: str = "CHANNEL_UNREACHABLE") -> TechnicalError:
    return TechnicalError(code=code, channel="memory-in", detail="as told")


class Poller(Polling):
    """Polls at every turn."""

    def turn(self) -> float | None:
        """One turn, the poll not put off."""
        assert self.desk.locks.take(self.key)
        self._due = 0.0
        return super().turn()


def poller(office: Office, channel: MemoryIn) -> Poller:
    return Poller(office.desk, channel, office.gateway.inbound)


def process(office: Office) -> None:
    """What the workers do with what waits."""
    for item in office.waiting():
        total(office.gateway.inbound.process(item._replace(fresh=False)))


def test_an_arrival_is_acknowledged_only_after_it_was_processed(office: Office) -> None:
    """Archived at once; the channel keeps it until the envelope has its end."""
    channel = MemoryIn()
    channel.put("a.xml", b"<unknown/>")
    polling = poller(office, channel)
    polling.turn()
    assert [item.name for item in office.waiting()] == ["a.xml"]
    assert channel.settled == []
    process(office)
    polling.turn()
    assert channel.settled == [("a.xml", "failed")]


def test_a_burst_is_archived_in_one_transaction_and_what_cannot_be_read_of_it_harms_no_neighbour(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Poller, "_room", lambda _: 100)
    channel = MemoryIn()
    for number in range(5):
        channel.put(f"{number}.xml", f"<unknown n='{number}'/>".encode())
    calls: list[int] = []
    real = office.gateway.inbound.archive

    def archive(sources: Any, way: str) -> Any:
        calls.append(len(sources))
        return real(sources, way)

    monkeypatch.setattr(office.gateway.inbound, "archive", archive)
    polling = poller(office, channel)
    polling.turn()
    assert (calls, len(office.waiting())) == ([5], 5)
    opening = Arrival.open

    def opened(arrival: Arrival) -> IO[bytes]:
        if arrival.name == "6.xml":
            raise OSError("the disk is gone")
        return opening(arrival)

    monkeypatch.setattr(Arrival, "open", opened)
    for number in range(5, 8):
        channel.put(f"{number}.xml", f"<unknown n='{number}'/>".encode())
    polling.turn()
    assert [one.name for one in office.waiting()[5:]] == ["5.xml", "7.xml"]
    assert office.notes.counted("energycomm_channel_errors") == {("memory-in", "CHANNEL_LOCAL"): 1}


def test_what_is_known_is_acknowledged_as_a_duplicate(office: Office) -> None:
    """The bytes tell, not the name."""
    channel = MemoryIn()
    channel.put("a.txt", b"one content")
    polling = poller(office, channel)
    polling.turn()
    with office.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET state = 'done'")
    channel.put("b.txt", b"one content")
    polling.turn()
    assert channel.settled == [("a.txt", "done"), ("b.txt", "duplicate")]


def test_a_process_that_dies_before_it_acknowledged_takes_the_same_envelope_up_again(office: Office) -> None:
    """No second envelope is made of it."""
    channel = MemoryIn()
    channel.put("a.xml", b"<unknown/>")
    poller(office, channel).turn()
    channel.crash()
    successor = poller(office, channel)
    successor.turn()
    assert office.rows("SELECT count(*) FROM envelope") == [(1,)]
    process(office)
    successor.turn()
    assert channel.settled == [("a.xml", "failed")]
    assert channel.waiting == ()


def test_an_acknowledgement_that_is_lost_costs_a_duplicate_and_nothing_else(office: Office) -> None:
    """The arrival comes again; the store knows it."""
    channel = MemoryIn()
    channel.put("a.txt", b"content")
    channel.lose_acknowledgements = 1
    polling = poller(office, channel)
    polling.turn()
    with office.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET state = 'done'")
    polling.turn()
    polling.turn()
    assert channel.settled == [("a.txt", "duplicate")]
    assert office.rows("SELECT count(*) FROM envelope WHERE duplicate_of IS NULL") == [(1,)]


def test_polling_pauses_while_too_much_waits(office: Office) -> None:
    """With a limit of 3, three are taken; the rest stays with the channel until these are processed."""
    channel = MemoryIn()
    for number in range(5):
        channel.put(f"{number}.xml", f"<unknown n='{number}'/>".encode())
    polling = poller(office, channel)
    polling.turn()
    polling.turn()
    assert len(office.waiting()) == 3
    assert ("BACKLOG_FULL", True) in office.notes.alarms()
    process(office)
    polling.turn()
    assert len(office.waiting()) == 2
    assert office.notes.alarms()[-1] == ("BACKLOG_FULL", False)


def test_a_channel_that_fails_and_works_again_makes_one_alarm(office: Office) -> None:
    """The first failures are nobody's business; the third is, and its end."""
    channel = MemoryIn()
    polling = poller(office, channel)
    for _ in range(5):
        channel.faults.append(fault())
    for turn in range(6):
        polling.turn()
        assert (("CHANNEL_FAILING", True) in office.notes.alarms()) == (turn >= 2)
    assert office.notes.alarms() == [("CHANNEL_FAILING", True), ("CHANNEL_FAILING", False)]


@pytest.mark.parametrize("code", ["CHANNEL_LOGIN", "CHANNEL_HOST_KEY"])
def test_what_needs_a_person_alarms_at_once(office: Office, code: str) -> None:
    channel = MemoryIn()
    channel.faults.append(fault(code))
    poller(office, channel).turn()
    assert office.notes.alarms() == [("CHANNEL_FAILING", True)]


def test_a_duty_that_rests_gives_everything_back(office: Office) -> None:
    """Whoever leads next is given what was not acknowledged."""
    channel = MemoryIn()
    channel.put("a.xml", b"<unknown/>")
    polling = poller(office, channel)
    polling.turn()
    polling.rest()
    successor = poller(office, channel)
    successor.turn()
    process(office)
    successor.turn()
    assert [name for name, _ in channel.settled] == ["a.xml"]


def test_an_envelope_left_in_a_folder_unreadable_for_us_is_noted(office: Office, tmp_path: Path) -> None:
    """A file that vanishes between the poll and the reading harms nobody."""
    from energycomm.transport.folders import FolderIn

    inbox = tmp_path / "in"
    inbox.mkdir()
    (inbox / "a.xml").write_bytes(b"<unknown/>")
    channel = FolderIn("drop", "FR", inbox, settle=0)
    taken = next(iter(channel.poll()))
    assert not isinstance(taken, TechnicalError)
    (inbox / "processing" / "a.xml").unlink()
    polling = Poller(office.desk, channel, office.gateway.inbound)
    assert polling._take([taken]) == 0
    assert office.notes.counted("energycomm_channel_errors") == {("drop", "CHANNEL_LOCAL"): 1}


class OneByOne(MemoryIn):
    """Gives its first message until that is acknowledged, as a queue does that removes what is confirmed."""

    more = False
    polls = 0

    def poll(self) -> Iterator[Arrival | TechnicalError]:
        self.polls += 1
        first = next(iter(super().poll()), None)
        self.more = len(self.waiting) > 1
        if first is not None:
            yield first


def test_a_queue_that_gives_one_message_at_a_time_is_asked_for_the_next_at_once(office: Office) -> None:
    """Not after the usual pause; and no more when nothing is left."""
    channel = OneByOne()
    for name in ("a.xml", "b.xml", "c.xml"):
        channel.put(name, f"<unknown>{name}</unknown>".encode())
    polling = Polling(office.desk, channel, office.gateway.inbound)
    assert office.desk.locks.take(polling.key)
    for _ in range(6):
        wait = polling.turn()
        process(office)
    assert [name for name, _ in channel.settled] == ["a.xml", "b.xml", "c.xml"]
    assert channel.polls == 3
    assert wait is not None
    assert wait > 1
