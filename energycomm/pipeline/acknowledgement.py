"""Acknowledgements to the sender of an envelope, for markets that expect them (CONTRL of EDIFACT)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from energycomm.config import Config
from energycomm.eis.archive import open_raw
from energycomm.eis.store import Store
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Acknowledging
from energycomm.market.dispatch import dispatch
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.gateway import open_keys
from energycomm.pipeline.records import look
from energycomm.transport.envelopes import open_envelope


def acknowledgements(
    config: Config, store: Store, envelope: tuple[int, str, bytes, str], now: datetime
) -> Iterator[bytes | Refusal]:
    """What answers each member of an envelope; nothing for members that want no answer.

    Args:
      config: the configuration: its keys open encrypted envelopes.
      store: the EIS.
      envelope: number, name, SHA-256 and channel.
      now: when the answer is written, aware.
    """
    number, name, sha256, channel = envelope
    adapters = installed_adapters(config.mapping_files)
    market = next((one.market for one in config.channels if one.name == channel), None)
    with (
        open_raw(store.engine, sha256) as raw,
        open_envelope(raw, name, open_keys(config), config.limits) as opened,
    ):
        for position, member in enumerate(opened, 1):
            if isinstance(member, Refusal):
                yield member
                continue
            seen = look(member)
            route = seen if isinstance(seen, Refusal) else dispatch(adapters, seen.sniff, market)
            if not isinstance(seen, Refusal) and seen.cut is not None:
                route = seen.cut
            if isinstance(route, Refusal):
                yield route
                continue
            adapter: object
            adapter, label = route
            if isinstance(adapter, Acknowledging):
                with member.open() as content:
                    answer = adapter.acknowledge(label, content, f"EC{number}-{position}"[:14], now)
                if answer is not None:
                    yield answer
