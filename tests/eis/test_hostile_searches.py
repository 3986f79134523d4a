"""Whatever is typed into the search is answered: never an error, and never by reading a table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import pytest
from sqlalchemy import Engine, text

from energycomm import finding as everything
from energycomm.eis import finding, tables
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import connect, is_sqlite, reading
from energycomm.eis.store import Store
from tests.eis.rows import DAY, put, put_ch_messages, put_kernel_message
from tests.eis.watched import Watched
from tests.pipeline.desk import shipped_rules

ROWS: Final = 3_000
"""Rows of each table: a question that reads a table reads as many."""

TOUCHED: Final = 700
"""Rows that one question may touch: those that it takes, and the candidates of an index."""

HOSTILE: Final = [
    # signs of SQL and of strings
    *("'", "''", '"', '""', "`", ";", "--", "/*", "*/", "'; DROP TABLE meter; --", "' OR '1'='1", '" OR ""="'),
    *("1; SELECT pg_sleep(9)", "UNION SELECT NULL", "admin'--", "$1", "$$", "?", "??", ":name", "%s", "%(x)s", "{0}"),
    *("\\", "\\\\", "\\'", "E'\\x00'", "0x41424344", "1e400", "NaN", "NULL", "true", "-1", "9" * 18, "9" * 40),
    # patterns
    *("%", "%%", "%%%", "_", "___", "____", "_%_%_", "a%z", "a_b_c_d", "%a%", "\\%\\%\\%", "[a-z]*", "*", "***", "^$"),
    *("zq%", "%zq", "_zq_", "z%q%z%q", ".*.*.*", "(a+)+$", "(((((", "]]]]", "%%%%%%%%%%%%%%%%%%%%"),
    # words of full-text search
    *("AND", "OR", "NOT", "NEAR(a b)", "abc AND", "NOT abc", "abc*", "^abc", "col:abc", "-abc", '"abc', "{abc}"),
    *("abc & def", "abc | !def", "abc <-> def", "abc:*", "abc ) (", "MATCH 'abc'"),
    # signs that are not seen, or are no text
    *("\0", "\0\0\0", "a\0bc", "\x1b[31mab", "\ud800", "abc\udcff", "\ud7ff", "abcde\ud7ff", "\uffff", "ab\U0010ffff"),
    *("\u202eabc", "\u200b\u200b\u200b", "\ufeffabcdef", "\u00ad\u00ad\u00ad", "\r\n\t", "\u2028abc\u2029", "\ue000a"),
    # scripts, case and accents
    *("مرحبا بالعالم", "שלום עולם", "你好世界", "😀😀😀", "👩‍👩‍👧‍👦", "🇫🇷🇳🇱", "ééé", "ÉÉÉ", "e\u0301e\u0301"),
    *("ßßß", "İıIi", "ǅǅǅ", "ﬀﬁﬂ", "Ω≈ç√∫", "ＡＢＣ１２３", "١٢٣٤٥٦", "²³¹", "Straße", "STRASSE", "naïve", "Ā" * 50),
    # length
    *("a" * 10_000, "ab " * 3_000, "%" * 10_000, "é" * 10_000, "0" * 10_000, "a-" * 5_000, "' " * 5_000, "😀" * 2_500),
]  # fmt: skip


@pytest.fixture
def full(database_url: str) -> Iterator[Engine]:
    """A store whose tables have so many rows that reading one is seen."""
    engine = connect(database_url)
    store = Store(engine)
    with store.transaction() as tx:
        points = tx.access_points("FR", [f"3{n * 7919:013d}" for n in range(ROWS)])
        some = [point.id for point in points.values()]
        message = put_kernel_message(tx, some[0], DAY)
        row: dict[str, Any] = {"at": DAY, "message_id": message}
        every = [{**row, "access_point_id": point} for point in some]
        put(tx, tables.contract, *({**one, "reference": f"GM-{n:09d}"} for n, one in enumerate(every)))
        put(tx, tables.DOMAIN["meter"], *({**one, "serial": f"{n:014d}"} for n, one in enumerate(every)))
        content = '{"phone":"06%08d","email":"c%d@example.org"}'
        put(
            tx,
            tables.customer,
            *({**one, "name": f"Camille Numéro{n}", "content": content % (n, n)} for n, one in enumerate(every)),
        )
        put(tx, tables.ticket, *({"title": f"Numéro {n} is wrong", "state": "open"} for n in range(ROWS)))
        put_ch_messages(tx, [f"{n:016d}".encode() for n in range(ROWS)])
    finding.refresh(engine)
    if not is_sqlite(engine):
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM (ANALYZE)"))
    yield engine
    engine.dispose()


@pytest.mark.thorough
def test_nothing_that_is_typed_is_an_error_or_reads_a_table(full: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(full, monkeypatch)
    assert len(HOSTILE) >= 90
    bad = {}
    for typed in HOSTILE:
        watched.worst = 0
        with contextlib.suppress(everything.TooShort):
            everything.find(full, shipped_rules(), (), typed)
        if watched.worst > TOUCHED:
            bad[typed[:40]] = f"{watched.worst} {watched.sql}"
    assert bad == {}


def test_the_watch_would_see_a_table_that_is_read(full: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(full, monkeypatch)
    with reading(full) as connection:
        driver_of(connection).rows("SELECT id FROM ticket WHERE title LIKE ?", ("%z%",))
    assert watched.worst > TOUCHED


def test_what_is_there_is_found_all_the_same(full: Engine) -> None:
    def kinds(typed: str) -> list[str]:
        return [group.kind for group in everything.find(full, shipped_rules(), (), typed).groups]

    assert kinds("GM-000002999") == ["contract"]
    assert kinds("\u202aGM-000002999\u202c") == ["contract"], "as it is pasted from a document"
    assert kinds("NUMÉRO 2999 is") == ["ticket"], "in any case of letters"
    assert kinds("c2999@example.org") == ["customer"]
    assert everything.find(full, shipped_rules(), (), "GM%000002999").mistyped, "a sign of patterns is a sign"
