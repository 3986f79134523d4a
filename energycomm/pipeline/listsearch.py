"""What lists are restricted to and how they are ordered: declared once for commands, routes, pages and the client.

A list has one model: its fields are the options of the command, the parameters of the route and the filters of the
page, with the same words allowed everywhere. That of messages is `energycomm.pipeline.messagesearch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, tzinfo
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from sqlalchemy import Column, Connection, Engine, literal, select

from energycomm.choices import Closed, UnknownWord, advice_of, closed
from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.envelopes import ENVELOPE_ORDERS
from energycomm.eis.finding import points_like
from energycomm.eis.fitting import comparable
from energycomm.eis.received_requests import OWED_ORDERS
from energycomm.eis.requests import REQUEST_ORDERS
from energycomm.eis.states import (
    ACKNOWLEDGEMENT_STATES,
    ENVELOPE_STATES,
    NOTIFICATION_STATES,
    REQUEST_STATES,
    TICKET_STATES,
)
from energycomm.engine.rule import RULE_ORDERS, RULE_SETS
from energycomm.fielderrors import WORDS
from energycomm.kernel.family import KINDS
from energycomm.market.installed import installed_adapters

Words = Annotated[str, AfterValidator(comparable)]
Market = Annotated[Words, *closed("market that is installed", lambda: installed_adapters())] | None


def _written(value: object) -> object:
    """A day or an instant as it is written; a bare number would be taken for seconds since 1970."""
    if isinstance(value, int | float) or (isinstance(value, str) and _number(value)):
        raise ValueError(WORDS["datetime_parsing"])
    return value.strip() if isinstance(value, str) else value


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


Instant = Annotated[datetime, BeforeValidator(_written)]
"""A day or an instant."""
CivilDay = Annotated[date, BeforeValidator(_written)]


def placed(field: str, at: datetime | None, zone: tzinfo) -> datetime | None:
    """A day or an instant as somebody wrote it, in a zone where it names no offset; a day is its first instant.

    Args:
      field: name of the filter or option.
      at: as it was written; None for None.
      zone: of those without an offset.

    Raises:
      UnknownWord: no clock of the zone shows that time, or shows it twice: on the two days when clocks change.
    """
    if at is None or at.tzinfo is not None:
        return at
    if at.time() == time():
        return at.replace(tzinfo=zone)
    first, second = at.replace(tzinfo=zone), at.replace(tzinfo=zone, fold=1)
    if (before := first.utcoffset()) == (after := second.utcoffset()) or before is None or after is None:
        return first
    told = at.isoformat(" ", "seconds" if at.second else "minutes")
    if before < after:  # an hour that is left out
        later = (at + after - before).isoformat(timespec="seconds" if at.second else "minutes")
        message = f"{told!r} is shown by no clock of {zone}: that day leaves it out."
        raise UnknownWord(field, told, message, f"Write {later}, or the offset behind it.")
    both = [one.isoformat(timespec="seconds" if at.second else "minutes") for one in (first, second)]
    message = f"{told!r} is shown twice by the clocks of {zone} that day."
    raise UnknownWord(field, told, message, f"Write {both[0]} or {both[1]}.")


MARKET = Field(default=None, description="Only of this market, by its ISO code.")
ORDER = Field(default=None, description="Sorted by this column, with - before it from the end.")
POINT = Field(default=None, max_length=40, description="Only of this access point: PRM, EAN.")

AUDIT_ACTIONS = ("read", "change", "refused", "sign-in", "sign-out")
TICKET_ORDERS = {
    "id": "id",
    "state": "state",
    "class": "error_class",
    "operator": "grid_operator",
    "owner": "owner",
    "due": "due",
}
"""What tickets are sorted by -> their attribute."""


def by(*columns: str) -> tuple[Closed]:
    """The annotation of a field that names the column that a list is sorted by; with - before it from the end."""
    return closed("column to sort by", [sign + column for column in columns for sign in ("", "-")])


class Stored(NamedTuple):
    """What a filter names that is no word of ours but somebody's or something's own name.

    Attributes:
      what: what it names: "access point".
      columns: where such names stand; the filter names something if one of them holds it.
      close: the names to choose from instead, where there are few or an index finds those like it.
      advice: what else to do.
    """

    what: str
    columns: tuple[Column[Any], ...]
    advice: str
    close: Callable[[Connection, str], Iterable[str]] = lambda _connection, _name: ()


def _people(connection: Connection, _: str) -> Iterable[str]:
    names = select(tables.account.c.name).union(select(tables.ticket.c.owner).where(tables.ticket.c.owner.is_not(None)))
    return connection.execute(names).scalars()


ACCESS_POINT = Stored(
    "access point of this store",
    (tables.access_point.c.identifier,),
    "`energycomm find` looks for a part of it too.",
    points_like,
)
SERIES = Stored(
    "numbered series of this store", (tables.envelope.c.series_key,), "`energycomm envelope list` has them."
)
ENVELOPE = Stored("envelope of this store", (tables.envelope.c.id,), "`energycomm envelope list` lists them.")
OWNER = Stored(
    "person with a ticket or an account",
    (tables.ticket.c.owner, tables.account.c.name),
    "`energycomm correct tickets` lists owners.",
    _people,
)
PERSON = Stored(
    "person of this store",
    (tables.audit.c.person, tables.account.c.name),
    "`energycomm user list` lists accounts.",
    _people,
)


class ListSearch(BaseModel):
    """What a list is restricted to. What is empty or not given does not restrict."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    stored: ClassVar[Mapping[str, Stored]] = MappingProxyType({})
    """Filters that name something of the store."""

    def known(self, engine: Engine) -> Self:
        """Itself, if the store has what it names: a list that is empty for a typing error would be a false answer.

        Raises:
          UnknownWord: something that it names is not there.
        """
        if (absent := self.absent(engine)) is not None:
            raise absent
        return self

    def absent(self, engine: Engine) -> UnknownWord | None:
        """What it names and the store has not, with those like it; None where all is there.

        A program is refused for it. A page shows it above an empty list: a kept view outlives what it names, and may
        come before it.
        """
        asked = {name: one for name, one in self.stored.items() if getattr(self, name) is not None}
        if not asked:
            return None
        with reading(engine) as connection:
            found = (_absent(connection, name, getattr(self, name), one) for name, one in asked.items())
            return next((one for one in found if one is not None), None)

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if not isinstance(value, str) or value.strip()}


