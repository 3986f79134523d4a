"""Which reader a member of a portfolio file has: that of tables, or that of a market's list of points."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, Protocol

from energycomm.kernel.opening import OPENING
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import MemberHead, Sniff, Transaction
from energycomm.market.dispatch import dispatch
from energycomm.market.installed import Markets
from energycomm.portfolio.files import table_form
from energycomm.portfolio.opening import List, Table, market_of


class Digesting(Protocol):
    """What the path of an envelope needs to digest a member."""

    market: str

    def digest(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        """See `energycomm.market.contract.Adapter.digest`."""


def portfolio_reader(
    markets: Markets, opener: Callable[[], IO[bytes]], sniff: Sniff
) -> tuple[Digesting, str] | Refusal:
    """The reader of a member and the label of its type; or why it is neither a table nor a list of points.

    Args:
      markets: the installed ones.
      opener: gives the bytes of the member, anew at each call.
      sniff: what can be seen of it.
    """
    with opener() as content:
        head = content.read(1 << 16)
    form = None if sniff.form in ("xml", "json") else table_form(head, sniff.name)
    if form is not None:
        with opener() as content, tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(content, copy, 1 << 20)
            market = market_of(copy, form, markets)
        return market if isinstance(market, Refusal) else (Table(market, markets.zone(market), form), OPENING)
    route = dispatch(markets, sniff)
    if isinstance(route, Refusal):
        return route
    adapter, label = route
    return List(adapter, markets.zone(adapter.market)), label
