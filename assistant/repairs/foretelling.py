"""Which repair a stuck message is likely to need: what freed the messages most like it, with their numbers.

Messages are alike in all that repairs are chosen by, or in less of it: the repairs of the more alike are counted in
full, and those of the less alike fill in where these are few.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable

from msgspec import Struct

from assistant.repairs.records import Repair, Stuck
from energycomm.correction.library import LoadedScript
from energycomm.correction.script import Selection

ALIKE: tuple[Callable[[Stuck], Hashable], ...] = (
    lambda one: (one.codes, one.kind, one.market, one.market_type, one.field, one.root_codes, one.root_kind),
    lambda one: (one.codes, one.kind, one.root_codes, one.root_kind),
    lambda one: (one.codes, one.root_codes),
    lambda one: one.codes,
    lambda one: one.codes[:1],
    lambda one: (one.error_class, one.kind),
    lambda one: (),
)
"""What messages have in common, from the most to the least."""

DRAWN = 1.0
"""How many repairs the messages that are less alike count for."""

DECLARED = 2.0
"""How many times all repairs the scripts count that say that they are for such a message."""

MOST_NAMED = 3


def meets(selection: Selection, stuck: Stuck) -> bool:
    """Whether a script says that it is for such a message, or for the one that it waits for."""
    own, kind = (stuck.root_codes, stuck.root_kind) if stuck.root_codes else (stuck.codes, stuck.kind)
    codes = not selection.any_code and bool(set(selection.codes) & set(own))
    waits = bool(selection.waits_for) and any(
        code.removeprefix("waits for ").startswith(selection.waits_for) for code in own
    )
    kinds = not selection.kinds or kind in selection.kinds
    markets = not selection.markets or stuck.market in selection.markets
    return (codes or waits) and kinds and markets


class Foretold(Struct, frozen=True):
    """A repair that a message is likely to need.

    Attributes:
      what: name of the script, or another way.
      share: how likely it is, of 1.
      freed: how many messages with the same codes it settled.
      alike: how many messages with the same codes were settled in any way.
      messages: the latest of those that it settled.
    """

    what: str
    share: float
    freed: int
    alike: int
    messages: tuple[int, ...]


class Foreteller:
    """Learns from repairs which one a message needs.

    Args:
      past: the repairs.
      scripts: of the library: those that say that they are for such a message count where little was repaired.
    """

    def __init__(self, past: Iterable[Repair], scripts: Iterable[LoadedScript] = ()) -> None:
        self._scripts = [(script.name, script.declared.selection) for script in scripts]
        self._counts: list[dict[Hashable, Counter[str]]] = [defaultdict(Counter) for _ in ALIKE]
        self._settled: dict[tuple[str, ...], list[Repair]] = defaultdict(list)
        for repair in past:
            for counts, alike in zip(self._counts, ALIKE, strict=True):
                counts[alike(repair.stuck)][repair.what] += 1
            self._settled[repair.stuck.codes].append(repair)

    def foretell(self, stuck: Stuck) -> list[Foretold]:
        """The repairs, the likeliest first; none where nothing was ever repaired."""
        shares: dict[str, float] = {}
        for counts, alike in zip(reversed(self._counts), reversed(ALIKE), strict=True):
            own = counts.get(alike(stuck), Counter())
            names = {*own, *shares}
            drawn = DRAWN if shares else 0.0
            total = own.total() + drawn
            if total:
                shares = {name: (own[name] + drawn * shares.get(name, 0.0)) / total for name in names}
            if not alike(stuck):
                shares = self._declared(stuck, shares)
        settled = [one for one in self._settled.get(stuck.codes, []) if one.stuck.id != stuck.id]
        return [
            self._told(what, share, settled)
            for what, share in sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))
        ]

    def _declared(self, stuck: Stuck, shares: dict[str, float]) -> dict[str, float]:
        """The shares of all repairs, and those of the scripts that say that they are for such a message."""
        meant = [name for name, selection in self._scripts if meets(selection, stuck)]
        total = DECLARED * bool(meant) + (1.0 if shares else 0.0)
        return {
            name: (shares.get(name, 0.0) + (DECLARED / len(meant) if name in meant else 0.0)) / total
            for name in {*shares, *meant}
        }

    def _told(self, what: str, share: float, settled: list[Repair]) -> Foretold:
        by = [one.stuck.id for one in settled if one.what == what]
        return Foretold(what, share, len(by), len(settled), tuple(by[-MOST_NAMED:]))
