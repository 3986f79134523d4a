"""Rules with their text, and how often each was found."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from energycomm.choices import one_of
from energycomm.console.view import Anybody, Shared, page
from energycomm.eis.database import reading
from energycomm.eis.tallies import Frequency, rule_frequencies
from energycomm.engine.rule import RULE_SETS, Rule
from energycomm.engine.wording import condition_in_words
from energycomm.kernel.verdicts import Severity
from energycomm.webservice.problems import not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute

SEVERITIES: tuple[Severity, ...] = ("error", "warning")
ORDERS = ("frequency", "code")

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
    """The rules in force today, the most frequent first; those that warn after those that refuse."""
    catalogue = shared.gateway.catalogue
    markets = ("common", *catalogue.markets)
    market = one_of("market", market, markets, "market with rules") if market else ""
    rule_set = one_of("rule_set", rule_set, RULE_SETS, "rule set") if rule_set else ""
    order = one_of("order", order, ORDERS, "order of rules")
    with reading(shared.store.engine) as connection:
        counted = {severity: rule_frequencies(connection, severity) for severity in SEVERITIES}
    asked = q.lower().split()
    found = [
        (rule, counted[rule.severity].get(rule.code))
        for rule in catalogue.in_force(datetime.now(UTC).date())
        if (not market or rule.market.upper() == market.upper() or market in rule.markets)
        and (not rule_set or rule.rule_set == rule_set)
        and all(word in f"{rule.code} {rule.error_code} {rule.title} {rule.sentence}".lower() for word in asked)
    ]
    if order == "code":
        found.sort(key=lambda pair: (pair[0].error_code, pair[0].code))
    else:
        found.sort(key=_by_frequency)
    most = {
        severity: max((often.messages for rule, often in found if often and rule.severity == severity), default=0)
        for severity in SEVERITIES
    }
    return page(
        request,
        "rules.html",
        rules=found,
        market=market,
        markets=markets,
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
        counted = {severity: rule_frequencies(connection, severity).get(code) for severity in SEVERITIES}
    return page(request, "rule.html", rules=[(rule, condition_in_words(rule)) for rule in rules], counted=counted)


def _by_frequency(pair: tuple[Rule, Frequency | None]) -> tuple[bool, int, int]:
    rule, often = pair
    return (rule.severity == "warning", *((-often.messages, -often.ever) if often else (0, 0)))
