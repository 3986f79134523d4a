"""The particulars of stored messages, apart from their XML, so that messages are found by them.

A value is kept as one text, so that equal values are found however they were written: numbers without needless zeros,
instants in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Select, select, union_all

from energycomm.eis import tables
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import Particular, ParticularValue

if TYPE_CHECKING:
    from energycomm.eis.store import StoreTransaction


def value_text(value: ParticularValue) -> str:
    """A value as the store keeps it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, str) else format(Decimal(value).normalize() + 0, "f")


def store_particulars(tx: StoreTransaction, messages: Iterable[tuple[int, KernelMessage]]) -> None:
    """Keep the particulars of new messages, each with its id."""
    rows = [(number, *_kept(one)) for number, message in messages if message.particulars for one in message.particulars]
    if rows:
        numbers, names, values = zip(*rows, strict=True)
        tx.insert_columns(tables.particular, {"message_id": numbers, "name": names, "value": values})


@lru_cache(maxsize=8192)  # the points of a file share most of them
def _kept(particular: Particular) -> tuple[str, str]:
    """The name of a particular, and its value as the store keeps it: equal particulars are kept alike."""
    return particular.name, value_text(particular.value)


def replace_particulars(tx: StoreTransaction, messages: Sequence[tuple[int, KernelMessage]]) -> None:
    """Keep the particulars of messages whose content was taken from another arrival, in place of those before."""
    if messages:
        sql = "DELETE FROM particular WHERE message_id = ?"
        tx.driver.many(sql, [(number,) for number, _ in messages])
        store_particulars(tx, messages)


def particulars_of(connection: Connection, message_id: int) -> dict[str, str]:
    """Name -> value of the particulars of a message, by name."""
    p = tables.particular.c
    query = select(p.name, p.value).where(p.message_id == message_id).order_by(p.name)
    return {row.name: row.value for row in connection.execute(query)}


def read_wanted(text: str) -> tuple[str, str]:
    """Name and value of a search, written `NAME=VALUE`.

    Raises:
      ValueError: it is written otherwise.
    """
    name, mark, value = text.partition("=")
    if not mark or not name.strip() or not value:
        raise ValueError(f"{text!r} is not of the form NAME=VALUE")
    return name.strip(), value


def messages_query(wanted: tuple[str, str], before: int | None, window: int, *, falling: bool = True) -> Select[Any]:
    """The newest messages that carry a particular, by their ids: one walk of the index for each way to read the value.

    Args:
      wanted: name and value; a value that reads as a number or an instant finds those too.
      before: only messages with a smaller id, or a larger one where it does not fall.
      window: how many at most.
      falling: from the newest back; else from the first.
    """
    p = tables.particular.c
    name, value = wanted
    walks = []
    for text in ways(value):
        query = select(p.message_id).where(p.name == name, p.value == text)
        if before is not None:
            query = query.where(p.message_id < before if falling else p.message_id > before)
        walks.append(query.order_by(p.message_id.desc() if falling else p.message_id).limit(window))
    if len(walks) == 1:
        return walks[0]
    pages = [walk.subquery() for walk in walks]
    together = union_all(*(select(page.c.message_id) for page in pages)).subquery().c
    order = together.message_id.desc() if falling else together.message_id
    return select(together.message_id).distinct().order_by(order).limit(window)


def ways(value: str) -> tuple[str, ...]:
    """The texts that a searched value may be kept as."""
    ways = [value]
    for read in (Decimal, datetime.fromisoformat):
        try:
            found = read(value)
        except (ValueError, InvalidOperation):
            continue
        if isinstance(found, Decimal) and (not found.is_finite() or abs(found.adjusted()) > 30):
            continue
        if isinstance(found, datetime) and found.tzinfo is None:
            continue
        try:
            ways.append(value_text(found))
        except OverflowError:  # in UTC it lies beyond the calendar
            continue
    return tuple(dict.fromkeys(ways))
