"""Campaigns: a correction script run over many messages, in the background; watched, approved, stopped, undone."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from msgspec import Struct
from pydantic import Field

from energycomm.correction import campaign
from energycomm.correction.campaign import CampaignRecord, ItemRecord
from energycomm.errors import UserError
from energycomm.logs import Log
from energycomm.webservice.answers import answer, described, tagged
from energycomm.webservice.bodies import LIST
from energycomm.webservice.idempotency import once
from energycomm.webservice.parameters import Consultant, Corrector, Key, Number, Shared
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.routes.corrections import Reason, Trial, find_script, tried_out
from energycomm.webservice.services import Services

router = APIRouter(prefix="/corrections/campaigns", tags=["corrections"], route_class=RecordedRoute)
log = Log()


class Closing(Exception):
    """The process ends: a campaign stops after the current access point."""


class CampaignDetail(Struct, frozen=True, kw_only=True):
    """A campaign, with the outcome of each message."""

    campaign: CampaignRecord
    items: tuple[ItemRecord, ...]


class Campaign(Trial):
    """A campaign to run."""

    script: str = Field(min_length=1, max_length=80, description="Name of the script.")
    why: Reason
    propose: bool = Field(default=False, description="Only record it; a colleague approves it before it runs.")


@router.get("", summary="Campaigns", responses=described(list[CampaignRecord]))
def search(
    request: Request,
    shared: Shared,
    _: Consultant,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 100,
) -> Response:
    """The newest first."""
    return tagged(request, campaign.campaigns(shared.store, limit=limit))


@router.get("/{number}", summary="One campaign", responses=described(CampaignDetail))
def show(
    request: Request,
    shared: Shared,
    _: Consultant,
    number: Number,
    limit: Annotated[int, Query(ge=1, le=10_000, description="How many messages at most.")] = 1000,
) -> Response:
    """Its progress and the outcome of each message; `state` is `done` at the end."""
    record = find(shared, number)
    items = campaign.items_of(shared.store, number, limit)
    return tagged(request, CampaignDetail(campaign=record, items=tuple(items)))


@router.post(
    "",
    summary="Run a script as a campaign",
    status_code=202,
    responses=described(CampaignRecord, "Started; poll the campaign until its `state` is `done`.", 202),
    openapi_extra=LIST,
)
def create(request: Request, shared: Shared, person: Corrector, body: Campaign, key: Key = None) -> Response:
    """A dry run comes first; actions that free a message and cost no accepted one are applied, in the background.

    409 if no action would free a message. If `four_eyes` is set, the campaign waits for a colleague's approval.
    """
    about(request, f"script {body.script}")
    found = find_script(shared, body.script)

    def do() -> Response:
        with shared.rehearsing() as store:
            tried = tried_out(shared, store, found, body)
        if not tried.useful:
            raise Problem("API_CONFLICT", f"Nothing to do: {tried}.", advice="Look at the preview.")
        number = campaign.start(
            shared.store,
            found,
            tried.useful,
            by=person.name,
            why=body.why,
            parameters=found.values(body.parameters),
            selected=tried.selected,
        )
        if not body.propose and not shared.config.correction.four_eyes:
            in_background(shared, number)
        record = campaign.show(shared.store, number)
        return answer(record, 202, {"Location": f"/api/v1/corrections/campaigns/{number}"})

    return once(request, shared.store, person, key, body.model_dump_json().encode(), do)


@router.post("/{number}/approve", summary="Approve a campaign", responses=described(CampaignRecord))
def approve(shared: Shared, person: Corrector, number: Number) -> Response:
    """Not by the person who proposed it; it runs at once."""
    record = find(shared, number)
    if record.by == person.name:
        raise Problem(
            "API_FORBIDDEN", "The person who proposed a campaign cannot approve it.", advice="Ask a colleague."
        )
    if record.state != "planned":
        raise _late(record)
    campaign.approve(shared.store, number, person.name)
    in_background(shared, number)
    return answer(campaign.show(shared.store, number))


@router.post(
    "/{number}/run",
    summary="Continue a campaign",
    status_code=202,
    responses=described(CampaignRecord, "Started.", 202),
)
def go_on(shared: Shared, _: Corrector, number: Number) -> Response:
    """Runs the rest of a cancelled or interrupted campaign; no action is done twice."""
    record = find(shared, number)
    if record.state in ("done", "undone"):
        raise _late(record)
    if shared.config.correction.four_eyes and record.approved_by is None:
        raise Problem("API_CONFLICT", f"Campaign {number} waits for the approval of a colleague.", target="number")
    in_background(shared, number)
    return answer(campaign.show(shared.store, number), 202)


@router.post("/{number}/cancel", summary="Stop a campaign", responses=described(CampaignRecord))
def cancel(shared: Shared, _: Corrector, number: Number) -> Response:
    """After the current access point."""
    record = find(shared, number)
    if record.state not in ("planned", "running"):
        raise _late(record)
    return answer(campaign.cancel(shared.store, number))


@router.post("/{number}/undo", summary="Undo a campaign", responses=described(CampaignRecord))
def undo(shared: Shared, person: Corrector, number: Number) -> Response:
    """Withdraws its new versions and created messages and judges the access points again."""
    record = find(shared, number)
    if record.state == "undone":
        raise _late(record)
    return answer(campaign.undo(shared.store, shared.writer(), number, person.name))


def find(shared: Services, number: int) -> CampaignRecord:
    """A campaign, or 404."""
    found = campaign.campaigns(shared.store, number)
    if not found:
        raise not_found("campaign", "number", number, "GET /api/v1/corrections/campaigns lists them.")
    return found[0]


def in_background(shared: Services, number: int) -> None:
    """Run the rest of a campaign in a thread. If the process dies, it stays `running`, and `run` continues it."""
    with shared.store.transaction() as tx:
        # At once, so that who looks at it knows a campaign on its way from one that waits for approval.
        sql = "UPDATE campaign SET state = 'running', finished_at = NULL WHERE id = ? AND state <> 'done'"
        tx.driver.run(sql, (number,))

    def watch(_done: int, _freed: int) -> None:
        if shared.closing.is_set():
            raise Closing

    def work() -> None:
        try:
            four_eyes = shared.config.correction.four_eyes
            campaign.run(shared.store, shared.writer(), number, four_eyes=four_eyes, watch=watch)
        except Closing:
            log.warning("campaign.interrupted", campaign=number)
        except UserError as error:
            log.error("campaign.stopped", campaign=number, error=error.message)
        except Exception as error:
            log.error("campaign.fault", campaign=number, exc_info=error)

    shared.background.submit(work)


def _late(record: CampaignRecord) -> Problem:
    return Problem("API_CONFLICT", f"Campaign {record.id} is {record.state}.", target="number", value=record.state)
