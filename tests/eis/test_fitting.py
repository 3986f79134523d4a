"""One function tells what both databases accept in a column; the databases themselves are the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
)

from energycomm.eis import tables
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import connect, is_sqlite, writing
from energycomm.eis.fitting import Misfit, all_fit, columns_of, expected, fits, storable

TRIED = Table(
    "tried",
    MetaData(),
    Column("id", BigInteger, primary_key=True),
    Column("short", String(5)),
    Column("long", Text),
    Column("small", SmallInteger),
    Column("whole", Integer),
    Column("big", BigInteger),
    Column("truth", Boolean),
    Column("bytes", LargeBinary),
)
VALUES: dict[str, tuple[Any, ...]] = {
    "short": (
        "",
        "abcde",
        "abcdef",
        "\U0001f9e8" * 5,
        "\U0001f9e8" * 6,
        "a\x00",
        "\ud800",
        "a\x01b",
        "\ufffe",
        "é" * 5,
    ),
    "long": ("", "x" * 100_000, "a\x00b", "\udfff", "\x1a", "\u202e"),
    "small": (0, -1, 32_767, 32_768, -32_768, -32_769, 1 << 31, 1 << 70),
    "whole": (0, (1 << 31) - 1, 1 << 31, -(1 << 31), -(1 << 31) - 1, 1 << 63),
    "big": (0, (1 << 63) - 1, 1 << 63, -(1 << 63), -(1 << 63) - 1),
    "truth": (True, False),
    "bytes": (b"", b"\x00\xff"),
}


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    made = connect(database_url)
    with writing(made) as connection:
        TRIED.create(connection)
    yield made
    made.dispose()


@pytest.mark.parametrize(("column", "value"), [(name, value) for name, values in VALUES.items() for value in values])
def test_what_is_said_to_fit_is_stored_by_both_databases_and_nothing_else_is(
    engine: Engine, column: str, value: Any
) -> None:
    try:
        with writing(engine) as connection:
            driver_of(connection).insert(TRIED, [{"id": 1, column: value}])
        stored = True
    except Exception:
        stored = False
    assert stored == fits(TRIED.c[column], value)
    if stored:
        with writing(engine) as connection:
            ((found,),) = driver_of(connection).rows(f"SELECT {column} FROM tried")
        assert found == value


@pytest.mark.parametrize(("column", "value"), [(name, value) for name, values in VALUES.items() for value in values])
def test_postgresql_itself_refuses_what_is_said_not_to_fit(database_url: str, column: str, value: Any) -> None:
    """Without the check before it: the check is no stricter and no laxer than the stricter database."""
    engine = connect(database_url)
    if is_sqlite(engine):
        engine.dispose()
        return
    with writing(engine) as connection:
        TRIED.create(connection)
    try:
        with writing(engine) as connection:
            driver_of(connection).run(f"INSERT INTO tried (id, {column}) VALUES (1, ?)", (value,))
        stored = True
    except Exception:
        stored = False
    finally:
        engine.dispose()
    assert stored == fits(TRIED.c[column], value)


@pytest.mark.parametrize(("column", "value"), [(name, value) for name, values in VALUES.items() for value in values])
def test_values_that_are_checked_together_fit_as_each_alone(column: str, value: Any) -> None:
    for other, fitting in (("short", "abcde"), ("short", None), ("whole", 1 << 31)):
        alone = fits(TRIED.columns[column], value) and fits(TRIED.columns[other], fitting)
        assert all_fit(TRIED, (column, other))(value, fitting) == alone


def test_a_change_is_checked_like_a_new_row(engine: Engine) -> None:
    wanted = r"tried\.short: found 'abcdef', expected text of at most 5 characters"
    with pytest.raises(Misfit, match=wanted), writing(engine) as connection:
        driver_of(connection).update(TRIED, ("short",), [(1, "abcdef")])


@pytest.mark.parametrize("number", [1, 31, 32, 75])
def test_rows_and_columns_are_stored_alike_whatever_they_share(engine: Engine, number: int) -> None:
    """The same value in all rows, none in any, none in some, another in each."""
    places = range(1, number + 1)
    rows = [{"id": n, "short": "same", "whole": n * n, "big": None if n % 3 else n, "bytes": b"\x00"} for n in places]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    moved: dict[str, list[Any]] = {**columns, "id": [n + 1000 for n in places]}
    with writing(engine) as connection:
        driver_of(connection).insert(TRIED, rows)
        driver_of(connection).insert_columns(TRIED, moved)
        found = driver_of(connection).rows(
            "SELECT id, short, long, small, whole, big, truth, bytes FROM tried ORDER BY id"
        )
    told = [(n, "same", None, None, n * n, None if n % 3 else n, None, b"\x00") for n in places]
    assert [tuple(row) for row in found] == [*told, *((n + 1000, *rest) for n, *rest in told)]


def test_columns_that_are_unknown_or_missing_are_refused(engine: Engine) -> None:
    refused: list[dict[str, list[Any]]] = [{"id": [1], "other": [1]}, {"short": ["a"]}]
    for wrong in refused:
        with pytest.raises(TypeError), writing(engine) as connection:
            driver_of(connection).insert_columns(TRIED, wrong)
    with pytest.raises(Misfit, match=r"tried\.short"), writing(engine) as connection:
        driver_of(connection).insert_columns(TRIED, {"id": [1, 2], "short": ["fits", "too long"]})


def test_a_misfit_names_column_value_and_what_was_expected() -> None:
    with pytest.raises(Misfit) as caught:
        columns_of(TRIED, [{"id": 1, "whole": 1 << 31}])
    assert (caught.value.column, caught.value.value) == ("tried.whole", "2147483648")
    assert caught.value.expected == "a whole number from -2147483648 to 2147483647"
    assert expected(tables.envelope.c.name) == "text of at most 400 characters, without U+0000"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é", "plain é"),
        ("a\x00b", "a\\x00b"),
        ("a\ud800b", "a\\ud800b"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("ok.xml\n2026 done", "ok.xml\\n2026 done"),
        ("a\u2028b\u202ec", "a\\u2028b\\u202ec"),
        ("x" * 20, "xxxxxxxxx…"),
    ],
)
def test_a_text_that_is_told_is_made_storable_and_harmless(text: str, shown: str) -> None:
    assert storable(text, 10 if len(text) == 20 else 100) == shown
