"""Whether an envelope is for us: of several suppliers in one installation, none keeps what is addressed to another one.

It is asked before the bytes are archived, so that nothing of another supplier comes into the store. Only the names of
files and the headers of members are looked at; where none says who it is for, it is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import IO

from energycomm.eis.fitting import storable
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Adapter, MemberHead, Transaction
from energycomm.market.dispatch import dispatch
from energycomm.pipeline.digesting import digested
from energycomm.pipeline.records import LONGEST_PATH, look
from energycomm.transport.codes import refuse
from energycomm.transport.envelopes import open_envelope
from energycomm.transport.keys import KeyRing
from energycomm.transport.limits import Limits
from energycomm.transport.members import Member

CODE = "ENV_OTHER_SUPPLIER"
EXPECTED = "a document for this supplier"
_WORDS = re.compile(r"[^0-9A-Za-z-]+")


class Misdirected(Exception):
    """Some of several envelopes are addressed to another supplier; nothing was kept of any of them.

    Attributes:
      refusals: place among the envelopes -> why it is refused.
    """

    def __init__(self, refusals: dict[int, Refusal]) -> None:
        super().__init__(", ".join(map(str, refusals.values())))
        self.refusals = refusals


class Addressee:
    """Finds what is addressed to another supplier.

    Args:
      foreign: identifiers of the other suppliers.
      markets: the installed markets.
      keys: keys that encrypted envelopes are tried with.
      limits: bounds of an envelope.
      channels: channel -> its market, which is asked first whether a document is its own.
    """

    def __init__(
        self,
        foreign: frozenset[str],
        markets: Mapping[str, Adapter],
        keys: KeyRing,
        limits: Limits,
        channels: Mapping[str, str],
    ) -> None:
        self.foreign = frozenset(party.upper() for party in foreign)
        self.markets, self.keys, self.limits = markets, keys, limits
        self.channels = channels

    def wrong(self, source: IO[bytes], name: str, channel: str) -> Refusal | None:
        """Why an envelope is not for us; None where it is, or does not say.

        Args:
          source: its bytes, seekable; they are at their beginning afterwards.
          name: its file name.
          channel: by which way it came.
        """
        # What is encrypted for another one can be told by its name alone.
        for word in _WORDS.split(name):
            if word.upper() in self.foreign:
                return refuse(CODE, storable(name, LONGEST_PATH), word, EXPECTED)
        try:
            with open_envelope(source, name, self.keys, self.limits) as members:
                for member in members:
                    found = None if isinstance(member, Refusal) else self._receiver(member, channel)
                    if found is not None and found.upper() in self.foreign:
                        assert isinstance(member, Member)
                        return refuse(CODE, f"{storable(member.path, LONGEST_PATH)}: receiver", found, EXPECTED)
        finally:
            source.seek(0)
        return None

    def _receiver(self, member: Member, channel: str) -> str | None:
        """Whom the header of a member names, or the first message in it."""
        seen = look(member)
        if isinstance(seen, Refusal):
            return None
        route = dispatch(self.markets, seen.sniff, self.channels.get(channel))
        if isinstance(route, Refusal):
            return None
        for item in digested(0, member, *route, seen.cut):
            if isinstance(item, MemberHead):
                if item.receiver is not None:
                    return item.receiver
            elif isinstance(item, Transaction) and item.messages:
                return item.messages[0].receiver
            elif isinstance(item, Refusal):
                return None
        return None
