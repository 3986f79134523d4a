"""The channels of the configuration, opened for one worker."""

from __future__ import annotations

import threading

from energycomm.config import Config
from energycomm.errors import UserError
from energycomm.transport.guard import GuardedIn, GuardedOut
from energycomm.transport.opening import Places, open_channel
from energycomm.transport.seen import FileSeen


def open_channels(config: Config, stop: threading.Event) -> tuple[list[GuardedIn], list[GuardedOut]]:
    """Those that are polled, and those that send; nothing is connected yet.

    Args:
      config: the configuration.
      stop: ends waits when it is set.

    Raises:
      UserError: the settings of a channel do not go together, or two channels send to one market.
    """
    places = Places(config.folder, config.spool_folder)
    seen = FileSeen(config.spool_folder / "seen")
    incoming: list[GuardedIn] = []
    outgoing: dict[str, GuardedOut] = {}
    for setting in config.channels:
        try:
            channel = open_channel(setting, places, seen, stop)
        except ValueError as error:
            raise UserError(f"The channel {setting.name} cannot be opened: {error}.", "Correct its settings.") from None
        if isinstance(channel, GuardedIn):
            incoming.append(channel)
        elif channel.market in outgoing:
            raise UserError(
                f"The channels {outgoing[channel.market].name} and {channel.name} both send to {channel.market}.",
                "Leave one of them out.",
            )
        else:
            outgoing[channel.market] = channel
    return incoming, list(outgoing.values())
