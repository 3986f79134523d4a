"""The content of a store by meaning: without ids, clocks and the order of arrival.

Two stores that were given the same messages in any order, with any interruption, on any of the databases, have equal
meanings. It is read in slices, so that two stores of any size can be compared: some access points, the CH messages and
envelopes whose hashes begin alike, and at last what is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, Engine, Table

from energycomm.eis import tables
from energycomm.eis.arrays import parts_json
from energycomm.eis.bulk import Driver, column_names, driver_of, quoted
from energycomm.eis.database import reading
from energycomm.eis.domain import array_columns
from energycomm.kernel.codec import decode
from energycomm.kernel.family import is_incoming
from energycomm.kernel.verdicts import Refusal

Meaning = dict[str, dict[str, Any]]
"""Section -> key -> content in plain values."""

_LINKS = ("message_id", "end_message_id", "corrects")
_LEFT_OUT = frozenset(("id", "access_point_id", *_LINKS))
POINTS_TOGETHER = 256
ROWS_TOGETHER = 4000
MINTED = ("created", "reference")
"""What a message of ours takes from the clock and from chance."""


SECTIONS = (
    "access_points",
    "messages",
    "notifications",
    *(table.name for table in tables.ALONE),
    "ch_messages",
    "envelopes",
    "members",
    "requests",
)


def canonical(engine: Engine, *, carriers: bool = True) -> Meaning:
    """The meaning of a store, in plain values that can be compared and shown as JSON.

    Args:
      engine: the store.
      carriers: with the envelopes and members that brought the messages; without them stores can be equal that were
        told the same by other files.

    Returns:
      `access_points`: market/identifier -> table -> rows in a fixed order, each by column, with its cause;
      `messages`: key of a Kernel message -> its kind, instant, state, what it waits for, its Kernel XML, and what the
        rules found, with their comments; of a request of ours its fields, without its time and reference;
      `notifications`: key of a message -> the events that the back office was or is to be told of it, in order;
      each table of what belongs to no access point: key of the message that brought it -> its rows;
      `ch_messages`: identity -> outcome, type, version, sender, reference, access point; what was refused or noticed;
        every arrival: member and position;
      `envelopes`: SHA-256 -> names, states, members, and what was refused of them;
      `members`: SHA-256 -> what its header says, its state, and what was refused or noticed;
      `requests`: reference of a request to the market -> what it is and what became of it.

    The key of a Kernel message is the identity of its CH message in hexadecimal, a slash, and its position; of one that
    has none ``injected/``, its access point, instant, kind and position.
    """
    whole: Meaning = {section: {} for section in SECTIONS}
    for _, meaning in slices(engine, point_names(engine)):
        for section, content in meaning.items():
            whole[section].update(content)
    if not carriers:
        del whole["envelopes"], whole["members"]
        for ch_message in whole["ch_messages"].values():
            del ch_message["arrivals"]
    return whole


def point_names(engine: Engine) -> list[str]:
    """Market and identifier of every access point, with a slash between them, sorted."""
    with reading(engine) as connection:
        rows = driver_of(connection).rows("SELECT market, identifier FROM access_point")
    return sorted(f"{market}/{identifier}" for market, identifier in rows)


def cuts_of(engine: Engine) -> int:
    """Into how many slices the CH messages, envelopes and members of a store are cut."""
    with reading(engine) as connection:
        sql = "SELECT (SELECT count(*) FROM ch_message) + (SELECT count(*) FROM envelope)"
        ((rows,),) = driver_of(connection).rows(sql)
    return int(min(1 << 16, 1 << (int(rows) // ROWS_TOGETHER).bit_length()))


def _bounds(number: int, cuts: int) -> tuple[bytes, bytes]:
    """The least hash of a slice, and the least of the next one; cuts is a power of two."""
    step = (1 << 16) // cuts
    following = (number + 1) * step
    return (number * step).to_bytes(2, "big"), following.to_bytes(2, "big") if following < 1 << 16 else b"\xff" * 33


def slices(engine: Engine, points: Sequence[str], cuts: int = 1) -> Iterator[tuple[str, Meaning]]:
    """The meaning of a store, a slice at a time; the slices of two stores that are asked for equal points correspond.

    Args:
      engine: the store.
      points: the access points, sorted; those that are unknown have no meaning.
      cuts: into how many slices what is found by its hash is cut; a power of two, at most 65536.

    Yields:
      The name of each slice and its meaning.
    """
    for start in range(0, len(points), POINTS_TOGETHER):
        chosen = points[start : start + POINTS_TOGETHER]
        with reading(engine) as connection:
            yield f"access points {chosen[0]} to {chosen[-1]}", _Slice(connection).of_points(chosen)
    for number in range(cuts):
        with reading(engine) as connection:
            yield f"hashes, {number + 1} of {cuts}", _Slice(connection).of_hashes(*_bounds(number, cuts))
    with reading(engine) as connection:
        yield "the rest", _Slice(connection).of_the_rest()


class _Message(NamedTuple):
    id: int
    point: str | None
    position: int
    version: int
    market: str
    market_type: str
    kind: str
    effective: int
    state: str
    waits_for: str | None
    xml: str
    corrects: int | None
    injected_by: str | None


_MESSAGE = (
    "SELECT k.id, a.market || '/' || a.identifier, k.position, k.version, k.market, k.market_type, k.kind, "
    "k.effective, k.state, k.waits_for, k.xml, k.corrects, k.injected_by FROM kernel_message k "
    "LEFT JOIN access_point a ON a.id = k.access_point_id LEFT JOIN ch_message c ON c.id = k.ch_message_id WHERE true"
)


class _Slice:
    """A part of a store while it is read."""

    def __init__(self, connection: Connection) -> None:
        self.driver: Driver = driver_of(connection)
        self.keys: dict[int, str] = {}

    def of_points(self, names: Sequence[str]) -> Meaning:
        """Access points with their messages and domain rows."""
        sql = "SELECT id, market, identifier FROM access_point WHERE true"
        rows = self.driver.matching(sql, [name.partition("/")[2] for name in names], "identifier")
        wanted = set(names)
        points = {number: f"{market}/{name}" for number, market, name in rows if f"{market}/{name}" in wanted}
        meaning = self._messages(self.driver.matching(_MESSAGE, list(points), "k.access_point_id"))
        found: dict[str, Any] = {name: {} for name in points.values()}
        for table in tables.EFFECTS:
            of_point: dict[int, list[dict[str, Any]]] = {}
            for row in self._rows(table, list(points), "access_point_id"):
                of_point.setdefault(row["access_point_id"], []).append(row)
            for point_id, rows_of in of_point.items():
                found[points[point_id]][table.name] = self._plain(rows_of)
        return meaning | {"access_points": found}

    def of_hashes(self, low: bytes, high: bytes) -> Meaning:
        """CH messages, envelopes and members whose hashes lie between two bounds, and the messages of those CH messages
        that concern no access point."""
        sql = f"{_MESSAGE} AND c.identity >= ? AND c.identity < ? AND k.access_point_id IS NULL"
        meaning = self._messages(self.driver.rows(sql, (low, high)))
        return meaning | {
            "ch_messages": self._ch_messages(low, high),
            "envelopes": self._envelopes(low, high),
            "members": self._members(low, high),
        }

    def of_the_rest(self) -> Meaning:
        """Messages that neither came in a CH message nor concern an access point; requests."""
        sql = f"{_MESSAGE} AND k.ch_message_id IS NULL AND k.access_point_id IS NULL"
        return self._messages(self.driver.rows(sql)) | {"requests": self._requests()}

    # --- Kernel messages ---

    def _messages(self, rows: Iterable[Sequence[Any]]) -> Meaning:
        messages = [_Message._make(row) for row in rows]
        ids = [message.id for message in messages]
        self._know([*ids, *(one.corrects for one in messages if one.corrects is not None)])
        sql = (
            "SELECT message_id, error_code, rule, severity, error_class, field, value, comment, comment_fr "
            'FROM finding WHERE "current"'
        )
        findings = _grouped(self.driver.matching(sql, ids, "message_id"))
        sql = "SELECT message_id, event FROM outbox WHERE true"
        events = _grouped(self.driver.matching(sql, ids, "message_id", "ORDER BY at, id"))
        found: Meaning = {"messages": {}, "notifications": {}}
        for message in messages:
            key = self.keys[message.id]
            of_it = sorted(findings.get(message.id, ()), key=repr)
            found["messages"][key] = {
                "access_point": message.point,
                "kind": message.kind,
                "market_type": message.market_type,
                "effective": message.effective,
                "state": message.state,
                "waits_for": message.waits_for,
                "codes": sorted({row[0] for row in of_it}),
                "findings": [dict(zip(_FINDING, row, strict=True)) for row in of_it],
                "xml": _content(message.kind, self.driver.vault.text("kernel_message", message.id, message.xml)),
                "corrects": None if message.corrects is None else self.keys[message.corrects],
                "injected_by": message.injected_by,
            }
            if message.id in events:
                found["notifications"][key] = [event for (event,) in events[message.id]]
        for table in tables.ALONE:
            by_cause: dict[str, list[dict[str, Any]]] = {}
            for row in self._rows(table, ids, "message_id"):
                by_cause.setdefault(self.keys[row["message_id"]], []).append(row)
            found[table.name] = {key: self._plain(rows_of) for key, rows_of in by_cause.items()}
        return found

    def _know(self, message_ids: Sequence[int]) -> None:
        """Find the keys of messages."""
        sql = (
            "SELECT k.id, c.identity, k.position, a.identifier, a.market, k.effective, k.kind, k.version, k.xml "
            "FROM kernel_message k LEFT JOIN ch_message c ON c.id = k.ch_message_id "
            "LEFT JOIN access_point a ON a.id = k.access_point_id WHERE true"
        )
        missing = sorted(set(message_ids) - self.keys.keys())
        found = self.driver.matching(sql, missing, "k.id")
        rows = [(*row[:8], self.driver.vault.text("kernel_message", row[0], row[8])) for row in found]
        seen: Counter[str] = Counter()
        for number, identity, position, point, market, effective, kind, version, _ in sorted(rows, key=_by_content):
            if identity is not None:
                name = f"{bytes(identity).hex()}/{position}"
            else:
                place = None if point is None else f"{market}/{point}"
                name = f"injected/{place}/{effective}/{kind}/{position}"
            name = name if version == 1 else f"{name}/{version}"
            seen[name] += 1
            self.keys[number] = name if seen[name] == 1 else f"{name}#{seen[name]}"

    def _rows(self, table: Table, values: Sequence[int], column: str) -> list[dict[str, Any]]:
        names = column_names(table)
        # Names of our own table and columns, never values.
        sql = f"SELECT {quoted(names)} FROM {table.name} WHERE true"  # noqa: S608 - our own names
        rows = [dict(zip(names, row, strict=True)) for row in self.driver.matching(sql, values, column)]
        for array in array_columns(table.name):
            for row in rows:
                row[array] = None if row[array] is None else parts_json(row[array])
        return rows

    def _plain(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Domain rows by column without their ids, in a fixed order; the messages that they name are named by their
        keys."""
        self._know([row[name] for row in rows for name in _LINKS if row.get(name) is not None])
        plain = []
        for row in rows:
            content = {name: value for name, value in row.items() if name not in _LEFT_OUT and value is not None}
            content |= {name: self.keys[row[name]] for name in _LINKS if row.get(name) is not None}
            plain.append(content)
        return sorted(plain, key=lambda row: (row.get("at", 0), msgspec.json.encode(row, order="sorted")))

    # --- what arrived ---

    def _ch_messages(self, low: bytes, high: bytes) -> dict[str, Any]:
        sql = (
            "SELECT c.id, c.identity, c.market, c.outcome, c.type, c.version, c.sender, c.reference, c.access_point, "
            "m.sha256, c.position FROM ch_message c JOIN member m ON m.id = c.member_id "
            "WHERE c.identity >= ? AND c.identity < ?"
        )
        rows = self.driver.rows(sql, (low, high))
        ids = [row[0] for row in rows]
        sql = (
            "SELECT d.first_id, m.sha256, d.position FROM ch_duplicate d JOIN member m ON m.id = d.member_id WHERE true"
        )
        again = _grouped(self.driver.matching(sql, ids, "d.first_id"))
        incidents = self._incidents(ids, "ch_message_id")
        return {
            bytes(identity).hex(): {
                **dict(zip(_CH_MESSAGE, said, strict=True)),
                "arrivals": sorted({f"{bytes(sha256).hex()}/{n}" for sha256, n in [place, *again.get(number, ())]}),
                "incidents": incidents.get(number, []),
            }
            for number, identity, *said_and_place in rows
            for said, place in [(said_and_place[:-2], said_and_place[-2:])]
        }

    def _envelopes(self, low: bytes, high: bytes) -> dict[str, Any]:
        sql = "SELECT e.sha256, e.id, e.name, e.state FROM envelope e WHERE e.sha256 >= ? AND e.sha256 < ?"
        rows = self.driver.rows(sql, (low, high))
        ids = [row[1] for row in rows]
        sql = "SELECT envelope_id, path, sha256 FROM member WHERE true"
        members = _grouped(self.driver.matching(sql, ids, "envelope_id"))
        incidents = self._incidents(ids, "envelope_id", "AND ch_message_id IS NULL AND member_id IS NULL")
        found: dict[str, Any] = {}
        for sha256, number, name, state in sorted(rows, key=lambda row: (row[2], row[1])):
            one = found.setdefault(bytes(sha256).hex(), {"names": [], "states": [], "members": [], "refusals": []})
            if name not in one["names"]:
                one["names"].append(name)
            inside = [f"{_inside(name, path)} {bytes(hashed).hex()}" for path, hashed in members.get(number, ())]
            for section, values in (
                ("states", [] if state == "duplicate" else [state]),
                ("members", inside),
                ("refusals", [_without(name, row) for row in incidents.get(number, ()) if row["severity"] == "error"]),
            ):
                one[section] = sorted(
                    [*one[section], *(value for value in values if value not in one[section])], key=repr
                )
        return found

    def _members(self, low: bytes, high: bytes) -> dict[str, Any]:
        sql = (
            "SELECT m.id, m.sha256, m.path, m.type, m.declared_version, m.version, m.sender, m.receiver, m.state, "
            "m.transactions FROM member m WHERE m.sha256 >= ? AND m.sha256 < ? AND m.state <> 'duplicate'"
        )
        rows = self.driver.rows(sql, (low, high))
        incidents = self._incidents([row[0] for row in rows], "member_id", "AND ch_message_id IS NULL")
        found: dict[str, Any] = {}
        for number, sha256, path, *said in rows:
            told = dict(zip(_MEMBER, said, strict=True))
            told["incidents"] = [_without(path, row) for row in incidents.get(number, ())]
            several = found.setdefault(bytes(sha256).hex(), [])
            if told not in several:
                several.append(told)
        return {sha256: sorted(several, key=repr) for sha256, several in found.items()}

    def _incidents(self, ids: Sequence[int], column: str, condition: str = "") -> dict[int, list[dict[str, Any]]]:
        # The column and the condition are those above.
        sql = f"SELECT {column}, severity, code, path, value, expected FROM incident WHERE true {condition}"  # noqa: S608 - our own names
        grouped = _grouped(self.driver.matching(sql, ids, column))
        return {
            number: [dict(zip(_INCIDENT, row, strict=True)) for row in sorted(rows, key=repr)]
            for number, rows in grouped.items()
        }

    # --- requests ---

    def _requests(self) -> dict[str, Any]:
        sql = (
            "SELECT id, message_id, reference, market, kind, type, market_reference, state, answer_code, "
            "idempotency_key, submitted_by, answers FROM outgoing"
        )
        rows = self.driver.rows(sql)
        sql = "SELECT outgoing_id, message_id, state, code, text FROM outgoing_event WHERE message_id IS NOT NULL"
        told = self.driver.rows(sql)
        self._know([row[1] for row in (*rows, *told)])
        steps = _grouped((row[0], self.keys[row[1]], *row[2:]) for row in told)
        return {
            reference: {
                "message": self.keys[message_id],
                **dict(zip(_REQUEST, said, strict=True)),
                "steps": sorted(map(list, steps.get(number, ())), key=repr),
            }
            for number, message_id, reference, *said in rows
        }


