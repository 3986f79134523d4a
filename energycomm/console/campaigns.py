"""Campaigns: dry runs with their differences, runs with progress, cancel, resume, approval, undo; and who did what."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from energycomm.console import trials
from energycomm.console.jobs import Job
from energycomm.console.selection import Done
from energycomm.console.sheets import MOST_ROWS, Column, Format, heads, in_order, sheet, sorts
from energycomm.console.trials import MOST_ACTIONS, Ticketed, Trial
from energycomm.console.view import address, page, words_of
from energycomm.correction import campaign
from energycomm.correction.planning import difference
from energycomm.eis.views import views_of
from energycomm.pipeline.listsearch import ListSearch, Words, by
from energycomm.webservice.parameters import Corrector, Reader, Shared
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

DIFFERENCES = 20
"""Messages whose difference a dry run's page shows at once."""

ITEMS = 500


LISTED = 200
"""Campaigns of the page; its files hold all."""


def _people(one: campaign.CampaignRecord) -> str:
    return ", ".join(filter(None, (one.by, one.approved_by)))


COLUMNS = (
    Column("No.", lambda one, _: one.id, "id", right=True, key=lambda one: one.id),
    Column("Script", lambda one, _: one.script, "script", key=lambda one: one.script),
    Column("State", lambda one, words: words.t(one.state), "state", key=lambda one: one.state),
    Column("By", lambda one, _: _people(one), "by", key=_people),
    Column("Why", lambda one, _: one.why),
    Column("When", lambda one, words: words.when(one.created_at), "created", key=lambda one: one.created_at),
    Column("Actions", lambda one, _: sum(one.items.values()), "actions", True, lambda one: sum(one.items.values())),
    Column("Freed", lambda one, _: one.freed, "freed", right=True, key=lambda one: one.freed),
)


class Listing(ListSearch):
    """The order of the page."""

    sort: Annotated[Words, *by(*sorts(COLUMNS))] | None = None
    format: Format = ""


@router.get("/trials/{job_id}")
def trial(request: Request, job_id: str, person: Reader, shared: Shared) -> Response:
    """A dry run: its progress, then its result message by message."""
    job = _job(request, job_id).look()
    if isinstance(job.result, Ticketed) and job.over:
        return page(request, "ticketed.html", job=job, made=job.result)
    if isinstance(job.result, Done) and job.over:
        return page(request, "done.html", job=job, done=job.result)
    shown: list[Any] = []
    found = job.result.preview if isinstance(job.result, Trial) and job.over else None
    if found is not None:
        ranked = sorted(found.tried, key=lambda one: not one.useful)
        shown = [(one, difference(one.item)) for one in ranked[:DIFFERENCES]]
    return page(request, "trial.html", job=job, trial=job.result, found=found, shown=shown, most=MOST_ACTIONS)


@router.get("/trials/{job_id}/progress", openapi_extra=UNRECORDED)
def trial_progress(request: Request, job_id: str, person: Reader) -> Response:
    """Progress of a dry run; at its end the page is loaded again."""
    job = _job(request, job_id).look()
    response = page(request, "job.html", job=job, address=f"/trials/{job_id}")
    if job.over:
        response.headers["HX-Refresh"] = "true"
    return response


@router.post("/trials/{job_id}/cancel")
def trial_cancel(request: Request, job_id: str, person: Corrector) -> Response:
    """Stop a dry run."""
    _job(request, job_id).cancel()
    return RedirectResponse(f"/trials/{job_id}", 303)


@router.post("/trials/{job_id}/run")
def trial_run(
    request: Request, job_id: str, person: Corrector, why: Annotated[str, Form(max_length=400)] = ""
) -> Response:
    """Run the useful actions of the dry run as a campaign; a second click finds the same campaign."""
    job = _job(request, job_id)
    found = job.result
    if not isinstance(found, Trial) or not found.preview.useful:
        raise Problem("API_CONFLICT", "There is nothing to run.", advice="Repeat the dry run of the script.")
    number = trials.begin(
        request.app.state.workbench,
        found,
        found.preview.useful,
        by=person.name,
        why=why.strip() or "-",
        key=f"trial {job.id}",
    )
    return RedirectResponse(f"/campaigns/{number}", 303)


