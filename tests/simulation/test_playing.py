"""The engine plays faults and duplicates in a market that exists nowhere else: what is late, lost and said twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from energycomm.simulation.expectation import Truth, read_truth
from energycomm.simulation.faults import FaultRates
from energycomm.simulation.lives import Life, Situation, Step
from energycomm.simulation.playing import DocumentPlay, play
from energycomm.simulation.scenario import Scenario
from energycomm.simulation.staging import Draft, Market, Mistake, by_name

START, READING = "StartOfSupply", "MeterReading"


class Ruritania(DocumentPlay):
    """A market of one document a message: starts, stops, changes, and readings."""

    zone = "Europe/Prague"
    market = Market(
        by_name({}, [Mistake("RU-1", "reading", lambda body: body.upper(), READING)]),
        named={"*": frozenset((START, READING))},
        anchored={},
    )

    def event(self, life: Life, step: Step) -> Iterable[Draft]:
        """A word for what happens."""
        word = "start" if step.enters else "stop" if step.leaves else "change"
        kind = {"start": START, "stop": "EndOfSupply", "change": "AccessPointData"}[word]
        yield Draft(word, f"{word} {life.number}", str(life.number), f"{word} {life.number} {step.day}", (kind,))

    def reading(self, life: Life, situation: Situation, day: int) -> Iterable[Draft]:
        """A day."""
        yield Draft("reading", f"reading {day}", str(life.number), f"reading {life.number} {day}", (READING,))

    def document(self, drafts: Sequence[Draft], created: str, number: int) -> bytes:
        """When it was written, and each message on a line."""
        return "\n".join([created, *(draft.body for draft in drafts)]).encode()


def played(folder: Path, fault: str, points: int = 1) -> list[Truth]:
    scenario = Scenario(points, 6, 3, daily_share=0.0, faults=FaultRates({fault: 1.0}))
    play(scenario, Ruritania, folder)
    return list(read_truth(folder / "truth.jsonl"))


def days(told: Sequence[Truth], kind: str) -> list[int]:
    """Days of the messages of a kind, in the order in which they came."""
    return [int(line.reference.split()[2]) for line in told if line.type == kind]


def test_a_late_message_bears_the_day_it_was_written_and_comes_after_those_that_build_on_it(tmp_path: Path) -> None:
    told = played(tmp_path, "late-start")
    late = [line for line in told if line.outcome.fault]
    assert [line.type for line in late] == ["start"]
    assert late[0].outcome.error_class == "ordering"
    written = (tmp_path / "envelopes" / late[0].envelope).read_text().splitlines()[0]
    first = min(int(line.reference.split()[2]) for line in told)
    assert int(late[0].reference.split()[2]) == first
    # It is written in the night after its day, of January, and sent eleven days later.
    assert written[:10] == f"2025-01-{first + 2:02d}"
    assert late[0].envelope[:8] == f"202501{first + 13:02d}"


def test_what_belongs_to_a_supply_whose_start_is_lost_waits_until_the_next_one(tmp_path: Path) -> None:
    told = played(tmp_path, "lost-start")
    (second,) = days(told, "start")
    for line in told:
        expected = "quarantined" if line.type == "reading" and int(line.reference.split()[2]) < second else "accepted"
        assert {line.outcome.of(kind, 1)[0] for kind in line.kinds or ()} == {expected}, line
    assert any(day < second for day in days(told, "reading"))


def test_a_mistake_spoils_one_message_of_the_life(tmp_path: Path) -> None:
    told = played(tmp_path, "RU-1")
    (wrong,) = [line for line in told if line.outcome.fault]
    assert wrong.outcome.errors == {READING: ("RU-1",)}
    assert int(wrong.reference.split()[2]) == max(days(told, "reading"))
    loud = {path.name for path in (tmp_path / "envelopes").iterdir() if "READING" in path.read_text()}
    assert loud == {wrong.envelope}


def test_every_file_may_come_twice_with_the_same_messages_and_twins_in_the_truth(tmp_path: Path) -> None:
    told = played(tmp_path, "duplicate-file", points=4)
    twins: dict[str | None, list[Truth]] = {}
    for line in told:
        twins.setdefault(line.twin, []).append(line)
    assert None not in twins
    assert all(len(both) == 2 and both[0].reference == both[1].reference for both in twins.values())
    files = {path.name: path.read_text().splitlines() for path in (tmp_path / "envelopes").iterdir()}
    pairs = [(files[a.envelope], files[b.envelope]) for a, b in twins.values()]
    assert all(a[1:] == b[1:] for a, b in pairs)
    assert {a[0] == b[0] for a, b in pairs} == {True, False}, "some are the same bytes, some are written anew"
