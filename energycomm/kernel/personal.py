"""What Kernel messages tell of a customer: the values, and the message without them.

Which fields are personal stands in their declarations (`energycomm.kernel.declaration.Personal`). The address of an
installation is none of them: it belongs to its access point, and stays for the next customer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Struct, structs

from energycomm.kernel.declaration import Personal
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import Particular
from energycomm.kernel.shape import Attribute, Child, shape_of

ERASED: Final = "***"
"""What stands in place of a name: that there was one stays known, as rules ask for it."""

_LEADS: Final = 6
"""Digits of a number that leads to somebody."""

S = TypeVar("S", bound=Struct)


class PersonalValue(NamedTuple):
    """A value that tells of a customer.

    Attributes:
      field: its place in the message: surname, address.street.
      personal: what it tells.
      value: the value.
    """

    field: str
    personal: Personal
    value: Any


class _Places(NamedTuple):
    """The fields of a class: those that are personal, and those that hold parts in which some may be."""

    scalars: tuple[Attribute, ...]
    whole: tuple[Child, ...]
    below: tuple[Child, ...]


@cache
def _places(cls: type[Struct]) -> _Places:
    shape = shape_of(cls)
    scalars = tuple(one for one in shape.attributes if one.declared.personal is not None)
    whole = tuple(one for one in shape.children if one.declared.personal is not None)
    # The parts of an address say what they tell of a customer, where the address is one of a customer.
    below = tuple(one for one in shape.children if one not in whole and one.part in _HOLDERS)
    return _Places(scalars, whole, below)


def _holders() -> frozenset[type[Struct]]:
    """Parts that are a customer's wherever they stand: of an answer to a search, but not addresses."""
    found: set[type[Struct]] = set()
    customers: set[type[Struct]] = set()
    for cls in KINDS.values():
        for child in shape_of(cls).children:
            (customers if child.declared.personal is not None else found).add(child.part)
    return frozenset(found - customers)


_HOLDERS: Final = _holders()


def personal_kinds() -> frozenset[str]:
    """The kinds of messages that have personal fields."""
    return frozenset(name for name, cls in KINDS.items() if _is_personal(cls))


def _is_personal(cls: type[Struct]) -> bool:
    places = _places(cls)
    return bool(places.scalars or places.whole) or any(_is_personal(one.part) for one in places.below)


def personal_fields(kind: str) -> frozenset[str]:
    """The personal fields of a kind, as findings name them: surname, address, address.street."""
    return frozenset(_named(KINDS[kind], "")) if kind in KINDS else frozenset()


def _named(cls: type[Struct], place: str) -> Iterator[str]:
    places = _places(cls)
    for one in places.scalars:
        yield place + one.field
    for child in places.whole:
        yield place + child.field
        yield from (f"{place}{child.field}.{one.field}" for one in shape_of(child.part).attributes)
    for child in places.below:
        yield from _named(child.part, f"{place}{child.field}.")


def personal_values(message: Struct, own: Collection[str] = ()) -> Iterator[PersonalValue]:
    """What a message tells of a customer.

    Args:
      message: the message, or a part of it.
      own: elements of the market whose content is a customer's: particulars below them are personal.
    """
    places = _places(type(message))
    for one in places.scalars:
        value = getattr(message, one.field)
        if value is not None:
            yield PersonalValue(one.field, one.declared.personal or "trait", value)
    for child in places.whole:
        for part in _parts(message, child):
            for leaf in shape_of(child.part).attributes:
                value = getattr(part, leaf.field)
                if value is not None:
                    yield PersonalValue(f"{child.field}.{leaf.field}", leaf.declared.personal or "trait", value)
    for child in places.below:
        for part in _parts(message, child):
            for found in personal_values(part, own):
                yield found._replace(field=f"{child.field}.{found.field}")
    for particular in getattr(message, "particulars", ()):
        if is_personal_path(particular.name, own):
            yield PersonalValue(particular.name, _told_by(particular.value), particular.value)


def _told_by(value: object) -> Personal:
    """What a value of a market tells that no field has a place for: an address or a number leads to a customer, a code
    or a single word does not."""
    text = str(value)
    leads = "@" in text or " " in text.strip() or sum(sign.isdigit() for sign in text) >= _LEADS
    return "contact" if isinstance(value, str) and leads else "trait"


def is_personal_path(path: str, own: Collection[str]) -> bool:
    """Whether a path of a market's elements leads through one whose content is a customer's."""
    return any(step.split("[")[0] in own for step in path.split("/"))


def without_person(
    message: S, scrub: Callable[[str], str] = str, own: Collection[str] = (), point: str | None = None
) -> S:
    """A message without what it tells of a customer; all else is as it was.

    Args:
      message: the message, or a part of it.
      scrub: takes the customer's names and contacts out of any other text of it.
      own: elements of the market whose content is a customer's.
      point: access point of the customer: what a message tells of others stays.
    """
    places = _places(type(message))
    changes: dict[str, Any] = {}
    shape = shape_of(type(message))
    for one in shape.attributes:
        value = getattr(message, one.field)
        if value is None:
            continue
        if one in places.scalars:
            named = one.declared.personal == "name" and one.scalar.pattern is None
            changes[one.field] = ERASED if named or one.required else None
        elif one.scalar.name == "text" and one.scalar.pattern is None and (clean := scrub(value)) != value:
            changes[one.field] = clean
    for child in shape.children:
        parts = _parts(message, child)
        if not parts:
            continue
        if child in places.whole:
            changes[child.field] = () if child.many else None
        elif child.part is Particular:
            changes[child.field] = tuple(_particular(part, scrub, own) for part in parts)
        else:
            clean_parts = tuple(
                part if _of_another(part, point) else without_person(part, scrub, own, point) for part in parts
            )
            changes[child.field] = clean_parts if child.many else clean_parts[0]
    changes = {name: value for name, value in changes.items() if value != getattr(message, name)}
    return structs.replace(message, **changes) if changes else message


def _of_another(part: Struct, point: str | None) -> bool:
    return point is not None and getattr(part, "access_point", point) != point


def _particular(particular: Particular, scrub: Callable[[str], str], own: Collection[str]) -> Particular:
    if is_personal_path(particular.name, own):
        return Particular(name=particular.name, text=ERASED)
    if particular.text is not None and (clean := scrub(particular.text)) != particular.text:
        return Particular(name=particular.name, text=clean)
    return particular


def _parts(message: Struct, child: Child) -> tuple[Any, ...]:
    held = getattr(message, child.field)
    if held is None:
        return ()
    return tuple(held) if child.many else (held,)


def names_of(message: KernelMessage) -> frozenset[str]:
    """The names by which a message calls its customer, in small letters; empty where it names none."""
    return frozenset(
        " ".join(str(one.value).casefold().split()) for one in personal_values(message) if one.personal == "name"
    )
