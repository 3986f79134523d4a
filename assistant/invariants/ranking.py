"""Accepted messages that break what nearly always holds, in groups; what is likeliest to lack a rule first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from assistant.classifier.material import Case, Stored, cases, stored_verdicts
from assistant.invariants.contents import places
from assistant.invariants.mining import Invariant, Mined, mined
from assistant.invariants.outcomes import reasons, taken_back
from assistant.invariants.weighing import Broken, Weights, broken_of, weighed
from energycomm.eis.store import Store
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.port import RuleEngine
from energycomm.market.installed import Markets

MOST_MESSAGES = 20_000
"""Messages of one market and kind that are learned from, the latest."""

SHOWN = 5
"""Messages of a group that are named."""


class Missing(Struct, frozen=True, kw_only=True):
    """A group of accepted messages that no rule refused and that break one invariant.

    Attributes:
      market, kind, each: of which messages, or of the items of which of their lists.
      when, holds: the invariant as a rule would say it; `when` is empty where it holds of all.
      score: natural logarithm of the odds that such messages are wrong, as those of the past were.
      support: how many meet it.
      against: how many do not.
      points: access points of those that do not.
      messages: some of those that do not.
      why: the same in words.
    """

    market: str
    kind: str
    each: str | None
    when: str
    holds: str
    score: float
    support: int
    against: int
    points: int
    messages: tuple[int, ...]
    why: str


@dataclass(frozen=True)
class Group:
    """A group with the messages that it was learned from, for drafts."""

    missing: Missing
    invariant: Invariant
    mined: Mined

    def rows(self) -> list[int]:
        """The rows of accepted messages that break it."""
        return places(self.invariant.broken & self.mined.contents.accepted)


def learned(
    store: Store,
    catalogue: Catalogue,
    engine: RuleEngine,
    markets: Markets,
    rules: Path,
    wanted: frozenset[str] = frozenset(),
    kind: str | None = None,
) -> list[Group]:
    """Learn from a store what nearly always holds, and group the accepted messages that break it.

    Args:
      store: the EIS.
      catalogue: the words of the rules' language.
      engine: rules of today, which say what the accepted messages before did.
      markets: the installed ones.
      rules: folder of the rules, with the price lists that invoices are checked with.
      wanted: only of these markets; all where there is none.
      kind: only messages of this kind.
    """
    stored, _ = stored_verdicts(store)
    chosen = _latest([one for one in stored if (not wanted or one.market in wanted) and kind in (None, one.kind)])
    back = taken_back(store, rules, markets.zones)
    found: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases(store, engine, markets, chosen):
        found[case.stored.market, case.stored.kind].append(case)
    learnt = [
        one
        for (market, kind_), own in sorted(found.items())
        for one in mined(catalogue, market, kind_, own, frozenset(back))
    ]
    return grouped(learnt, weighed(learnt, reasons(chosen, back)))


def _latest(stored: Iterable[Stored]) -> list[Stored]:
    """Of each market and kind the latest messages, and all that were refused."""
    by_kind: dict[tuple[str, str], list[Stored]] = defaultdict(list)
    for one in stored:
        by_kind[one.market, one.kind].append(one)
    kept: list[Stored] = []
    for own in by_kind.values():
        own.sort(key=lambda one: one.id)
        kept += [one for one in own[:-MOST_MESSAGES] if one.codes] + own[-MOST_MESSAGES:]
    return kept


def grouped(found: Sequence[Mined], weights: Weights) -> list[Group]:
    """The groups, the likeliest to be wrong first; a message is in the first of its groups alone.

    Args:
      found: invariants with their messages.
      weights: how much each of them says.
    """
    broken = sorted(
        ((weights.of(one.invariant, one.points), one) for one in broken_of(found)),
        key=lambda pair: (-pair[0], pair[1].invariant.depth, -pair[1].invariant.support, pair[1].invariant.holds),
    )
    seen: set[int] = set()
    groups = []
    for score, one in broken:
        contents = one.mined.contents
        numbers = [contents.cases[place].stored.id for place in contents.messages(one.rows)]
        if not seen.issuperset(numbers):
            seen.update(numbers)
            groups.append(Group(_missing(one, score, numbers), one.invariant, one.mined))
    return groups


def ranked(groups: Iterable[Group]) -> dict[int, Group]:
    """Number of a message -> the first group that it is in; in order."""
    found: dict[int, Group] = {}
    for group in groups:
        contents = group.mined.contents
        for place in contents.messages(group.invariant.broken & contents.accepted):
            found.setdefault(contents.cases[place].stored.id, group)
    return found


def _missing(one: Broken, score: float, numbers: Sequence[int]) -> Missing:
    invariant = one.invariant
    item = f" of {invariant.each}" if invariant.each else ""
    scope = f" where {invariant.when}" if invariant.when else ""
    share = invariant.support / (invariant.support + invariant.against)
    why = (
        f"{invariant.holds} holds{scope} in {invariant.support} of {invariant.support + invariant.against}"
        f" {invariant.kind}{item} ({share:.2%}), not here"
    )
    return Missing(
        market=invariant.market,
        kind=invariant.kind,
        each=invariant.each,
        when=invariant.when,
        holds=invariant.holds,
        score=score,
        support=invariant.support,
        against=invariant.against,
        points=one.points,
        messages=tuple(numbers[:SHOWN]),
        why=why,
    )
