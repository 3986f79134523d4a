"""What all pages share: templates, the words of the visitor's language, the theme, how instants and numbers look."""

from __future__ import annotations

import re
from datetime import date, datetime, tzinfo
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from zoneinfo import ZoneInfo

import jinja2
from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup, escape
from msgspec import Struct

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.told_comments import Commented, comment_in
from energycomm.links import is_link
from energycomm.market.installed import installed_adapters
from energycomm.market.legaltime import NO_TIME, LegalTime
from energycomm.supplier_settings import Supplier
from energycomm.templates import templates
from energycomm.texts import wording
from energycomm.texts.catalogues import (
    LANGUAGES,
    NAMES,
    QUOTED,
    Folders,
    is_foreign,
    translate,
    translate_plural,
    translate_sentence,
    wanted,
)
from energycomm.texts.formats import local_date, local_number
from energycomm.texts.parsers import is_saying
from energycomm.webservice.answers import etag
from energycomm.webservice.parameters import CORRECTS, READERS, RESENDS
from energycomm.webservice.roles import WORKERS, Person, Role, Scope
from energycomm.webservice.services import Services
from energycomm.webservice.signin import local

THEMES = ("auto", "light", "dark")
_DECIMAL = re.compile(r"-?\d+\.\d+")

COOKIE_LANGUAGE, COOKIE_THEME = "console-language", "console-theme"


class Taste(Struct, frozen=True):
    """How a visitor wants the pages.

    Attributes:
      language: en, fr or nl.
      theme: auto, light or dark.
      times: instants as they are shown: in the legal time of their market, or of this house.
      folders: catalogues that count beside those of the program.
    """

    language: str
    theme: str
    times: LegalTime
    folders: Folders = ()

    @property
    def zone(self) -> tzinfo:
        """The legal time of this house."""
        return self.times.own


def taste_of(request: Request) -> Taste:
    """The visitor's wishes: cookies first, then the browser's language, then the configuration."""
    shared: Services = request.app.state.services
    config = shared.config
    language = request.cookies.get(COOKIE_LANGUAGE, "")
    if language not in LANGUAGES:
        language = wanted(request.headers.get("accept-language", ""), config.language)
    theme = request.cookies.get(COOKIE_THEME, "")
    times = LegalTime(installed_adapters(config.mapping_files).zones, ZoneInfo(config.web.zone))
    added = tuple(folder for addition in getattr(request.app.state, "additions", ()) for folder in addition.texts)
    return Taste(language, theme if theme in THEMES else "auto", times, shared.texts + added)


class Words:
    """The words of one visitor, for templates and routes: `t("Messages")`, `when(instant)`, `many(1234)`."""

    def __init__(self, taste: Taste) -> None:
        self.taste = taste

    def t(self, text: str, **values: object) -> str:
        """A text of ours in the visitor's language."""
        found = translate(text, self.taste.language, self.taste.folders)
        return found.format(**values) if values else found

    def said(self, sentence: str) -> str:
        """A refusal or evidence, which is finished in English, in the visitor's language."""
        return translate_sentence(sentence, self.taste.language, self.taste.folders)

    def quoted(self, sentence: str) -> Markup:
        """The same, for what may be said by an operating system or by another party: that is set apart, as English."""
        if not is_foreign(sentence, self.taste.language, self.taste.folders):
            return escape(self.said(sentence))
        return escape(self.t(QUOTED)).format(Markup('<span lang="en">{}</span>').format(sentence))

    def found(self, value: str) -> str:
        """A value that was refused; where a parser says what it found, in the visitor's language."""
        return self.said(value) if is_saying(value) else value

    def tn(self, one: str, several: str, number: int, **values: object) -> str:
        """The form of a text of ours that goes with a number, which stands in it as `{n}`."""
        found = translate_plural(one, several, number, self.taste.language, self.taste.folders)
        return found.format(n=self.many(number), **values)

    def comment(self, finding: Commented, catalogue: Catalogue) -> str:
        """What a rule found, in the visitor's language: as it is kept, or by the translated comment of the rule."""
        return comment_in(finding, catalogue, self.taste.language, self.taste.folders, self.value)

    def value(self, text: str) -> str:
        """A value of an English sentence as the visitor's language writes it."""
        if _DECIMAL.fullmatch(text):
            return text.replace(".", ",")
        return self.t(text)

    def when(self, at: datetime | None, market: str | None = None) -> str:
        """An instant to the minute, in the legal time of its market, or of this house."""
        return self._dated(self.taste.times.to_the_minute(at, market))

    def exactly(self, at: datetime | None, market: str | None = None) -> str:
        """An instant to the second, with its offset, for the title of a short one."""
        return "" if at is None else f"{at.astimezone(self.taste.times.zone(market)):%Y-%m-%d %H:%M:%S %z}"

    def day(self, at: datetime | date | None, market: str | None = None) -> str:
        """The civil day of an instant, in the legal time of its market, or of this house."""
        return self._dated(self.taste.times.day(at, market))

    def told(self, value: Any, market: str | None = None) -> Any:
        """A value of JSON with its instants as people read them. See `LegalTime.told`."""
        found = self.taste.times.told(value, market)
        return self.t(NO_TIME) if found == NO_TIME else found

    def many(self, number: float | None) -> str:
        """A whole number, its thousands apart as the visitor's language has them."""
        if number is None or number < 1000:
            return "" if number is None else f"{number:.0f}"
        # English readers get the international form of numbers and days.
        return (
            f"{number:,.0f}".replace(",", " ")
            if self.taste.language == "en"
            else local_number(number, self.taste.language)
        )

    def _dated(self, text: str) -> str:
        """An instant or a day with its date as the visitor's language writes it."""
        if self.taste.language == "en" or not text:
            return text
        return f"{local_date(date.fromisoformat(text[:10]), self.taste.language)}{text[10:]}"

    def state(self, name: str) -> str:
        """The words of a state."""
        return self.t(STATES.get(name, name))


