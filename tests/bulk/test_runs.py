"""Bulk work says what the live path says, whatever is killed on the way."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from energycomm.bulk import buckets, runs
from energycomm.bulk.judging import Question, Shift
from energycomm.bulk.verdicts import Verdicts, judged_again
from energycomm.bulk.workers import Bucket, Lost, Processes, Task
from energycomm.correction.acting import judge_again
from energycomm.correction.impact import bring_about, question
from energycomm.eis.comparison import canonical, differences
from energycomm.eis.database import opened
from energycomm.eis.store import MessageRow, Store, StoreReader
from energycomm.engine.folder import load_catalogue, rule_texts
from energycomm.engine.parallel import ParallelEngine
from energycomm.errors import UserError
from energycomm.kernel.codec import decode
from energycomm.kernel.history import History
from energycomm.kernel.messages import KernelMessage, MeterReading
from energycomm.kernel.verdicts import Action, Verdict
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.batch import BatchWriter
from energycomm.pipeline.fold import APPLIED, Fold, Judge
from energycomm.pipeline.history import past_of
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.progress import total
from energycomm.pipeline.rejudging import REJECTED
from energycomm.pipeline.replay import correct, mark
from energycomm.pipeline.state import AccessPointState
from energycomm.transport.keys import KeyRing
from energycomm.transport.limits import Limits
from tests.pipeline.desk import NOW, Desk
from tests.pipeline.story import day, reading, start, story
from tests.stores import make_store

MARKETS = installed_adapters()

OF_CONTENT = (
    "SELECT k.id, c.identity, k.position, k.state FROM kernel_message k JOIN ch_message c ON c.id = k.ch_message_id"
)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory, project_root: Path) -> Path:
    """The shipped rules, but an index that goes back is only warned of, and one below 2 000 kWh is refused."""
    folder = tmp_path_factory.mktemp("changed") / "rules"
    shutil.copytree(project_root / "rules", folder, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "common" / "readings.yaml"
    text = file.read_text("utf-8")
    for old, new in (
        ("    holds: register.value >= 0\n", "    holds: register.value >= 2000\n"),
        ("    error_code: CO-R05\n", "    error_code: CO-R05\n    severity: warning\n"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    file.write_text(text, "utf-8")
    return folder


@contextmanager
def processed(url: str, rules: Path, root: Path) -> Iterator[tuple[Store, BatchWriter]]:
    """A store with the fixtures of three markets, judged by some rules, with its live path."""
    engine = ParallelEngine(load_catalogue(rules, check_examples=False))
    with opened(url) as database:
        store = Store(database)
        writer = writer_of(store, rules, engine)
        inbound = Inbound(store, writer, KeyRing(), Limits(), 500)
        for market in ("fr", "nl", "be"):
            files = sorted(path for path in (root / "fixtures" / market).rglob("*") if path.is_file())
            total(inbound.take(files, "test"))
        yield store, writer


def verdicts(store: Store) -> dict[tuple[bytes, int], tuple[str, tuple[str, ...]]]:
    """(identity, position) -> state and error codes of every message of an access point."""
    with store.reading() as reader:
        found = reader.driver.rows(f"{OF_CONTENT} WHERE k.access_point_id IS NOT NULL")
        codes = reader.current_codes([row[0] for row in found])
    return {(bytes(row[1]), row[2]): (row[3], tuple(sorted(codes.get(row[0], ())))) for row in found}


def of_messages(store: Store, shifts: Iterable[Shift]) -> dict[tuple[bytes, int], Shift]:
    """The shifts by the identity and position of their messages."""
    by_id = {shift.message_id: shift for shift in shifts}
    with store.reading() as reader:
        found = reader.driver.matching(f"{OF_CONTENT} WHERE true", list(by_id), "k.id")
        return {(bytes(row[1]), row[2]): by_id[row[0]] for row in found}


def writer_of(store: Store, folder: Path, engine: Judge) -> BatchWriter:
    """The live path with some rules."""
    with store.transaction() as tx:
        number = tx.rules_version("feed0123", "parallel", rule_texts(folder), NOW)
    return BatchWriter(engine, number, 30, MARKETS)


def count(store: Store, table: str) -> int:
    """Rows of a table."""
    with store.reading() as reader:
        return int(reader.driver.rows(f"SELECT count(*) FROM {table}")[0][0])


@pytest.mark.thorough
def test_bulk_says_what_the_live_path_would_have_said(
    database_url: str, tmp_path: Path, project_root: Path, changed: Path, asked: Question
) -> None:
    """Three markets, judged by old rules: the shifts are the differences to a store that new rules judged from the
    start; brought about, the two stores are equal."""
    new_url = make_store(f"sqlite:///{tmp_path}/new.db")
    with (
        processed(database_url, project_root / "rules", project_root) as (old, _),
        processed(new_url, changed, project_root) as (new, other),
    ):
        writer = writer_of(old, changed, other.engine)
        before, after = verdicts(old), verdicts(new)
        assert before.keys() == after.keys()
        expected = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
        assert len(expected) >= 5
        with judged_again(old.engine, MARKETS, asked, tmp_path / "run", Processes(1), size=40) as run:
            assert run.buckets > 3
            shifts = of_messages(old, run.shifts())
            said = {key: ((one.before, one.codes_before), (one.after, one.codes_after)) for key, one in shifts.items()}
            assert said == expected
            assert run.changed == len(expected)
            with old.reading() as reader:
                ((image,),) = reader.driver.rows("SELECT coalesce(max(id), 0) FROM before_image")
            assert bring_about(old, writer, run) == len({one.access_point for one in shifts.values()})
            assert differences(canonical(old.engine), canonical(new.engine)) == []
            with old.reading() as reader:
                withdrawn = "SELECT DISTINCT why FROM before_image WHERE id > ?"
                why = {row[0] for row in reader.driver.rows(withdrawn, (image,))}
            assert "judged again by changed rules" in why
            assert "judged again after a late message" not in why
            changes = count(old, "state_change")
            bring_about(old, writer, run)
            assert count(old, "state_change") == changes


BROKEN = "99000000000025"


class Breaking:
    """Rules that fail on the readings of one access point."""

    def __init__(self, engine: Judge) -> None:
        self._engine = engine
        self.curve_tolerance = engine.curve_tolerance

    def judge(self, message: KernelMessage, history: History) -> Verdict:
        if isinstance(message, MeterReading) and message.access_point == BROKEN:
            raise RuntimeError("broken")
        return self._engine.judge(message, history)

    def qualify(self, message: KernelMessage, history: History) -> tuple[Action, ...]:
        return self._engine.qualify(message, history)


def every_state(url: str) -> Desk:
    """A store with messages in every state there is."""
    desk = Desk(url)
    for prm in ("99000000000017", "99000000000033", "99000000000041"):
        desk.deliver(story(prm))
    desk.deliver([reading("99000000000058", day(31), 1_200_000)])  # waits for its start
    desk.writer.engine = Breaking(desk.writer.engine)
    desk.deliver([start(BROKEN, day(0)), reading(BROKEN, day(31), 1_200_000)])
    desk.writer.engine = desk.engine
    refused = [row[0] for row in desk.rows("SELECT id FROM kernel_message WHERE state = 'rejected' ORDER BY id")]
    with desk.store.transaction() as tx:
        (row,) = tx.messages([refused[0]])
        message = decode(row.xml)
        assert isinstance(message, MeterReading)
        more = structs.replace(message.registers[0], value=1300)
        correct(tx, refused[0], structs.replace(message, registers=(more,)), "anna", "typing error")
    judge_again(desk.store, desk.writer, "FR", "99000000000017")
    with desk.store.transaction() as tx:
        mark(tx, [refused[1]], "anna", "again")
        tx.set_states([(refused[2], "delegated", None, None)])
        readings = tx.driver.rows(
            "SELECT id FROM kernel_message WHERE kind = 'MeterReading' AND state = 'accepted' ORDER BY id"
        )
        tx.set_states([(readings[-1][0], "withdrawn", None, None), (readings[-2][0], "ticketed", None, None)])
    return desk


def one_after_the_other(desk: Desk, engine: Judge) -> dict[int, tuple[str, str]]:
    """Message -> what it was and would be, access point by access point from the store: how it was done before."""
    found: dict[int, tuple[str, str]] = {}
    with desk.store.reading() as reader:
        for (point,) in reader.driver.rows("SELECT id FROM access_point ORDER BY id"):
            past = past_of(reader, point)
            fold = Fold(engine, MARKETS.zone("FR"), AccessPointState(), point, {})
            fold.foresee(past.entries)
            for entry in past.entries:
                fold.judge(entry)
                assert entry.verdict is not None
                was = (
                    "accepted" if entry.before in APPLIED else "rejected" if entry.before in REJECTED else entry.before
                )
                new = sorted({one.error_code for one in entry.verdict.findings if one.severity == "error"})
                old = sorted(reader.current_codes([entry.message_id]).get(entry.message_id, []))
                if was != "to_replay" and (was, old if was == "rejected" else []) != (
                    entry.verdict.label,
                    new if entry.verdict.label == "rejected" else [],
                ):
                    found[entry.message_id] = (str(was), entry.verdict.label)
    return found


@pytest.mark.thorough
def test_messages_in_every_state_are_told_as_one_after_the_other(
    database_url: str, tmp_path: Path, changed: Path
) -> None:
    """Corrected, withdrawn, marked, delegated, ticketed, waiting and broken ones; nothing is stored."""
    desk = every_state(database_url)
    states = desk.rows("SELECT id, state FROM kernel_message ORDER BY id")
    every = "accepted rejected quarantined engine_error to_replay treated delegated ticketed withdrawn"
    assert {state for _, state in states} == set(every.split())
    expected = one_after_the_other(desk, ParallelEngine(load_catalogue(changed, check_examples=False)))
    assert {"engine_error", "accepted", "rejected"} <= {before for before, _ in expected.values()}
    with judged_again(
        desk.database, MARKETS, question(changed, MARKETS, 0), tmp_path / "run", Processes(1), size=5
    ) as run:
        assert {shift.message_id: (shift.before, shift.after) for shift in run.shifts()} == expected
    assert desk.rows("SELECT id, state FROM kernel_message ORDER BY id") == states


class Cut:
    """Judges some buckets, then is lost; remembers what it was given."""

    def __init__(self, after: int) -> None:
        self.after, self.given = after, []  # type: ignore[var-annotated]

    def results(self, task: Task, question: bytes, buckets: Iterable[Bucket]) -> Iterator[Bucket]:
        for done, (number, content) in enumerate(buckets):
            if done == self.after:
                raise Lost("killed")
            self.given.append(number)
            yield number, task(question, content)


def told(run: Verdicts) -> tuple[int, list[Shift]]:
    """What a run says."""
    return run.judged, list(run.shifts())


@pytest.fixture
def asked(changed: Path) -> Question:
    return question(changed, MARKETS, 0)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "PAUSE", 0)


def filled(tmp_path: Path, points: int = 12) -> Desk:
    """A store with the same story of several access points."""
    desk = Desk(make_store(f"sqlite:///{tmp_path}/eis.db"))
    for number in range(points):
        desk.deliver(story(f"990000000{number:05}"))
    return desk


@pytest.mark.thorough
def test_no_bucket_is_judged_twice(tmp_path: Path, asked: Question) -> None:
    """Workers that are lost now and then, and a run that ends in between: the rest is judged, with the same answer."""
    desk = filled(tmp_path)
    with judged_again(desk.database, MARKETS, asked, tmp_path / "whole", Processes(1), size=20) as run:
        expected, buckets = told(run), run.buckets
    assert expected[1]
    assert buckets >= 5
    nobody, two = Cut(0), Cut(2)
    with (
        pytest.raises(UserError, match="lost 5 times"),
        judged_again(desk.database, MARKETS, asked, tmp_path / "cut", nobody, size=20),
    ):
        pass
    # What arrives between does not belong to the run: its buckets are of one instant.
    desk.deliver(story("99000000000991"))
    shutil.copy(tmp_path / "whole" / "result-0000003", tmp_path / "cut")
    with judged_again(desk.database, MARKETS, asked, tmp_path / "cut", two, size=20) as run:
        assert told(run) == expected
    assert sorted(two.given) == [number for number in range(1, buckets + 1) if number != 3]
    with judged_again(desk.database, MARKETS, asked, tmp_path / "cut", nobody, size=20) as run:
        assert told(run) == expected


def test_access_points_with_many_messages_are_read_few_at_a_time(
    tmp_path: Path, asked: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in memory is bounded by messages, and the answer is the same."""
    desk = filled(tmp_path, 6)
    read: list[int] = []
    plain = StoreReader.messages_of

    def watched(reader: StoreReader, points: Sequence[int]) -> dict[int, list[MessageRow]]:
        found = plain(reader, points)
        read.append(sum(map(len, found.values())))
        return found

    monkeypatch.setattr(StoreReader, "messages_of", watched)
    with judged_again(desk.database, MARKETS, asked, tmp_path / "whole", Processes(1)) as run:
        expected = told(run)
    (all_at_once,) = read
    most = all_at_once // 6 * 2
    monkeypatch.setattr(buckets, "MESSAGES_TOGETHER", most)
    with judged_again(desk.database, MARKETS, asked, tmp_path / "parts", Processes(1)) as run:
        assert told(run) == expected
    assert read[1:] == [most] * 3
    monkeypatch.setattr(buckets, "MESSAGES_TOGETHER", 1)
    with judged_again(desk.database, MARKETS, asked, tmp_path / "alone", Processes(1)) as run:
        assert told(run) == expected
    assert read[4:] == [most // 2] * 6


@pytest.mark.thorough
def test_a_killed_process_makes_no_difference(tmp_path: Path, asked: Question) -> None:
    """One of two is killed when the first bucket is done."""
    desk = filled(tmp_path)
    with judged_again(desk.database, MARKETS, asked, tmp_path / "whole", Processes(1), size=10) as run:
        expected = told(run)
    killed: list[int] = []

    def kill(done: int, _of: int) -> None:
        children = multiprocessing.active_children()
        if done and children and not killed:
            killed.append(children[0].pid or 0)
            os.kill(killed[0], signal.SIGKILL)

    with judged_again(desk.database, MARKETS, asked, tmp_path / "run", Processes(2), size=10, watch=kill) as run:
        assert told(run) == expected
    assert killed


def test_a_folder_is_of_one_run(tmp_path: Path, asked: Question) -> None:
    """Other rules, another day, other files, another process: each is refused and harms nothing."""
    desk = filled(tmp_path, 2)
    place = tmp_path / "run"

    def again(which: Question, folder: Path) -> Any:
        return judged_again(desk.database, MARKETS, which, folder, Processes(1))

    with again(asked, place) as run:
        expected = told(run)
        with pytest.raises(UserError, match="Another process"), again(asked, place):
            pass
    with pytest.raises(UserError, match="another question"), again(structs.replace(asked, since=1), place):
        pass
    with again(asked, place) as run:
        assert told(run) == expected
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "bucket.txt").write_text("keep")
    with pytest.raises(UserError, match="holds other files"), again(asked, tmp_path / "mine"):
        pass
    assert (tmp_path / "mine" / "bucket.txt").read_text() == "keep"
    assert all(path.stat().st_mode & 0o077 == 0 for path in (place, *place.iterdir()))
    with (
        pytest.raises(UserError, match="one version on all hosts"),
        again(structs.replace(asked, program="0.0"), tmp_path / "old"),
    ):
        pass
