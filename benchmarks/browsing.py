"""Does looking take longer when the store is full? The console's queries and pages on PostgreSQL, as one store grows.

Example: python -m benchmarks --only browsing --messages 1000000
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import SecretStr
from sqlalchemy import Engine, text
from starlette.testclient import TestClient

from benchmarks import table
from benchmarks.whole_path import Served
from energycomm.config import Config
from energycomm.eis import migrations, nameindex
from energycomm.eis.browsing import MessageFilter
from energycomm.eis.database import connect, reading, writing
from energycomm.eis.messages import list_messages, show_message
from energycomm.eis.tallies import arrivals, code_frequencies, combinations, hourly, rule_frequencies, settle
from energycomm.eis.timeline import timelines
from energycomm.kernel.instants import micros
from energycomm.web_settings import WebSettings
from energycomm.webservice import tokens
from energycomm.webservice.app import make_app
from energycomm.webservice.roles import Role, Scope

ROUNDS = 20
EACH = 40
"""Messages of an access point."""

FLOWS = (
    ("FR", "R151", "MeterReading"),
    ("FR", "R151", "MeterReading"),
    ("FR", "R15", "MeterReading"),
    ("FR", "R15", "MeteredVolume"),
    ("FR", "F15", "GridCharge"),
    ("FR", "C15", "ContractTerms"),
    ("NL", "MeasureCollection", "MeterReading"),
    ("BE", "UTILTS", "MeasureSeries"),
)
"""Market, type and kind of a message; some are more frequent."""

RARE = ("FR", "X13", "RequestStatus")
"""Of a hundred messages of this kind the oldest are all that there is."""

FILL = """
INSERT INTO access_point (id, market, identifier, last_at, state, messages)
SELECT i, 'FR', lpad(i::text, 14, '0'), 0, '', 0 FROM generate_series({first} / {each} + 1, {last} / {each}) AS i;
INSERT INTO kernel_message
  (id, position, access_point_id, market, market_type, kind, effective, state, received_at, xml, version)
SELECT i, 1, (i::bigint * 7919) % ({last} / {each}) + 1, f.market, f.type, f.kind,
  {now} - (({last} - i)::numeric * 31536000000000 / {last})::bigint,
  CASE WHEN i % 100 < 90 THEN 'accepted' WHEN i % 100 < 94 THEN 'rejected' WHEN i % 100 < 97 THEN 'quarantined'
    WHEN i % 100 < 98 THEN 'ticketed' ELSE 'treated' END,
  {now} - (({last} - i)::numeric * 31536000000000 / {last})::bigint, repeat('<MeterReading reference="x"/>', 30), 1
FROM generate_series({first} + 1, {last}) AS i
JOIN unnest(ARRAY[{markets}], ARRAY[{types}], ARRAY[{kinds}]) WITH ORDINALITY AS f(market, type, kind, n)
  ON f.n = CASE WHEN i <= 100 THEN {flows} + 1 ELSE (i * 31) % {flows} + 1 END;
INSERT INTO state_change (id, message_id, before, after, at, by)
SELECT id, id, 'received', state, received_at, 'kernel' FROM kernel_message WHERE id > {first};
INSERT INTO finding
  (id, message_id, change_id, current, error_code, rule, severity, error_class, field, comment, comment_fr)
SELECT id, id, id, true, 'CO-R' || lpad((width_bucket(sqrt((id::bigint * 7919) % 10007), 0, 101, 30))::text, 2, '0'),
  'rule-' || id % 60, 'error', 'grid_operator', 'registers', 'An index goes back.', 'Un index recule.'
