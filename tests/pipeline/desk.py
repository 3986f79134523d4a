"""A Kernel with its EIS, to which tests hand CH messages directly."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from msgspec import structs

from energycomm.eis import archive
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import connect, reading
from energycomm.eis.store import Store
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import load_catalogue
from energycomm.engine.parallel import ParallelEngine
from energycomm.engine.port import RuleEngine
from energycomm.market.contract import Transaction
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.batch import BatchWriter, Origin, Tally
from energycomm.pipeline.records import Book, MemberRecord, OpenEnvelope, save_member
from tests.stores import make_store

NOW = 1_790_000_000_000_000
"""The tests' present, microseconds since the epoch: September 2026."""


@cache
def shipped_rules() -> Catalogue:
    """The rules that EnergyComm ships."""
    return load_catalogue(Path(__file__).parents[2] / "rules", check_examples=False)


class Desk:
    """An EIS, freshly made, and a Kernel.

    Args:
      url: database, empty.
      engine: the rules engine; the parallel one with the shipped rules when None.
    """

    open: ClassVar[list[Desk]] = []
    """Desks whose connections are not closed yet."""

    def __init__(self, url: str, engine: RuleEngine | None = None) -> None:
        self.markets = installed_adapters()
        self.database = connect(make_store(url))
        self.open.append(self)
        self.store = Store(self.database)
        self.engine = engine or ParallelEngine(shipped_rules())
        with self.store.transaction() as tx:
            self.version = tx.rules_version(self.engine.version, self.engine.name, "{}", NOW)
        self.writer = BatchWriter(self.engine, self.version, 30, self.markets)
        self.deliveries = 0

    def deliver(self, transactions: Sequence[Transaction], now: int = NOW, market: str = "FR") -> Tally:
        """Store CH messages as one batch of an envelope of its own."""
        self.deliveries += 1
        content = f"delivery {self.deliveries}".encode()
        numbered = [structs.replace(one, position=n) for n, one in enumerate(transactions, 1)]
        prepared = self.writer.prepare(numbered)
        with self.store.transaction() as tx:
            archived = archive.archive(tx, f"{self.deliveries}.xml", io.BytesIO(content), "test", now)
            member = MemberRecord(f"{self.deliveries}.xml", archived.sha256, archived.size)
            book = Book(tx, [OpenEnvelope(archived.envelope_id, member.path, archived.sha256)])
            member, _ = save_member(book, archived.envelope_id, member, market, len(transactions), last=True)
            book.store()
            return self.writer.store(tx, Origin(market, archived.envelope_id, member.id), prepared, now)

    def states(self) -> dict[str, str]:
        """State of every Kernel message by its kind and reference, with its codes when rejected."""
        codes = self.rows(
            "SELECT DISTINCT message_id, error_code FROM finding WHERE \"current\" AND severity = 'error' ORDER BY 1, 2"
        )
        found: dict[int, list[str]] = {}
        for message_id, code in codes:
            found.setdefault(message_id, []).append(code)
        messages = self.rows(
            "SELECT k.id, c.reference, k.kind, k.state FROM kernel_message k "
            "JOIN ch_message c ON c.id = k.ch_message_id"
        )
        return {
            f"{kind} {reference}": " ".join([state, *found.get(number, [])])
            for number, reference, kind, state in messages
        }

    def tell_back_office(self) -> None:
        """Mark every notification as sent."""
        with self.store.transaction() as tx:
            tx.driver.run("UPDATE outbox SET state = 'sent'", ())

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with reading(self.database) as connection:
            return [tuple(row) for row in driver_of(connection).rows(sql)]
