"""Rows to fill a store with: one envelope, its member, CH messages and Kernel messages."""

from __future__ import annotations

import io
from typing import Any

from sqlalchemy import Table

from energycomm.eis import tables
from energycomm.eis.archive import archive
from energycomm.eis.arrays import NONE
from energycomm.eis.domain import array_columns
from energycomm.eis.store import StoreTransaction

NOW = 1_700_000_000_000_000
DAY = 86_400_000_000


def row(table: Table, **values: Any) -> dict[str, Any]:
    """A row of a table: the values given, and plain ones for the columns that need a value."""
    plain: dict[str, Any] = {"int": 0, "str": "x", "bool": True, "bytes": b""}
    needed = {column.name: plain[column.type.python_type.__name__] for column in table.columns if not column.nullable}
    needed |= {"content": "{}"} if "content" in needed else {}
    return needed | dict.fromkeys(array_columns(table.name), NONE) | values


def put(tx: StoreTransaction, table: Table, *many: dict[str, Any]) -> list[int]:
    """Store rows and give their ids."""
    ids = list(tx.reserve(table, len(many)))
    tx.insert(table, [row(table, **{"id": i, **values}) for i, values in zip(ids, many, strict=True)])
    return ids


def put_member(tx: StoreTransaction, name: str = "a.zip") -> tuple[int, int]:
    """Store an envelope with one member: their ids."""
    envelope = archive(tx, name, io.BytesIO(name.encode()), "directory", NOW).envelope_id
    (member,) = put(tx, tables.member, {"envelope_id": envelope, "path": f"{name}/m.xml", "sha256": bytes(32)})
    return envelope, member


def put_ch_messages(tx: StoreTransaction, identities: list[bytes], name: str = "a.zip") -> list[int]:
    """Store CH messages of a new envelope: their ids."""
    envelope, member = put_member(tx, name)
    parent = {"envelope_id": envelope, "member_id": member, "market": "FR", "type": "C15", "outcome": "digested"}
    return put(
        tx,
        tables.ch_message,
        *[{**parent, "identity": i, "reference": i.hex(), "position": n} for n, i in enumerate(identities, 1)],
    )


def put_kernel_message(tx: StoreTransaction, access_point: int, at: int, **values: Any) -> int:
    """Store one Kernel message of an access point: its id."""
    plain = {"market": "FR", "market_type": "C15", "kind": "StartOfSupply", "state": "accepted", "xml": "<x/>"}
    (i,) = put(
        tx,
        tables.kernel_message,
        {**plain, "access_point_id": access_point, "effective": at, "received_at": NOW, "version": 1, **values},
    )
    return i


def reject(tx: StoreTransaction, message: int, *codes: str, current: bool = True) -> None:
    """Store the findings of a verdict that rejected a message."""
    (change,) = put(
        tx, tables.state_change, {"message_id": message, "before": "received", "after": "rejected", "at": NOW}
    )
    found = {"message_id": message, "change_id": change, "current": current, "severity": "error", "comment": "too low"}
    put(tx, tables.finding, *[{**found, "error_code": code} for code in codes])
