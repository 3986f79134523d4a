"""Exports: what the store holds as a stream of rows, whole or what changed since a cursor; billing periods."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response, StreamingResponse

from energycomm.billing.period import BillingPeriod, billing_period
from energycomm.export.formats import MEDIA_TYPES, pieces
from energycomm.export.rows import opened_export
from energycomm.export.subjects import NAMES, Selection
from energycomm.invoicing.gathering import InvoiceCheck
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.listsearch import CivilDay
from energycomm.webservice.answers import described, tagged
from energycomm.webservice.parameters import Reader, Shared, Words
from energycomm.webservice.problems import Problem
from energycomm.webservice.recording import RecordedRoute, about

router = APIRouter(tags=["exports"], route_class=RecordedRoute)

CURSOR = "X-Cursor"
"""Header with the cursor to go on from once the whole answer is there."""

ARCHIVED = "X-Archived"
"""Header with the names of the archives that hold rows which are not in the answer."""

AT_ONCE = 4
"""Exports that run at a time: each holds a connection to the database as long as its reader takes."""

if TYPE_CHECKING:
    Subject: TypeAlias = str
    Form: TypeAlias = str
else:
    Subject = Literal[NAMES]
    Form = Literal[tuple(MEDIA_TYPES)]

_running = threading.BoundedSemaphore(AT_ONCE)

Several = Annotated[list[Words] | None, Query(max_length=100)]
First = Annotated[CivilDay | None, Query(description="First civil day, in legal time.")]
Last = Annotated[CivilDay | None, Query(description="Last civil day, included.")]


@router.get(
    "/exports/{subject}",
    summary="Rows of a subject, whole or what changed since a cursor",
    responses={
        200: {
            "description": "The rows; `X-Cursor` is the cursor to go on from when all of them are there, `X-Archived` "
            "names archives that hold rows which are not among them.",
            "content": {media.partition(";")[0]: {} for media in MEDIA_TYPES.values()},
        }
    },
)
def export(
    request: Request,
    shared: Shared,
    _: Reader,
    subject: Annotated[Subject, Path(description="Subject of the rows.")],
    since: Annotated[
        Words | None, Query(max_length=80, description="Cursor of an earlier export: only what changed since.")
    ] = None,
    format: Annotated[Form, Query(description="How the rows are written.")] = "jsonl",
    market: Several = None,
    access_point: Several = None,
    segment: Several = None,
    first: First = None,
    last: Last = None,
) -> Response:
    """See docs/export.md for the columns and for how to follow the store."""
    about(request, f"export {subject} {request.url.query}".strip()[:400])
    selection = Selection(
        markets=tuple(name.upper() for name in market or ()),
        access_points=tuple(access_point or ()),
        segments=tuple(segment or ()),
        first=first,
        last=last,
    )
    zones = installed_adapters(shared.config.mapping_files).zones
    with ExitStack() as stack:
        if not _running.acquire(blocking=False):
            words = f"{AT_ONCE} exports run already."
            raise Problem("API_RATE", words, advice="Ask again in a minute.", headers={"Retry-After": "60"})
        stack.callback(_running.release)
        checker = InvoiceCheck(shared.store, shared.config.rules_folder, zones)
        found = stack.enter_context(opened_export(shared.store.engine, subject, selection, zones, since, checker))
        body = pieces(format, found)
        # The first piece tells whether it can be read at all, while a refusal can still be answered.
        begun = next(body, b"")
        archived = {ARCHIVED: ", ".join(one.name for one in away)} if (away := found.lacks()) else {}
        held = stack.pop_all()

    def all_of_it() -> Iterator[bytes]:
        with held:
            yield begun
            yield from body

    stream = _Held(all_of_it(), held)
    headers = {
        CURSOR: str(found.place),
        **archived,
        "Content-Disposition": f'attachment; filename="{subject}.{format}"',
    }
    return StreamingResponse(stream, media_type=MEDIA_TYPES[format], headers=headers)


class _Held:
    """Pieces of an export, whose snapshot is given back when they were read, or are no longer wanted."""

    def __init__(self, body: Iterator[bytes], held: ExitStack) -> None:
        self._body, self._held = body, held

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._body)

    def __del__(self) -> None:
        self._held.close()


@router.get("/billing-periods", summary="Billing period of a contract", responses=described(BillingPeriod))
def billing(
    request: Request,
    shared: Shared,
    _: Reader,
    contract: Annotated[
        Words, Query(min_length=1, max_length=64, description="Reference of the contract, or its access point.")
    ],
    first: Annotated[CivilDay, Query(description="First civil day, in legal time.")],
    last: Annotated[CivilDay, Query(description="Last civil day, included.")],
) -> Response:
    """Consumption by time class from the readings that hold, terms and changes, what is estimated or missing."""
    about(request, f"billing period {contract} {first} {last}")
    markets = installed_adapters(shared.config.mapping_files)
    return tagged(request, billing_period(shared.store.engine, contract, first, last, markets))
