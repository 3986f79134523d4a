"""What people may look for among Kernel messages: declared once for commands, routes, pages and the client."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, Field
from sqlalchemy import Engine, select

from energycomm.choices import UnknownWord, closed, one_of
from energycomm.eis import tables
from energycomm.eis.browsing import MESSAGE_ORDERS, MessageFilter
from energycomm.eis.database import reading
from energycomm.eis.particulars import read_wanted
from energycomm.eis.states import MESSAGE_STATES
from energycomm.eis.tallies import combinations
from energycomm.engine.catalogue import Catalogue
from energycomm.kernel.family import KINDS
from energycomm.market.installed import Markets
from energycomm.pipeline.listsearch import (
    ACCESS_POINT,
    ENVELOPE,
    MARKET,
    ORDER,
    Instant,
    ListSearch,
    Market,
    Words,
    by,
    placed,
)


def _named(text: str) -> str:
    read_wanted(text)
    return text


class MessageSearch(ListSearch):
    """What a list of messages is restricted to, and its order."""

    stored = MappingProxyType({"access_point": ACCESS_POINT, "envelope": ENVELOPE})

    access_point: Words | None = Field(default=None, max_length=40, description="Only of this access point: PRM, EAN.")
    code: Words | None = Field(
        default=None, max_length=40, description="Only with this error code, ours or the market's own."
    )
    state: Annotated[Words, *closed("state of a message", MESSAGE_STATES)] | None = Field(
        default=None, description="Only in this state: rejected, ..."
    )
    kind: Annotated[Words, *closed("kind of a Kernel message", KINDS)] | None = Field(
        default=None, description="Only of this kind: MeterReading."
    )
    type: Words | None = Field(default=None, max_length=40, description="Only of this type of the market.")
    market: Market = MARKET
    envelope: int | None = Field(default=None, ge=1, le=(1 << 63) - 1, description="Only of this envelope.")
    particular: Annotated[Words, AfterValidator(_named)] | None = Field(
        default=None, max_length=521, description="Only with this value under the market's own name, NAME=VALUE."
    )
    since: Instant | None = Field(default=None, description="Received at or after this day or instant.")
    until: Instant | None = Field(default=None, description="Received before this day or instant.")

    sort: Annotated[Words, *by(*MESSAGE_ORDERS)] | None = ORDER

    def filter(
        self, engine: Engine, catalogue: Callable[[], Catalogue], markets: Markets, zone: tzinfo = UTC
    ) -> MessageFilter:
        """The filter of a search.

        Args:
          engine: the store.
          catalogue: gives the rules, where a code is looked for.
          markets: that are installed.
          zone: of days and instants that name no offset.

        Raises:
          UnknownWord: nothing has the code, nothing of the type can arrive, there is no such point or envelope, or a
            clock of the zone shows an instant never or twice.
        """
        self.known(engine)
        return MessageFilter(
            access_point=self.access_point,
            codes=() if self.code is None else error_codes_of(engine, catalogue(), self.code),
            state=self.state,
            kind=self.kind,
            type=None if self.type is None else type_of(engine, markets, self.type),
            market=self.market,
            envelope=self.envelope,
            particular=read_wanted(self.particular) if self.particular else None,
            since=placed("since", self.since, zone),
            until=placed("until", self.until, zone),
            sort=self.sort,
        )


def type_of(engine: Engine, markets: Markets, name: str) -> str:
    """The market's message type of a search, in any case of letters.

    Args:
      engine: the store; what arrived is a type.
      markets: that are installed; what an adapter reads is a type, also before the first of them arrives.
      name: as it was given.

    Raises:
      UnknownWord: it is neither.
    """
    with reading(engine) as connection:
        known = {one.type for one in combinations(connection)}
    for adapter in markets.values():
        for label in adapter.types:
            known |= {label, *label.split("-")}
    return one_of("type", name, sorted(known), "type of a market's messages")


def error_codes_of(engine: Engine, catalogue: Catalogue, code: str) -> tuple[str, ...]:
    """The error codes of a search.

    Args:
      engine: the store; a code of a rule that is gone may still stand there.
      catalogue: the rules.
      code: an error code, a rule's code, a market's own code or an ebIX reason, in any case of letters.

    Raises:
      UnknownWord: no rule has the code and no message ever had it; it names codes like it.
    """
    found = catalogue.error_codes(code)
    if found:
        return found
    former = code.upper()
    query = select(tables.finding.c.id).where(tables.finding.c.error_code == former).limit(1)
    with reading(engine) as connection:
        if connection.execute(query).first() is not None:
            return (former,)
    close = catalogue.like(code)
    advice = f"Did you mean {', '.join(close)}?" if close else "`energycomm rules list` lists the codes."
    raise UnknownWord("code", code, f"No rule and no finding has the code {code}.", advice)