_FINDING = ("code", "rule", "severity", "class", "field", "value", "comment", "comment_fr")
_CH_MESSAGE = ("market", "outcome", "type", "version", "sender", "reference", "access_point")
_MEMBER = ("type", "declared_version", "version", "sender", "receiver", "state", "transactions")
_INCIDENT = ("severity", "code", "path", "value", "expected")
_REQUEST = (
    *("market", "kind", "type", "market_reference", "state", "answer_code", "idempotency_key", "submitted_by"),
    "answers",
)


def _content(kind: str, xml: str) -> Any:
    """The Kernel XML; of a message of ours its fields, without those that the clock and chance gave it."""
    if is_incoming(kind):
        return xml
    message = decode(xml)
    if isinstance(message, Refusal):
        return xml
    fields: dict[str, Any] = msgspec.to_builtins(message, str_keys=True)
    return {name: value for name, value in fields.items() if name not in MINTED}


def _by_content(row: Sequence[Any]) -> tuple[Any, ...]:
    """Order of messages that have nothing of their own to be named by."""
    return (row[7], repr(_content(row[6], row[8])) if row[1] is None else "")


def _without(name: str, incident: dict[str, Any]) -> dict[str, Any]:
    """An incident whose place does not begin with the name that a file happened to have."""
    return {**incident, "path": _inside(name, incident["path"])}


def _inside(name: str, path: str) -> str:
    """A path without the name of the file that it begins with."""
    return path.removeprefix(name).lstrip("/") if path == name or path.startswith(f"{name}/") else path


def _grouped(rows: Iterable[Sequence[Any]]) -> dict[int, list[tuple[Any, ...]]]:
    found: dict[int, list[tuple[Any, ...]]] = {}
    for first, *rest in rows:
        found.setdefault(first, []).append(tuple(rest))
    return found
