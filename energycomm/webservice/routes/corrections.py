"""Correction: groups of stuck messages, proposals, dry runs of scripts, edits, replays, delegation."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from msgspec import Struct
from pydantic import Field

from energycomm.correction.acting import judge_again
from energycomm.correction.analysis import Dimension, Group, groups, judged_cases, judging
from energycomm.correction.campaign import CampaignRecord
from energycomm.correction.cases import read_cases
from energycomm.correction.editing import Examined, edit, editable, examine
from energycomm.correction.library import LoadedScript, load_scripts
from energycomm.correction.planning import Preview, difference, plan, preview
from energycomm.correction.proposals import Proposal, propose
from energycomm.correction.script import Parameter, Selection
from energycomm.correction.tickets import delegate
from energycomm.eis.database import reading
from energycomm.eis.messages import MessageSummary, summaries
from energycomm.eis.store import Store
from energycomm.errors import HistoryArchived
from energycomm.kernel.instants import now_micros
from energycomm.pipeline.replay import mark
from energycomm.webservice.answers import answer, described, tagged
from energycomm.webservice.bodies import EDITED, LIST
from energycomm.webservice.idempotency import once
from energycomm.webservice.pages import Counted
from energycomm.webservice.parameters import LARGEST, Body, Consultant, Corrector, Key, Number, Shared, Words
from energycomm.webservice.problems import Mistake, Problem, mistake_of, not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute, about
from energycomm.webservice.services import Services

router = APIRouter(prefix="/corrections", tags=["corrections"], route_class=RecordedRoute)

PREVIEW_SECONDS = 60.0
"""How long a dry run of one request may take; what is left is told."""

Name = Annotated[Words, Path(max_length=80, description="Its name.")]
MessageId = Annotated[int, Field(ge=1, le=LARGEST)]
MessageIds = Annotated[list[MessageId], Field(min_length=1, max_length=10_000)]
Reason = Annotated[str, Field(min_length=1, max_length=400, description="Reason, for the record.")]
Parameters = Annotated[
    dict[Annotated[str, Field(max_length=80)], Annotated[str, Field(max_length=1000)]],
    Field(max_length=50, description="Parameters of the script."),
]


class ScriptDescription(Struct, frozen=True, kw_only=True):
    """A correction script: what it does, which messages it selects, its parameters."""

    name: str
    title: str
    documentation: str
    automatic: bool
    selection: Selection
    parameters: tuple[Parameter, ...]
    digest: str


class PreviewedItem(Struct, frozen=True, kw_only=True):
    """The action of a script on one message, and the result of its dry run."""

    message_id: int
    access_point: str | None
    useful: bool
    note: str
    difference: str


class PreviewResult(Struct, frozen=True, kw_only=True):
    """Result of a dry run; nothing is stored.

    Attributes:
      selected: how many stuck messages the script is about.
      words: in a few words.
      items: its actions, at most 200 of them with their differences.
      useful, freed, lost: numbers of messages.
      faults: what the script raised, by message.
      untried: actions that the time did not suffice for.
    """

    selected: int
    words: str
    items: tuple[PreviewedItem, ...]
    useful: tuple[int, ...]
    freed: tuple[int, ...]
    lost: tuple[int, ...]
    faults: dict[str, str]
    untried: int


class Trial(Body):
    """What a dry run covers."""

    parameters: Parameters = Field(default={})
    messages: MessageIds | None = Field(default=None, description="Only these messages.")
    limit: int | None = Field(default=None, ge=1, le=10_000, description="How many actions at most.")


class Edit(Body):
    """The Kernel XML that replaces a message's content."""

    xml: str = Field(min_length=1, max_length=1_000_000, description="Kernel XML.")
    why: Reason
    dry_run: bool = Field(default=False, description="Only a preview; nothing is stored.")


class Replay(Body):
    """Messages to judge again."""

    messages: MessageIds
    why: Reason


class Delegation(Body):
    """Messages to assign to a colleague."""

    messages: MessageIds
    to: str = Field(min_length=1, max_length=120, description="The colleague.")
    note: str = Field(default="", max_length=2000, description="Note for the colleague.")


