"""What a store means, without ids, clocks and the story of arrival: to tell whether two stores know the same.

Two stores that were given the same messages in any order, with any interruption, on any of the databases, have equal
meanings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, Table, select

from energycomm.eis import tables
from energycomm.eis.database import reading

_LINKS = ("message_id", "end_message_id", "corrects")
_LEFT_OUT = frozenset(("id", "access_point_id", *_LINKS))

Meaning = dict[str, Any]


def canonical(engine: Engine) -> Meaning:
    """The meaning of a store, in plain values that can be compared and shown as JSON.

    Returns:
      `access_points`: market/identifier -> table -> rows in a fixed order, each by column, with its cause;
      `messages`: key of a Kernel message -> its kind, instant, state, error codes, what it waits for;
      `notifications`: key of a message and event of each that is pending;
      `invoices`, `calorific_values`: the rows of `grid_invoice` and `calorific_value`;
      `ch_messages`: identity -> outcome, type, reference;
      `refusals`: identity of a CH message or path in its envelope, and the code of each incident that is an error.

    The key of a Kernel message is the identity of its CH message in hexadecimal, a slash, and its position; of an
    injected one ``injected/``, its access point, instant and kind.
    """
    with reading(engine) as connection:
        points = {row.id: f"{row.market}/{row.identifier}" for row in connection.execute(_POINTS)}
        keys = dict(_message_keys(connection, points))
        return {
            "access_points": _access_points(connection, points, keys),
            "messages": _messages(connection, keys),
            "notifications": _notifications(connection, keys),
            "invoices": _ordered(_plain(row, keys) for row in _rows(connection, tables.grid_invoice)),
            "calorific_values": _ordered(_plain(row, keys) for row in _rows(connection, tables.calorific_value)),
            "ch_messages": {
                row["identity"].hex(): [row["outcome"], row["type"], row["reference"]]
                for row in _rows(connection, tables.ch_message)
            },
            "refusals": _refusals(connection),
        }


def differences(left: Meaning, right: Meaning, limit: int = 20) -> list[str]:
    """Where two meanings differ: one line a place, at most `limit`; empty when they are equal."""
    found: list[str] = []
    for line in _differences(left, right, ""):
        found.append(line)
        if len(found) == limit:
            break
    return found


def _differences(left: Any, right: Any, path: str) -> Iterator[str]:
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted(left.keys() | right.keys()):
            yield from _differences(left.get(name), right.get(name), f"{path}/{name}" if path else name)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for number, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _differences(one, other, f"{path}[{number}]")
    elif left != right:
        yield f"{path}: {left!r} and {right!r}"


def _rows(connection: Connection, table: Table) -> Iterator[dict[str, Any]]:
    result = connection.execution_options(yield_per=1000).execute(select(table))
    for row in result.mappings():
        yield dict(row)


def _message_keys(connection: Connection, points: dict[int, str]) -> Iterator[tuple[int, str]]:
    k, ch = tables.kernel_message, tables.ch_message
    query = select(
        k.c.id, ch.c.identity, k.c.position, k.c.access_point_id, k.c.effective, k.c.kind, k.c.version
    ).select_from(k.outerjoin(ch, ch.c.id == k.c.ch_message_id))
    for row in connection.execute(query):
        if row.identity is not None:
            name = f"{row.identity.hex()}/{row.position}"
        else:
            name = f"injected/{points.get(row.access_point_id)}/{row.effective}/{row.kind}/{row.position}"
        yield row.id, name if row.version == 1 else f"{name}/{row.version}"


def _plain(row: dict[str, Any], keys: dict[int, str]) -> dict[str, Any]:
    """A domain row by column without its ids; the messages that it names are named by their keys."""
    content = {name: value for name, value in row.items() if name not in _LEFT_OUT and value is not None}
    for name in _LINKS:
        if row.get(name) is not None:
            content[name] = keys[row[name]]
    return content


def _ordered(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row.get("at", 0), msgspec.json.encode(row, order="sorted")))


def _access_points(connection: Connection, points: dict[int, str], keys: dict[int, str]) -> Meaning:
    found: Meaning = {name: {} for name in points.values()}
    for table in tables.EFFECTS:
        of_point: dict[int, list[dict[str, Any]]] = {}
        for row in _rows(connection, table):
            of_point.setdefault(row["access_point_id"], []).append(_plain(row, keys))
        for point_id, rows in of_point.items():
            found[points[point_id]][table.name] = _ordered(rows)
    return found


def _messages(connection: Connection, keys: dict[int, str]) -> Meaning:
    f, k = tables.finding.c, tables.kernel_message.c
    codes: dict[int, set[str]] = {}
    for message_id, code in connection.execute(select(f.message_id, f.error_code).where(f.current)):
        codes.setdefault(message_id, set()).add(code)
    query = select(k.id, k.kind, k.effective, k.state, k.waits_for)
    return {
        keys[row.id]: {
            "kind": row.kind,
            "effective": row.effective,
            "state": row.state,
            "waits_for": row.waits_for,
            "codes": sorted(codes.get(row.id, ())),
        }
        for row in connection.execute(query)
    }


def _notifications(connection: Connection, keys: dict[int, str]) -> list[str]:
    o = tables.outbox.c
    query = select(o.message_id, o.event).where(o.state == "pending")
    return sorted({f"{keys[message_id]} {event}" for message_id, event in connection.execute(query)})


def _refusals(connection: Connection) -> list[str]:
    i, ch = tables.incident, tables.ch_message
    query = select(i.c.code, i.c.path, ch.c.identity).select_from(i.outerjoin(ch, ch.c.id == i.c.ch_message_id))
    rows = connection.execute(query.where(i.c.severity == "error"))
    return sorted({f"{path if identity is None else identity.hex()} {code}" for code, path, identity in rows})


_POINTS = select(tables.access_point.c.id, tables.access_point.c.market, tables.access_point.c.identifier)
