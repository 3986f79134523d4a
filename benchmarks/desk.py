"""Does the desk take longer in a large store? Its pages on both databases, with ten thousand messages and a million.

Both stores are made as any store: lives are simulated, and their envelopes are processed. The large one is then
multiplied inside the database: every row of an envelope, an access point, a message, and of what hangs on them, is
copied with other numbers, identifiers, references and days of arrival. The contents of the messages are not rewritten.

The same pages are asked for in both, in turn: what they are about is in both.

Example: python -m benchmarks --only desk --messages 1000000
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from sqlalchemy import Connection, Engine, Table, event, text
from starlette.testclient import TestClient

from benchmarks import table
from benchmarks.whole_path import Served, UrlOf, fresh_gateway
from energycomm.config import Config
from energycomm.eis import nameindex, tables
from energycomm.eis.database import is_sqlite, reading, writing
from energycomm.eis.finding import refresh
from energycomm.eis.finding import tidy as merged
from energycomm.eis.tallies import settle
from energycomm.pipeline.progress import total
from energycomm.simulation.faults import FaultRates
from energycomm.simulation.port import load_simulator
from energycomm.simulation.scenario import Scenario
from energycomm.web_settings import WebSettings
from energycomm.webservice import tokens
from energycomm.webservice.app import make_app
from energycomm.webservice.roles import Role, Scope

SMALL: Final = 10_000
LIVES: Final = {"FR": (70, 12), "NL": (50, 6), "BE": (50, 6)}
"""Market -> access points and months of lives that give some ten thousand messages together."""
FEW: Final = {"FR": (30, 6), "NL": (20, 4), "BE": (20, 4)}
"""The same for a large store of less than `LARGE` messages: they are taken in four times."""
LARGE: Final = 100_000

FAULTS: Final = {"lost-message": 0.1, "wrong-order": 0.05, "grid_operator": 0.2, "product": 0.1, "CO-E03": 0.3}
"""One mistake is frequent, so that the small store fills the page of an error code too."""

DAYS: Final = 3
"""Days between the arrivals of two copies."""

STEP: Final = 100
"""Instructions of SQLite that are counted as one step."""

NUMBERED: Final = {("finding", "change_id"): "state_change"}
"""Columns that are numbers of another table without saying so to the database."""

NAMED: Final = {
    "access_point": ("identifier",),
    "ch_message": ("access_point", "reference"),
    "contract": ("reference",),
    "customer": ("name",),
    "envelope": ("name",),
    "grid_invoice": ("invoice",),
    "invoice_message": ("invoice",),
    "member": ("path",),
    "meter": ("serial",),
    "outgoing": ("reference", "market_reference", "batch"),
    "received_request": ("reference",),
    "request": ("reference",),
    "supply_period": ("reference",),
}
"""What is called otherwise in each copy."""

ARRIVED: Final = {("envelope", "received_at"), ("kernel_message", "received_at"), ("state_change", "at")}
LEFT: Final = {"acknowledgement"}
"""Tables that are as large in the large store: they are no part of a page that grows."""


def copied() -> list[Table]:
    """The tables of what arrives and of what hangs on it, those first that others name."""
    found = {tables.envelope.name, tables.access_point.name}
    for one in tables.metadata.sorted_tables:
        if any(key.column.table.name in found for key in one.foreign_keys):
            found.add(one.name)
    return [one for one in tables.metadata.sorted_tables if one.name in found - LEFT]


def multiply(engine: Engine, copies: int) -> None:
    """Copy the rows of a store.

    Args:
      engine: the store.
      copies: how many of each row.
    """
    made = copied()
    with reading(engine) as connection:
        numbered = [one.name for one in made if "id" in one.columns]
        sql = "SELECT max(m) FROM (" + " UNION ALL ".join(f"SELECT max(id) AS m FROM {one}" for one in numbered) + ") x"
        stride = int(connection.execute(text(sql)).scalar_one()) + 1
    for one in made:
        columns = ", ".join(f'"{column.name}"' for column in one.columns)
        values = ", ".join(
            _copy(one, column.name, made, stride, copies, sqlite=is_sqlite(engine)) for column in one.columns
        )
        with writing(engine) as connection:
            connection.execute(
                text(
                    f"WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {copies}) "
                    f"INSERT INTO {one.name} ({columns}) SELECT {values} FROM n, {one.name} t WHERE true"
                )
            )
    settle(engine)
    _name(engine)


def _name(engine: Engine) -> None:
    """Take the names of the copies into the index of names, which holds what no statement of a database could make."""
    with writing(engine) as connection:
        connection.execute(text("DELETE FROM name_gap"))
        highest = "SELECT 1, max(customer_id), (SELECT max(id) FROM customer) FROM customer_words"
        connection.execute(text(f"INSERT INTO name_gap (one, upto, target) {highest}"))
    nameindex.fill(engine)


def _copy(one: Table, name: str, made: list[Table], stride: int, copies: int, *, sqlite: bool) -> str:
    """The value of a column in a copy, as SQL."""
    written = f't."{name}"'
    named = {key.column.table.name for key in one.columns[name].foreign_keys}
    named |= {NUMBERED[one.name, name]} if (one.name, name) in NUMBERED else set()
    if (one.name, name) == ("state_change", "id"):
        return f"CASE WHEN {written} = 0 THEN 0 ELSE {written} + n.k * {stride} END"
    if name == "id" or named & {two.name for two in made}:
        return f"{written} + n.k * {stride}"
    if (one.name, name) in ARRIVED:
        return f"{written} - ({copies} + 1 - n.k) * {DAYS * 86_400_000_000}"
    if (one.name, name) == ("ch_message", "identity"):
        digits = f"t.id + n.k * {stride}"
        padded = f"substr('0000000000000000' || ({digits}), -16)" if sqlite else f"lpad(({digits})::text, 16, '0')"
        return f"CAST({padded} AS BLOB)" if sqlite else f"convert_to({padded}, 'UTF8')"
    if name in NAMED.get(one.name, ()):
        number = "printf('%05d', n.k)" if sqlite else "lpad(n.k::text, 5, '0')"
        # Within it, so that what is asked for is no part of its copies.
        inside = f"substr({written}, 1, 4) || {number} || substr({written}, 10)"
        between = (
            f"substr({written}, 1, length({written}) / 2) || {number} || substr({written}, length({written}) / 2 + 1)"
        )
        return f"CASE WHEN length({written}) >= 10 THEN {inside} ELSE {between} END"
    return written


class Work(NamedTuple):
    """What a page took: CPU milliseconds of program and server, and work that no clock measures.

    Attributes:
      cpu: milliseconds, the least of the rounds: what other load adds is no work of the page.
      done: of SQLite hundreds of instructions, of PostgreSQL rows and entries of indexes that were read.
      shown: rows of the page's tables and lists.
    """

    cpu: float
    done: float
    shown: int


class Meter:
    """Counts the work of a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._steps = 0
        if is_sqlite(engine):
            event.listen(engine, "checkout", self._count)

    def _count(self, connection: Any, _record: Any, _proxy: Any) -> None:
        connection.set_progress_handler(self._step, STEP)

    def _step(self) -> int:
        self._steps += 1
        return 0

    def read(self) -> int:
        """The work so far; of PostgreSQL as its sessions told it, once a second."""
        if is_sqlite(self._engine):
            return self._steps
        sql = "SELECT tup_returned + tup_fetched FROM pg_stat_database WHERE datname = current_database()"
        with self._engine.connect() as connection:
            return int(connection.execute(text(sql)).scalar_one())

    def wait(self) -> None:
        """Until what was done is told."""
        if not is_sqlite(self._engine):
            time.sleep(1.1)


