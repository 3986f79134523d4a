"""The rules that the Kernel applies: their sentences, what they read, and how often they fire."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from msgspec import Struct

from energycomm.eis.database import reading
from energycomm.eis.statistics import CodeCount, code_counts
from energycomm.engine.rule import Rule
from energycomm.webservice.answers import described, tagged
from energycomm.webservice.parameters import Anyone, Market, Shared, Words
from energycomm.webservice.problems import not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute

router = APIRouter(prefix="/rules", tags=["rules"], route_class=RecordedRoute)


class RuleDescription(Struct, frozen=True, kw_only=True):
    """One rule.

    Attributes:
      code: of the rule.
      error_code: what a message that violates it gets; None for a rule that asks for actions.
      rule_set: validation_in, qualification_in, ...
      title, sentence: what it demands.
      applies_to: kinds that it judges.
      markets: markets that it judges; empty: all.
      demands: its conditions, as analysts wrote them.
      field: what a finding points at.
      comment: by language.
      severity, error_class: of its findings.
      since, until: first and last day on which it is in force.
      source: where the market says so.
      reads: fields and facts that it reads.
      file, line: where it stands.
    """

    code: str
    error_code: str | None
    rule_set: str
    title: str
    sentence: str
    applies_to: tuple[str, ...]
    markets: tuple[str, ...]
    demands: dict[str, str]
    field: str | None
    comment: dict[str, str]
    severity: str | None
    error_class: str | None
    since: date | None
    until: date | None
    source: str
    reads: tuple[str, ...]
    file: str
    line: int


class RuleBook(Struct, frozen=True, kw_only=True):
    """The rules of one version: its hash, and those that were asked for."""

    version: str
    rules: tuple[RuleDescription, ...]


@router.get("", summary="Rules", responses=described(RuleBook), openapi_extra=UNRECORDED)
def search(
    request: Request,
    shared: Shared,
    _: Anyone,
    market: Market = None,
    kind: Annotated[Words | None, Query(max_length=40, description="Only of this kind: MeterReading.")] = None,
    rule_set: Annotated[Words | None, Query(max_length=40, description="Only of this set: validation_in.")] = None,
    on: Annotated[date | None, Query(description="Only those in force on this day.")] = None,
) -> Response:
    """The rules that messages are judged by at present."""
    catalogue = shared.gateway.catalogue
    found = [
        rule
        for rule in catalogue.rules
        if (market is None or rule.judges_market(market.upper()))
        and (kind is None or kind in rule.applies_to)
        and (rule_set is None or rule.rule_set == rule_set)
        and (on is None or rule.in_force(on))
    ]
    return tagged(request, RuleBook(version=catalogue.version, rules=tuple(_description(rule) for rule in found)))


@router.get("/firing", summary="How often rules fire", responses=described(list[CodeCount]), openapi_extra=UNRECORDED)
def firing(
    request: Request,
    shared: Shared,
    _: Anyone,
    top: Annotated[int, Query(ge=1, le=1000, description="How many codes, the most frequent first.")] = 50,
) -> Response:
    """Error codes that hold now, with the number of messages."""
    with reading(shared.store.engine) as connection:
        found = code_counts(connection, top)
    # The example that comes with a count quotes a message.
    plain = [CodeCount(code=one.code, messages=one.messages, comment="") for one in found]
    return tagged(request, plain)


@router.get("/{code}", summary="One rule", responses=described(list[RuleDescription]), openapi_extra=UNRECORDED)
def show(
    request: Request,
    shared: Shared,
    _: Anyone,
    code: Annotated[Words, Path(max_length=120, description="Code of a rule, or an error code.")],
) -> Response:
    """By its own code or its error code, which several rules may share."""
    catalogue = shared.gateway.catalogue
    found = catalogue.find(code)
    if not found:
        raise not_found("rule", "code", code, "GET /api/v1/rules lists them.")
    return tagged(request, [_description(rule) for rule in found])


def _description(rule: Rule) -> RuleDescription:
    conditions = {"when": rule.when, "holds": rule.holds, "violated_when": rule.violated_when, "each": rule.each}
    return RuleDescription(
        code=rule.code,
        error_code=rule.error_code or None,
        rule_set=rule.rule_set,
        title=rule.title,
        sentence=rule.sentence,
        applies_to=rule.applies_to,
        markets=rule.markets,
        demands={name: words for name, words in conditions.items() if words},
        field=rule.field or None,
        comment={str(language): template.text for language, template in rule.comment.items()},
        severity=rule.severity if rule.judges else None,
        error_class=rule.error_class if rule.judges else None,
        since=rule.since,
        until=rule.until,
        source=rule.source,
        reads=rule.reads,
        file=rule.file,
        line=rule.line,
    )
