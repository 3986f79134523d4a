"""The facts of an access point that rules may read, as of the business time of the judged message.

Facts are fetched before any rule runs and rules only read them. A fact that is not known is ``None``. In a rule's
expression they are read as ``history.<name>``; the facts of one register as ``previous.<name>`` in a rule with
``each: registers``.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from msgspec import Meta, Struct, defstruct

from energycomm.kernel.declaration import Declared
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.shape import Scalar, shapes_of
from energycomm.kernel.vocabulary import ReceivedState, RequestState


class RegisterFacts(Struct, frozen=True, omit_defaults=True, gc=False):
    """The known values of one register (same grid, time class and direction) before the message."""

    index_wh: Annotated[int | None, Meta(description="Last accepted index before this reading, in Wh.")] = None
    unit_wh: Annotated[int | None, Meta(description="Wh that one unit of that index counts: 1 or 1000.")] = None
    at: Annotated[datetime | None, Meta(description="Instant of that index.")] = None
    days: Annotated[float | None, Meta(description="Days between that index and this reading.")] = None
    digits: Annotated[int | None, Meta(description="Number of digits of the register, last stated.")] = None
    estimated: Annotated[bool | None, Meta(description="That index was estimated.")] = None
    meter: Annotated[str | None, Meta(description="Serial number of the meter that held the register.")] = None
    meter_changed: Annotated[bool, Meta(description="The meter was changed since that index.")] = False
    days_since_change: Annotated[
        int | None,
        Meta(
            description="Civil days from the change of the meter within the supply to this reading, where it is the "
            "first of the register on the new meter."
        ),
    ] = None
    days_to_change: Annotated[
        int | None,
        Meta(
            description="Civil days from the last index of the meter before to its change, where this reading is the "
            "first of the register on the new meter."
        ),
    ] = None
    class_power: Annotated[
        Decimal | None,
        Meta(description="Subscribed power of the register's time class, where the contract has one for each class."),
    ] = None
    other_value: Annotated[
        Decimal | None,
        Meta(
            description="What an accepted message of the same source tells of the same register and instant, or of the "
            "same energy and period, if that is another value; in the unit of this one."
        ),
    ] = None
    from_opening: Annotated[bool, Meta(description="That index is one of the opening balance.")] = False


class StatedFact(NamedTuple):
    """A fact with the last stated value of a field: `known_as` of its declaration."""

    name: str
    kind: type[KernelMessage]
    field: str
    declared: Declared
    scalar: Scalar


_shapes = cache(shapes_of)


def stated_facts() -> Iterator[StatedFact]:
    """Every fact that is declared by a field, in the order of the family; one that several kinds state comes with
    each."""
    kinds = tuple(KINDS.values())
    for kind, shape in zip(kinds, _shapes(kinds), strict=True):
        for one in shape.attributes:
            if one.declared.known_as is not None:
                yield StatedFact(one.declared.known_as, kind, one.field, one.declared, one.scalar)


@cache
def stated_by(kind: type[KernelMessage]) -> tuple[tuple[str, str], ...]:
    """The (field, fact) of what messages of a kind state."""
    return tuple((fact.field, fact.name) for fact in stated_facts() if fact.kind is kind)


_PYTHON: dict[str, Any] = {
    "text": str,
    "word": str,
    "integer": int,
    "decimal": Decimal,
    "truth": bool,
    "instant": datetime,
    "day": date,
}


def with_stated(name: str, base: type[Struct], *, closed: bool = False, **options: Any) -> Any:
    """A structure with a field for each stated fact, None where no message stated it.

    Args:
      name: its name.
      base: what it holds beside.
      closed: a word of a closed list is typed as that list, not as text.
      options: of the structure; its fields are given by name, where they do not say otherwise.
    """
    fields: dict[str, tuple[str, Any, None]] = {}
    for fact in stated_facts():
        kind = Literal[fact.scalar.words] if closed and fact.scalar.words else _PYTHON[fact.scalar.name]
        words = f"Last stated: {fact.declared.english[:1].lower()}{fact.declared.english[1:]}"
        fields.setdefault(fact.name, (fact.name, Annotated[kind | None, Meta(description=words)], None))
    namespace = {"__doc__": base.__doc__}
    named = {"kw_only": True, **options}
    return defstruct(name, list(fields.values()), bases=(base,), namespace=namespace, **named)


class ComputedFacts(Struct, frozen=True, omit_defaults=True, gc=False):
    """The known facts of the access point before the message, in business order."""

    known: Annotated[bool, Meta(description="An earlier message of the access point was accepted.")] = False
    supplied: Annotated[
        bool, Meta(description="A supply period of ours covers the instant: start <= instant < end.")
    ] = False
    supplied_until: Annotated[
        bool, Meta(description="A supply period of ours covers the instant, its end included: for final readings.")
    ] = False
    supply_start: Annotated[datetime | None, Meta(description="Start of the latest supply period.")] = None
    supply_end: Annotated[datetime | None, Meta(description="End of the latest supply period, None while it runs.")] = (
        None
    )
    supply_reference: Annotated[str | None, Meta(description="Contract reference of the latest supply period.")] = None
    days_since_end: Annotated[
        int | None,
        Meta(description="Civil days in the market's zone since the latest supply period ended; None while it runs."),
    ] = None
    reference_known: Annotated[
        bool, Meta(description="The message's contract reference is that of a supply period, running or ended.")
    ] = False
    reference_ended: Annotated[
        bool, Meta(description="The supply period of the message's contract reference has ended before the instant.")
    ] = False
    contract_starts_at: Annotated[
        datetime | None,
        Meta(
            description="Start of the supply that the message's contract reference names, where it lies after the "
            "message and no earlier one does."
        ),
    ] = None
    first_start: Annotated[
        datetime | None,
        Meta(description="Start of the first known supply of the access point, where it lies after the message."),
    ] = None
    supplier: Annotated[
        str | None, Meta(description="Supplier of the latest supply period, as the market named it.")
    ] = None
    supply_from_opening: Annotated[
        bool, Meta(description="The latest supply period is known by the opening balance, not yet by the market.")
    ] = False
    opening_at: Annotated[datetime | None, Meta(description="Instant whose state the opening balance told.")] = None
    opening_facts: Annotated[
        str | None, Meta(description="Names of the stated facts whose last value the opening balance gave.")
    ] = None
    meter_known: Annotated[
        bool,
        Meta(
            description="The message's meter was named before and not removed since: a point may have several. "
            "Also the one that is changed at its instant."
        ),
    ] = False
    meter_of_supply: Annotated[
        bool, Meta(description="A message before this instant named a meter within the running supply.")
    ] = False
    last_reading_at: Annotated[datetime | None, Meta(description="Instant of the latest accepted reading.")] = None
    event_repeated: Annotated[
        bool,
        Meta(
            description="A message of the same kind and market reason was accepted at the same instant with other "
            "content."
        ),
    ] = False
    original_found: Annotated[
        bool, Meta(description="The original that a correction or cancellation names is there.")
    ] = False
    original_cancelled: Annotated[bool, Meta(description="That original was cancelled before.")] = False
    told_otherwise: Annotated[
        bool, Meta(description="An accepted message of the same source tells another value of a part of the message.")
    ] = False
    identifier_used: Annotated[
        bool, Meta(description="An accepted reading or volume of another instant bears the identifier of this one.")
    ] = False
    rise_since: Annotated[
        datetime | None,
        Meta(description="Instant of the indexes before, where a curve tells the energy of the days since then."),
    ] = None
    rise_wh: Annotated[int | None, Meta(description="What the indexes of one grid rise by since then, in Wh.")] = None
    curve_wh: Annotated[
        int | None,
        Meta(description="What the curve of these days sums up to, in Wh, if that is not the rise of the indexes."),
    ] = None
    curve_tolerance: Annotated[
        Decimal | None, Meta(description="Percent by which both may differ: the setting curve_tolerance.")
    ] = None
    other_values_of: Annotated[
        date | None,
        Meta(description="First civil day of which an accepted series of the same source tells other values."),
    ] = None
    charge_repeated: Annotated[bool, Meta(description="A charge with the same reference was accepted.")] = False
    request_known: Annotated[bool, Meta(description="The request that the message is about is known.")] = False
    request_state: Annotated[RequestState | ReceivedState | None, Meta(description="State of that request.")] = None
    request_milestone: Annotated[int | None, Meta(description="Highest milestone of that request so far.")] = None
    request_milestone_at: Annotated[datetime | None, Meta(description="Instant of that milestone.")] = None
    pending_requests: Annotated[
        int, Meta(description="Requests under way on the access point, others than this one.")
    ] = 0
    registers: Annotated[
        tuple[RegisterFacts, ...], Meta(description="Facts of each register, or energy, of the message, in its order.")
    ] = ()


class Nothing(Struct, gc=False):
    """The last stated values of an access point, by name of the fact."""


if TYPE_CHECKING:

    class History(ComputedFacts, frozen=True):
        """The computed facts, and those that are declared by the fields that state them."""

        def __init__(self, *values: Any, **facts: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    class Stated(Nothing):
        """The facts that are declared by the fields that state them."""

        def __getattr__(self, name: str) -> Any: ...

else:
    # One is made for each message: by the places of its facts that takes a tenth of the time.
    History = with_stated("History", ComputedFacts, closed=True, frozen=True, omit_defaults=True, kw_only=False)
    Stated = with_stated("Stated", Nothing, omit_defaults=True)

STATED: tuple[str, ...] = Stated.__struct_fields__
"""The names of the stated facts."""

NO_HISTORY = History()
"""The history of an access point nothing is known of."""
