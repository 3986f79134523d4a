"""Two stores, SQLite and PostgreSQL, that are given the same and asked what they made of it; then it is undone."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading, rehearsal
from energycomm.eis.store import Store
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.injection import inject, unfit
from energycomm.pipeline.outbound import Outbound
from energycomm.pipeline.progress import total
from energycomm.pipeline.records import to_process
from energycomm.pipeline.submissions import read_handed
from energycomm.transport.keys import KeyRing
from energycomm.transport.limits import Limits
from tests.markets import CODES
from tests.pipeline.desk import Desk

BROKEN = frozenset(("CH_PUT_ASIDE", "ENV_PUT_ASIDE", "ADAPTER_FAULT", "DIGEST_FAILED"))
"""Codes of what the program itself broke on."""
ROOT = Path(__file__).parents[2]


class Made(NamedTuple):
    """What a store made of one document.

    Attributes:
      incidents: codes, paths and values.
      messages: kind, state and codes of Kernel messages.
      outcomes: of CH messages.
    """

    incidents: tuple[Any, ...]
    messages: tuple[Any, ...]
    outcomes: tuple[Any, ...]

    @property
    def breaks(self) -> list[str]:
        """What shows that the program broke."""
        found = [str(row) for row in self.incidents if row[0] in BROKEN]
        return found + [str(row) for row in self.messages if row[1] == "engine_error"]


class Twin:
    """One of the two stores, with the fixtures' way in."""

    def __init__(self, url: str) -> None:
        self.desk = Desk(url)
        self.store: Store = self.desk.store
        self.adapters = installed_adapters()
        self.outbound = Outbound(self.store, self.desk.engine, self.adapters, self.desk.version, lambda: "reference-1")

    def take(self, content: bytes, name: str) -> Made:
        """Take an envelope in, tell what was made of it, and undo it."""
        with rehearsal(self.store.engine):
            inbound = Inbound(self.store, self.desk.writer, KeyRing(()), Limits())
            (archived,) = inbound.archive([(io.BytesIO(content), name)], "sweep")
            if archived.duplicate_of is None:
                total(inbound.process(to_process(archived, name, "sweep")))
            return self.made()

    def inject(self, document: bytes, name: str = "hand.json") -> Made:
        """Inject or submit what people hand in, tell what was made of it, and undo it."""
        handed = read_handed(document)
        if not isinstance(handed, list):
            return Made(((handed.code, handed.path, handed.value),), (), ())
        wrong = [refusal for one in handed for refusal in one.refusals]
        if wrong:
            return Made(tuple((refusal.code, refusal.path, refusal.value) for refusal in wrong), (), ())
        with rehearsal(self.store.engine):
            outgoing = unfit(handed, list(self.adapters), 10)
            if outgoing:
                for one in handed:
                    assert one.message is not None
                    said = self.outbound.submit(one.message, "sweep")
                    told = tuple((refusal.code, refusal.path, refusal.value) for refusal in said.refusals)
                    return Made(told, ((type(one.message).__name__, said.label, ""),), ())
            inject(self.store, self.desk.writer, handed, document, name, "sweep")
            return self.made()

    def made(self) -> Made:
        """What is in the store."""
        with reading(self.store.engine) as connection:
            rows = driver_of(connection).rows
            incidents = rows("SELECT code, path, value FROM incident")
            codes = "SELECT k.id, f.error_code FROM kernel_message k JOIN finding f ON f.message_id = k.id"
            found: dict[int, list[str]] = {}
            for number, code in rows(codes):
                found.setdefault(number, []).append(code)
            messages = rows("SELECT id, kind, state FROM kernel_message")
            outcomes = rows("SELECT outcome FROM ch_message")
        return Made(
            tuple(sorted(tuple(map(str, row)) for row in incidents)),
            tuple(sorted((kind, state, " ".join(sorted(found.get(i, ())))) for i, kind, state in messages)),
            tuple(sorted(Counter(row[0] for row in outcomes).items())),
        )


def fixtures() -> list[Path]:
    """Every readable fixture of every market."""
    found = [path for market in CODES for path in sorted((ROOT / "fixtures" / market).iterdir())]
    return [path for path in found if path.suffix in (".xml", ".json", ".edi", ".csv")]


def form_of(path: Path) -> str:
    """How a fixture is written."""
    return {".xml": "xml", ".json": "json"}.get(path.suffix, "other")
