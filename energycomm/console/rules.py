"""Rules with their text, and how often each was found."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from energycomm.choices import closed, one_of
from energycomm.console.sheets import Column, Format, heads, in_order, sheet, sorts
from energycomm.console.view import Words as Language
from energycomm.console.view import address, page, words_of
from energycomm.eis.database import reading
from energycomm.eis.tallies import Frequency, rule_frequencies
from energycomm.eis.views import views_of
from energycomm.engine.rule import RULE_SETS, Rule
from energycomm.engine.wording import condition_in_words
from energycomm.kernel.verdicts import Severity
from energycomm.pipeline.listsearch import ListSearch, Words, by
from energycomm.webservice.parameters import Shared, Worker
from energycomm.webservice.problems import not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute

SEVERITIES: tuple[Severity, ...] = ("error", "warning")


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


def _code(one: Listed, _: Language) -> str:
    return one.rule.error_code or one.rule.code


def _sentences(one: Listed, words: Language) -> str:
    return f"{words.t(one.rule.title)}. {words.t(one.rule.sentence)}"


COLUMNS = (
    Column("Code", _code, "code", key=lambda one: (one.rule.error_code, one.rule.code)),
    Column("Rule", _sentences, "rule", key=lambda one: one.rule.title),
    Column("Market", lambda one, words: words.t(one.rule.market), "market", key=lambda one: one.rule.market),
    Column("Messages now", lambda one, _: one.messages, "messages", right=True, key=lambda one: one.messages),
    Column("Found ever", lambda one, _: one.ever, "ever", right=True, key=lambda one: one.ever),
)


class Listing(ListSearch):
    """The filters and the order of the page."""

    market: Words = Field(default="", max_length=20)
    rule_set: Annotated[Words, *closed("rule set", (*RULE_SETS, "all"))] = "validation_in"
    q: Words = Field(default="", max_length=200)
    sort: Annotated[Words, *by(*sorts(COLUMNS))] | None = None
    format: Format = ""


router = APIRouter(prefix="/rules", route_class=RecordedRoute, include_in_schema=False)


@router.get("", openapi_extra=UNRECORDED)
def listing(request: Request, person: Worker, shared: Shared, asked: Annotated[Listing, Query()]) -> Response:
    """The rules in force today in legal time, the most frequent first; those that warn after those that refuse."""
    catalogue = shared.gateway.catalogue
    markets = ("common", *catalogue.markets)
    market = one_of("market", asked.market, markets, "market with rules") if asked.market else ""
    with reading(shared.store.engine) as connection:
        counted = {severity: rule_frequencies(connection, severity) for severity in SEVERITIES}
    looked_for, words = asked.q.lower().split(), words_of(request)
    today = datetime.now(words.taste.zone).date()
    found = [
        Listed(rule, counted[rule.severity].get(rule.code))
        for rule in catalogue.in_force(today)
        if (not market or rule.market.upper() == market.upper() or market in rule.markets)
        and asked.rule_set in ("all", rule.rule_set)
        and all(word in _told(rule, words).lower() for word in looked_for)
    ]
    found = in_order(COLUMNS, sorted(found, key=_by_frequency), asked.sort)
    if asked.format:
        return sheet(COLUMNS, words, found, asked.format, "rules")
    kept = {"market": market, "rule_set": asked.rule_set, "q": asked.q, "sort": asked.sort}
    kept = {name: value for name, value in kept.items() if value}
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
        rule_set=asked.rule_set,
        rule_sets=RULE_SETS,
        q=asked.q,
        sort=asked.sort,
        saved=views_of(shared.store.engine, person.name, "rules"),
        kept=kept,
        heads=heads(COLUMNS, words, "/rules", kept, sort=asked.sort or "-messages", possible=sorts(COLUMNS)),
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


def _told(rule: Rule, words: Language) -> str:
    """What a rule is looked for by: its codes, and its words in English and in the visitor's language."""
    texts = (rule.title, rule.sentence)
    return " ".join((rule.code, rule.error_code, *texts, *map(words.t, texts)))


def _by_frequency(one: Listed) -> tuple[bool, int, int]:
    return one.rule.severity == "warning", -one.messages, -one.ever
