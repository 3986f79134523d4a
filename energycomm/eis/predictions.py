"""Predictions of models for Kernel messages, stored beside the verdicts of the rules.

Another process writes these rows (`energycomm assistant shadow`); here they are kept and read. They decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, structs
from sqlalchemy import Connection, Engine, func, select

from energycomm.eis import tables
from energycomm.eis.bulk import NewRow
from energycomm.eis.database import reading
from energycomm.eis.store import StoreTransaction
from energycomm.eis.structures import filled

SEPARATOR = ", "
"""Between the error codes of a prediction."""


class PredictionRecord(Struct, frozen=True, kw_only=True):
    """A model's prediction for a message.

    Attributes:
      message_id: the message.
      model: name and version of the model.
      rules: version of the rules it learned from.
      codes: error codes it expects, sorted; none when it expects that the message is accepted.
      probability: that these codes and no others hold, from 0 to 1.
      abstained: it was not sure enough to answer.
      agrees: whether the verdict had the same codes; None where there was none, or the model abstained.
      comment: why, in words.
      at: when.
    """

    message_id: int
    model: str
    rules: str
    codes: tuple[str, ...]
    probability: float
    abstained: bool
    agrees: bool | None
    comment: str
    at: datetime


def save_predictions(tx: StoreTransaction, records: Sequence[PredictionRecord]) -> None:
    """Store predictions, in place of earlier ones of the same model for the same messages."""
    ids = [record.message_id for record in records]
    for model in {record.model for record in records}:
        found = tx.driver.matching("SELECT message_id FROM prediction WHERE model = ?", ids, "message_id", "", (model,))
        tx.driver.many("DELETE FROM prediction WHERE message_id = ? AND model = ?", [(row[0], model) for row in found])
    tx.driver.insert(tables.prediction, [_row(record) for record in records])


def predictions_of(connection: Connection, message_id: int) -> tuple[PredictionRecord, ...]:
    """Predictions for a message, the latest first."""
    t = tables.prediction
    rows = connection.execute(select(t).where(t.c.message_id == message_id).order_by(t.c.at.desc(), t.c.model))
    return tuple(_record(row) for row in rows.mappings())


def predicted_upto(engine: Engine, model: str) -> int:
    """The largest id of a message with a prediction of a model; 0 before the first."""
    t = tables.prediction
    with reading(engine) as connection:
        found = connection.execute(select(func.max(t.c.message_id)).where(t.c.model == model)).scalar()
    return int(found or 0)


def disagreements(
    engine: Engine, *, model: str | None = None, market: str | None = None, limit: int = 50
) -> tuple[PredictionRecord, ...]:
    """Messages whose verdict differs from a confident prediction, the most confident first.

    Args:
      engine: the store.
      model: name and version; all when None.
      market: of the messages; all when None.
      limit: how many at most.
    """
    t, k = tables.prediction, tables.kernel_message
    query = select(t).join(k, k.c.id == t.c.message_id).where(t.c.agrees.is_(False))
    if model is not None:
        query = query.where(t.c.model == model)
    if market is not None:
        query = query.where(k.c.market == market)
    query = query.order_by(t.c.probability.desc(), t.c.message_id).limit(limit)
    with reading(engine) as connection:
        return tuple(_record(row) for row in connection.execute(query).mappings())


def _row(record: PredictionRecord) -> NewRow:
    return {
        **structs.asdict(record),
        "model": record.model[:120],
        "codes": SEPARATOR.join(record.codes),
        "probability": round(record.probability * 1_000_000),
        "at": int(record.at.timestamp() * 1_000_000),
    }


def _record(row: Any) -> PredictionRecord:
    codes = tuple(row["codes"].split(SEPARATOR)) if row["codes"] else ()
    return filled(PredictionRecord, row, codes=codes, probability=row["probability"] / 1_000_000)