FROM kernel_message WHERE id > {first} AND state IN ('rejected', 'ticketed');
INSERT INTO reading (id, access_point_id, at, message_id, source, qualification, nature, status, registers)
SELECT id, access_point_id, effective, id, market_type, 'periodic', 'read', 'current', '[]'
FROM kernel_message WHERE id > {first} AND state = 'accepted' AND kind = 'MeterReading';
INSERT INTO contract (id, access_point_id, at, message_id, reference, powers)
SELECT id, id, 0, id, 'GM-' || (700000000 + id * 7919), '[]' FROM access_point WHERE id > {first} / {each};
INSERT INTO meter (id, access_point_id, at, message_id, action, serial)
SELECT id, id, 0, id, 'installed', lpad((id * 104729 % 100000000)::text, 14, '021')
FROM access_point WHERE id > {first} / {each};
INSERT INTO customer (id, access_point_id, at, message_id, name, content)
SELECT id, id, 0, id, translate(left(md5(id::text), 6) || ' ' || left(md5('x' || id % 5000), 8), '0123456789',
  'aeiounrslt'), '{{}}' FROM access_point WHERE id > {first} / {each};
INSERT INTO raw (sha256, size) VALUES (decode(repeat('00', 32), 'hex'), 0) ON CONFLICT DO NOTHING;
INSERT INTO envelope (id, name, sha256, received_at, channel, state)
SELECT i, 'ENEDIS_C15_17X100A100A0001A_' || lpad(i::text, 8, '0') || '_20260401.zip', decode(repeat('00', 32), 'hex'),
  {now}, 'directory', 'done' FROM generate_series({first} / {each} + 1, {last} / {each}) AS i;
