"""Invariants: claims that nearly all accepted messages of a scope meet, with the few that do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assistant.classifier.material import Case
from assistant.invariants.claims import LEAST_ROWS, Claim, Coded, Form, claims, coded
from assistant.invariants.contents import Bits, Contents, contents_of
from assistant.invariants.vocabulary import Told, told_of
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.expressions import lists_of

MOST_AGAINST = 0.02
"""Share of the accepted rows of its scope that may speak against an invariant."""

MOST_USUAL = 12
"""Words that an invariant names at most."""


@dataclass(frozen=True)
class Invariant:
    """What nearly always holds.

    Attributes:
      market, kind, each: of which messages, or of the items of which of their lists.
      when: its scope, joined by `and`; empty where it holds of all.
      holds: what nearly always holds, as a rule writes it.
      form: what kind of claim it is.
      depth: conditions of its scope.
      past: it reads the history of the access point.
      support: accepted rows of its scope that meet it.
      against: accepted rows of its scope that do not.
      met: every row of its scope that meets it.
      broken: every row of its scope that does not, of refused messages too.
      reads: the values that its claim reads.
    """

    market: str
    kind: str
    each: str | None
    when: str
    holds: str
    form: Form
    depth: int
    past: bool
    support: int
    against: int
    met: Bits
    broken: Bits
    reads: tuple[Told, ...]


@dataclass(frozen=True)
class Mined:
    """The invariants of one kind, or of the items of one of its lists, with the messages they were learned from."""

    contents: Contents
    invariants: list[Invariant]


def mined(
    catalogue: Catalogue, market: str, kind: str, cases: Sequence[Case], wrong: frozenset[int] = frozenset()
) -> list[Mined]:
    """Learn the invariants of a kind from its accepted messages.

    Args:
      catalogue: gives the words: predicates, code lists, particulars. Its rules are not read.
      market, kind: of the messages.
      cases: messages with their histories; those with error codes count as refused, and nothing is learned from them.
      wrong: numbers of accepted messages that turned out to be wrong: nothing is learned from them either.
    """
    found = []
    for each in (None, *lists_of(kind)):
        told = told_of(catalogue, market, kind, each)
        contents = contents_of(cases, told, catalogue.codes, each, wrong)
        if contents.accepted.bit_count() >= LEAST_ROWS:
            own = list(_invariants(contents, told, catalogue, (market, kind, each)))
            found.append(Mined(contents, own))
    return found


@dataclass(frozen=True)
class _Scope:
    text: str
    rows: Bits
    depth: int
    told: frozenset[str]


def _invariants(
    contents: Contents, told: Sequence[Told], catalogue: Catalogue, place: tuple[str, str, str | None]
) -> Iterator[Invariant]:
    words = coded(contents, told)
    said = claims(contents, told, catalogue, place[0])
    if place[2] is not None:
        item = f"{lists_of(place[1])[place[2]]}."
        said = [one for one in said if any(read.text.startswith(item) or item in read.text for read in one.reads)]
    for scope in _scopes(contents, words, said):
        for claim in said:
            if not any(read.text in scope.told for read in claim.reads):
                yield from _made(contents, scope, claim.text, claim, claim.false, place)
        for value in words:
            if value.told.text in scope.told or (place[2] is not None and "." not in value.told.text):
                continue
            yield from _usual(contents, scope, value, place)


def _made(
    contents: Contents, scope: _Scope, holds: str, claim: Claim, false: Bits, place: tuple[str, str, str | None]
) -> Iterator[Invariant]:
    broken = scope.rows & false
    if not broken:
        return
    support = (scope.rows & claim.true & contents.accepted).bit_count()
    against = (broken & contents.accepted).bit_count()
    if support >= LEAST_ROWS and against <= MOST_AGAINST * support:
        yield Invariant(
            *place,
            scope.text,
            holds,
            claim.form,
            scope.depth,
            claim.past,
            support,
            against,
            scope.rows & claim.true,
            broken,
            claim.reads,
        )


def _usual(contents: Contents, scope: _Scope, value: Coded, place: tuple[str, str, str | None]) -> Iterator[Invariant]:
    """That a value is one of its usual words in a scope."""
    inside = scope.rows & contents.accepted
    counts = {word: (rows & inside).bit_count() for word, rows in value.words.items()}
    total = sum(counts.values())
    usual = [word for word, count in counts.items() if count >= max(3, MOST_AGAINST * total)]
    if 0 < len(usual) <= MOST_USUAL and len(usual) < len(value.words):
        true = false = 0
        for word, rows in value.words.items():
            true, false = (true | rows, false) if word in usual else (true, false | rows)
        form: Form = "is" if len(usual) == 1 else "one-of"
        text = value.among(usual)
        yield from _made(contents, scope, text, Claim(text, form, true, false, (value.told,)), false, place)


def _scopes(contents: Contents, words: Sequence[Coded], said: Sequence[Claim]) -> list[_Scope]:
    """All rows, those with one word, presence or truth, and those beside it of one message type."""
    whole = _Scope("", (1 << contents.size) - 1, 0, frozenset())
    accepted = contents.accepted
    ones: dict[Bits, _Scope] = {}
    types: list[_Scope] = []

    def add(text: str, rows: Bits, read: str) -> None:
        count = (rows & accepted).bit_count()
        if count >= LEAST_ROWS and rows != whole.rows:
            ones.setdefault(rows, _Scope(text, rows, 1, frozenset((read,))))

    for value in sorted(words, key=lambda one: (one.told.text != "market_type", one.told.past)):
        if value.told.type.bases != {"str"}:
            continue
        for word, rows in sorted(value.words.items(), key=lambda pair: str(pair[0])):
            add(value.is_(word), rows, value.told.text)
            if value.told.text == "market_type" and (rows & accepted).bit_count() >= LEAST_ROWS:
                types.append(_Scope(value.is_(word), rows, 1, frozenset(("market_type",))))
    for claim in said:
        if (
            claim.form in ("present", "absent", "true", "false")
            and len(claim.reads) == 1
            and "(" not in claim.reads[0].text
        ):
            add(claim.text, claim.true, claim.reads[0].text)
    twos: dict[Bits, _Scope] = {}
    for outer in types if len(types) > 1 else ():
        for inner in ones.values():
            rows = outer.rows & inner.rows
            if "market_type" not in inner.told and rows not in ones and (rows & accepted).bit_count() >= LEAST_ROWS:
                twos.setdefault(rows, _Scope(f"{outer.text} and {inner.text}", rows, 2, outer.told | inner.told))
    return [whole, *ones.values(), *twos.values()]
