"""All that the store knows of a customer, in one file: for the customer, who may ask for it (GDPR, articles 15 and 20).

The file is a zip: `customer.json` for machines, `customer.html` for people, each with the same: who, where and when;
every message with what it says, whence it came and what became of it; requests to the market and what it answered;
what the back office was told; tickets and notes; who has read it.
"""

from __future__ import annotations

import html
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec
from sqlalchemy import Table, select

from energycomm.eis import tables
from energycomm.eis.arrays import parts_of
from energycomm.eis.bulk import column_names, quoted
from energycomm.eis.database import reading
from energycomm.eis.domain import SEARCHED, array_columns
from energycomm.eis.erasures import FOREVER
from energycomm.eis.sealing import sealed_column
from energycomm.eis.store import Store, StoreReader
from energycomm.erasure.persons import Person, Said
from energycomm.kernel.instants import instant
from energycomm.kernel.personal import personal_values
from energycomm.private_files import written_whole

PARTS = (
    *("messages", "kept_as", "state_changes", "findings", "told_to_the_market", "answers_of_the_market"),
    *("told_to_the_back_office", "corrections", "opinions_of_models", "former_rows", "tickets", "notes", "read_by"),
)
"""Where something of a customer is kept, as the file of what is known names it."""

LINES = 10_000
"""Lines of the audit that are handed over at most, the latest."""


def hand_over(store: Store, person: Person, to: Path, now: int) -> dict[str, int]:
    """Write everything that is known of a customer into one file.

    Args:
      store: the EIS.
      person: the customer.
      to: the zip; it appears whole, and is readable by its owner alone.
      now: the present, microseconds since the epoch.

    Returns:
      How many of what it holds.

    Raises:
      OSError: it cannot be written.
    """
    content = everything(store, person, now)
    with written_whole(to) as file:
        packed(file, content)
    return {name: len(part) for name, part in content.items() if isinstance(part, list)}


def everything(store: Store, person: Person, now: int) -> dict[str, Any]:
    """What is known of a customer, by subject."""
    stay, said = person.stay, [*person.said, *person.beside]
    ids = [one.row.id for one in said]
    with store.reading() as reader:
        arrived = _arrived(reader, said)
        requests = _rows(reader, tables.outgoing, ids, "message_id")
        steps = _rows(reader, tables.outgoing_event, [row["id"] for row in requests], "outgoing_id")
        tickets = [row[0] for row in reader.driver.matching(_TICKETS, ids, "message_id")]
        content: dict[str, Any] = {
            "made_at": instant(now),
            "access_point": {"market": stay.market, "identifier": stay.access_point},
            "from": instant(stay.since) if stay.since else None,
            "to": instant(stay.until) if stay.until < FOREVER else None,
            "what_is_known": _known(person),
            "messages": [_message(one, arrived) for one in said],
            "kept_as": [row for table in tables.DOMAIN.values() for row in _domain(reader, table, stay.point_id, ids)],
            "state_changes": _rows(reader, tables.state_change, ids, "message_id"),
            "findings": _rows(reader, tables.finding, ids, "message_id"),
            "told_to_the_market": requests,
            "answers_of_the_market": steps,
            "told_to_the_back_office": _rows(reader, tables.outbox, ids, "message_id"),
            "corrections": _rows(reader, tables.campaign_item, ids, "message_id"),
            "opinions_of_models": _rows(reader, tables.prediction, ids, "message_id"),
            "former_rows": _rows(reader, tables.before_image, [stay.point_id], "access_point_id"),
            "tickets": _rows(reader, tables.ticket, tickets, "id"),
            "notes": [
                *_rows(reader, tables.note, ids, "message_id"),
                *_rows(reader, tables.note, tickets, "ticket_id"),
            ],
        }
    content["read_by"] = _read_by(store, stay.access_point)
    return content