DELETE FROM name_gap;
INSERT INTO name_gap (one, upto, target) VALUES (1, {first} / {each}, {last} / {each});
"""


def fill(engine: Engine, first: int, last: int, now: int) -> None:
    """Add messages until the store has so many: as many access points as they need, findings, readings."""
    flows = [*FLOWS, RARE]
    quoted = [", ".join(f"'{flow[part]}'" for flow in flows) for part in range(3)]
    statement = FILL.format(
        first=first,
        last=last,
        now=now,
        each=EACH,
        flows=len(FLOWS),
        markets=quoted[0],
        types=quoted[1],
        kinds=quoted[2],
    )
    with writing(engine) as connection:
        for part in statement.split(";"):
            if part.strip():
                connection.execute(text(part))
    settle(engine)
    nameindex.fill(engine)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM (ANALYZE)"))


def questions(engine: Engine, size: int, now: int) -> dict[str, Callable[[], Any]]:
    """What a page asks the store."""
    present = datetime.fromtimestamp(now / 1e6, UTC)
    point = f"{size // EACH // 2:014}"

    def page(cursor: str | None = None, **wanted: Any) -> Any:
        return list_messages(engine, MessageFilter(**wanted), limit=50, cursor=cursor)

    def today() -> Any:
        with reading(engine) as connection:
            day, fortnight = present - timedelta(days=1), present - timedelta(days=14)
            counts = hourly(connection, day, present), arrivals(connection, fortnight, present)
            return counts, combinations(connection), code_frequencies(connection)

    def rules() -> Any:
        with reading(engine) as connection:
            return rule_frequencies(connection)

    halfway = f"{now - 15_768_000_000_000}-{size // 2}"
    return {
        "newest messages": page,
        "in a state": lambda: page(state="rejected"),
        "state and type": lambda: page(state="quarantined", type="C15"),
        "a market": lambda: page(market="NL"),
        "a rare type, all old": lambda: page(type="X13"),
        "a code": lambda: page(codes=("CO-R20",)),
        "a code and a state": lambda: page(codes=("CO-R20",), state="ticketed"),
        "a week half a year ago, in a state": lambda: page(
            state="rejected", since=present - timedelta(days=190), until=present - timedelta(days=183)
        ),
        "a page in the middle": lambda: page(cursor=halfway, state="accepted"),
        "one message": lambda: show_message(engine, size // 2 + 90),
        "an access point's life": lambda: timelines(engine, point),
        "today's counts, failure groups": today,
        "how often rules fire": rules,
    }


PAGES = {
    "today": "/",
    "messages in a state": "/messages?state=rejected",
    "messages of a code": "/messages?code=CO-R20",
    "an access point": "/access-points/FR/{point}",
    "failure groups": "/failures",
    "one group": "/failures/code/CO-R05",
    "rules": "/rules",
    "search: an access point": "/find?q={point}",
    "search: a contract": "/find?q={contract}",
    "search: a part of a file's name": "/find?q=A_{file}_2026",
    "search: a contract, mistyped": "/find?q={contract}7",
    "search: a name": "/find?q={name}",
    "search: what is not there": "/find?q=hello%20world",
}


def cost(served: Served, work: Callable[[], Any], rounds: int) -> float:
    """Milliseconds of CPU time, of the program and of the server, that a call takes on average."""
    work()
    before = time.process_time() + (served.seconds() or 0.0)
    for _ in range(rounds):
        work()
    return (time.process_time() + (served.seconds() or 0.0) - before) / rounds * 1000


def pages(served: Served, url: str, size: int, rounds: int) -> dict[str, float]:
    """CPU milliseconds of whole pages, rendered by the application."""
    settings: dict[str, Any] = {"database": SecretStr(url), "web": WebSettings(requests_per_minute=1_000_000)}
    app = make_app(Config(**settings))
    store = app.state.services.store
    _, token = tokens.create(
        store, "bench", frozenset((Role.CONSULTANT,)), scopes=frozenset(Scope), days=1, label="bench", by="bench"
    )
    client = TestClient(app, base_url="http://bench.test")
    client.post("/login", data={"token": token, "then": "/rules"})
    taken = {}
    middle = size // EACH // 2
    with reading(store.engine) as connection:
        sql = text("SELECT name FROM customer WHERE id = :id")
        customer = str(connection.execute(sql, {"id": middle}).scalar_one())
    marks = {"point": f"{middle:014}", "contract": f"GM-{700000000 + middle * 7919}", "file": f"{middle:08}"}
    marks["name"] = customer.partition(" ")[0]
    for name, path in PAGES.items():
        address = path.format(**marks)
        assert client.get(address).status_code == 200, address
        taken[name] = cost(served, lambda address=address: client.get(address), rounds)  # type: ignore[misc]
    app.state.workbench.close()
    app.state.services.close()
    return taken


def grow(url: str, numbers: Sequence[int], rounds: int = ROUNDS) -> list[str]:
    """Two tables in Markdown, the store's answers and whole pages, in milliseconds of CPU time at each size.

    Args:
      url: an empty PostgreSQL database.
      numbers: of messages, rising.
      rounds: calls that the cost is the mean of.
    """
    engine, served = connect(url), Served(url)
    migrations.upgrade(engine)
    now = micros(datetime.now(UTC))
    asked: dict[str, list[float]] = {}
    shown: dict[str, list[float]] = {}
    before = 0
    for size in numbers:
        fill(engine, before, size, now)
        before = size
        for name, work in questions(engine, size, now).items():
            asked.setdefault(name, []).append(cost(served, work, rounds))
        for name, taken in pages(served, url, size, rounds).items():
            shown.setdefault(name, []).append(taken)
    served.close()
    engine.dispose()
    head = [*(f"{size:,}".replace(",", " ") for size in numbers), "growth"]
    return [*_table("what is asked, CPU ms", head, asked), "", *_table("whole page, CPU ms", head, shown)]


def _table(title: str, head: list[str], rows: dict[str, list[float]]) -> list[str]:
    told = [[name, *(f"{one:.1f}" for one in taken), f"{taken[-1] / taken[0]:.2f}"] for name, taken in rows.items()]
    return table([title, *head], told)


def sizes(most: int) -> list[int]:
    """10 000, 100 000, ... up to the most."""
    return [size for size in (10_000 * 10**power for power in range(5)) if size < most] + [most]
