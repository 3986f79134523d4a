"""What changed rules change: verdicts over stored messages, before the rules go live, and once they are."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime, time, tzinfo
from decimal import Decimal
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from energycomm.bulk.judging import Question
from energycomm.bulk.verdicts import Verdicts, judged_again
from energycomm.bulk.workers import Processes, Workers
from energycomm.correction.acting import judge_again
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import NEVER, Store
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import read_catalogue, read_texts, rule_texts, unpacked
from energycomm.engine.problems import BrokenCatalogue, Problem
from energycomm.errors import UserError
from energycomm.kernel.instants import instant
from energycomm.kernel.tolerance import CURVE_TOLERANCE
from energycomm.market.installed import Markets
from energycomm.pipeline.batch import BatchWriter
from energycomm.pipeline.rejudging import BY_CHANGED_RULES


def question(
    folder: Path,
    markets: Markets,
    since: int,
    engine: str = "parallel",
    curve_tolerance: Decimal = CURVE_TOLERANCE,
    states: Iterable[str] = (),
) -> Question:
    """What stored messages are to be judged by.

    Args:
      folder: of the rules.
      markets: the installed ones.
      since: microseconds since the epoch; only verdicts of messages that arrived since then are compared.
      engine: name of the rules engine.
      curve_tolerance: percent by which a curve may differ from the indexes of the same days.
      states: only verdicts of messages in these states are compared; in any when empty.

    Raises:
      UserError: the rules are broken.
    """
    texts = rule_texts(folder)
    return Question(
        rules=texts,
        rules_version=_whole(read_texts(texts), str(folder)).version,
        engine=engine,
        curve_tolerance=curve_tolerance,
        zones={market: zone.key for market, zone in markets.zones.items()},
        since=since,
        states=tuple(sorted(states)),
    )


@contextmanager
def impact(
    store: Store,
    markets: Markets,
    asked: Question,
    workers: Workers | None = None,
    folder: Path | None = None,
    watch: Callable[[int, int], None] = lambda _done, _of: None,
) -> Iterator[Verdicts]:
    """Judge the access points with messages that arrived since an instant again with other rules; nothing is stored.

    Args:
      store: the EIS.
      markets: the installed ones.
      asked: what they are judged by.
      workers: who judges; the processes of this machine when None.
      folder: keeps the run, so that it can be continued; none is kept when None.
      watch: called with (buckets judged, buckets of the run).

    Yields:
      The verdicts that would change, as long as the block lasts.

    Raises:
      UserError: see `energycomm.bulk.runs.finished`.
    """
    with tempfile.TemporaryDirectory(prefix="energycomm-run-") as name:
        place = Path(name) / "run" if folder is None else folder
        with judged_again(store.engine, markets, asked, place, workers or Processes(), watch=watch) as run:
            yield run


def bring_about(
    store: Store, writer: BatchWriter, run: Verdicts, watch: Callable[[int], None] = lambda _done: None
) -> int:
    """Give the access points whose verdicts would change to the live path: judged from their first message on.

    Each access point is a transaction of its own, and judged as it is then. Doing it twice changes nothing more.

    Args:
      store: the EIS.
      writer: the rules that the run judged by.
      run: what would change.
      watch: called with the number of access points that were judged.

    Returns:
      How many access points were judged.
    """
    done = 0
    for (market, identifier), _ in groupby(run.shifts(), key=lambda shift: (shift.market, shift.access_point)):
        judge_again(store, writer, market, identifier, NEVER, BY_CHANGED_RULES)
        done += 1
        watch(done)
    return done


class RulesVersion(Struct, frozen=True):
    """A version of the rules that the EIS knows.

    Attributes:
      version: its hash.
      first_used_at: when messages were first judged by it.
      engine: by which engine.
    """

    version: str
    first_used_at: datetime
    engine: str


def versions_of(store: Store) -> list[RulesVersion]:
    """The versions of the rules that messages were judged by, the newest first."""
    sql = "SELECT hash, first_used_at, engine FROM rules_version ORDER BY first_used_at DESC, id DESC"
    with reading(store.engine) as connection:
        return [RulesVersion(row[0], instant(row[1]), row[2]) for row in driver_of(connection).rows(sql)]


def catalogue_named(store: Store, name: str, zone: tzinfo = UTC) -> Catalogue:
    """A catalogue by its name; see `rules_named`.

    Raises:
      UserError: there is none, several, or it is broken.
    """
    with rules_named(store, name, zone) as folder:
        return _whole(read_catalogue(folder, check_examples=False), name)


@contextmanager
def rules_named(store: Store, name: str, zone: tzinfo = UTC) -> Iterator[Path]:
    """A folder of rules by its name, as long as the block lasts.

    Args:
      store: the EIS.
      name: a folder, the first digits of a version that the EIS knows, or a day, YYYY-MM-DD: the version that was
        first used last before the end of it.
      zone: of the day.

    Raises:
      UserError: there is none, several, or it cannot be read.
    """
    if Path(name).is_dir():
        yield Path(name)
        return
    known = versions_of(store)
    try:
        end = datetime.combine(date.fromisoformat(name), time.max, zone)
    except ValueError:
        found = [one for one in known if one.version.startswith(name)]
    else:
        found = [one for one in known if one.first_used_at <= end][:1]
    if len(found) != 1:
        words = "no folder and no version" if not found else "the beginning of several versions"
        told = ", ".join(f"{one.version} since {one.first_used_at.astimezone(zone):%Y-%m-%d}" for one in known[:10])
        raise UserError(f"{name!r} is {words} of the rules.", f"Versions: {told}.")
    with reading(store.engine) as connection:
        sql = "SELECT catalogue FROM rules_version WHERE hash = ?"
        ((texts,),) = driver_of(connection).rows(sql, (found[0].version,))
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(unpacked(texts))
        except ValueError as error:
            raise UserError(f"The version {name} of the rules cannot be read: {error}.") from None
        yield folder


def _whole(read: tuple[Catalogue, tuple[Problem, ...]], name: str) -> Catalogue:
    catalogue, problems = read
    if problems:
        raise UserError(f"The rules {name} are broken.\n{BrokenCatalogue(problems)}")
    return catalogue
