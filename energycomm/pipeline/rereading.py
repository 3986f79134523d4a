"""A CH message read again from its bytes: every error of its schema, where its digestion stopped at the first."""

from __future__ import annotations

from energycomm.config import Config
from energycomm.eis.archive import open_raw
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.kernel.verdicts import Refusal
from energycomm.market.dispatch import dispatch
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.gateway import open_keys
from energycomm.pipeline.records import look
from energycomm.portfolio.opening import CHANNEL as PORTFOLIO
from energycomm.transport.codes import refuse
from energycomm.transport.envelopes import open_envelope

_CH = (
    "SELECT c.position, m.path, e.name, e.sha256, c.market, e.channel FROM ch_message c "
    "JOIN member m ON m.id = c.member_id JOIN envelope e ON e.id = c.envelope_id WHERE c.id = ?"
)


def reread(config: Config, store: Store, ch_message_id: int) -> list[Refusal]:
    """Every schema error of a CH message, with its path, the value found and what was expected.

    Args:
      config: the configuration: its keys open encrypted envelopes.
      store: the EIS.
      ch_message_id: the CH message.

    Returns:
      The errors; empty when its schema holds, or when there is no such CH message.
    """
    with reading(store.engine) as connection:
        rows = driver_of(connection).rows(_CH, (ch_message_id,))
    if not rows:
        return []
    position, path, name, sha256, market, channel = rows[0]
    if channel == PORTFOLIO:
        return []  # all that is wrong with a row was told when it was read
    adapters = installed_adapters(config.mapping_files)
    with (
        open_raw(store.engine, bytes(sha256)) as raw,
        open_envelope(raw, name, open_keys(config), config.limits) as opened,
    ):
        for member in opened:
            if isinstance(member, Refusal) or member.path != path:
                continue
            seen = look(member)
            route = seen if isinstance(seen, Refusal) else dispatch(adapters, seen.sniff, market)
            if isinstance(route, Refusal):
                return [route]
            adapter, label = route
            with member.open() as content:
                return list(adapter.explain(label, content, member.name, position))
    return [refuse("ENV_UNREADABLE", path, None, "the member that held the CH message")]
