"""Notifications, for back offices that fetch them instead of receiving them by webhook."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from msgspec import Struct
from pydantic import Field

from energycomm.backoffice.notification import LEASE, SECOND, NotificationSummary, acknowledge, list_outbox, pull, retry
from energycomm.pipeline.listsearch import NotificationSearch
from energycomm.webservice.answers import answer, described, tagged
from energycomm.webservice.pages import Counted, Page, page_of
from energycomm.webservice.parameters import LARGEST, Body, Limit, Notified, Numbered, Operator, Shared
from energycomm.webservice.recording import RecordedRoute, about

router = APIRouter(prefix="/notifications", tags=["notifications"], route_class=RecordedRoute)

Ids = Annotated[list[Annotated[int, Field(ge=1, le=LARGEST)]], Field(min_length=1, max_length=1000)]


class NotifiedMessage(Struct, frozen=True, kw_only=True):
    """The Kernel message that a notification is about; `kernel` is its Kernel XML."""

    id: int
    market: str
    type: str
    kind: str
    access_point: str | None
    effective: datetime | None
    envelope: int | None
    kernel: str


class Notice(Struct, frozen=True, kw_only=True):
    """One notification, in the same form as for a webhook.

    Attributes:
      id: its key, the same each time it is given: who knows the key has been told.
      event: what happened.
      at: when.
      message: what it is about.
    """

    id: str
    event: str
    at: datetime
    message: NotifiedMessage


class Pulled(Struct, frozen=True, kw_only=True):
    """Notifications returned to the back office.

    Attributes:
      notifications: in the order in which they are to be taken in.
      ids: their numbers, to be acknowledged.
      seconds: what is not acknowledged within is given again.
    """

    notifications: tuple[Notice, ...]
    ids: tuple[int, ...]
    seconds: int


class Acknowledgement(Body):
    """The notifications that the back office has received."""

    ids: Ids = Field(description="Their numbers.")


class Search(NotificationSearch, Numbered):
    """Notifications, page by page."""


@router.get("", summary="Notifications and their states", responses=described(Page[NotificationSummary]))
def search(
    request: Request,
    shared: Shared,
    _: Notified,
    asked: Annotated[Search, Query()],
) -> Response:
    """The newest first, without content; reading them changes nothing."""
    rows = list_outbox(shared.store, asked.state, asked.limit + 1, asked.cursor)
    return tagged(request, page_of(rows, asked.limit, lambda one: one.id))


@router.post("/pull", summary="Fetch due notifications", responses=described(Pulled))
def fetch(request: Request, shared: Shared, _: Notified, limit: Limit = 50) -> Response:
    """Each at least once, in order for each message. Unacknowledged ones are returned again after five minutes."""
    taken = pull(shared.store, limit)
    about(request, " ".join(f"message {one.message_id}" for one in taken))
    notices = tuple(msgspec.json.decode(one.body, type=Notice) for one in taken)
    return answer(Pulled(notifications=notices, ids=tuple(one.id for one in taken), seconds=LEASE // SECOND))


@router.post("/acknowledge", summary="Acknowledge notifications", responses=described(Counted))
def confirm(shared: Shared, _: Notified, body: Acknowledgement) -> Response:
    """They are not returned again; acknowledging twice is allowed."""
    return answer(Counted(asked=len(body.ids), done=tuple(acknowledge(shared.store, body.ids))))


@router.post("/retry", summary="Resend dead notifications", responses=described(Counted))
def again(shared: Shared, _: Operator, body: Acknowledgement) -> Response:
    """With their former keys, after they were refused or failed too often."""
    done = tuple(number for number in dict.fromkeys(body.ids) if retry(shared.store, [number]))
    return answer(Counted(asked=len(body.ids), done=done))
