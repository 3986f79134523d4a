"""Customers, for the data protection officer: found, handed over, erased; erasures and their evidence.

What an officer types to find somebody is in the body: addresses are kept in logs.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from msgspec import Struct
from pydantic import Field

from energycomm.eis.database import reading
from energycomm.eis.erasures import FOREVER, Kept, Order, Reason, erasures, numbered
from energycomm.erasure.erasing import Means, Plan, do, means_of, place, plan
from energycomm.erasure.evidence import Proof, proof
from energycomm.erasure.finding import find
from energycomm.erasure.handing import everything, packed
from energycomm.erasure.ordering import NobodyKnown, market_of, noon_of, order_of, unfinished
from energycomm.erasure.persons import Stay, person_at
from energycomm.errors import UserError
from energycomm.kernel.instants import instant, now_micros
from energycomm.logs import Log
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.listsearch import CivilDay
from energycomm.webservice.answers import answer, described, tagged
from energycomm.webservice.identity import address_of
from energycomm.webservice.parameters import Body, Number, Officer, Shared, Words
from energycomm.webservice.parameters import Market as MarketWord
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import READS, RecordedRoute, about
from energycomm.webservice.roles import Person
from energycomm.webservice.services import Services

log = Log()

router = APIRouter(tags=["customers"], route_class=RecordedRoute)

DAY = 86_400_000_000

NAMED = 20
"""Access points that a line of the audit names at most."""

Identifier = Annotated[Words, Path(max_length=40, description="Identifier of the customer's access point.")]
InMarket = Annotated[Words, Path(min_length=2, max_length=2, description="Market of the access point.")]
At = Annotated[CivilDay | None, Query(description="A day on which the customer was there, where there were several.")]


class Sought(Body):
    """Whom to find."""

    words: str = Field(
        min_length=3,
        max_length=200,
        description="Name, e-mail, telephone, street, access point, contract, company number.",
    )
    market: MarketWord | None = Field(default=None, description="Only of this market.")


class Customer(Struct, frozen=True, kw_only=True):
    """A customer: one at an access point for a time.

    Attributes:
      market, access_point: where.
      since, until: the time; None where there is no bound.
      supply: `goes on`, `ended` or `none`; `ended_at`: when.
      names: what the customer is called, as the messages write it.
      at: a day on which it was this one, to name the customer by; None where there was one alone.
    """

    market: str
    access_point: str
    since: datetime | None
    until: datetime | None
    at: date | None
    supply: str
    ended_at: datetime | None
    names: tuple[str, ...]


class ErasureOrder(Body):
    """A customer to be erased."""

    reason: Reason = Field(description="Why, by the letters of article 17(1) of the GDPR.")
    reference: str = Field(
        default="", max_length=120, description="Number of the case in your register; no name: it is kept."
    )
    at: date | None = Field(
        default=None, description="A day on which the customer was there, where there were several."
    )
    dry_run: bool = Field(default=False, description="Only tell what would go and what stays; change nothing.")


class Foreseen(Struct, frozen=True, kw_only=True):
    """What an erasure would do, or does.

    Attributes:
      erasure: its number; None for a dry run.
      names: what the customer is called.
      goes: place -> values that are taken out.
      stays: what stays, why, by which law, until when.
      hindered: why it cannot be done now.
    """

    erasure: int | None
    names: tuple[str, ...]
    goes: dict[str, int]
    stays: tuple[Kept, ...]
    hindered: tuple[str, ...]


@router.post("/customers/find", summary="Find customers", responses=described(list[Customer]), openapi_extra=READS)
def find_some(request: Request, shared: Shared, _: Officer, body: Sought) -> Response:
    """Every row of customers and every request that names one is read, so that nobody is missed. Who was erased is
    found by no word. The audit has the access points, not the words."""
    zones = installed_adapters(shared.config.mapping_files).zones
    return answer([shown(one, zones) for one in found_by(request, shared, body.words, body.market)])


@router.get("/customers/{market}/{identifier}/export", summary="Hand over a customer's data")
def export(
    request: Request, shared: Shared, person: Officer, market: InMarket, identifier: Identifier, at: At = None
) -> Response:
    """A zip with all that is known: `customer.json` for machines, `customer.html` for people (GDPR, 15 and 20)."""
    about(request, f"access point {identifier}")
    return handed_over(request, shared, person, market, identifier, at)


@router.post(
    "/customers/{market}/{identifier}/erasure",
    summary="Erase a customer",
    status_code=202,
    responses=described(Foreseen, "What is taken out, and what stays.", 202),
)
def erase(
    request: Request, shared: Shared, person: Officer, market: InMarket, identifier: Identifier, body: ErasureOrder
) -> Response:
    """It is done in the background, and gone on with by the daemon if the process dies: ask for the erasure by its
    number until `done_at` is set. A dry run changes nothing. 409: it cannot be done now; the reasons are told."""
    about(request, f"access point {identifier}")
    means = means_for(request, shared, person)
    order = ordered(shared, means, market, identifier, body.at, reference=body.reference, reason=body.reason)
    found = plan(means, order)
    if body.dry_run:
        return answer(foreseen(found, None), 202)
    number = placed(means, found)
    about(request, f"erasure {number} access point {identifier}")
    shared.background.submit(_do, means, number, order)
    return answer(foreseen(found, number), 202)


@router.get("/erasures", summary="Customers that were erased", responses=described(list[Proof]))
def listing(request: Request, shared: Shared, _: Officer) -> Response:
    """All of them with their evidence, the latest first. No names."""
    return tagged(request, all_proofs(shared))


@router.get("/erasures/{number}", summary="Evidence of an erasure", responses=described(Proof))
def show(request: Request, shared: Shared, _: Officer, number: Number) -> Response:
    """Who ordered it and why, what every run took out, what stays and by which law, and the SHA-256 of the order."""
    return tagged(request, proof_numbered(shared, number))


def _do(means: Means, number: int, order: Order) -> None:
    """Do an erasure; what ends it early is logged, and the daemon goes on with it."""
    try:
        do(means, number, order)
    except Exception:
        log.exception("erasure.interrupted", erasure=number)


# --- what the pages do too --------------------------------------------------------------------------------------------


def found_by(request: Request, shared: Services, words: str, market: str | None = None) -> list[Stay]:
    """The customers that words find; the audit is told their access points."""
    found = find(shared.store, words, market)
    points = list(dict.fromkeys(one.access_point for one in found))
    more = f" and {len(points) - NAMED} more" if len(points) > NAMED else ""
    about(request, f"access points {' '.join(points[:NAMED])}{more}" if points else "nobody found")
    return found


def shown(stay: Stay, zones: Mapping[str, ZoneInfo]) -> Customer:
    """A customer as it is answered."""
    day = None
    if stay.since:
        # The time began in the course of a day, or with it: on the next one it is this customer, unless it was short.
        day = instant(min(stay.since + DAY, stay.until - 1)).astimezone(zones[stay.market]).date()
    elif stay.until < FOREVER:
        day = instant(stay.until - DAY).astimezone(zones[stay.market]).date()
    return Customer(
        market=stay.market,
        access_point=stay.access_point,
        since=instant(stay.since) if stay.since else None,
        until=instant(stay.until) if stay.until < FOREVER else None,
        at=day,
        supply="goes on" if stay.supplied else "none" if stay.ended_at is None else "ended",
        ended_at=None if stay.ended_at is None else instant(stay.ended_at),
        names=stay.names,
    )


def means_for(request: Request, shared: Services, person: Person) -> Means:
    """What an officer erases with."""
    return means_of(shared.config, shared.store, (person.name, person.via, address_of(request)))


def ordered(
    shared: Services,
    means: Means,
    market: str,
    identifier: str,
    at: date | None,
    *,
    reference: str = "",
    reason: Reason | None = None,
) -> Order:
    """The order for a customer; the one that was interrupted, where there is one.

    Raises:
      Problem: there is no such access point, or no customer of it is known (404).
      UserError: it is not clear which customer is meant.
    """
    told: dict[str, Any] = {"now": means.now, "by": means.by[0], "reference": reference, "reason": reason}
    try:
        known = market_of(shared.store, identifier, market.upper())
        begun = None if at is not None else unfinished(shared.store, known, identifier)
        if begun is not None:
            return begun
        day = None if at is None else noon_of(at, means.markets, known)
        return order_of(shared.store, means.markets, known, identifier, day, **told)
    except NobodyKnown as nobody:
        raise Problem("API_NOT_FOUND", nobody.message, target="identifier", value=identifier) from None


def placed(means: Means, found: Plan) -> int:
    """Order an erasure.

    Raises:
      Problem: it cannot be done now (409).
    """
    if found.hindered:
        raise Problem(
            "API_CONFLICT",
            f"The customer cannot be erased now: {'; '.join(found.hindered)}.",
            advice="Try again when that is over.",
        )
    return place(means, found.order)


def foreseen(found: Plan, number: int | None) -> Foreseen:
    """What an erasure would do, as it is answered."""
    return Foreseen(erasure=number, names=found.names, goes=found.goes, stays=found.stays, hindered=found.hindered)


def handed_over(
    request: Request, shared: Services, person: Person, market: str, identifier: str, at: date | None
) -> Response:
    """The zip with all that is known of a customer."""
    means = means_for(request, shared, person)
    order = ordered(shared, means, market, identifier, at)
    with shared.store.reading() as reader:
        found = person_at(reader, means.markets, order.market, identifier, order.since, order.until)
    buffer = io.BytesIO()
    packed(buffer, everything(shared.store, found, now_micros()))
    headers = {"Content-Disposition": f'attachment; filename="customer-{order.market}-{_safe(identifier)}.zip"'}
    return Response(buffer.getvalue(), 200, headers, "application/zip")


def _safe(identifier: str) -> str:
    return "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in identifier)


def all_proofs(shared: Services) -> Sequence[Proof]:
    """Every erasure with its evidence, the latest first."""
    with reading(shared.store.engine) as connection:
        return [proof(connection, one) for one in reversed(erasures(connection))]


def proof_numbered(shared: Services, number: int) -> Proof:
    """An erasure with its evidence.

    Raises:
      Problem: there is none of the number (404).
    """
    with reading(shared.store.engine) as connection:
        try:
            return proof(connection, numbered(connection, number))
        except UserError:
            raise not_found("erasure", "number", number) from None
