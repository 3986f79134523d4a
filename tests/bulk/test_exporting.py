"""An export by buckets is the file that one process writes, whatever is killed on the way."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from msgspec import structs
from sqlalchemy import Engine, text

from energycomm import cli
from energycomm.bulk import exporting, runs
from energycomm.bulk.exporting import Exported, Question, exported, question
from energycomm.bulk.workers import Lost, Processes, Workers
from energycomm.eis.database import writing
from energycomm.errors import UserError
from energycomm.export.formats import pieces
from energycomm.export.rows import opened_export
from energycomm.export.subjects import FOLLOWED, Selection
from energycomm.market.installed import installed_adapters
from tests.bulk.test_runs import MARKETS, Cut, filled, processed
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, end, reading, start

FORMS = ("parquet", "csv", "jsonl")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "PAUSE", 0)


def asked(subject: str, form: str = "jsonl", cursor: str | None = None, **chosen: Any) -> Question:
    """What is exported."""
    return question(subject, form, Selection(**chosen), cursor, MARKETS)


def at_once(engine: Engine, wanted: Question) -> tuple[bytes, int, str]:
    """The file that one process writes row by row, its rows, its cursor."""
    with opened_export(engine, wanted.subject, wanted.selection, MARKETS.zones, wanted.cursor) as found:
        content = b"".join(pieces(wanted.form, found))
        return content, found.told, str(found.place)


def by_buckets(engine: Engine, wanted: Question, folder: Path, workers: Workers | None = None, **more: Any) -> Any:
    """The same, by buckets."""
    with exported(engine, wanted, folder, workers or Processes(1), **more) as found:
        return told(found)


def told(found: Exported) -> tuple[bytes, int, str]:
    """The file of a run, its rows, its cursor."""
    content = b"".join(found.pieces())
    return content, found.told, found.cursor


@pytest.mark.thorough
def test_every_subject_of_three_markets_is_the_file_of_one_process(
    database_url: str, tmp_path: Path, project_root: Path
) -> None:
    """Byte by byte, in each format; few rows a bucket, so that there are many."""
    several = 0
    with processed(database_url, project_root / "rules", project_root) as (store, _):
        for subject in FOLLOWED:
            for form in FORMS:
                wanted, folder = asked(subject, form), tmp_path / f"{subject}-{form}"
                expected = at_once(store.engine, wanted)
                assert by_buckets(store.engine, wanted, folder, rows=8) == expected, wanted
                several += len(list(folder.glob("bucket-*"))) > 1
                if form == "parquet":
                    assert pq.read_table(io.BytesIO(expected[0])).num_rows == expected[1] > 0
    assert several >= 3 * 4


def test_large_parts_end_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Curves of thousands of values do not come into one bucket because their messages are few."""
    monkeypatch.setattr(exporting, "BUCKET_PARTS", 1)
    desk = filled(tmp_path, 2)
    expected = at_once(desk.database, asked("readings"))
    assert by_buckets(desk.database, asked("readings"), tmp_path / "run") == expected
    ((messages,),) = desk.rows("SELECT count(*) FROM reading WHERE registers <> '[]'")
    assert len(list((tmp_path / "run").glob("bucket-*"))) >= messages > 2


def test_what_changed_since_a_cursor_is_the_file_of_one_process(database_url: str, tmp_path: Path) -> None:
    """New, corrected and taken back; with days, where a message that changed has no row any more that is wanted."""
    desk = Desk(database_url)
    points = [f"9900000000{number:04}" for number in range(1700, 1706)]
    for prm in points:
        desk.deliver([start(prm, day(0)), reading(prm, day(31), 1_100_000), reading(prm, day(59), 1_250_000)])
    _, _, cursor = at_once(desk.database, asked("readings"))
    for prm in points:
        # A late reading that is higher than the one after it: that one is taken back.
        desk.deliver([reading(prm, day(45), 1_300_000)])
    desk.deliver([reading(points[0], day(31), 1_090_000, function="replace"), end(points[1], day(150))])
    day45 = day(45).date()
    found: set[str] = set()
    choices: list[dict[str, Any]] = [{}, {"first": day45, "last": day45}, {"access_points": (points[0],)}]
    for subject in FOLLOWED:
        for number, chosen in enumerate(choices):
            wanted = asked(subject, "jsonl", cursor, **chosen)
            expected = at_once(desk.database, wanted)
            assert by_buckets(desk.database, wanted, tmp_path / f"{subject}-{number}", rows=3) == expected
            found |= {json.loads(line)["op"] for line in expected[0].splitlines()}
    assert found == {"insert", "correct", "withdraw"}