def _absent(connection: Connection, name: str, value: Any, one: Stored) -> UnknownWord | None:
    for column in one.columns:
        if connection.execute(select(literal(1)).where(column == value).limit(1)).first() is not None:
            return None
    close = list(one.close(connection, str(value)))
    advice = advice_of(str(value), close) if close else one.advice
    return UnknownWord(name, str(value), f"{str(value)!r} is no {one.what}.", advice)


class EnvelopeSearch(ListSearch):
    """Envelopes that arrived."""

    stored = MappingProxyType({"series": SERIES})

    state: Annotated[Words, *closed("state of an envelope", ENVELOPE_STATES)] | None = Field(
        default=None, description="Only in this state: done, failed, ..."
    )
    series: Words | None = Field(default=None, max_length=120, description="Only of this numbered series.")
    sort: Annotated[Words, *by(*ENVELOPE_ORDERS)] | None = ORDER


class RequestSearch(ListSearch):
    """Requests to the markets."""

    stored = MappingProxyType({"access_point": ACCESS_POINT})

    state: Annotated[Words, *closed("state of a request", REQUEST_STATES)] | None = Field(
        default=None, description="Only in this state: built, sent, done, refused, dead, ..."
    )
    market: Market = MARKET
    access_point: Words | None = POINT
    sort: Annotated[Words, *by(*REQUEST_ORDERS)] | None = ORDER


class OwedSearch(ListSearch):
    """What we owe an answer to."""

    market: Market = MARKET
    late: bool = Field(default=False, description="Only overdue ones.")
    sort: Annotated[Words, *by(*OWED_ORDERS)] | None = ORDER


class NotificationSearch(ListSearch):
    """Notifications to the back office."""

    state: Annotated[Words, *closed("state of a notification", NOTIFICATION_STATES)] | None = Field(
        default=None, description="Only in this state: pending, dead, ..."
    )


class AcknowledgementSearch(ListSearch):
    """Acknowledgements to the senders of envelopes."""

    state: Annotated[Words, *closed("state of an acknowledgement", ACKNOWLEDGEMENT_STATES)] | None = Field(
        default=None, description="Only in this state: built, sent, dead."
    )


class TicketSearch(ListSearch):
    """Tickets."""

    stored = MappingProxyType({"owner": OWNER})

    state: Annotated[Words, *closed("state of a ticket", TICKET_STATES)] | None = Field(
        default=None, description="Only in this state: open, waiting, closed."
    )
    owner: Words | None = Field(default=None, max_length=120, description="Only of this person.")
    sort: Annotated[Words, *by(*TICKET_ORDERS)] | None = ORDER


class AuditSearch(ListSearch):
    """Lines of the audit."""

    stored = MappingProxyType({"person": PERSON})

    person: Words | None = Field(default=None, max_length=120, description="Only of this person.")
    action: Annotated[Words, *closed("action of the audit", AUDIT_ACTIONS)] | None = Field(
        default=None, description="Only this action: read, change, refused, sign-in, sign-out."
    )
    subject: Words | None = Field(
        default=None,
        max_length=60,
        description="Only about this: an access point, contract or invoice, or `message 17`.",
    )
    since: Instant | None = Field(default=None, description="At or after this day or instant.")
    until: Instant | None = Field(default=None, description="Before this day or instant.")

    def period(self, zone: tzinfo = UTC) -> dict[str, datetime | None]:
        """`since` and `until`, in a zone where they name no offset.

        Raises:
          UnknownWord: a clock of the zone shows one of them never or twice.
        """
        return {"since": placed("since", self.since, zone), "until": placed("until", self.until, zone)}


class InvoiceSearch(ListSearch):
    """Grid invoices."""

    market: Market = MARKET


class OverdueSearch(ListSearch):
    """Access points whose measures stay away."""

    market: Market = MARKET
    usual: int = Field(default=35, ge=1, le=3660, description="Days between measures, where a rhythm is unknown.")
    grace: int = Field(default=7, ge=0, le=3660, description="Days that measures may be late.")


class RuleSearch(ListSearch):
    """Rules."""

    market: Market = MARKET
    kind: Annotated[Words, *closed("kind of a Kernel message", KINDS)] | None = Field(
        default=None, description="Only for messages of this kind: MeterReading."
    )
    rule_set: Annotated[Words, *closed("rule set", RULE_SETS)] | None = Field(
        default=None, description="Only of this set: validation_in."
    )
    on: CivilDay | None = Field(default=None, description="Only those in force on this day.")
    sort: Annotated[Words, *by(*RULE_ORDERS)] | None = ORDER
