"""The front page: arrivals and outcomes, stuck messages, worklists; sign-in and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from msgspec import Struct
from sqlalchemy import Connection, func, select

from energycomm.console.charts import OUTCOME_OF, OUTCOMES, Bar, bars
from energycomm.console.view import (
    COOKIE_LANGUAGE,
    COOKIE_THEME,
    THEMES,
    Words,
    address,
    came_from,
    fresh,
    page,
    words_of,
)
from energycomm.daemon.alarming import current
from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.states import STUCK
from energycomm.eis.tallies import (
    Combination,
    Frequency,
    Hourly,
    arrivals,
    code_frequencies,
    combinations,
    hourly,
)
from energycomm.invoicing.keeping import contested
from energycomm.kernel.instants import instant, micros, now_micros
from energycomm.pipeline.listsearch import CivilDay
from energycomm.texts.catalogues import LANGUAGES
from energycomm.webservice.identity import login_address
from energycomm.webservice.parameters import Anyone, Shared
from energycomm.webservice.problems import Problem
from energycomm.webservice.recording import UNRECORDED, RecordedRoute
from energycomm.webservice.roles import WORKERS, Role
from energycomm.webservice.signin import local

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

SHOWN_REASONS = 12
YEAR = 365 * 86_400
DAYS = 14


@router.get("/", openapi_extra=UNRECORDED)
def today(
    request: Request, person: Anyone, shared: Shared, on: Annotated[CivilDay | None, Query(alias="day")] = None
) -> Response:
    """Arrivals of a day and their outcomes; the page of the present day renews itself. Who may see none of it is led to
    what they may do."""
    if not person.may(WORKERS):
        return RedirectResponse("/customers" if Role.OFFICER in person.roles else "/account", 303)
    request.app.state.workbench.tidy()
    words = words_of(request)
    chosen = on or datetime.now(words.taste.zone).date()
    begin, end = _span(words, chosen)
    with reading(shared.store.engine) as connection:
        arrived = hourly(connection, begin, end)
        fortnight = arrivals(connection, _span(words, chosen - timedelta(days=DAYS - 1))[0], end)
        everything = combinations(connection)
        codes = code_frequencies(connection)
        reasons = [*_told(shared.gateway.catalogue, codes), *without_code(connection, everything, words)]
        facts = _facts(connection, begin, end)
    made = page(
        request,
        "today.html",
        live=end > datetime.now(UTC),
        day_shown=chosen,
        before=address("/", day=chosen - timedelta(days=1)),
        after=address("/", day=chosen + timedelta(days=1)) if end < datetime.now(UTC) else None,
        outcomes=_outcomes(arrived),
        total=sum(one.messages for one in arrived),
        types=_types(arrived),
        hours=bars(_by_hour(words, arrived, begin, end), words.t("Arrivals by the hour")),
        days=bars(_by_day(words, fortnight, chosen), words.t("Arrivals by the day")),
        stuck=stuck_by_state(everything),
        reasons=sorted(reasons, key=lambda one: (-one.messages, one.key))[:SHOWN_REASONS],
        more_reasons=max(0, len(reasons) - SHOWN_REASONS),
        facts=facts,
        alarms=len(current(shared.store, shared.config, now_micros())),
        period={"since": chosen.isoformat(), "until": (chosen + timedelta(days=1)).isoformat()},
    )
    return fresh(request, made)


def stuck_by_state(everything: Iterable[Combination]) -> dict[str, int]:
    """How many messages are stuck, by state, in the order of the states."""
    found: Counter[str] = Counter()
    for one in everything:
        if one.state in STUCK:
            found[one.state] += one.messages
    return {state: found[state] for state in STUCK if found[state]}


def _span(words: Words, day: date) -> tuple[datetime, datetime]:
    """The instants that a local day begins and ends with."""
    zone = words.taste.zone
    return (
        datetime.combine(day, time(), zone).astimezone(UTC),
        datetime.combine(day + timedelta(days=1), time(), zone).astimezone(UTC),
    )


def _outcomes(arrived: Sequence[Hourly]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for one in arrived:
        found[OUTCOME_OF.get(one.state, "open")] += one.messages
    return {name: found[name] for name in OUTCOMES}


def _types(arrived: Sequence[Hourly]) -> list[tuple[str, str, int, dict[str, int]]]:
    """(market, type, messages, by outcome), the most frequent first."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for one in arrived:
        found.setdefault((one.market, one.type), Counter())[OUTCOME_OF.get(one.state, "open")] += one.messages
    rows = [(*key, sum(counts.values()), dict(counts)) for key, counts in found.items()]
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))


def outcome_words(words: Words) -> dict[str, str]:
    """The parts of a bar in words."""
    return {
        "good": words.t("accepted"),
        "wait": words.t("waiting"),
        "bad": words.t("rejected"),
        "open": words.t("delegated, ticketed, withdrawn"),
    }


def _parts(words: Words, counts: Counter[str]) -> tuple[tuple[str, str, int], ...]:
    return tuple((name, told, counts[name]) for name, told in outcome_words(words).items())