def _known(person: Person) -> list[dict[str, Any]]:
    """Every value once, with the messages that say it."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in (*person.said, *person.beside):
        for value in personal_values(one.message, person.own):
            place = found.setdefault(
                (value.field, str(value.value)), {"field": value.field, "value": value.value, "messages": []}
            )
            place["messages"].append(one.row.id)
    return list(found.values())


def _message(one: Said, arrived: dict[int, dict[str, Any]]) -> dict[str, Any]:
    row = one.row
    return {
        "number": row.id,
        "kind": row.kind,
        "effective": instant(row.effective),
        "received_at": instant(row.received_at),
        "state": row.state,
        "from": arrived.get(row.ch_message_id or 0, {"injected_by": row.injected_by}),
        "says": one.message,
    }


def _arrived(reader: StoreReader, said: Iterable[Said]) -> dict[int, dict[str, Any]]:
    ids = sorted({one.row.ch_message_id for one in said if one.row.ch_message_id is not None})
    names = ("file", "channel", "document", "sender")
    return {row[0]: dict(zip(names, row[1:], strict=True)) for row in reader.driver.matching(_ARRIVED, ids, "c.id")}


def _domain(reader: StoreReader, table: Table, point: int, ids: Sequence[int]) -> list[dict[str, Any]]:
    if "access_point_id" not in table.columns:
        return []
    mine, arrays = set(ids), array_columns(table.name)
    found = []
    for row in _rows(reader, table, [point], "access_point_id"):
        if row["message_id"] in mine:
            for name in arrays:
                if row[name] and (table.name, name) not in SEARCHED:
                    row[name] = parts_of(row[name])
            found.append({"kept_in": str(table.name), **row})
    return found


def _rows(reader: StoreReader, table: Table, values: Sequence[int], column: str) -> list[dict[str, Any]]:
    names, sealed = column_names(table), sealed_column(table)
    sql = f"SELECT {quoted(names)} FROM {table.name} WHERE true"  # noqa: S608 - our own names
    found = []
    for row in reader.driver.matching(sql, sorted(values), f'"{column}"'):
        named = dict(zip(names, row, strict=True))
        if sealed is not None and named.get(sealed.column) is not None:
            keys = tuple(named[name] for name in sealed.keys)
            named[sealed.column] = reader.driver.vault.value(sealed, keys, named[sealed.column])
        found.append({str(name): _readable(name, value) for name, value in named.items() if value is not None})
    return found


def _readable(name: str, value: Any) -> Any:
    if (name == "at" or name.endswith("_at")) and isinstance(value, int):
        return instant(value)
    return bytes(value).decode("utf-8", "replace") if isinstance(value, bytes | memoryview) else value


def _read_by(store: Store, access_point: str) -> list[dict[str, Any]]:
    """The lines of the audit about the access point, the latest first."""
    a, w = tables.audit.c, tables.audit_word.c
    query = (
        select(a.at, a.person, a.via, a.action, a.what)
        .where(a.id.in_(select(w.audit_id).where(w.word == access_point.lower())))
        .order_by(a.at.desc(), a.id.desc())
        .limit(LINES)
    )
    with reading(store.engine) as connection:
        return [{**row, "at": instant(row["at"])} for row in connection.execute(query).mappings()]


def packed(file: IO[bytes], content: dict[str, Any]) -> None:
    """Write what is known of a customer (`everything`) as a zip."""
    encoded = _encoder.encode(content)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("customer.json", msgspec.json.format(encoded, indent=2))
        made.writestr("customer.html", _page(msgspec.json.decode(encoded)))


_encoder = msgspec.json.Encoder(decimal_format="string")


def _page(content: dict[str, Any]) -> str:
    """The same as a page that needs nothing else."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Customer</title><style>"
        "body{font:15px/1.5 sans-serif;margin:2em;max-width:80em}table{border-collapse:collapse;margin:.5em 0 2em}"
        "td,th{border:1px solid #999;padding:.2em .5em;text-align:left;vertical-align:top;overflow-wrap:anywhere}"
        "</style></head><body>"
    ]
    for name, part in content.items():
        parts.append(f"<h2>{html.escape(name.replace('_', ' '))}</h2>")
        if isinstance(part, list) and part and isinstance(part[0], dict):
            heads = list(dict.fromkeys(key for row in part for key in row))
            parts.append(f"<table><tr>{''.join(f'<th>{html.escape(head)}</th>' for head in heads)}</tr>")
            for row in part:
                cells = "".join(f"<td>{_cell(row.get(head))}</td>" for head in heads)
                parts.append(f"<tr>{cells}</tr>")
            parts.append("</table>")
        else:
            parts.append(f"<p>{_cell(part) or 'none'}</p>")
    parts.append("</body></html>")
    return "".join(parts)


def _cell(value: Any) -> str:
    if value in (None, [], {}):
        return ""
    if isinstance(value, dict):
        return "<br>".join(f"{html.escape(str(key))}: {_cell(one)}" for key, one in value.items())
    if isinstance(value, list):
        return "<br>".join(_cell(one) for one in value)
    return html.escape(str(value))


_TICKETS = "SELECT DISTINCT ticket_id FROM ticket_message WHERE true"
_ARRIVED = (
    "SELECT c.id, e.name, e.channel, c.type, c.sender "
    "FROM ch_message c JOIN envelope e ON e.id = c.envelope_id WHERE true"
)
