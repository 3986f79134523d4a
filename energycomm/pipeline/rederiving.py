"""What stored messages left in the store derived again from their Kernel XML, their verdicts as they are.

A migration adds a column or a table, and a release remembers more of a message: what was stored before lacks it until
its access point is judged again. Here nothing is judged. What the accepted messages do is done again, and only what
differs from what is stored is written: rows that are taken back are kept as they were (`before_image`), and whoever
follows the store is told of the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from energycomm.eis import tables
from energycomm.eis.bulk import column_names, quoted
from energycomm.eis.effects import drop_rows
from energycomm.eis.invoices import store_invoices
from energycomm.eis.particulars import replace_particulars
from energycomm.eis.store import NEVER, MessageRow, StoreTransaction
from energycomm.kernel.codec import decode
from energycomm.kernel.history import NO_HISTORY
from energycomm.kernel.instants import micros, now_micros
from energycomm.kernel.messages import KernelMessage
from energycomm.pipeline.batch import BatchWriter
from energycomm.pipeline.effects import VERB_FUNCTIONS, Rows, Step, content, contents
from energycomm.pipeline.fold import APPLIED, Entry, Fold, Judge
from energycomm.pipeline.reassessment import Late, Reassessment
from energycomm.pipeline.replay import save_fold
from energycomm.pipeline.state import AccessPointState

WORDS = "derived again from the stored message"
"""Why rows are taken back: words for the record."""


OF_NO_POINT = "access_point_id IS NULL"
"""Condition of rows that belong to no access point, in tables of those that do: their index finds them."""


class Rederiving(Reassessment):
    """Walks through access points with the verdicts that hold."""

    def record(self, entries: list[Entry]) -> None:
        """Nothing: the verdicts are those that hold."""

    def give_up(self, row: MessageRow, why: str) -> None:
        """Leave a message that cannot be read as it is.

        Raises:
          ValueError: always: without it what the others left would be taken for all there is.
        """
        raise ValueError(f"message {row.id}: {why}")

    def _settle(self, fold: Fold, entry: Entry) -> None:
        fold.replay(entry)


def rederive_point(tx: StoreTransaction, writer: BatchWriter, market: str, identifier: str) -> None:
    """Derive the domain rows, supply periods and states of an access point again.

    Args:
      tx: the transaction.
      writer: the rules of today: they say what an accepted message does.
      market, identifier: the access point.

    Raises:
      Broken: what a message does cannot be done.
      ValueError: a message cannot be read.
    """
    point = tx.access_points(market, [identifier])[identifier]
    now = now_micros()
    (fold,) = Rederiving(tx, writer, writer.markets.zone(market), now, WORDS).run([Late(point, NEVER)])
    save_fold(tx, fold, now)


def rows_alone(engine: Judge, message: KernelMessage, number: int) -> Rows:
    """The domain rows of an accepted message that concerns no access point."""
    written: Rows = {}
    step = Step(AccessPointState(), message, micros(message.effective), number, None, written)
    for action in engine.qualify(message, NO_HISTORY):
        function = VERB_FUNCTIONS.get(action.verb)
        if function is not None:
            function(step)
    return written


def rederive_alone(tx: StoreTransaction, writer: BatchWriter, message_ids: Sequence[int]) -> None:
    """Derive the domain rows of messages again that concern no access point.

    Args:
      tx: the transaction.
      writer: the rules of today.
      message_ids: the messages; of one that is not accepted there is nothing to derive.
    """
    gone = tx.superseded(message_ids)
    for row in tx.messages(message_ids):
        message = decode(row.xml)
        if row.state not in APPLIED or row.id in gone or not isinstance(message, KernelMessage):
            continue
        kept = type(message).kept
        if kept is None:
            continue
        written = rows_alone(writer.engine, message, row.id)
        table = tables.DOMAIN[kept.table]
        alone = f"{OF_NO_POINT} AND " if table in tables.EFFECTS else ""
        # Names of our own table and columns, never values.
        sql = f"SELECT {quoted(column_names(table))} FROM {table.name} WHERE {alone}message_id = ?"  # noqa: S608 - our own
        found = tx.driver.rows(sql, (row.id,))
        wanted = written.get(table, [])
        if [content(table, tuple(one)) for one in found] != contents(table, wanted):
            drop_rows(tx, table, "true", "id", [one[0] for one in found], WORDS, now_micros())
            tx.insert(table, wanted)


def rederive_search(tx: StoreTransaction, particulars: Sequence[int], invoices: Sequence[int]) -> None:
    """Derive again by what messages are found.

    Args:
      tx: the transaction.
      particulars: messages whose particulars are not those of their Kernel XML.
      invoices: messages of grid invoices that are not known to be of theirs.
    """
    replace_particulars(tx, _messages(tx, particulars))
    sql = "SELECT message_id FROM invoice_message WHERE true"
    known = {row[0] for row in tx.driver.matching(sql, invoices, "message_id")}
    store_invoices(tx, _messages(tx, [number for number in invoices if number not in known]))


def _messages(tx: StoreTransaction, ids: Sequence[int]) -> list[tuple[int, KernelMessage]]:
    read = [(row.id, decode(row.xml)) for row in tx.messages(ids)]
    return [(number, message) for number, message in read if isinstance(message, KernelMessage)]
