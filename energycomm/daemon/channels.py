"""The channels of the configuration, opened for one worker."""

from __future__ import annotations

import threading
from typing import NamedTuple

from energycomm.config import Config
from energycomm.errors import UserError
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.delivery import Takes
from energycomm.transport.channel import Seen
from energycomm.transport.opening import Places, open_channel
from energycomm.transport.patience import GuardedIn, GuardedOut
from energycomm.transport.settings import ChannelSetting, first_of


class Route(NamedTuple):
    """An outgoing channel, and which messages of its market go through it.

    Attributes:
      channel: the channel.
      takes: whether a message goes through it.
      share: names that share of the market, whatever the channel is called: one worker sends it.
    """

    channel: GuardedOut
    takes: Takes
    share: str


def open_channels(config: Config, stop: threading.Event, seen: Seen) -> tuple[list[GuardedIn], list[Route]]:
    """Those that are polled, and those that send; nothing is connected yet.

    Args:
      config: the configuration.
      stop: ends waits when it is set.
      seen: remembers the files of channels that leave them where they are.

    Raises:
      UserError: the settings of a channel do not go together, or those of one market leave a message without a channel
        or a channel without messages.
    """
    places = open_places(config)
    incoming: list[GuardedIn] = []
    outgoing: list[Route] = []
    before: dict[str, list[ChannelSetting]] = {}
    for setting in config.channels:
        try:
            channel = open_channel(setting, places, seen, stop)
        except ValueError as error:
            raise UserError(f"The channel {setting.name} cannot be opened: {error}.", "Correct its settings.") from None
        if isinstance(channel, GuardedIn):
            incoming.append(channel)
            continue
        earlier = before.setdefault(setting.market, [])
        share = setting.market if setting.sends_all else f"{setting.market}/{','.join(setting.sends)}"
        outgoing.append(Route(channel, first_of(setting, tuple(earlier)), share))
        earlier.append(setting)
    for settings in before.values():
        _check(settings)
    return incoming, outgoing


def open_places(config: Config) -> Places:
    """The folders of channels, and the element names of the markets' services."""
    names = {market: adapter.service for market, adapter in installed_adapters(config.mapping_files).items()}
    return Places(config.folder, config.spool_folder, queue_names=names)


def _check(settings: list[ChannelSetting]) -> None:
    """See that each message of a market has a channel, and each channel messages.

    Args:
      settings: the market's outgoing channels, in order.
    """
    *earlier, last = settings
    for one in earlier:
        if one.sends_all:
            raise UserError(
                f"The channels {one.name} and {last.name} both send to {one.market}, and {one.name} takes everything.",
                "Set its `sends`, or put it last.",
            )
    if not last.sends_all:
        raise UserError(
            f"Messages to {last.market} that are none of {', '.join(last.sends)} have no channel.",
            f"Leave `sends` of {last.name}, the last one, out; or add one without it.",
        )