def test_an_export_without_rows_is_a_file_with_its_columns(tmp_path: Path) -> None:
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    for form in FORMS:
        wanted = asked("charges", form)
        assert by_buckets(desk.database, wanted, tmp_path / form) == at_once(desk.database, wanted)


@pytest.mark.thorough
def test_a_killed_process_makes_no_difference(tmp_path: Path) -> None:
    """One of two is killed when the first bucket is done."""
    desk = filled(tmp_path)
    wanted = asked("readings", "parquet")
    killed: list[int] = []

    def kill(done: int, _of: int) -> None:
        children = multiprocessing.active_children()
        if done and children and not killed:
            killed.append(children[0].pid or 0)
            os.kill(killed[0], signal.SIGKILL)

    found = by_buckets(desk.database, wanted, tmp_path / "run", Processes(2), rows=3, watch=kill)
    assert found == at_once(desk.database, wanted)
    assert killed


def test_an_export_that_was_cut_goes_on_with_the_store_as_it_was(tmp_path: Path) -> None:
    """Its finished buckets are not worked on again, and what arrived in between is told by its cursor."""
    desk = filled(tmp_path)
    wanted = asked("readings")
    expected = at_once(desk.database, wanted)
    first, second = LostFirst(2), Cut(1 << 30)
    with pytest.raises(UserError, match="lost 5 times"):
        by_buckets(desk.database, wanted, tmp_path / "run", first, rows=5)
    desk.deliver([start("99000000000991", day(0)), reading("99000000000991", day(31), 1_100_000)])
    with exported(desk.database, wanted, tmp_path / "run", second, rows=5) as found:
        assert found.continued is not None
        assert told(found) == expected
        found.clear()
    assert first.given == [1, 2]
    assert second.given[0] == 3
    (line,) = at_once(desk.database, asked("readings", cursor=expected[2]))[0].splitlines()
    assert json.loads(line)["access_point"] == "99000000000991"
    # It is done with: the same command begins anew.
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["run.lock"]
    with exported(desk.database, wanted, tmp_path / "run", Processes(1)) as found:
        assert found.continued is None
        assert told(found) == at_once(desk.database, wanted) != expected


class LostFirst(Cut):
    """Works on some buckets, and is lost for good."""

    def results(self, *typed: Any) -> Iterator[Any]:
        if self.given:
            raise Lost("killed")
        yield from super().results(*typed)


@contextmanager
def unfinished(desk: Desk, wanted: Question, folder: Path) -> Iterator[None]:
    """A run that was cut off."""
    with pytest.raises(UserError, match="lost 5 times"):
        by_buckets(desk.database, wanted, folder, LostFirst(1), rows=3)
    yield


def test_a_folder_of_another_export_is_refused(tmp_path: Path) -> None:
    """Another subject, format, selection, cursor, version; the same store after a restore. None of them is touched."""
    desk = filled(tmp_path, 2)
    wanted, folder = asked("readings"), tmp_path / "run"
    _, _, cursor = at_once(desk.database, wanted)
    desk.deliver([reading("99000000000000", day(31), 1_100_000)])
    with unfinished(desk, wanted, folder):
        before = sorted(folder.iterdir())
        for other in (
            asked("volumes"),
            asked("readings", "csv"),
            asked("readings", access_points=("99000000000000",)),
            asked("readings", first=date(2026, 1, 1)),
            asked("readings", cursor=cursor),
            structs.replace(wanted, program="0.0"),
        ):
            with pytest.raises(UserError, match="another question"):
                by_buckets(desk.database, other, folder)
        with writing(desk.database) as connection:
            connection.execute(text("UPDATE change_batch SET mark = mark + 1"))
        with pytest.raises(UserError, match=r"holds a run of 20\d\d-.* another history of this store") as refused:
            by_buckets(desk.database, wanted, folder)
        assert refused.value.advice == "Name another folder, or remove it."
        (folder / "run.json").write_text('{"question": "", "store": "", "taken_at": 1, "buckets": 1}')
        with pytest.raises(UserError, match="not the plan of a run of this version"):
            by_buckets(desk.database, wanted, folder)
        assert sorted(folder.iterdir()) == before