class Desk:
    """A store with the application over it, and somebody at the desk.

    Args:
      url: of the store.
    """

    def __init__(self, url: str) -> None:
        settings: dict[str, Any] = {"database": url, "web": WebSettings(requests_per_minute=1_000_000)}
        self._app = make_app(Config(**settings))
        self.store = self._app.state.services.store
        self._served = Served(url)
        roles = frozenset((Role.CONSULTANT, Role.OPERATOR, Role.ADMINISTRATOR))
        _, token = tokens.create(self.store, "bench", roles, scopes=frozenset(Scope), days=1, label="bench", by="bench")
        self._client = TestClient(self._app, base_url="http://bench.test")
        self._client.post("/login", data={"token": token, "then": "/rules"})
        self.meter = Meter(self.store.engine)

    def ask(self, path: str) -> str:
        """A page."""
        answer = self._client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text[:500]}"
        return answer.text

    def cost(self, path: str) -> float:
        """CPU milliseconds of a page."""
        at = time.process_time() + (self._served.seconds() or 0.0)
        self._client.get(path)
        return (time.process_time() + (self._served.seconds() or 0.0) - at) * 1000

    def close(self) -> None:
        """Let go of the store."""
        self._served.close()
        self._app.state.workbench.close()
        self._app.state.services.close()


