"""Customers, for the data protection officer: somebody found, what is known of them and where, a dry run of the
erasure, the erasure, and its evidence.

What is typed to find somebody is sent as a form: addresses are kept in logs and in the browser.
"""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from energycomm.console.jobs import Job, Workbench
from energycomm.console.view import address, page
from energycomm.eis.erasures import REASONS, Order, reason_of
from energycomm.erasure.erasing import Means, Plan, do, plan
from energycomm.erasure.handing import PARTS, everything
from energycomm.erasure.persons import person_at
from energycomm.kernel.instants import instant, now_micros
from energycomm.market.installed import installed_adapters
from energycomm.webservice.answers import JSON
from energycomm.webservice.parameters import Officer, Shared
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import READS, UNRECORDED, RecordedRoute, about
from energycomm.webservice.routes.customers import (
    all_proofs,
    found_by,
    handed_over,
    means_for,
    ordered,
    placed,
    proof_numbered,
    shown,
)

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

SHORTEST = 3
"""Characters of what is looked for."""

Text = Annotated[str, Form(max_length=200)]
At = Annotated[str, Query(max_length=10)]


@router.get("/customers", openapi_extra=UNRECORDED)
def start(request: Request, person: Officer) -> HTMLResponse:
    """The form to find somebody."""
    return page(request, "customers.html", found=None, words="", short=False)


@router.post("/customers", openapi_extra=READS)
def search(request: Request, person: Officer, shared: Shared, words: Text = "") -> HTMLResponse:
    """The customers that words find."""
    words = " ".join(words.split())
    if len(words) < SHORTEST:
        about(request, "nobody found")
        return page(request, "customers.html", status=422, found=None, words=words, short=True)
    zones = installed_adapters(shared.config.mapping_files).zones
    found = [shown(one, zones) for one in found_by(request, shared, words)]
    return page(request, "customers.html", found=found, words=words, short=False)


@router.get("/customers/{market}/{identifier}")
def show(request: Request, person: Officer, shared: Shared, market: str, identifier: str, at: At = "") -> HTMLResponse:
    """What is known of a customer, and where it is kept."""
    about(request, f"access point {identifier}")
    means = means_for(request, shared, person)
    order = ordered(shared, means, market, identifier, _day(at))
    with shared.store.reading() as reader:
        someone = person_at(reader, means.markets, order.market, identifier, order.since, order.until)
    content = everything(shared.store, someone, now_micros())
    kept = {name: len(content[name]) for name in PARTS}
    return page(
        request,
        "customer.html",
        order=order,
        at=at,
        stay=someone.stay,
        since=instant(order.since) if order.since else None,
        ended=None if someone.stay.ended_at is None else instant(someone.stay.ended_at),
        known=content["what_is_known"],
        kept=kept,
        file=address(f"/customers/{order.market}/{identifier}/export", at=at),
    )


@router.get("/customers/{market}/{identifier}/export")
def export(request: Request, person: Officer, shared: Shared, market: str, identifier: str, at: At = "") -> Response:
    """All that is known, as a zip."""
    about(request, f"access point {identifier}")
    return handed_over(request, shared, person, market, identifier, _day(at))


@router.post("/customers/{market}/{identifier}/plan", openapi_extra=READS)
def foresee(
    request: Request,
    person: Officer,
    shared: Shared,
    market: str,
    identifier: str,
    at: Annotated[str, Form(max_length=10)] = "",
) -> Response:
    """A dry run of the erasure, in the background."""
    about(request, f"access point {identifier}")
    means = means_for(request, shared, person)
    order = ordered(shared, means, market, identifier, _day(at))
    bench: Workbench = request.app.state.workbench
    key = f"erasure plan {person.name} {order.market} {identifier} {order.since}"
    job = bench.start(key, f"dry run of the erasure at {identifier}", person.name, lambda _: plan(means, order))
    return RedirectResponse(f"/erasures/plans/{job.id}", 303)


@router.get("/erasures/plans/{job_id}")
def planned(request: Request, person: Officer, job_id: str) -> HTMLResponse:
    """What the erasure would take out and what stays; then it is confirmed."""
    job = _job(request, job_id).look()
    return _planned(request, job)


@router.get("/erasures/plans/{job_id}/progress", openapi_extra=UNRECORDED)
def plan_progress(request: Request, person: Officer, job_id: str) -> Response:
    """Progress of a dry run; at its end the page is loaded again."""
    return _progress(request, _job(request, job_id).look(), f"/erasures/plans/{job_id}")


