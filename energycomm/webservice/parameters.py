"""Parameters of the routes: numbers, identifiers, periods, cursors; each with limits."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from energycomm.eis.fitting import comparable
from energycomm.pipeline.listsearch import Instant
from energycomm.pipeline.listsearch import Market as OneMarket
from energycomm.pipeline.listsearch import Words as Words
from energycomm.webservice.identity import require
from energycomm.webservice.roles import WORKERS, Person, Role, Scope
from energycomm.webservice.services import Services, services

LARGEST = (1 << 63) - 1


def _aware(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value


Number = Annotated[int, Path(ge=1, le=LARGEST, description="Its number.")]
Limit = Annotated[int, Query(ge=1, le=500, description="How many at most.")]
Cursor = Annotated[Words | None, Query(max_length=60, description="Continue where a former answer ended: its `next`.")]
AccessPoint = Annotated[Words | None, Query(max_length=40, description="Only of this access point: PRM, EAN.")]
Since = Annotated[
    Annotated[Instant, AfterValidator(_aware)] | None,
    Query(description="At or after this instant; UTC where it names no offset."),
]
Until = Annotated[
    Annotated[Instant, AfterValidator(_aware)] | None,
    Query(description="Before this instant; UTC where it names no offset."),
]
Identifier = Annotated[Words, Path(max_length=40, description="Identifier of the access point: PRM, EAN.")]
Key = Annotated[
    Words | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=100,
        pattern=r"^[\x21-\x7e]+$",
        description="The same key with the same content has no second effect; with other content it is refused (409).",
    ),
]
Shared = Annotated[Services, Depends(services)]


class Paged(BaseModel):
    """A page of a list: base of the parameters of its route, beside the list's own search."""

    limit: int = Field(default=50, ge=1, le=500, description="How many at most.")
    cursor: Words | None = Field(
        default=None, max_length=120, description="Continue where a former answer ended: its `next`."
    )


class Numbered(Paged):
    """A page of a list that goes on after the row of a number."""

    cursor: int | None = Field(  # type: ignore[assignment]
        default=None, ge=1, le=LARGEST, description="Continue where a former answer ended: its `next`."
    )


Market = Annotated[OneMarket, BeforeValidator(lambda value: value or None)]
"""A market that is installed, as it is written; a wrong one is refused."""

READERS = (Role.BACK_OFFICE, Role.CONSULTANT)
"""Who sees the content of messages."""

CORRECTS = require(Role.CONSULTANT, scope=Scope.CORRECT)
"""Changes what is stuck."""

RESENDS = require(Role.CONSULTANT, Role.OPERATOR, Role.ADMINISTRATOR, scope=Scope.OPERATE)
"""Sends again, byte for byte, what was given up: consultants see which requests are dead, operators are alarmed."""

Reader = Annotated[Person, Depends(require(*READERS))]
Consultant = Annotated[Person, Depends(require(Role.CONSULTANT))]
Corrector = Annotated[Person, Depends(CORRECTS)]
Resender = Annotated[Person, Depends(RESENDS)]
Injector = Annotated[Person, Depends(require(*READERS, scope=Scope.INJECT))]
Requester = Annotated[Person, Depends(require(Role.BACK_OFFICE, scope=Scope.REQUEST))]
Notified = Annotated[Person, Depends(require(Role.BACK_OFFICE, scope=Scope.NOTIFY))]
Operator = Annotated[Person, Depends(require(Role.OPERATOR, Role.ADMINISTRATOR, scope=Scope.OPERATE))]
Administrator = Annotated[Person, Depends(require(Role.ADMINISTRATOR, scope=Scope.ADMINISTER))]
Officer = Annotated[Person, Depends(require(Role.OFFICER, scope=Scope.ERASE))]
Worker = Annotated[Person, Depends(require(*WORKERS))]
Anyone = Annotated[Person, Depends(require())]


class Body(BaseModel):
    """Base of request bodies: only declared fields are allowed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _no_odd_text(cls, value: Any) -> Any:
        stack = [value]
        while stack:
            one = stack.pop()
            if isinstance(one, str):
                comparable(one)
            elif isinstance(one, dict):
                stack += [*one.keys(), *one.values()]
            elif isinstance(one, list):
                stack += one
        return value