def _by_hour(words: Words, arrived: Sequence[Hourly], begin: datetime, end: datetime) -> list[Bar]:
    counts: dict[datetime, Counter[str]] = {}
    for one in arrived:
        counts.setdefault(one.hour, Counter())[OUTCOME_OF.get(one.state, "open")] += one.messages
    made = []
    hour = begin
    while hour < end:
        local = hour.astimezone(words.taste.zone)
        label = f"{local:%H}" if local.hour % 3 == 0 else ""
        made.append(Bar(label, f"{local:%H:%M}", _parts(words, counts.get(hour, Counter()))))
        hour += timedelta(hours=1)
    return made


def _by_day(words: Words, arrived: Mapping[datetime, Mapping[str, int]], last: date) -> list[Bar]:
    counts: dict[date, Counter[str]] = {}
    for hour, states in arrived.items():
        day = counts.setdefault(hour.astimezone(words.taste.zone).date(), Counter())
        for state, number in states.items():
            day[OUTCOME_OF.get(state, "open")] += number
    days = [last - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]
    return [
        Bar(f"{one:%d.%m}", one.isoformat(), _parts(words, counts.get(one, Counter())), address("/", day=one))
        for one in days
    ]


class Reason(Struct, frozen=True, kw_only=True):
    """Why messages are stuck: an error code, or what they wait for.

    Attributes:
      key: the code, or the words of a state.
      title: what it says.
      messages: how many it holds.
      oldest: arrival of the first of them.
      link: to them.
    """

    key: str
    title: str
    messages: int
    oldest: datetime | None
    link: str


def without_code(connection: Connection, everything: Iterable[Combination], words: Words) -> list[Reason]:
    """What is stuck and has no code: messages that wait, and those whose rule broke."""
    found = stuck_by_state(everything)
    k = tables.kernel_message.c
    reasons = []
    for state, title, link in (
        ("quarantined", words.t("A message that it depends on has not arrived."), "/quarantine"),
        ("engine_error", words.t("A rule failed on it: it has no verdict."), "/messages?state=engine_error"),
    ):
        if found.get(state):
            oldest = select(k.received_at).where(tables.OPEN, k.state == state).order_by(k.id).limit(1)
            first = connection.execute(oldest).scalar()
            since = None if first is None else instant(first)
            key = words.state(state)
            reasons.append(Reason(key=key, title=title, messages=found[state], oldest=since, link=link))
    return reasons


def _told(catalogue: Any, codes: Sequence[Frequency]) -> list[Reason]:
    """Error codes with the title of the rule that gives them."""
    titles = catalogue.titles()
    return [
        Reason(
            key=one.name,
            title=titles.get(one.name, ""),
            messages=one.messages,
            oldest=one.oldest,
            link=f"/failures/code/{quote(one.name, safe='')}",
        )
        for one in codes
    ]


def _facts(connection: Connection, begin: datetime, end: datetime) -> dict[str, Any]:
    """What stands beside the charts: envelopes of the day, tickets, requests, campaigns."""
    e, t, o, c = tables.envelope.c, tables.ticket.c, tables.outgoing.c, tables.campaign.c
    low, high, now = micros(begin), micros(end), micros(datetime.now(UTC))
    envelopes = select(e.state, func.count()).where(e.received_at >= low, e.received_at < high).group_by(e.state)
    tickets = select(func.count()).where(t.state != "closed")
    overdue_tickets = select(func.count()).where(t.state != "closed", t.due_at < now)
    waiting = ("sent", "acknowledged", "in-course")
    requests = select(func.count()).where(o.state.in_(("built", *waiting)))
    overdue = select(func.count()).where(o.state.in_(waiting), o.answer_by < now)
    return {
        "envelopes": {row[0]: row[1] for row in connection.execute(envelopes)},
        "tickets": connection.execute(tickets).scalar_one(),
        "tickets_overdue": connection.execute(overdue_tickets).scalar_one(),
        "requests": connection.execute(requests).scalar_one(),
        "requests_overdue": connection.execute(overdue).scalar_one(),
        "campaigns": connection.execute(select(func.count()).where(c.state.in_(("planned", "running")))).scalar_one(),
        "contested": contested(connection),
    }


def error_page(request: Request, problem: Problem) -> Response:
    """A refusal, as a page that leads back to that of the form; for htmx a line. Whose session is over can sign in."""
    name = "error-line.html" if request.headers.get("hx-request") == "true" else "error.html"
    back = came_from(request)
    sign_in = login_address(back or "/") if problem.code == "API_NOT_SIGNED_IN" else ""
    return page(request, name, status=problem.status, problem=problem, back=back, sign_in=sign_in)


def login_page(request: Request, sign_in: Any) -> Response:
    """The sign-in page."""
    return page(request, "login.html", sign_in=sign_in)


@router.get("/preferences", openapi_extra=UNRECORDED)
def prefer(request: Request, person: Anyone, then: str = "/", language: str = "", theme: str = "") -> Response:
    """Store the chosen preference and return to the page."""
    response = RedirectResponse(local(then), 303)
    secure = request.url.scheme == "https"
    for name, value, known in (
        (COOKIE_LANGUAGE, language, LANGUAGES),
        (COOKIE_THEME, theme, THEMES),
    ):
        if value in known:
            response.set_cookie(name, value, max_age=YEAR, secure=secure, httponly=True, samesite="lax")
    return response