@router.post("/erasures/plans/{job_id}/do")
def confirm(
    request: Request,
    person: Officer,
    shared: Shared,
    job_id: str,
    reason: Annotated[str, Form(max_length=30)] = "",
    reference: Annotated[str, Form(max_length=120)] = "",
    access_point: Annotated[str, Form(max_length=40)] = "",
) -> Response:
    """Erase the customer of a dry run; who confirms types the access point."""
    job = _job(request, job_id).look()
    found = job.result if job.over else None
    if not isinstance(found, Plan):
        raise Problem("API_CONFLICT", "There is no dry run to confirm.", advice="Repeat the dry run.")
    about(request, f"access point {found.order.access_point}")
    if reason not in REASONS:
        return _planned(request, job, trouble="reason", reference=reference)
    if access_point.strip() != found.order.access_point:
        return _planned(request, job, trouble="point", reference=reference)
    means = means_for(request, shared, person)
    order = msgspec.structs.replace(
        found.order,
        reason=found.order.reason or reason_of(reason),
        reference=found.order.reference or reference.strip(),
    )
    # What hinders it is looked at anew: the dry run may be old.
    number = placed(means, msgspec.structs.replace(found, order=order, hindered=()))
    about(request, f"erasure {number} access point {order.access_point}")
    begin(request.app.state.workbench, means, number, order, person.name)
    return RedirectResponse(f"/erasures/{number}", 303)


def begin(bench: Workbench, means: Means, number: int, order: Order, by: str) -> Job:
    """Do an erasure in the background; once at a time. If the process dies, the daemon goes on with it."""

    def work(job: Job) -> Counter[str]:
        places = Counter[str]()

        def watch(place: str) -> None:
            places[place] += 1
            job.done = len(places)

        return do(msgspec.structs.replace(means, watch=watch), number, order)

    return bench.start(f"erasure {number}", f"erasure {number}", by, work)


@router.get("/erasures", openapi_extra=UNRECORDED)
def listing(request: Request, person: Officer, shared: Shared) -> HTMLResponse:
    """All erasures, the latest first. No names."""
    return page(request, "erasures.html", erasures=all_proofs(shared))


@router.get("/erasures/{number}")
def erasure(request: Request, person: Officer, shared: Shared, number: int) -> HTMLResponse:
    """An erasure with its evidence."""
    found = proof_numbered(shared, number)
    about(request, f"erasure {number} access point {found.access_point}")
    job: Job | None = request.app.state.workbench.latest(f"erasure {number}")
    return page(request, "erasure.html", one=found, job=None if job is None else job.look())


@router.get("/erasures/{number}/progress", openapi_extra=UNRECORDED)
def progress(request: Request, person: Officer, number: int) -> Response:
    """Progress of an erasure; at its end the page is loaded again."""
    job: Job | None = request.app.state.workbench.latest(f"erasure {number}")
    if job is None:
        raise not_found("erasure", "number", number)
    return _progress(request, job.look(), f"/erasures/{number}")


@router.get("/erasures/{number}/evidence")
def evidence(request: Request, person: Officer, shared: Shared, number: int) -> Response:
    """The evidence as a file for the auditor."""
    found = proof_numbered(shared, number)
    about(request, f"erasure {number} access point {found.access_point}")
    body = msgspec.json.format(msgspec.json.encode(found), indent=2)
    return Response(body, 200, {"Content-Disposition": f'attachment; filename="erasure-{number}.json"'}, JSON)


def _planned(request: Request, job: Job, *, trouble: str = "", reference: str = "") -> HTMLResponse:
    found: Any = job.result if job.over else None
    if isinstance(found, Plan):
        about(request, f"access point {found.order.access_point}")
    values = {"job": job, "found": found, "trouble": trouble, "reference": reference, "reasons": REASONS}
    return page(request, "erasure-plan.html", status=422 if trouble else 200, **values)


def _progress(request: Request, job: Job, where: str) -> Response:
    response = page(request, "job.html", job=job, address=where)
    if job.over:
        response.headers["HX-Refresh"] = "true"
    return response


def _job(request: Request, job_id: str) -> Job:
    """A dry run of an erasure: no other job is for officers.

    Raises:
      Problem: there is none.
    """
    job: Job | None = request.app.state.workbench.find(job_id)
    if job is None or not job.key.startswith("erasure plan "):
        raise not_found("dry run", "id", job_id, "Dry runs are lost when the process ends: run it again.")
    return job


def _day(text: str) -> date | None:
    """A day of a form or an address.

    Raises:
      Problem: it is none.
    """
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise Problem(
            "API_INVALID", "This is no day.", target="at", value=text, advice="Write it like 2026-01-31."
        ) from None
