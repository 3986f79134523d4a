"""Groups of stuck messages, and dry runs of the scripts that would free them."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from msgspec import Struct
from sqlalchemy import Connection, func, select
from starlette.datastructures import FormData

from energycomm.console import trials
from energycomm.console.front import without_code
from energycomm.console.jobs import Job
from energycomm.console.view import Words, address, page, words_of
from energycomm.correction.analysis import DIMENSIONS, Group, groups, judging
from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.messages import MessageFilter, list_messages
from energycomm.eis.states import STUCK
from energycomm.eis.tallies import Combination, code_frequencies, combinations
from energycomm.engine.wording import condition_in_words
from energycomm.kernel.instants import now_micros
from energycomm.webservice.parameters import Corrector, Reader, Shared
from energycomm.webservice.problems import not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute

router = APIRouter(prefix="/failures", route_class=RecordedRoute, include_in_schema=False)

AT_ONCE = ("code", "type", "kind", "market", "state")
"""What the tallies group by; the rest is analysed in the background."""

EXAMPLES = 25


class Line(Struct, frozen=True, kw_only=True):
    """One group of the table. `link` leads to it, `handed` is how many of it lie in open tickets."""

    key: str
    title: str
    messages: int
    occurrences: int | None = None
    oldest: Any = None
    handed: int = 0
    link: str = ""
    note: str = ""


@router.get("", openapi_extra=UNRECORDED)
def show(request: Request, person: Reader, shared: Shared, by: str = "code") -> HTMLResponse:
    """The groups of stuck messages in one dimension."""
    bench = request.app.state.workbench
    bench.tidy()
    dimension = by if by in DIMENSIONS or by in AT_ONCE else "code"
    lines: list[Line] = []
    job = None
    with reading(shared.store.engine) as connection:
        everything = combinations(connection)
        if dimension == "code":
            waiting = [
                Line(key=one.key, title=one.title, messages=one.messages, oldest=one.oldest, link=one.link)
                for one in without_code(connection, everything, words_of(request))
            ]
            lines = sorted(
                [*_by_code(connection, shared.gateway.catalogue), *waiting], key=lambda one: (-one.messages, one.key)
            )
        elif dimension in AT_ONCE:
            lines = _by_column(everything, dimension)
    if dimension not in AT_ONCE:
        job = bench.latest(f"analysis {dimension}") or _analyse(request, shared, dimension, person.name)
        job = job.look()
        lines = [_line(dimension, group, words_of(request)) for group in job.result or () if job.over]
    return page(
        request,
        "failures.html",
        by=dimension,
        dimensions=[*AT_ONCE, *(name for name in DIMENSIONS if name not in AT_ONCE)],
        lines=lines,
        job=job,
        stuck=sum(one.messages for one in everything if one.state in STUCK),
    )


@router.post("/analysis")
def analyse(request: Request, person: Reader, shared: Shared, by: Annotated[str, Form()] = "class") -> Response:
    """Analyse again."""
    if by in DIMENSIONS:
        _analyse(request, shared, by, person.name)
    return RedirectResponse(address("/failures", by=by), 303)


@router.get("/analysis", openapi_extra=UNRECORDED)
def analysing(request: Request, person: Reader, by: str = "class") -> Response:
    """Progress of an analysis; at its end the page is loaded again."""
    job = _seen(request.app.state.workbench.latest(f"analysis {by}"))
    response = page(request, "analysing.html", by=by, job=job)
    if job is None or job.over:
        response.headers["HX-Refresh"] = "true"
    return response


def _analyse(request: Request, shared: Any, by: Any, name: str) -> Any:
    def work(_: Any) -> list[Group]:
        return groups(judging(shared.store.engine, shared.gateway.markets), by, now_micros())

    return request.app.state.workbench.start(f"analysis {by}", f"analysis by {by}", name, work)


@router.get("/code/{code}")
def group(request: Request, code: str, person: Reader, shared: Shared) -> HTMLResponse:
    """One group: rule, messages, probable error class, possible corrections."""
    bench = request.app.state.workbench
    with reading(shared.store.engine) as connection:
        line = next(iter(_by_code(connection, shared.gateway.catalogue, code)), None)
    rules = [rule for rule in shared.gateway.catalogue.rules if rule.error_code == code]
    if line is None and not rules:
        raise not_found("failure group", "code", code)
    found = list_messages(shared.store.engine, MessageFilter(codes=(code,)), limit=EXAMPLES)
    scripts = trials.scripts_of(shared)
    return page(
        request,
        "group.html",
        code=code,
        line=line,
        rules=[(rule, condition_in_words(rule, words_of(request).taste.language)) for rule in rules],
        messages=found.messages,
        more=address("/messages", code=code),
        scripts=[one for one in scripts.values() if (wants := one.declared.selection).any_code or code in wants.codes],
        job=_seen(bench.latest(trials.proposals_key(code))),
    )


def _seen(job: Job | None) -> Job | None:
    return None if job is None else job.look()


@router.post("/code/{code}/proposals")
def propose(request: Request, code: str, person: Corrector, shared: Shared) -> Response:
    """Try the scripts on some messages of the group, in the background."""
    trials.propose_for(request.app.state.workbench, code, person.name)
    return RedirectResponse(f"/failures/code/{code}#actions", 303)


@router.get("/code/{code}/proposals")
def proposals(request: Request, code: str, person: Reader) -> HTMLResponse:
    """Progress and results of the dry runs."""
    job = _seen(request.app.state.workbench.latest(trials.proposals_key(code)))
    return page(request, "proposals.html", code=code, job=job)


@router.post("/code/{code}/tickets")
def ticket(
    request: Request,
    code: str,
    person: Corrector,
    shared: Shared,
    owner: Annotated[str, Form(max_length=120)] = "",
    due: Annotated[int, Form(ge=0, le=3650)] = 14,
) -> Response:
    """Make tickets for the remaining messages of the group, in the background."""
    bench = request.app.state.workbench
    job = trials.ticket_rest(bench, code, person.name, owner.strip() or None, due)
    return RedirectResponse(f"/trials/{job.id}", 303)


async def form_of(request: Request) -> FormData:
    """The form of a request; a dependency, since routes that use the store are plain functions."""
    return await request.form()


@router.post("/scripts/{name}")
def try_out(
    request: Request, name: str, person: Corrector, shared: Shared, form: Annotated[FormData, Depends(form_of)]
) -> Response:
    """Try a script out with the parameters of the form, in the background."""
    parameters = {
        key.removeprefix("p-"): str(value) for key, value in form.items() if key.startswith("p-") and str(value)
    }
    code = str(form.get("code", ""))[:20]
    limit = str(form.get("limit", ""))
    job = trials.try_script(
        request.app.state.workbench,
        name,
        parameters,
        person.name,
        code=code or None,
        limit=int(limit) if limit.isdigit() else None,
    )
    return RedirectResponse(f"/trials/{job.id}", 303)


def _by_code(connection: Connection, catalogue: Any, code: str | None = None) -> list[Line]:
    titles = catalogue.titles()
    handed = _handed(connection)
    return [
        Line(
            key=one.name,
            title=titles.get(one.name, ""),
            messages=one.messages,
            occurrences=one.occurrences,
            oldest=one.oldest,
            handed=min(handed[one.name], one.messages),
            link=f"/failures/code/{one.name}",
        )
        for one in code_frequencies(connection, code)
    ]


def _handed(connection: Connection) -> Counter[str]:
    """Code -> messages in open tickets; a ticket names the codes of its messages."""
    t, m = tables.ticket, tables.ticket_message
    query = select(t.c.codes, func.count()).join(m, m.c.ticket_id == t.c.id).where(t.c.state != "closed")
    found: Counter[str] = Counter()
    for codes, number in connection.execute(query.group_by(t.c.codes)):
        for code in set(codes.split()):
            found[code] += number
    return found


def _by_column(everything: tuple[Combination, ...], dimension: str) -> list[Line]:
    found: Counter[str] = Counter()
    for one in everything:
        if one.state in STUCK:
            found[getattr(one, dimension)] += one.messages
    return [
        Line(key=key, title="", messages=number, link=_browse(dimension, key)) for key, number in found.most_common()
    ]


def _browse(dimension: str, key: str) -> str:
    """Where a group leads: the browser knows no filter for all that is stuck, so the most frequent state is taken."""
    if dimension == "state":
        return address("/messages", state=key)
    return address("/messages", **{dimension: key, "state": "rejected"})


def _line(dimension: str, one: Group, words: Words) -> Line:
    links = {"access-point": f"/access-points?identifier={one.key}", "rule": f"/rules/{one.key}"}
    return Line(
        key=words.t(one.key) if dimension in ("class", "age") else one.key,
        title=", ".join(f"{words.t(name)} {number}" for name, number in one.classes.items()),
        messages=one.messages,
        occurrences=one.occurrences,
        oldest=one.oldest,
        link=links.get(dimension, f"/messages/{one.examples[0]}" if one.examples else ""),
        note=words.said(one.evidence[0][0]) if one.evidence else "",
    )
