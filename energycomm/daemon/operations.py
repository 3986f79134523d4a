"""Channels and daemons as people see them: the configuration, with what the store knows of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from typing import Literal

from msgspec import Struct

from energycomm.choices import one_of
from energycomm.config import Config
from energycomm.eis.bulk import driver_of
from energycomm.eis.channels import BACK_OFFICE, NEW, ChannelState, ask, channel_states
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.transport.settings import ChannelSetting, first_of

State = Literal["paused", "failing", "works", "not tried"]


class ChannelShown(Struct, frozen=True, kw_only=True):
    """A channel, and how it is.

    Attributes:
      name: of the channel; `back office` for the notifications.
      market: its market; empty for the back office.
      direction: in or out.
      kind: folder, sftp, ...
      state: paused, failing, works, or not tried yet.
      backlog: in: envelopes that are not finished; out: what waits to be sent.
      worked_at, failed_at, error, host: when it last worked, when and how it failed since, and who says so.
      paused_at, paused_by, why: since when, by whom and why it rests.
    """

    name: str
    market: str
    direction: str
    kind: str
    state: State
    backlog: int
    worked_at: datetime | None = None
    failed_at: datetime | None = None
    error: str | None = None
    host: str | None = None
    paused_at: datetime | None = None
    paused_by: str | None = None
    why: str | None = None


def names(config: Config) -> list[str]:
    """Everything that can be paused: the channels, and the back office where it is notified."""
    notified = config.notify.url is not None or config.notify.folder is not None
    return [*(one.name for one in config.channels), *([BACK_OFFICE] if notified else [])]


def one_channel(config: Config, name: str) -> str:
    """The name of a channel as it is configured.

    Raises:
      UserError: there is none of that name.
    """
    known = names(config)
    if not known:
        raise UserError(f"There is no channel {name!r}: none is configured.", "docs/channels.md says how.")
    return one_of("channel", name, known, "channel of the configuration")


def try_now(store: Store, name: str, now: int) -> None:
    """Ask whoever leads a channel to try it at once.

    Args:
      store: the EIS.
      name: of the channel, as it is configured.
      now: the present, microseconds since the epoch.

    Raises:
      UserError: it is paused; nobody would try it.
    """
    if not ask(store, name, now):
        raise UserError(f"{name} is paused: nobody tries it.", f"`energycomm channel resume {name!r}` lets it go on.")


def channels(config: Config, store: Store) -> list[ChannelShown]:
    """Every channel of the configuration, in its order, and how it is.

    Raises:
      UserError: the database was lost.
    """
    known = channel_states(store.engine)
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        sql = "SELECT channel, count(*) FROM envelope WHERE state IN ('archived', 'processing') GROUP BY channel"
        waiting: Counter[str] = Counter(dict(driver.rows(sql)))
        sql = "SELECT market, type, kind, count(*) FROM outgoing WHERE state = 'built' GROUP BY market, type, kind"
        built = driver.rows(sql)
        untold = driver.rows("SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending')")[0][0]
    found, before = [], defaultdict[str, list[ChannelSetting]](list)
    for one in config.channels:
        backlog = waiting[one.name]
        if one.direction == "out":
            takes = first_of(one, tuple(before[one.market]))
            before[one.market].append(one)
            backlog += sum(row[3] for row in built if row[0] == one.market and takes(row[1], row[2]))
        found.append(_shown(one.name, one.market, one.direction, one.kind, backlog, known.get(one.name, NEW)))
    if BACK_OFFICE in names(config):
        kind = "webhook" if config.notify.url is not None else "folder"
        found.append(_shown(BACK_OFFICE, "", "out", kind, untold, known.get(BACK_OFFICE, NEW)))
    return found


def _shown(name: str, market: str, direction: str, kind: str, backlog: int, known: ChannelState) -> ChannelShown:
    state: State = "not tried"
    if known.paused_at is not None:
        state = "paused"
    elif known.failed_at is not None:
        state = "failing"
    elif known.worked_at is not None:
        state = "works"
    return ChannelShown(
        name=name,
        market=market,
        direction=direction,
        kind=kind,
        state=state,
        backlog=backlog,
        worked_at=known.worked_at,
        failed_at=known.failed_at,
        error=known.error,
        host=known.host,
        paused_at=known.paused_at,
        paused_by=known.paused_by,
        why=known.why,
    )
