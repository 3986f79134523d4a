"""The rules of the Kernel: sentences, fields, and the frequency of their codes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from msgspec import structs

from energycomm.eis.database import reading
from energycomm.eis.statistics import CodeCount, code_counts
from energycomm.engine.rulebook import RuleBook, RuleDescription, rule_book
from energycomm.engine.rulebook import described as description
from energycomm.pipeline.listsearch import RuleSearch
from energycomm.webservice.answers import described, tagged
from energycomm.webservice.parameters import Shared, Words, Worker
from energycomm.webservice.problems import not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute

router = APIRouter(prefix="/rules", tags=["rules"], route_class=RecordedRoute)


@router.get("", summary="Rules", responses=described(RuleBook), openapi_extra=UNRECORDED)
def search(
    request: Request,
    shared: Shared,
    _: Worker,
    asked: Annotated[RuleSearch, Query()],
) -> Response:
    """The rules by which messages are judged at present."""
    catalogue = shared.gateway.catalogue
    return tagged(request, rule_book(catalogue, catalogue.matching(**asked.model_dump())))


@router.get(
    "/firing", summary="Frequency of error codes", responses=described(list[CodeCount]), openapi_extra=UNRECORDED
)
def firing(
    request: Request,
    shared: Shared,
    _: Worker,
    top: Annotated[int, Query(ge=1, le=1000, description="How many codes, the most frequent first.")] = 50,
) -> Response:
    """Error codes that hold now, with the number of messages; then, apart from them, those of warnings."""
    with reading(shared.store.engine) as connection:
        found = code_counts(connection, top, "error") + code_counts(connection, top, "warning")
    # The example that comes with a count quotes a message.
    plain = [structs.replace(one, comment="") for one in found]
    return tagged(request, plain)


@router.get("/{code}", summary="One rule", responses=described(list[RuleDescription]), openapi_extra=UNRECORDED)
def show(
    request: Request,
    shared: Shared,
    _: Worker,
    code: Annotated[Words, Path(max_length=120, description="Code of a rule, or an error code.")],
) -> Response:
    """By its code or its error code, which several rules may share."""
    catalogue = shared.gateway.catalogue
    found = catalogue.find(code)
    if not found:
        raise not_found("rule", "code", code, "GET /api/v1/rules lists them.")
    return tagged(request, [description(rule) for rule in found])
