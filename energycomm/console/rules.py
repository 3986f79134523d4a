"""Rules with their text, and how often each was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from energycomm.choices import one_of
from energycomm.console.sheets import Column, Format, heads, sheet
from energycomm.console.view import Shared, Words, Worker, address, page, words_of
from energycomm.eis.database import reading
from energycomm.eis.tallies import Frequency, rule_frequencies
from energycomm.engine.rule import RULE_SETS, Rule
from energycomm.engine.wording import condition_in_words
from energycomm.kernel.verdicts import Severity
from energycomm.webservice.problems import not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute

SEVERITIES: tuple[Severity, ...] = ("error", "warning")

COLUMNS = (
    Column("Code", lambda one, _: one.rule.error_code or one.rule.code, "code"),
    Column("Rule", lambda one, words: f"{one.rule.title}. {words.t(one.rule.sentence)}", "rule"),
    Column("Market", lambda one, words: words.t(one.rule.market), "market"),
    Column("Messages now", lambda one, _: one.messages, "messages", right=True),
    Column("Found ever", lambda one, _: one.ever, "ever", right=True),
)


class Listed(NamedTuple):
    """A rule and how often it was found."""

    rule: Rule
    often: Frequency | None

    @property
    def messages(self) -> int:
        """Messages that it holds for now."""
        return self.often.messages if self.often else 0

    @property
    def ever(self) -> int:
        """All its findings."""
        return self.often.ever if self.often else 0


router = APIRouter(prefix="/rules", route_class=RecordedRoute, include_in_schema=False)


@router.get("", openapi_extra=UNRECORDED)
def listing(
    request: Request,
    person: Worker,
    shared: Shared,
    market: str = "",
    rule_set: str = "validation_in",
    q: str = "",
    sort: str = "",
    form: Annotated[Format, Query(alias="format")] = "",
) -> Response:
    """The rules in force today, the most frequent first; those that warn after those that refuse."""
    catalogue = shared.gateway.catalogue
    markets = ("common", *catalogue.markets)
    market = one_of("market", market, markets, "market with rules") if market else ""
    rule_set = one_of("rule_set", rule_set, RULE_SETS, "rule set") if rule_set else ""
    possible = [one.sort for one in COLUMNS if one.sort]
    sort = one_of("sort", sort, [*possible, *(f"-{one}" for one in possible)], "column to sort by") if sort else ""
    with reading(shared.store.engine) as connection:
        counted = {severity: rule_frequencies(connection, severity) for severity in SEVERITIES}
    asked, words = q.lower().split(), words_of(request)
    found = [
        Listed(rule, counted[rule.severity].get(rule.code))
        for rule in catalogue.in_force(datetime.now(UTC).date())
        if (not market or rule.market.upper() == market.upper() or market in rule.markets)
        and (not rule_set or rule.rule_set == rule_set)
        and all(word in _told(rule, words).lower() for word in asked)
    ]
    found.sort(key=_by_frequency)
    if sort:
        found.sort(key=_KEYS[sort.removeprefix("-")], reverse=sort.startswith("-"))
    kept = {"market": market, "rule_set": rule_set, "q": q, "sort": sort}
    if form:
        return sheet(COLUMNS, words, found, form, "rules")
    most = {
        severity: max((one.messages for one in found if one.rule.severity == severity), default=0)
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
        sort=sort,
        heads=heads(COLUMNS, words, "/rules", kept, sort=sort or "-messages", possible=possible),
        sheets={one: address("/rules", **kept, format=one) for one in ("csv", "xlsx")},
        most=most,
        version=catalogue.version,
    )


@router.get("/{code}", openapi_extra=UNRECORDED)
def show(request: Request, code: str, person: Worker, shared: Shared) -> HTMLResponse:
    """One rule: its sentence, its condition in words and as written, its examples, how often it was found."""
    rules = shared.gateway.catalogue.find(code)
    if not rules:
        raise not_found("rule", "code", code)
    with reading(shared.store.engine) as connection:
        counted = {severity: rule_frequencies(connection, severity).get(code) for severity in SEVERITIES}
    told = [(rule, condition_in_words(rule, words_of(request).taste.language)) for rule in rules]
    return page(request, "rule.html", rules=told, counted=counted)


def _told(rule: Rule, words: Words) -> str:
    """What a rule is looked for by: its codes, and its words in English and in the visitor's language."""
    texts = (rule.title, rule.sentence)
    return " ".join((rule.code, rule.error_code, *texts, *map(words.t, texts)))


def _by_frequency(one: Listed) -> tuple[bool, int, int]:
    return one.rule.severity == "warning", -one.messages, -one.ever


_KEYS: Mapping[str, Callable[[Listed], Any]] = {
    "code": lambda one: (one.rule.error_code, one.rule.code),
    "rule": lambda one: one.rule.title,
    "market": lambda one: one.rule.market,
    "messages": lambda one: one.messages,
    "ever": lambda one: one.ever,
}