@router.get("/groups", summary="Stuck messages in groups", responses=described(list[Group]))
def grouped(
    request: Request,
    shared: Shared,
    _: Consultant,
    by: Annotated[Dimension, Query(description="What the groups have in common.")] = "code",
) -> Response:
    """The largest first: number, first date, invoices that wait, error class."""
    return tagged(request, groups(judging(shared.store.engine, shared.gateway.markets), by, now_micros()))


@router.get("/proposals", summary="Proposals for the groups", responses=described(list[Proposal]))
def proposed(
    shared: Shared,
    _: Consultant,
    by: Annotated[Dimension, Query(description="What the groups have in common.")] = "code",
    group: Annotated[Words | None, Query(max_length=400, description="Only this group.")] = None,
    sample: Annotated[int, Query(ge=1, le=500, description="How many messages of a group to try.")] = 20,
    seconds: Annotated[float, Query(ge=1, le=60, description="Time limit in seconds.")] = 10.0,
) -> Response:
    """Dry runs of the scripts on a sample of each group, the most effective first; nothing is stored."""
    with shared.rehearsing() as store:
        found = propose(
            store,
            shared.writer(),
            _scripts(shared).values(),
            judged_cases(store.engine, shared.gateway.markets),
            by,
            now=now_micros(),
            sample=sample,
            seconds=seconds,
            only=group,
        )
    return answer(found)


@router.get(
    "/scripts",
    summary="Correction scripts",
    responses=described(list[ScriptDescription]),
    openapi_extra=UNRECORDED,
)
def scripts(request: Request, shared: Shared, _: Consultant) -> Response:
    """Shipped scripts and your own."""
    return tagged(
        request,
        [_description(one) for one in _scripts(shared).values()],
    )


@router.get(
    "/scripts/{name}",
    summary="One correction script",
    responses=described(ScriptDescription),
    openapi_extra=UNRECORDED,
)
def script(
    request: Request,
    shared: Shared,
    _: Consultant,
    name: Name,
) -> Response:
    """What it does, which messages it selects, its parameters."""
    return tagged(request, _description(find_script(shared, name)))


@router.post(
    "/scripts/{name}/preview", summary="Dry run of a script", responses=described(PreviewResult), openapi_extra=LIST
)
def try_out(shared: Shared, _: Consultant, name: Name, body: Trial) -> Response:
    """All actions of the script are judged by the Kernel and rolled back; the store does not change."""
    with shared.rehearsing() as store:
        found = tried_out(shared, store, find_script(shared, name), body)
    items = tuple(
        PreviewedItem(
            message_id=one.item.case.id,
            access_point=one.item.case.identifier,
            useful=one.useful,
            note=one.note,
            difference=difference(one.item),
        )
        for one in found.tried[:200]
    )
    return answer(
        PreviewResult(
            selected=found.selected,
            words=str(found),
            items=items,
            useful=tuple(one.case.id for one in found.useful),
            freed=found.freed,
            lost=found.lost,
            faults={str(number): words for number, words in found.faults.items()},
            untried=len(found.untried),
        )
    )


def _scripts(shared: Services) -> dict[str, LoadedScript]:
    return load_scripts(shared.gateway.catalogue.rules, shared.config.scripts_folder)


def find_script(shared: Services, name: str) -> LoadedScript:
    """A script, or 404."""
    found = _scripts(shared).get(name)
    if found is None:
        raise not_found("script", "name", name, "GET /api/v1/corrections/scripts lists them.")
    return found


def tried_out(shared: Services, store: Store, found: LoadedScript, trial: Trial) -> Preview:
    """A dry run of a script, in a store of its own (`Services.rehearsing`)."""
    planned = plan(
        store.engine, shared.gateway.markets, found, trial.parameters, limit=trial.limit, only=trial.messages
    )
    return preview(store, shared.writer(), planned, until=time.monotonic() + PREVIEW_SECONDS)


@router.get(
    "/edits/{number}",
    summary="Content of a message for editing",
    responses={200: {"description": "Kernel XML, one attribute a line.", "content": {"application/xml": {}}}},
)
def to_edit(request: Request, shared: Shared, _: Corrector, number: Number) -> Response:
    """Its Kernel XML, formatted for editing."""
    about(request, f"message {number}")
    _known(shared, [number])
    return Response(editable(shared.store, shared.gateway.markets, number).encode(), media_type="application/xml")