STATES = {
    "received": wording("received"),
    "accepted": wording("accepted"),
    "quarantined": wording("waiting"),
    "rejected": wording("rejected"),
    "engine_error": wording("rule broke"),
    "to_replay": wording("to replay"),
    "treated": wording("treated"),
    "delegated": wording("delegated"),
    "ticketed": wording("in a ticket"),
    "withdrawn": wording("withdrawn"),
}
"""State of a Kernel message -> its words."""


@cache
def _environment() -> jinja2.Environment:
    made = templates(Path(__file__).parent / "templates")
    made.tests["weblink"] = is_link
    made.filters["query"] = urlencode
    made.filters["path"] = lambda value: quote(str(value), safe="")
    return made


def page(request: Request, name: str, /, *, status: int = 200, **values: Any) -> HTMLResponse:
    """An answer made from a template.

    Args:
      request: what is answered.
      name: of the template.
      status: HTTP status.
      values: for the template.
    """
    words = Words(taste_of(request))
    person: Person | None = getattr(request.state, "person", None)
    supplier = request.app.state.services.config.supplier
    content = (
        _environment()
        .get_template(name)
        .render(
            t=words.t,
            tn=words.tn,
            said=words.said,
            found_words=words.found,
            quoted=words.quoted,
            comment=partial(_comment, request, words),
            languages=NAMES,
            when=words.when,
            exactly=words.exactly,
            told=words.told,
            day=words.day,
            iso_day=words.taste.times.day,
            many=words.many,
            state_words=words.state,
            language=words.taste.language,
            theme=words.taste.theme,
            person=person,
            may_read=person is not None and person.may(frozenset(READERS)),
            may_change=CORRECTS.allows(person),
            may_resend=CORRECTS.allows(person) and RESENDS.allows(person),
            may_look=person is not None and person.may(WORKERS),
            may_erase=person is not None and person.may(frozenset((Role.OFFICER,)), Scope.ERASE),
            may_administer=person is not None and person.may(frozenset((Role.ADMINISTRATOR,)), Scope.ADMINISTER),
            device=device_words,
            path=request.url.path,
            came_from=came_from(request),
            here=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
            additions=getattr(request.app.state, "additions", ()),
            supplier=supplier,
            elsewhere=_elsewhere(supplier, person),
            **values,
        )
    )
    return HTMLResponse(content, status)


def came_from(request: Request) -> str:
    """The page of this console whose form was sent; empty where none was, or the browser does not tell."""
    came = urlsplit(request.headers.get("referer", "")) if request.method == "POST" else None
    return local(f"{came.path}?{came.query}" if came.query else came.path) if came and came.path else ""


def _elsewhere(supplier: Supplier | None, person: Person | None) -> list[tuple[str, str]]:
    """Title and address of the other suppliers that the person of a session works for. A token names whom it likes."""
    if supplier is None or person is None or person.token is not None:
        return []
    return supplier.elsewhere(person.name)


def _comment(request: Request, words: Words, finding: Commented) -> str:
    return words.comment(finding, request.app.state.services.gateway.catalogue)


def fresh(request: Request, made: HTMLResponse) -> Response:
    """A page with its ETag, or 304 where the visitor has it as it is: what a page that renews itself asks for.

    The script of the page keeps the tag: the browser keeps nothing that Back could show after signing out.
    """
    headers = {"ETag": etag(bytes(made.body))}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    made.headers.update(headers)
    return made


_BROWSERS = (("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrom", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (
    ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)  # fmt: skip


def device_words(agent: str | None) -> str:
    """Browser and system of a session, in a few words, from what the browser calls itself."""
    named = [next((name for sign, name in known if sign in (agent or "")), "") for known in (_BROWSERS, _SYSTEMS)]
    return ", ".join(filter(None, named)) or (agent or "")[:40] or "–"


def words_of(request: Request) -> Words:
    """The words of the visitor."""
    return Words(taste_of(request))


def address(path: str, **values: object) -> str:
    """A path with the parameters that have a value."""
    chosen = {name: str(value) for name, value in values.items() if value not in (None, "")}
    return f"{path}?{urlencode(chosen)}" if chosen else path


def is_fragment(request: Request) -> bool:
    """Whether htmx asks for a piece of a page."""
    return request.headers.get("hx-request") == "true" and request.headers.get("hx-boosted") != "true"