def test_a_run_that_is_older_than_the_log_of_changes_is_refused(tmp_path: Path) -> None:
    desk = filled(tmp_path, 2)
    with unfinished(desk, asked("readings"), tmp_path / "run"):
        desk.deliver([start("99000000000991", day(0))])
        with writing(desk.database) as connection:
            connection.execute(text("UPDATE change_head SET floor = number, floor_mark = mark"))
        with pytest.raises(UserError, match="no longer known"):
            by_buckets(desk.database, asked("readings"), tmp_path / "run")


def test_another_version_of_the_program_is_refused_where_the_work_is_done() -> None:
    old = structs.replace(asked("readings"), program="0.0")
    with pytest.raises(UserError, match=r"0\.0 asks.*Install one version on all hosts"):
        exporting.made(json.dumps(structs.asdict(old) | {"selection": {}}).encode(), b"")


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", f"sqlite:///{tmp_path / 'eis.db'}")


@pytest.mark.thorough
@pytest.mark.usefixtures("_here")
def test_the_command_writes_the_same_file_with_any_number_of_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "BUCKET_ROWS", 5)
    desk = filled(tmp_path)
    content, number, cursor = at_once(desk.database, asked("readings", "csv"))
    for name, more in (("a", []), ("b", ["--processes", "2"]), ("c", ["--processes", "1", "--work", "run"])):
        assert cli.main(["export", "readings", "--to", f"{name}.csv", "--json", *more]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer == {"file": f"{name}.csv", "rows": number, "cursor": cursor, "archived": []}
        assert Path(f"{name}.csv").read_bytes() == content
        assert Path(f"{name}.csv").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in Path("run").iterdir()] == ["run.lock"]
    assert Path("run").stat().st_mode & 0o777 == 0o700


@pytest.mark.usefixtures("_here")
def test_the_command_says_when_it_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that cannot be written leaves the run: the work is not done twice."""
    desk = filled(tmp_path, 2)
    zones = installed_adapters()
    with (
        pytest.raises(UserError, match="lost"),
        exported(desk.database, question("readings", "csv", Selection(), None, zones), tmp_path / "run", LostFirst(0)),
    ):
        pass
    assert cli.main(["export", "readings", "--to", "r.csv", "--work", "run"]) == 0
    assert "goes on with the export that was begun at 20" in capsys.readouterr().err
    assert cli.main(["export", "readings", "--to", "r.csv", "--work", "run"]) == 0
    assert "goes on" not in capsys.readouterr().err


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("disputes --to x.csv --work run", "not exported by buckets"),
        ("disputes --to x.csv --processes 2", "not exported by buckets"),
        ("readings --to x.csv --processes 0", "--processes"),
        ("readings --to x.csv --processes two", "--processes"),
        ("readings --to x.csv --work eis.db", "The run cannot be kept in eis.db: File exists"),
        ("readings --to x.csv --work eis.db/run", "The run cannot be kept in eis.db/run: Not a directory"),
        ("readings --to x.csv --work mine", "mine holds other files"),
        ("readings --to x.csv --work .", "holds other files"),
        ("readings --to x.csv --work run --market FX", "no market FX. Did you mean FR"),
        ("readings --to x.csv --work run --since ec1-0000000000000000-0-0", "of another store"),
        ("readings --to x.csv --work run --segment C5 --since ec1-0-0-0", "together with a cursor"),
    ],
)
def test_wrong_values_are_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], typed: str, words: str
) -> None:
    filled(tmp_path, 1)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("keep")
    assert cli.main(["export", *typed.split()]) in (2, 3)
    err = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert words in err
    assert "Traceback" not in err
    assert (tmp_path / "mine" / "letter.txt").read_text() == "keep"
    assert not (tmp_path / "x.csv").exists()