def look(desks: Sequence[Desk], path: str, rounds: int) -> list[Work]:
    """What a page takes in each of some stores, in turn, after a round that is not counted."""
    shown = [len(re.findall("<tr[ >]|<li[ >]", desk.ask(path))) for desk in desks]
    desks[0].meter.wait()
    before = [desk.meter.read() for desk in desks]
    cpu = [[desk.cost(path) for desk in desks] for _ in range(rounds)]
    desks[0].meter.wait()
    done = [(desk.meter.read() - at) / rounds for desk, at in zip(desks, before, strict=True)]
    least = [min(each) for each in zip(*cpu, strict=True)]
    return [Work(*one) for one in zip(least, done, shown, strict=True)]


LISTS: Final = (
    *(f"/messages?sort={sign}{one}" for one in ("received", "market", "type", "kind", "state") for sign in ("", "-")),
    "/messages?state={state}",
    "/messages?market={market}",
    "/messages?kind=MeterReading",
    "/messages?type={type}",
    "/messages?state={state}&sort=type",
    "/messages?code={code}",
    "/messages?code={code}&state={state}",
    "/messages?particular={particular}",
    "/messages?since={day}&until={next}",
    "/messages?state={state}&since={day}&until={next}",
    "/messages?access_point={point}",
    "/messages?access_point={point}&sort=effective",
    "/messages?envelope={envelope}&sort=kind",
    "/quarantine",
    "/quarantine?sort=kind",
    "/tickets",
    "/requests?state=all",
    "/requests?state=all&sort=state",
    "/requests?state=to+answer",
    "/requests?state=to+answer&sort=received",
    "/envelopes",
    "/envelopes?sort=name",
    "/envelopes?sort=state",
    "/envelopes?state=done&sort=-name",
    "/envelopes?state=failed",
    "/access-points",
    "/access-points/overdue",
    "/invoices",
    "/failures",
    "/failures/code/{code}",
    "/rules",
    "/audit",
)
PAGES: Final = (
    "/",
    "/state",
    "/channels",
    "/messages/{message}",
    "/messages/{message}/raw",
    "/messages/{message}/explanation",
    "/access-points/{point_market}/{point}",
    "/envelopes/{envelope}",
)
SEARCHES: Final = (
    "/find?q={point}",
    "/find?q={contract}",
    "/find?q={meter}",
    "/find?q={file}",
    "/find?q={name}",
    "/find?q={reference}",
    "/find?q={message}",
    "/find?q={code}",
    "/find?q={point_part}",
    "/find?q={point_wrong}",
    "/find?q={contract_part}",
    "/find?q={meter_wrong}",
    "/find?q={name_wrong}",
    "/find?q=hello+world",
)


