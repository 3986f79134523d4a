"""The task of bulk work: a bucket is judged by some rules, and the verdicts that come out otherwise are its result.

It is a function of two byte strings: the question, which holds the rules themselves, and the bucket. It asks no store
and writes nothing, so it may be done anywhere, and again.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from importlib.metadata import version
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from energycomm.bulk.buckets import Point, read_bucket
from energycomm.bulk.workers import refuse_other_program
from energycomm.engine.folder import read_texts
from energycomm.engine.problems import BrokenCatalogue
from energycomm.errors import UserError
from energycomm.pipeline.fold import APPLIED, Entry, Fold, Judge, around_broken
from energycomm.pipeline.gateway import YOUNG_OBJECTS, open_engine
from energycomm.pipeline.rejudging import REJECTED
from energycomm.pipeline.rows import error_codes
from energycomm.pipeline.state import load_state

NO_CHECKPOINTS = -(1 << 62)
"""`Fold.since_checkpoint` of a fold whose states are not stored: it never reaches a checkpoint."""

RESULT = pa.schema(
    [
        pa.field("message_id", pa.int64(), nullable=False),
        pa.field("market", pa.string(), nullable=False),
        pa.field("access_point", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("effective", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("before", pa.string(), nullable=False),
        pa.field("after", pa.string(), nullable=False),
        pa.field("codes_before", pa.list_(pa.string()), nullable=False),
        pa.field("codes_after", pa.list_(pa.string()), nullable=False),
    ]
)
"""Columns of a result: those of `Shift`. How many messages were judged is among its metadata."""

_JUDGED = b"energycomm.judged"


class Question(Struct, frozen=True, kw_only=True):
    """What stored messages are judged by.

    Attributes:
      rules: the rule files, as `energycomm.engine.folder.rule_texts` gives them.
      rules_version: their version.
      engine: name of the rules engine.
      curve_tolerance: percent by which a curve may differ from the indexes of the same days.
      zones: market -> name of its legal time.
      since: microseconds since the epoch; only verdicts of messages that arrived since then are asked for.
      states: only verdicts of messages in these states; in any when empty.
      program: version of EnergyComm that asks: another one may judge otherwise.
    """

    rules: str
    rules_version: str
    engine: str
    curve_tolerance: Decimal
    zones: dict[str, str]
    since: int
    states: tuple[str, ...] = ()
    program: str = version("energycomm")


class Shift(Struct, frozen=True, kw_only=True):
    """A verdict that would change.

    Attributes:
      message_id: the message.
      market, access_point: of its access point.
      kind: of the message.
      effective: when it takes effect.
      before, after: its states.
      codes_before, codes_after: error codes, warnings apart.
    """

    message_id: int
    market: str
    access_point: str
    kind: str
    effective: datetime
    before: str
    after: str
    codes_before: tuple[str, ...]
    codes_after: tuple[str, ...]

    @property
    def words(self) -> str:
        """What changes, for counting: `rejected FR-R03 -> accepted`."""
        return f"{' '.join((self.before, *self.codes_before))} -> {' '.join((self.after, *self.codes_after))}"


def judged(question: bytes, bucket: bytes) -> bytes:
    """Judge a bucket from the first message of each access point on.

    Args:
      question: a `Question` as JSON.
      bucket: the file.

    Returns:
      The result: a Parquet file of the columns `RESULT`.

    Raises:
      UserError: another version of EnergyComm asks, or the engine is not installed here.
    """
    asked, engine = opened(question)
    number, shifts = 0, []
    for point in read_bucket(bucket):
        for entry in _judged_anew(engine, ZoneInfo(asked.zones[point.market]), point):
            if entry.message_id in point.asked:
                number += 1
                shift = _shift(entry, point)
                if shift is not None:
                    shifts.append(msgspec.structs.asdict(shift))
    table = pa.Table.from_pylist(shifts, RESULT.with_metadata({_JUDGED: str(number)}))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def read_result(content: bytes) -> tuple[int, Iterator[Shift]]:
    """A result: how many messages were judged, and the verdicts that would change, in the order of access points."""
    file = pq.ParquetFile(pa.BufferReader(content))
    rows = (row for batch in file.iter_batches() for row in batch.to_pylist())
    return int(file.schema_arrow.metadata[_JUDGED]), (msgspec.convert(row, Shift) for row in rows)


@lru_cache(maxsize=1)
def opened(question: bytes) -> tuple[Question, Judge]:
    """A question and the engine of its rules, which are compiled once a process.

    Raises:
      UserError: another version of EnergyComm asks, the rules are broken, or the engine is not installed here.
    """
    asked = msgspec.json.decode(question, type=Question)
    refuse_other_program(asked.program)
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    catalogue, problems = read_texts(asked.rules)
    if problems:
        raise UserError(f"The rules are broken.\n{BrokenCatalogue(problems)}")
    return asked, open_engine(catalogue, asked.engine, asked.curve_tolerance)


def _judged_anew(engine: Judge, zone: ZoneInfo, point: Point) -> list[Entry]:
    """The messages of an access point with the verdicts that the rules give them, from the first in the bucket on."""

    def walk(faults: dict[int, str]) -> list[Entry]:
        fold = Fold(
            engine,
            zone,
            load_state(point.start),
            point.id,
            {},
            since_checkpoint=NO_CHECKPOINTS,
            faults=faults,
            writes=False,
        )
        fold.foresee(point.entries)
        for entry in point.entries:
            fold.judge(entry)
        return point.entries

    return around_broken(walk)


def _shift(entry: Entry, point: Point) -> Shift | None:
    verdict, stored = entry.verdict, entry.before
    assert verdict is not None
    assert stored is not None
    before = "accepted" if stored in APPLIED else "rejected" if stored in REJECTED else stored
    if before == verdict.label != "rejected":
        return None
    codes, codes_after = point.asked[entry.message_id], tuple(sorted(error_codes(verdict)))
    given_up = entry.given_up and verdict.label == "quarantined"
    same = before == verdict.label and codes == codes_after
    if same or given_up or before == "to_replay":
        return None
    return Shift(
        message_id=entry.message_id,
        market=point.market,
        access_point=point.identifier,
        kind=type(entry.message).__name__,
        effective=entry.message.effective,
        before=before,
        after=verdict.label,
        codes_before=codes,
        codes_after=codes_after,
    )