def _job(request: Request, job_id: str) -> Job:
    job: Job | None = request.app.state.workbench.find(job_id)
    if job is None:
        raise not_found("dry run", "id", job_id, "Dry runs are lost when the process ends: run it again.")
    return job


@router.get("/campaigns")
def listing(request: Request, person: Reader, shared: Shared, asked: Annotated[Listing, Query()]) -> Response:
    """The campaigns, the newest first unless they are sorted otherwise."""
    words = words_of(request)
    whole = asked.format or asked.sort
    found = in_order(COLUMNS, campaign.campaigns(shared.store, limit=MOST_ROWS if whole else LISTED + 1), asked.sort)
    if asked.format:
        return sheet(COLUMNS, words, found, asked.format, "campaigns")
    kept = {"sort": asked.sort} if asked.sort else {}
    return page(
        request,
        "campaigns.html",
        campaigns=found[:LISTED],
        cut=len(found) > LISTED,
        saved=views_of(shared.store.engine, person.name, "campaigns"),
        kept=kept,
        heads=heads(COLUMNS, words, "/campaigns", kept, sort=asked.sort or "-id", possible=sorts(COLUMNS)),
        sheets={form: address("/campaigns", **kept, format=form) for form in ("csv", "xlsx")},
    )


@router.get("/campaigns/{number}")
def show(request: Request, number: int, person: Reader, shared: Shared) -> HTMLResponse:
    """One campaign: who, why, its progress, and the outcome of every message."""
    return page(
        request,
        "campaign.html",
        items=campaign.items_of(shared.store, number, ITEMS),
        **_facts(request, shared, number),
    )


@router.get("/campaigns/{number}/progress", openapi_extra=UNRECORDED)
def progress(request: Request, number: int, person: Reader, shared: Shared) -> Response:
    """Progress of a campaign; at its end the page is loaded again."""
    facts = _facts(request, shared, number)
    response = page(request, "campaign-progress.html", **facts)
    if not facts["working"]:
        response.headers["HX-Refresh"] = "true"
    return response


def _facts(request: Request, shared: Any, number: int) -> dict[str, Any]:
    job: Job | None = request.app.state.workbench.latest(trials.campaign_key(number))
    job = None if job is None else job.look()
    record = _record(shared, number)
    total = sum(record.items.values())
    four_eyes = shared.config.correction.four_eyes
    return {
        "record": record,
        "rivals": campaign.rivals(shared.store, number) if four_eyes and record.state == "planned" else [],
        "job": job,
        "working": job is not None and not job.over,
        "total": total,
        "done": total - record.items.get("planned", 0) - record.items.get("acted", 0),
        "four_eyes": four_eyes,
    }


def _record(shared: Any, number: int) -> campaign.CampaignRecord:
    found = campaign.campaigns(shared.store, number)
    if not found or found[0].id != number:
        raise not_found("campaign", "id", number)
    return found[0]


@router.post("/campaigns/{number}/cancel")
def cancel(request: Request, number: int, person: Corrector, shared: Shared) -> Response:
    """Stop a campaign after the access point that it is at."""
    campaign.cancel(shared.store, _record(shared, number).id)
    return RedirectResponse(f"/campaigns/{number}", 303)


@router.post("/campaigns/{number}/approve")
def approve(request: Request, number: int, person: Corrector, shared: Shared) -> Response:
    """Approve a colleague's campaign and run it."""
    campaign.approve(shared.store, _record(shared, number).id, person.name)
    trials.run(request.app.state.workbench, number, person.name)
    return RedirectResponse(f"/campaigns/{number}", 303)


@router.post("/campaigns/{number}/resume")
def resume(request: Request, number: int, person: Corrector, shared: Shared) -> Response:
    """Continue a cancelled or interrupted campaign."""
    _record(shared, number)
    trials.run(request.app.state.workbench, number, person.name)
    return RedirectResponse(f"/campaigns/{number}", 303)


@router.post("/campaigns/{number}/undo")
def undo(request: Request, number: int, person: Corrector, shared: Shared) -> Response:
    """Take back what a campaign stored."""
    if _record(shared, number).state == "running":
        raise Problem("API_CONFLICT", "The campaign is running.", advice="Cancel it first.")
    trials.undo(request.app.state.workbench, number, person.name)
    return RedirectResponse(f"/campaigns/{number}", 303)
