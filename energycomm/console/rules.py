"""Rules with their text, and how often each was found."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from energycomm.console.view import Anybody, Shared, page
from energycomm.eis.database import reading
from energycomm.eis.tallies import rule_frequencies
from energycomm.engine.rule import RULE_SETS
from energycomm.engine.wording import condition_in_words
from energycomm.webservice.problems import not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute

router = APIRouter(prefix="/rules", route_class=RecordedRoute, include_in_schema=False)


@router.get("", openapi_extra=UNRECORDED)
def listing(
    request: Request,
    person: Anybody,
    shared: Shared,
    market: str = "",
    rule_set: str = "validation_in",
    q: str = "",
    order: str = "frequency",
) -> HTMLResponse:
    """The rules in force today, the most frequent first."""
    catalogue = shared.gateway.catalogue
    with reading(shared.store.engine) as connection:
        often = rule_frequencies(connection)
    asked = q.lower().split()
    found = [
        (rule, often.get(rule.code))
        for rule in catalogue.in_force(datetime.now(UTC).date())
        if (not market or rule.market.upper() == market.upper() or market in rule.markets)
        and (not rule_set or rule.rule_set == rule_set)
        and all(word in f"{rule.code} {rule.error_code} {rule.title} {rule.sentence}".lower() for word in asked)
    ]
    if order == "code":
        found.sort(key=lambda pair: (pair[0].error_code, pair[0].code))
    else:
        found.sort(key=lambda pair: (-(pair[1].messages if pair[1] else 0), -(pair[1].ever if pair[1] else 0)))
    most = max((pair[1].messages for pair in found if pair[1]), default=0)
    return page(
        request,
        "rules.html",
        rules=found,
        market=market,
        markets=("common", *catalogue.markets),
        rule_set=rule_set,
        rule_sets=RULE_SETS,
        q=q,
        order=order,
        most=most,
        version=catalogue.version,
    )


@router.get("/{code}", openapi_extra=UNRECORDED)
def show(request: Request, code: str, person: Anybody, shared: Shared) -> HTMLResponse:
    """One rule: its sentence, its condition in words and as written, its examples, how often it was found."""
    rules = shared.gateway.catalogue.find(code)
    if not rules:
        raise not_found("rule", "code", code)
    with reading(shared.store.engine) as connection:
        often = rule_frequencies(connection).get(code)
    return page(request, "rule.html", rules=[(rule, condition_in_words(rule)) for rule in rules], often=often)
