"""Files of exports: their columns, values and cursors; wrong values are refused with advice."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sqlalchemy import text

from energycomm import cli
from energycomm.documentation.exports import type_of
from energycomm.eis.database import writing
from energycomm.errors import UserError
from energycomm.export.formats import pieces
from energycomm.export.rows import opened_export
from energycomm.export.subjects import NAMES, SCHEMA, Selection, subjects
from energycomm.invoicing.gathering import InvoiceCheck
from energycomm.kernel.messages import MeasureSeries
from energycomm.kernel.parts import Position
from energycomm.kernel.vocabulary import Direction
from energycomm.pipeline.retention import purge
from tests.export.test_following import taken
from tests.invoicing.invoices import POINT, SERVICE, charge, general
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, head, reading, start, transaction

PRM = "99000000000017"
RULES = Path(__file__).resolve().parents[2] / "rules"


def file_of(desk: Desk, subject: str, form: str) -> bytes:
    checker = InvoiceCheck(desk.store, RULES, desk.markets.zones)
    with opened_export(desk.database, subject, Selection(), desk.markets.zones, checker=checker) as found:
        return b"".join(pieces(form, found))


def test_curves_tell_active_from_reactive_energy_and_injection_from_consumption(tmp_path: Path) -> None:
    """Whoever sums the active energy taken from the grid gets 5 W, not 5 + 3 + 7."""
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    told: list[tuple[str, Direction, str, int]] = [
        ("active", "consumption", "W", 5),
        ("active", "production", "W", 3),
        ("reactive-inductive", "consumption", "VAr", 7),
    ]
    messages = [
        MeasureSeries(
            **head(PRM, day(1), "R63", None, f"curve-{product}-{direction}"),
            end=day(1) + timedelta(minutes=30),
            resolution=30,
            unit=unit,
            product=product,
            direction=direction,
            register="1-1:1.8.0" if (product, direction) == ("active", "consumption") else None,
            positions=(Position(position=1, value=Decimal(value)),),
        )
        for product, direction, unit, value in told
    ]
    desk.deliver([start(PRM, day(0)), *(transaction([one]) for one in messages)])
    rows = pq.read_table(io.BytesIO(file_of(desk, "curves", "parquet"))).to_pylist()
    assert len(rows) == 3, desk.states()
    assert sorted((row["product"], row["direction"], row["register"] or "", row["value"]) for row in rows) == [
        ("active", "consumption", "1-1:1.8.0", 5),
        ("active", "production", "", 3),
        ("reactive-inductive", "consumption", "", 7),
    ]
    assert {row["status"] for row in rows} == {"current"}


def test_the_columns_are_those_that_were_promised() -> None:
    """What is promised stays under its name and type; where that cannot be, SCHEMA rises first, with a file of its own.
    A column that is new is promised with the next release: it is added to the file then."""
    found = [
        f"{subject.name} {column.name} {type_of(column)}{' filled' if column.filled else ''}"
        for subject in subjects().values()
        for column in subject.columns
    ]
    promised = (Path(__file__).parent / f"schema_{SCHEMA}.txt").read_text("utf-8").splitlines()
    assert len(promised) > 120
    assert [line for line in promised if line not in found] == []
    assert tuple(subjects()) == NAMES


@pytest.mark.parametrize("subject", NAMES)
def test_an_empty_export_is_a_valid_file_with_its_columns(tmp_path: Path, subject: str) -> None:
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    names = [column.name for column in subjects()[subject].columns]
    table = pq.read_table(io.BytesIO(file_of(desk, subject, "parquet")))
    assert (table.num_rows, table.column_names) == (0, names)
    assert table.schema.metadata[b"energycomm.subject"] == subject.encode()
    assert table.schema.metadata[b"energycomm.cursor"].startswith(b"ec1-")
    assert list(csv.reader(io.StringIO(file_of(desk, subject, "csv").decode()))) == [names]
    assert file_of(desk, subject, "jsonl") == b""


def test_three_formats_say_the_same(tmp_path: Path) -> None:
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_100_000), reading(PRM, day(59), 1_250_000)])
    for subject in ("readings", "contracts"):
        table = pq.read_table(io.BytesIO(file_of(desk, subject, "parquet"))).to_pylist()
        lines = [json.loads(line) for line in file_of(desk, subject, "jsonl").splitlines()]
        cells = list(csv.DictReader(io.StringIO(file_of(desk, subject, "csv").decode())))
        for whole, line, row in zip(table, lines, cells, strict=True):
            for name, value in whole.items():
                told = value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value
                if isinstance(value, Decimal):
                    assert Decimal(line[name]) == Decimal(row[name]) == value
                else:
                    assert line.get(name) == told
                    assert row[name] == ("" if told is None else str(told))
    assert table[0]["subscribed_power"] == Decimal(6)
    assert table[0]["at"] == datetime(2026, 1, 4, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("flow", "minutes", "unit", "end", "bounds"),
    [
        ("R50", 30, "W", datetime(2026, 3, 29, 0, 30, tzinfo=UTC), ["28 23:00", "28 23:30", "29 00:00", "29 00:30"]),
        ("R171", 1440, "Wh", datetime(2026, 3, 31, 22, tzinfo=UTC), ["28 23:00", "29 22:00", "30 22:00", "31 22:00"]),
    ],
)
def test_intervals_of_a_curve_follow_the_clock_or_the_calendar(
    tmp_path: Path, flow: str, minutes: int, unit: str, end: datetime, bounds: list[str]
) -> None:
    """In France the 29th of March 2026 has 23 hours: from 23:00 to 22:00 in UTC."""
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    values = tuple(Position(position=number, value=Decimal(number)) for number in (1, 2, 3))
    common = head(PRM, datetime(2026, 3, 28, 23, tzinfo=UTC), flow, None, "curve")
    curve = MeasureSeries(**common, end=end, resolution=minutes, unit=unit, positions=values)
    desk.deliver([start(PRM, day(0)), transaction([curve])])
    rows = pq.read_table(io.BytesIO(file_of(desk, "curves", "parquet"))).to_pylist()
    shown = [(f"{row['interval_start']:%d %H:%M}", f"{row['interval_end']:%d %H:%M}") for row in rows]
    assert shown == list(pairwise(bounds)), desk.states()
    assert [(row["item"], row["value"]) for row in rows] == [(1, 1), (2, 2), (3, 3)]


def test_disputes_tell_what_the_checks_of_invoices_find(tmp_path: Path) -> None:
    """A general file of 500 EUR above one service of 105: 395 too much, of the invoice as a whole."""
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    parts = [general(total_excluding_tax=Decimal(500), charges=1), charge(SERVICE)]
    for one in parts:
        desk.deliver([transaction([one])])
    (row,) = pq.read_table(io.BytesIO(file_of(desk, "disputes", "parquet"))).to_pylist()
    assert (row["op"], row["message"], row["item"], row["market"], row["access_point"]) == ("insert", 2, 1, "FR", None)
    assert (row["invoice"], row["invoice_date"]) == ("3100000000017", date(2025, 10, 5))
    assert (row["check"], row["charged"], row["expected"]) == ("net", "500 EUR", "105.00 EUR")
    assert (row["why"], row["why_fr"]) == (
        "the total without tax is not the sum of the charges",
        "le total hors taxes n'est pas la somme des valorisations",
    )
    assert (row["amount"], row["currency"], row["at"]) == (395, "EUR", datetime(2025, 10, 4, 22, tzinfo=UTC))
    (line,) = [json.loads(one) for one in file_of(desk, "disputes", "jsonl").splitlines()]
    assert (line["amount"], line["invoice_date"], "start" in line) == ("395.00", "2025-10-05", False)
    (cells,) = csv.DictReader(io.StringIO(file_of(desk, "disputes", "csv").decode()))
    assert (cells["amount"], cells["check"], cells["line"]) == ("395.00", "net", "")
    for chosen, rows in (
        ({"first": date(2025, 10, 6)}, 0),
        ({"last": date(2025, 10, 5)}, 1),
        ({"markets": ("NL",)}, 0),
        ({"access_points": (POINT,)}, 0),
    ):
        checker = InvoiceCheck(desk.store, RULES, desk.markets.zones)
        wanted = Selection(**chosen)
        with opened_export(desk.database, "disputes", wanted, desk.markets.zones, checker=checker) as found:
            assert len(list(found.rows())) == rows, chosen


def test_cursors_that_cannot_be_followed_are_refused(database_url: str, tmp_path: Path) -> None:
    desk = Desk(database_url)
    desk.deliver([start(PRM, day(0))])
    _, first = taken(desk, "supply")
    desk.deliver([reading(PRM, day(31), 1_100_000)])
    _, cursor = taken(desk, "supply")
    assert taken(desk, "readings", first)[0] != []
    store, number, mark = cursor.split("-")[1:]
    other = Desk(f"sqlite:///{tmp_path / 'other.db'}")
    other.deliver([start(PRM, day(0))])
    with writing(other.database) as connection:  # stores of tests are copies of one
        connection.execute(text("UPDATE change_head SET store = '00000000feedface'"))
    for wrong, words in (
        ("yesterday", "is no cursor"),
        (taken(other, "supply")[1], "another store"),
        (f"ec1-{store}-{int(number) + 1}-{mark}", "ahead of the store"),
        (f"ec1-{store}-{number}-{(int(mark) + 1) % (1 << 31)}", "another history"),
    ):
        with pytest.raises(UserError, match=words) as refused:
            taken(desk, "supply", wrong)
        assert "cursor" in refused.value.advice
    # What is older than the policy is forgotten, and told as such; the newest place is known all the same.
    with writing(desk.database) as connection:
        connection.execute(text('UPDATE change_batch SET "at" = 0'))
    assert purge(desk.store, "changes", 1, 1 << 60, "test")[0] > 0
    with pytest.raises(UserError, match="no longer known"):
        taken(desk, "readings", first)
    assert taken(desk, "readings", cursor) == ([], cursor)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("reading --to x.csv", "no subject reading. Did you mean readings"),
        ("readings --to x.xls", "names no format"),
        ("readings --to x.csv --format cvs", "no format cvs"),
        ("readings --to x.csv --market FX", "no market FX. Did you mean FR"),
        ("readings --to x.csv --access-point 99000000000071", "Did you mean 99000000000017"),
        ("readings --to x.csv --segment C6", "Did you mean C5"),
        ("readings --to x.csv --segment C5 --since ec1-0000000000000000-0-0", "together with a cursor"),
        ("readings --to x.csv --from 2026-02-30", "is no day"),
        ("readings --to x.csv --from 2026-02-02 --until 2026-02-01", "is before the first"),
        ("readings --to nowhere/x.csv", "does not exist"),
        ("readings --to x.csv --since 17", "is no cursor"),
        ("disputes --to x.csv --since ec1-0000000000000000-0-0", "cannot be followed"),
        ("dispute --to x.csv", "Did you mean disputes"),
    ],
)
def test_wrong_values_are_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, words: str
) -> None:
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_100_000)])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", f"sqlite:///{tmp_path / 'eis.db'}")
    before = sorted(tmp_path.iterdir())
    assert cli.main(["export", *typed.split()]) == 3
    assert words in " ".join(capsys.readouterr().err.split())
    assert [path.suffix for path in sorted(tmp_path.iterdir())] == [path.suffix for path in before]


def test_the_command_writes_a_file_and_tells_where_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_100_000)])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", f"sqlite:///{tmp_path / 'eis.db'}")
    assert cli.main(["export", "readings", "--to", "r.parquet"]) == 0
    (cursor,) = re.findall(r"ec1-\S+", capsys.readouterr().out)
    assert pq.read_table("r.parquet").column("value").to_pylist() == [1100]
    assert (tmp_path / "r.parquet").stat().st_mode & 0o777 == 0o600
    desk.deliver([reading(PRM, day(59), 1_250_000)])
    assert cli.main(["export", "readings", "--to", "r.jsonl", "--since", cursor, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["rows"], told["file"]) == (1, "r.jsonl")
    assert told["cursor"] != cursor
    assert json.loads(Path("r.jsonl").read_text("utf-8"))["value"] == 1250
