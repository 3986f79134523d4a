"""Finds the intended access point of a mistyped number with a wrong check digit.

Two figures that stand side by side are swapped, or one is wrong: of all numbers that one such slip leads to, those with
a right check digit are looked for among the access points that we supply. Only where exactly one is ours is the message
given to it; read the differences before you run it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import structs

from energycomm.correction.cases import Case
from energycomm.correction.lookup import Lookup
from energycomm.correction.script import Modify, Script, Selection

SCRIPT = Script(
    title="Swapped or mistyped digits of an access point",
    selection=Selection(by_rules=True),
)


def correct(case: Case, parameters: Mapping[str, str], lookup: Lookup) -> Modify | None:
    """The message at the one access point of ours that a slip leads away from."""
    written = case.message.access_point
    if written is None or len(written) != 18 or not written.isdigit():
        return None
    meant = lookup.supplied(case.message.market, {number for number in _slips(written) if check_digit_is_right(number)})
    if len(meant) != 1:
        return None
    (number,) = meant
    return Modify(structs.replace(case.message, access_point=number), f"access point {written} -> {number}")


def check_digit_is_right(number: str) -> bool:
    """Whether the last figure is the GS1 check digit of the others."""
    weighted = sum(int(figure) * (3 if place % 2 else 1) for place, figure in enumerate(reversed(number)))
    return weighted % 10 == 0


def _slips(number: str) -> Iterator[str]:
    for place in range(len(number)):
        if place + 1 < len(number) and number[place] != number[place + 1]:
            yield number[:place] + number[place + 1] + number[place] + number[place + 2 :]
        for figure in "0123456789":
            if figure != number[place]:
                yield number[:place] + figure + number[place + 1 :]
