"""Stored messages judged again in bulk: what the commands that do it have in common."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Annotated

import typer

from energycomm.bulk.cluster import workers
from energycomm.bulk.verdicts import Verdicts
from energycomm.config import Config
from energycomm.correction.impact import impact, question
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.kernel.instants import micros
from energycomm.market.installed import installed_adapters

Work = Annotated[
    Path | None, typer.Option(help="Folder that keeps the run: the same command with it continues a run that was cut.")
]
ProcessNumber = Annotated[
    int | None,
    typer.Option(
        "--processes", min=1, help="Processes of this machine; by default the cluster, or as many as there are cores."
    ),
]


def judged_by(
    config: Config,
    store: Store,
    folder: Path,
    since: str | None,
    work: Path | None,
    processes: int | None,
    states: Collection[str] = (),
) -> AbstractContextManager[Verdicts]:
    """Stored messages judged again by some rules; nothing is stored.

    Args:
      config: says where it is done.
      store: the EIS.
      folder: of the rules.
      since: only messages that arrived on or after this day, YYYY-MM-DD; all when None.
      work: folder that keeps the run.
      processes: of this machine.
      states: only messages in these states; in any when empty.

    Raises:
      UserError: the rules are broken, the day is none, or see `energycomm.bulk.cluster.workers`.
    """
    markets = installed_adapters(config.mapping_files)
    begin = 0 if since is None else micros(datetime.combine(day_of(since), time(), UTC))
    asked = question(folder, markets, begin, config.engine, config.curve_tolerance, states)
    return impact(store, markets, asked, workers(config.cluster.address, processes), work)


def day_of(text: str) -> date:
    """A day as it is typed.

    Raises:
      UserError: it is none.
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UserError(f"{text} is no day.", "Write it YYYY-MM-DD.") from None
