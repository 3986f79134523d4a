"""Stored messages judged again in bulk: what the commands that do it have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime, time
from pathlib import Path

from energycomm.bulk.cluster import workers
from energycomm.bulk.verdicts import Verdicts
from energycomm.commands.running import told_buckets
from energycomm.config import Config
from energycomm.correction.impact import impact, question
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.kernel.instants import micros
from energycomm.market.installed import installed_adapters


@contextmanager
def judged_by(
    config: Config,
    store: Store,
    folder: Path,
    since: str | None,
    work: Path | None,
    processes: int | None,
    states: Collection[str] = (),
) -> Iterator[Verdicts]:
    """Stored messages judged again by some rules; nothing is stored.

    Args:
      config: says where it is done.
      store: the EIS.
      folder: of the rules.
      since: only messages that arrived on or after this day, YYYY-MM-DD; all when None.
      work: folder that keeps the run.
      processes: of this machine.
      states: only messages in these states; in any when empty.

    Yields:
      What changes, as long as the block lasts; how far it is was told on standard error.

    Raises:
      UserError: the rules are broken, the day is none, or see `energycomm.bulk.cluster.workers`.
    """
    markets = installed_adapters(config.mapping_files)
    begin = 0 if since is None else micros(datetime.combine(day_of(since), time(), UTC))
    asked = question(folder, markets, begin, config.engine, config.curve_tolerance, states)
    with ExitStack() as stack:
        with told_buckets() as watch:
            chosen = workers(config.cluster.address, processes)
            found = stack.enter_context(impact(store, markets, asked, chosen, work, watch))
        yield found


def day_of(text: str) -> date:
    """A day as it is typed.

    Raises:
      UserError: it is none.
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UserError(f"{text} is no day.", "Write it YYYY-MM-DD.") from None