@router.post(
    "/edits/{number}",
    summary="Edit one message by hand",
    responses=described(CampaignRecord, "Stored as a campaign of one.", 201)
    | described(Examined, "Result of the dry run."),
    openapi_extra=EDITED,
)
def edit_one(
    request: Request, shared: Shared, person: Corrector, number: Number, body: Edit, key: Key = None
) -> Response:
    """The content is checked against kernel.xsd and the rules before it is stored; the market's message stays."""
    about(request, f"message {number}")
    _known(shared, [number])

    def do() -> Response:
        with shared.rehearsing() as store:
            seen = examine(store, shared.writer(), number, body.xml)
            if body.dry_run:
                return answer(seen)
            if not seen.fit:
                raise Problem("API_REFUSED", "The edit is not stored.", errors=_reasons(seen))
            four_eyes = shared.config.correction.four_eyes
            record = edit(store, shared.writer(), number, body.xml, by=person.name, why=body.why, four_eyes=four_eyes)
        return answer(record, 201, {"Location": f"/api/v1/corrections/campaigns/{record.id}"})

    return once(request, shared.store, person, key, body.model_dump_json().encode(), do)


def _reasons(seen: Examined) -> list[Mistake]:
    found = [mistake_of(refusal) for refusal in seen.refusals]
    found += [
        Mistake(code=one.code, target=one.field, detail=f"Rule {one.rule}.", value=one.value) for one in seen.findings
    ]
    return found or [Mistake(code="edit", target="/xml", detail=seen.words)]


@router.post("/replays", summary="Judge messages again", responses=described(list[MessageSummary]), openapi_extra=LIST)
def replay(request: Request, shared: Shared, person: Corrector, body: Replay, key: Key = None) -> Response:
    """By the rules of today, in business order per access point; the answer has the new states."""
    about(request, " ".join(f"message {number}" for number in body.messages))
    _known(shared, body.messages)

    def do() -> Response:
        with shared.store.transaction() as tx:
            try:
                marked = mark(tx, body.messages, person.name, body.why)
            except HistoryArchived as error:
                raise Problem("API_CONFLICT", error.message, target="/messages", advice=error.advice) from None
        if not marked:
            raise Problem("API_CONFLICT", "None of them is stuck.", target="/messages")
        places = {
            (case.message.market, case.identifier)
            for case in read_cases(shared.store.engine, shared.gateway.markets, marked)
        }
        for market, identifier in sorted(places, key=lambda place: (place[0], place[1] or "")):
            judge_again(shared.store, shared.writer(), market, identifier)
        with reading(shared.store.engine) as connection:
            return answer(summaries(connection, marked))

    return once(request, shared.store, person, key, body.model_dump_json().encode(), do)


@router.post(
    "/delegations", summary="Delegate messages to a colleague", responses=described(Counted), openapi_extra=LIST
)
def give(request: Request, shared: Shared, person: Corrector, body: Delegation) -> Response:
    """With a note; only rejected messages are delegated."""
    about(request, " ".join(f"message {number}" for number in body.messages))
    _known(shared, body.messages)
    given = delegate(shared.store, body.messages, body.to, person.name, body.note)
    return answer(Counted(asked=len(body.messages), done=tuple(given)))


def _known(shared: Services, ids: list[int]) -> None:
    """Refuse unknown message numbers, all of them at once."""
    with reading(shared.store.engine) as connection:
        known = {one.id for one in summaries(connection, ids)}
    unknown = [number for number in ids if number not in known]
    if not unknown:
        return
    errors = [Mistake(code="API_NOT_FOUND", target=str(n), detail=f"There is no message {n}.") for n in unknown[:100]]
    raise Problem("API_NOT_FOUND", f"{len(unknown)} of the messages are not there.", value=unknown[0], errors=errors)


def _description(one: LoadedScript) -> ScriptDescription:
    return ScriptDescription(
        name=one.name,
        title=one.declared.title,
        documentation=one.documentation,
        automatic=one.declared.automatic,
        selection=one.declared.selection,
        parameters=one.declared.parameters,
        digest=one.digest,
    )