def marks(connection: Connection) -> dict[str, str]:
    """What pages are asked for: something of each kind that is in the middle of the store."""

    def one(sql: str) -> Any:
        row = connection.execute(text(sql)).first()
        assert row is not None, sql
        return row

    middle = "ORDER BY id LIMIT 1 OFFSET (SELECT count(*) / 2 FROM {0})"
    message = one(
        "SELECT k.id, k.access_point_id, c.envelope_id, c.reference, k.state, k.market, k.market_type, k.received_at "
        "FROM kernel_message k JOIN ch_message c ON c.id = k.ch_message_id WHERE k.access_point_id IS NOT NULL "
        "AND k.state = 'rejected' ORDER BY k.id DESC LIMIT 1"
    )
    point = one(f"SELECT identifier, market FROM access_point WHERE id = {message[1]}")
    found = {
        "message": message[0], "envelope": message[2], "reference": message[3], "state": message[4],
        "market": message[5], "type": message[6], "point": point[0], "point_market": point[1],
        "contract": one("SELECT reference FROM contract WHERE reference IS NOT NULL " + middle.format("contract"))[0],
        "meter": one("SELECT serial FROM meter WHERE serial IS NOT NULL " + middle.format("meter"))[0],
        "file": one("SELECT name FROM envelope " + middle.format("envelope"))[0],
        "name": one("SELECT name FROM customer WHERE name IS NOT NULL " + middle.format("customer"))[0],
        "code": one("SELECT error_code FROM finding WHERE current GROUP BY 1 ORDER BY count(*) DESC LIMIT 1")[0],
        "particular": "=".join(one("SELECT name, value FROM particular GROUP BY 1, 2 ORDER BY count(*) DESC LIMIT 1")),
    }  # fmt: skip
    day = 86_400
    found["day"] = time.strftime("%Y-%m-%d", time.gmtime(message[7] // 1_000_000))
    found["next"] = time.strftime("%Y-%m-%d", time.gmtime(message[7] // 1_000_000 + day))
    found["point_part"], found["contract_part"] = found["point"][3:-2], found["contract"][2:-1]
    found["point_wrong"], found["meter_wrong"] = found["point"][:-4] + "x" + found["point"][-3:], found["meter"] + "7"
    found["name_wrong"] = found["name"].split()[-1][:-1] + "qq"
    return {name: quote(str(value), safe="") for name, value in found.items()}


def addresses(marked: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Each page, as it is told and as it is asked for."""
    for path in (*PAGES, *LISTS, *SEARCHES):
        yield path, path.format(**marked)


def measure(urls: Sequence[str], rounds: int) -> dict[str, list[Work]]:
    """What each page takes in each of some stores, the smallest first."""
    with ExitStack() as held:
        desks = [held.enter_context(closing(Desk(url))) for url in urls]
        with reading(desks[0].store.engine) as connection:
            asked = dict(addresses(marks(connection)))
        for desk in desks:
            for address in asked.values():  # what waits to be worked out is
                desk.ask(address)
            tidy(desk.store.engine)
        return {name: look(desks, address, rounds) for name, address in asked.items()}


def tidy(engine: Engine) -> None:
    """What PostgreSQL does by itself in quiet hours, and the daemon for SQLite."""
    if is_sqlite(engine):
        refresh(engine)
        merged(engine)
    else:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM (ANALYZE)"))


def compare(
    folder: Path,
    databases: dict[str, UrlOf],
    most: int,
    rounds: int,
    lives: Mapping[str, tuple[int, int]] | None = None,
) -> list[str]:
    """A table for each database: every page in the small store and in the large one.

    Args:
      folder: where the envelopes are written.
      databases: name -> fresh databases.
      most: messages of the large store.
      rounds: calls of each page; of CPU time the least counts, of work the mean.
      lives: market -> access points and months of the small store; by default what its size asks for.
    """
    files = list(_lives(folder, lives or (LIVES if most >= LARGE else FEW)))
    lines: list[str] = []
    for name, url_of in databases.items():
        urls, numbers = [url_of(), url_of()], []
        for url, wanted in zip(urls, (SMALL, most), strict=True):
            with fresh_gateway(url) as gateway:
                total(gateway.inbound.take(files, "bench"))
                engine = gateway.store.engine
                _settle(engine)
                copies = round(wanted / _messages(engine)) - 1
                if copies > 0:
                    multiply(engine, copies)
                numbers.append(_messages(engine))
        lines += ([""] if lines else []) + _table(name, numbers, measure(urls, rounds))
    return lines


def _lives(folder: Path, lives: Mapping[str, tuple[int, int]]) -> Iterator[Path]:
    """The envelopes of simulated lives, in the order in which they were made."""
    for market, (points, months) in lives.items():
        simulator = load_simulator(market)
        assert simulator is not None, market
        rates = FaultRates({name: rate for name, rate in FAULTS.items() if name in simulator.playable()})
        simulator.simulate(Scenario(points, months, 1, faults=rates), folder / market)
        yield from sorted((folder / market / "envelopes").iterdir(), key=lambda path: path.stem[-14:])


def _settle(engine: Engine) -> None:
    """The back office was told of everything: what it was not told yet is no part of a store that grows."""
    with writing(engine) as connection:
        connection.execute(text("UPDATE outbox SET state = 'sent' WHERE state = 'pending'"))


def _messages(engine: Engine) -> int:
    with reading(engine) as connection:
        return int(connection.execute(text("SELECT count(*) FROM kernel_message")).scalar_one())


def _table(name: str, numbers: Sequence[int], measured: dict[str, list[Work]]) -> list[str]:
    work = "steps" if name == "SQLite" else "read"
    small, large = (f"{n:,}".replace(",", " ") for n in numbers)
    head = [f"{name}: page", "rows shown", f"CPU ms, {small} messages", f"{large} messages", "growth"]
    head += [f"{work}, {small} messages", f"{large} messages", "growth of work"]
    rows = []
    for path, (first, last) in measured.items():
        grown = last.done / first.done if first.done else 1.0
        shown = f"{first.shown}" if first.shown == last.shown else f"{first.shown}, {last.shown}"
        rows.append(
            [
                *(f"`{path}`", shown, f"{first.cpu:.1f}", f"{last.cpu:.1f}", f"{last.cpu / first.cpu:.2f}"),
                *(f"{first.done:.0f}", f"{last.done:.0f}", f"{grown:.2f}"),
            ]
        )
    return table(head, rows)
