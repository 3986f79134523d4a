"""Dispatch: the market that digests a member of an envelope, and the series of a file's name."""

from __future__ import annotations

from collections.abc import Mapping

from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Adapter, Coding, Series, Sniff

NOT_OURS = "TYPE_NOT_OURS"


def dispatch(adapters: Mapping[str, Adapter], sniff: Sniff, market: str | None = None) -> tuple[Adapter, str] | Refusal:
    """Find the adapter that digests a member, and the label of the member's type.

    Args:
      adapters: the installed markets.
      sniff: what can be seen of the member.
      market: of the channel that brought it, where one did. What its adapter knows is its own; the others are asked
        about the rest.

    Returns:
      The adapter and the label; else the refusal of the market that the member belongs to; else one that says that no
      market knows it (see `coded`), or that several say it is theirs: then nothing is guessed.
    """
    claims: list[tuple[Adapter, str]] = []
    theirs: Refusal | None = None
    for name, adapter in _first(adapters, market):
        answer = adapter.dispatch(sniff)
        if isinstance(answer, str):
            claims.append((adapter, answer))
            if name == market:
                break
        elif answer.code != NOT_OURS:
            theirs = theirs or answer
    if len(claims) > 1:
        return Refusal(
            code="TYPE_CLAIMED",
            path=sniff.name,
            value=", ".join(f"{adapter.market} as {label}" for adapter, label in claims),
            expected="a document that one market alone takes for its own",
            advice="let it come by a channel of its market",
        )
    if claims:
        return claims[0]
    if theirs is not None:
        return theirs
    unknown = Refusal(
        code="TYPE_UNKNOWN",
        path=sniff.name,
        value=sniff.root,
        expected="a message type of an installed market",
        advice="check that the file is a market's envelope and that the market's adapter is installed",
    )
    return coded(adapters, unknown, market)


def coded(adapters: Mapping[str, Adapter], refused: Refusal, market: str | None) -> Refusal:
    """What is refused for its form, with the market's own code beside ours.

    Args:
      adapters: the installed markets.
      refused: a refusal.
      market: whose the document is, as its channel or its type tells; where neither does, the only market that is
        installed, and else no market's code is named.
    """
    whose = next(iter(adapters)) if market is None and len(adapters) == 1 else market
    adapter: object = None if whose is None else adapters.get(whose)
    return adapter.coded(refused) if isinstance(adapter, Coding) else refused


def series_of(
    adapters: Mapping[str, Adapter], name: str, market: str | None = None
) -> tuple[str, Series] | dict[str, Refusal]:
    """The market of an envelope's file name, and its place in a numbered series.

    Args:
      adapters: the installed markets.
      name: the file name.
      market: of the channel that brought it, where one did; its adapter is asked first.

    Returns:
      Market and series; else, by market, the refusal of those to whom the name is unknown. Whose file it is may only
      be told by its content.
    """
    unknown: dict[str, Refusal] = {}
    for asked, adapter in _first(adapters, market):
        answer = adapter.series(name)
        if isinstance(answer, Series):
            return asked, answer
        if isinstance(answer, Refusal):
            unknown[asked] = answer
    return unknown


def _first(adapters: Mapping[str, Adapter], market: str | None) -> list[tuple[str, Adapter]]:
    """The markets in the order in which they are asked."""
    return list(adapters.items()) if market is None else sorted(adapters.items(), key=lambda item: item[0] != market)
