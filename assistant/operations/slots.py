"""What a question has, and what of it an operation has taken. A word that nothing took was not understood."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from msgspec import Struct

from assistant.operations.days import Days
from assistant.operations.family import Plan
from assistant.operations.understanding import Understood
from assistant.operations.vocabulary import Match

MOST_RANKS = 1000
BUT = frozenset(("but", "mais", "maar"))
"""What stands behind one of these is not what a "not" before it denies."""
NEAR = 3
"""Words between a "not" and what it denies, at most."""

WHO = frozenset(("who", "whom", "qui", "wie"))
"""Ask for a person."""

UNTIL = frozenset(("until", "till", "jusqu", "tot", "up"))
"""Words before a last day."""

TOLD_BY = frozenset((
    "i", "we", "my", "our", "me", "us", "you", "he", "she", "je", "nous", "mon", "ma", "mes", "notre", "nos", "moi",
    "vous", "ik", "wij", "mijn", "onze", "ons", "mij", "u", "hij", "zij",
))  # fmt: skip
"""Words of who tells something: my boss wants to know which."""


class Slots:
    """The phrases and names of a question while an operation takes what it answers.

    Args:
      asked: the question, taken apart.
      today: the day it is asked.
    """

    def __init__(self, asked: Understood, today: date) -> None:
        self.asked = asked
        self.today = today
        self.used: set[int] = set()
        self.void: set[int] = set()
        """Places of a "not" or "missing" that denies no value."""

    def has(self, slot: str, *values: str) -> bool:
        """Whether the question has one of these values of a slot, or any; nothing is taken."""
        return self.asked.has(slot, *values)

    def values(self, slot: str) -> list[str]:
        """The values of a slot; nothing is taken."""
        return self.asked.values(slot)

    def of(self, slot: str, *values: str) -> list[Match]:
        """Where the question has these values of a slot, or any."""
        return [one for one in self.asked.found if one.slot == slot and (not values or one.value in values)]

    def take(self, slot: str, *values: str) -> list[str]:
        """Take these values of a slot, or all; what was taken, each once, in the order of the question."""
        found = self.of(slot, *values)
        self.mark(found)
        return list(dict.fromkeys(one.value for one in found))

    def one(self, slot: str, *values: str) -> str | None:
        """Take one value of a slot; a second one stays, and the question is not understood so."""
        first = next(iter(self.of(slot, *values)), None)
        if first is None:
            return None
        self.mark(one for one in self.of(slot) if one.value == first.value)
        return first.value

    def mark(self, found: Iterable[Match]) -> None:
        """Take phrases."""
        for one in found:
            self.used |= set(range(one.start, one.end))

    def days(self) -> Days:
        """Take the days."""
        self.take("days")
        self.take("period")
        return self.asked.days

    def denied(self, one: Match, *slots: str) -> bool:
        """Whether a "not" or "without" stands just before a phrase; it is taken then."""
        said = {place for other in self.of("state") for place in range(other.start + 1, other.end)}
        before = [
            other
            for other in self.of_all(slots or ("not", "without"))
            if other.start not in said
            and other.end <= one.start <= other.end + NEAR - 1
            and not self._between(other.end, one.start)
            and BUT.isdisjoint(self.asked.tokens[other.end : one.start])
            and other.start not in self.void
        ]
        self.mark(before)
        return bool(before)

    def of_all(self, slots: Iterable[str]) -> list[Match]:
        """Where the question has anything of several slots."""
        return [one for slot in slots for one in self.of(slot)]

    def _between(self, start: int, end: int) -> bool:
        """Whether another phrase of the same weight stands between: no markets, states or severities."""
        return any(
            start <= one.start and one.end <= end
            for one in self.asked.found
            if one.slot in ("severity", "state", "market", "kind", "code")
        )

    def left(self) -> list[int]:
        """The places of words that tell something and were not taken."""
        return sorted(self.asked.telling() - self.used)


class Asking(Struct, frozen=True):
    """What has to be asked back before anything can be worked out.

    Attributes:
      key: of the wording.
      choices: what may be meant.
      name: what is not known.
    """

    key: str
    choices: tuple[str, ...]
    name: str = ""


Read = tuple[Plan, ...] | Asking | None
"""The readings of a question, what must be asked back, or None where an operation cannot answer it."""


def ranks(slots: Slots) -> int | None:
    """So many of the most or the fewest: top 5, the three most frequent."""
    if slots.has("number_is"):
        return None
    ranked = slots.of("intent", "top", "bottom", "longest")
    ranked += slots.of("intent", "list") if ranked else []  # which three have the most
    for one in slots.of("number"):
        if (
            any(one.start == other.end or other.start == one.end for other in ranked)
            and 0 < int(one.value) <= MOST_RANKS
        ):
            slots.mark([one])
            return int(one.value)
    return None


def yes_no(slots: Slots) -> bool:
    """Whether a question begins as one that is answered by yes or no."""
    tokens = slots.asked.tokens
    if not tokens:
        return False
    inverted = any(one in PRONOUNS and tokens[at - 1] in VERBS for at, one in enumerate(tokens) if at > 1) and not any(
        one.start < 2 for one in slots.of("intent", "list", "count")
    )
    asked = tokens[:2] == ["est", "ce"]
    return tokens[0] in YES_NO or asked or inverted


YES_NO = frozenset(
    (
        "is", "are", "was", "were", "does", "do", "did", "can", "may", "has", "have", "should", "will", "would",
        "could", "est", "bestaat", "bestaan", "hebben", "hoort", "wijst", "zit", "keurt", "wordt", "worden",
        "geldt", "gelden", "gold", "zijn", "werd", "werden", "heeft", "kan", "mag", "staat", "staan", "kent",
        "kennen", "valt", "vallen", "kijkt", "kijken", "draagt", "dragen", "wijzen", "horen", "behoort", "behoren",
        "geeft", "geven", "wacht", "wachten", "berust", "berusten", "steunt", "steunen", "controleert", "controleren",
        "gebruikt", "gebruiken", "weigert", "weigeren", "bestond", "bestonden", "verschillen", "verschilt",
    )
)  # fmt: skip
"""First words of a question that is answered by yes or no."""
PRONOUNS = frozenset(("il", "elle", "ils", "elles"))
"""A French question with its subject in front has one of these behind its verb: la Belgique a-t-elle."""
VERBS = frozenset(("est", "sont", "t", "ont", "peut", "doit", "rejettent", "etait", "vise", "different"))
