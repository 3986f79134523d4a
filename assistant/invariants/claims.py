"""Claims about messages in the language of rules: each a condition, with the rows of which it is true and false."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import combinations
from typing import Any, Literal

from assistant.invariants.contents import Bits, Contents, bits
from assistant.invariants.vocabulary import DAYS, Told
from energycomm.engine import terms
from energycomm.engine.catalogue import Catalogue

Form = Literal[
    "present", "absent", "is", "one-of", "listed", "true", "false", "equal", "order", "sign", "bound", "days", "length"
]

MOST_WORDS = 40
"""Values of a text beyond which it is no code."""

LEAST_ROWS = 25
"""Rows that a claim must be known of."""


@dataclass(frozen=True)
class Claim:
    """A condition of rows.

    Attributes:
      text: the condition as a rule writes it.
      form: what kind of condition it is.
      true, false: rows; of the others it is unknown.
      reads: the values that it reads.
    """

    text: str
    form: Form
    true: Bits
    false: Bits
    reads: tuple[Told, ...]

    @property
    def past(self) -> bool:
        """Whether it reads the history of the access point."""
        return any(one.past for one in self.reads)


@dataclass(frozen=True)
class Coded:
    """A value that is one of a few words, with the rows of each."""

    told: Told
    words: dict[Any, Bits]

    def is_(self, word: Any) -> str:
        """That it is a word."""
        return f"{self.told.text} == {word!r}"

    def among(self, words: Sequence[Any]) -> str:
        """That it is one of some words."""
        return self.is_(words[0]) if len(words) == 1 else f"{self.told.text} in ({', '.join(map(repr, sorted(words)))})"


def coded(contents: Contents, told: Sequence[Told]) -> list[Coded]:
    """The values that are one of a few words."""
    found = []
    for one in told:
        column = contents.columns.get(one.text)
        if column is None or one.personal or not one.type.bases <= {"str", "int"} or isinstance(one.term, terms.Count):
            continue
        counted = Counter(value for value in column if value is not None)
        if 0 < len(counted) <= MOST_WORDS and len(counted) * 3 <= sum(counted.values()):
            found.append(Coded(one, {word: bits([value == word for value in column]) for word in counted}))
    return found


def claims(contents: Contents, told: Sequence[Told], catalogue: Catalogue, market: str) -> list[Claim]:
    """Every claim that holds of most rows that it is known of."""
    known = [one for one in told if one.text in contents.columns]
    found = [
        *_presences(contents, known),
        *_truths(contents, known),
        *_signs(contents, known),
        *_lengths(contents, known, catalogue),
        *_listed(contents, known, catalogue, market),
        *_pairs(contents, known),
        *_rises(contents, known),
    ]
    return [one for one in found if _mostly(one, contents)]


def _mostly(claim: Claim, contents: Contents) -> bool:
    """Whether a claim is made of enough accepted rows, and there is a row against it."""
    return bool(claim.false) and (claim.true & contents.accepted).bit_count() >= LEAST_ROWS


def _presences(contents: Contents, told: Sequence[Told]) -> Iterator[Claim]:
    whole = (1 << contents.size) - 1
    for one in told:
        if one.type.optional and not isinstance(one.term, terms.Call | terms.Count):
            there = bits([value is not None for value in contents.columns[one.text]])
            yield Claim(f"present({one.text})", "present", there, whole ^ there, (one,))
            yield Claim(f"absent({one.text})", "absent", whole ^ there, there, (one,))


def _truths(contents: Contents, told: Sequence[Told]) -> Iterator[Claim]:
    for one in told:
        if one.type.bases == {"bool"}:
            column = contents.columns[one.text]
            true, false = bits([value is True for value in column]), bits([value is False for value in column])
            yield Claim(one.text, "true", true, false, (one,))
            yield Claim(f"not {one.text}", "false", false, true, (one,))


def _signs(contents: Contents, told: Sequence[Told]) -> Iterator[Claim]:
    """Above zero, and far below what is usual."""
    for one in told:
        if not one.type.is_number:
            continue
        column = contents.columns[one.text]
        yield _compared(f"{one.text} >= 0", "sign", column, lambda value: value >= 0, one)
        yield _compared(f"{one.text} > 0", "sign", column, lambda value: value > 0, one)
        most = _far(column)
        if most is not None:
            yield _compared(f"{one.text} <= {most}", "bound", column, lambda value, most=most: value <= most, one)


def _far(column: Sequence[Any]) -> int | None:
    """A round number that is twice what nearly all are at most; none where there are few."""
    usual = sorted(value for value in column if value is not None and value >= 0)
    if len(usual) < LEAST_ROWS:
        return None
    bound = 2 * float(usual[int(len(usual) * 0.99)])
    if bound < 1:
        return None
    scale = 10 ** max(int(math.log10(bound)) - 1, 0)
    return int(-(-bound // scale) * scale)


def _compared(text: str, form: Form, column: Sequence[Any], holds: Any, *reads: Told) -> Claim:
    judged = [None if value is None else holds(value) for value in column]
    return Claim(text, form, bits([one is True for one in judged]), bits([one is False for one in judged]), reads)


def _lengths(contents: Contents, told: Sequence[Told], catalogue: Catalogue) -> Iterator[Claim]:
    """That a text has the usual number of characters, in the words of predicates that take a text and a number."""
    asked = [
        one
        for one in catalogue.predicates.values()
        if [wanted.bases for _, wanted in one.parameters] == [{"str"}, {"int"}] and one.returns.bases == {"bool"}
    ]
    for one in told:
        if one.type.bases != {"str"} or one.type.words or one.past or not isinstance(one.term, terms.Read):
            continue
        column = contents.columns[one.text]
        lengths = Counter(len(value) for value in column if value is not None)
        usual, count = lengths.most_common(1)[0]
        if usual >= 4 and count >= 0.9 * lengths.total():
            for predicate in asked:
                text = f"{predicate.name}({one.text}, {usual})"
                yield _compared(text, "length", column, lambda v, p=predicate, n=usual: p.function(v, n), one)


def _listed(contents: Contents, told: Sequence[Told], catalogue: Catalogue, market: str) -> Iterator[Claim]:
    """That a code is in a list of the market."""
    for one in told:
        if one.type.bases != {"str"} or one.type.words or one.personal or one.past or isinstance(one.term, terms.Call):
            continue
        column = contents.columns[one.text]
        days = [contents.cases[owner].message.effective.date() for owner in contents.owners]
        values = {value for value in column if value is not None}
        for name in sorted(catalogue.codes.shared([market])):
            codes = catalogue.codes.codes(market, name)
            if len(values) > 1 and 2 * sum(value in codes for value in values) > len(values):
                held = [
                    None if value is None else catalogue.codes.get(market, name, value, day) is not None
                    for value, day in zip(column, days, strict=True)
                ]
                true, false = bits([h is True for h in held]), bits([h is False for h in held])
                yield Claim(f"in_list({name!r}, {one.text})", "listed", true, false, (one,))


def _pairs(contents: Contents, told: Sequence[Told]) -> Iterator[Claim]:
    """Two values compared: days with each other, numbers that count the same, texts that are mostly equal."""
    for one, other in combinations(sorted(told, key=lambda one: one.past), 2):
        kinds = one.type.bases, other.type.bases
        if (one.past and other.past) or not _comparable(one, other):
            continue
        first, second = contents.columns[one.text], contents.columns[other.text]
        if kinds[0] == {"str"}:
            yield from _equal(first, second, one, other)
        else:
            yield from _ordered(first, second, one, other)
            if kinds[0] <= DAYS:
                yield from _apart(first, second, one, other)


def _comparable(one: Told, other: Told) -> bool:
    kinds = one.type.bases, other.type.bases
    if kinds[0] == kinds[1] == {"str"}:
        words = one.type.words, other.type.words
        return not any(words) and all(isinstance(x.term, terms.Read) for x in (one, other))
    if kinds[0] <= DAYS or kinds[1] <= DAYS:
        return kinds[0] == kinds[1]
    numbers = one.type.is_number and other.type.is_number
    return numbers and (one.measure == other.measure or one.last == other.last)


def _equal(first: list[Any], second: list[Any], one: Told, other: Told) -> Iterator[Claim]:
    both = [None if a is None or b is None else a == b for a, b in zip(first, second, strict=True)]
    true, false = bits([x is True for x in both]), bits([x is False for x in both])
    if true.bit_count() >= 4 * false.bit_count():
        yield Claim(f"{one.text} == {other.text}", "equal", true, false, (one, other))
    elif one.last.rpartition("_")[2] == other.last.rpartition("_")[2]:
        yield Claim(f"{one.text} != {other.text}", "equal", false, true, (one, other))


def _ordered(first: list[Any], second: list[Any], one: Told, other: Told) -> Iterator[Claim]:
    less, same, more = [], [], []
    for a, b in zip(first, second, strict=True):
        known = a is not None and b is not None
        less.append(known and a < b)
        same.append(known and a == b)
        more.append(known and a > b)
    under, equal, over = bits(less), bits(same), bits(more)
    reads = (one, other)
    yield Claim(f"{one.text} == {other.text}", "equal", equal, under | over, reads)
    for sign, true, false in (
        ("<=", under | equal, over),
        (">=", over | equal, under),
        ("<", under, over | equal),
        (">", over, under | equal),
    ):
        yield Claim(f"{one.text} {sign} {other.text}", "order", true, false, reads)


def _apart(first: list[Any], second: list[Any], one: Told, other: Told) -> Iterator[Claim]:
    """That two days are at most so many days apart."""
    days = [None if a is None or b is None else (_day(b) - _day(a)).days for a, b in zip(first, second, strict=True)]
    for sign, reads in ((1, (one, other)), (-1, (other, one))):
        signed = [None if value is None else value * sign for value in days]
        most = _far(signed)
        if most is not None:
            text = f"days_between({reads[0].text}, {reads[1].text}) <= {most}"
            yield _compared(text, "days", signed, lambda value, most=most: value <= most, *reads)


def _day(value: date | datetime) -> date:
    return value.date() if isinstance(value, datetime) else value


def _rises(contents: Contents, told: Sequence[Told]) -> Iterator[Claim]:
    """What a value rises by since the one before, against other values that count the same."""
    for new, old in ((a, b) for a in told for b in told if a.measure == b.measure and not a.past and b.past):
        if not (new.type.is_number and old.type.is_number and isinstance(new.term, terms.Call)):
            continue
        pairs = zip(contents.columns[new.text], contents.columns[old.text], strict=True)
        rise = [None if a is None or b is None else a - b for a, b in pairs]
        text = f"{new.text} - {old.text}"
        most = _far(rise)
        if most is not None:
            yield _compared(f"{text} <= {most}", "bound", rise, lambda value, most=most: value <= most, new, old)
        for other in told:
            if other.measure == new.measure and other not in (new, old) and isinstance(other.term, terms.Call):
                both = zip(rise, contents.columns[other.text], strict=True)
                held = [None if a is None or b is None else a <= b for a, b in both]
                true, false = bits([x is True for x in held]), bits([x is False for x in held])
                yield Claim(f"{text} <= {other.text}", "order", true, false, (new, old, other))
