"""What all pages share: templates, the words of the visitor's language, the theme, how instants and numbers look."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, tzinfo
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

import jinja2
from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from msgspec import Struct

from energycomm.console.words import LANGUAGES, translate
from energycomm.links import is_link
from energycomm.market.installed import installed_adapters
from energycomm.market.legaltime import NO_TIME, LegalTime
from energycomm.templates import templates
from energycomm.webservice.identity import require
from energycomm.webservice.roles import Person, Role, Scope
from energycomm.webservice.services import Services, services

READERS = (Role.CONSULTANT, Role.BACK_OFFICE)
"""Who sees the content of messages."""

Anybody = Annotated[Person, Depends(require())]
Reader = Annotated[Person, Depends(require(*READERS))]
Consultant = Annotated[Person, Depends(require(Role.CONSULTANT, scope=Scope.CORRECT))]
Injector = Annotated[Person, Depends(require(*READERS, scope=Scope.INJECT))]
Shared = Annotated[Services, Depends(services)]

_COUNTED = re.compile(r"\{(\w+)\|([^|{}]+)\|([^|{}]+)\}")

THEMES = ("auto", "light", "dark")
COOKIE_LANGUAGE, COOKIE_THEME = "console-language", "console-theme"


class Taste(Struct, frozen=True):
    """How a visitor wants the pages.

    Attributes:
      language: en or fr.
      theme: auto, light or dark.
      times: instants as they are shown: in the legal time of their market, or of this house.
    """

    language: str
    theme: str
    times: LegalTime

    @property
    def zone(self) -> tzinfo:
        """The legal time of this house."""
        return self.times.own


def taste_of(request: Request) -> Taste:
    """The visitor's wishes: cookies first, then the browser's language, then the configuration."""
    config = request.app.state.services.config
    language = request.cookies.get(COOKIE_LANGUAGE, "")
    if language not in LANGUAGES:
        asked = request.headers.get("accept-language", "")[:2].lower()
        language = asked if asked in LANGUAGES else config.language
    theme = request.cookies.get(COOKIE_THEME, "")
    times = LegalTime(installed_adapters(config.mapping_files).zones, ZoneInfo(config.web.zone))
    return Taste(language, theme if theme in THEMES else "auto", times)


class Words:
    """The words of one visitor, for templates and routes: `t("Messages")`, `when(instant)`, `many(1234)`."""

    def __init__(self, taste: Taste) -> None:
        self.taste = taste

    def t(self, text: str, **values: object) -> str:
        """A text of ours in the visitor's language; `{n|message|messages}` is a number with its words."""
        found = translate(text, self.taste.language)
        return _COUNTED.sub(partial(self._counted, values), found).format(**values) if values else found

    def _counted(self, values: Mapping[str, object], place: re.Match[str]) -> str:
        ones = ("0", "1") if self.taste.language == "fr" else ("1",)
        return f"{{{place[1]}}} {place[2] if str(values[place[1]]) in ones else place[3]}"

    def when(self, at: datetime | None, market: str | None = None) -> str:
        """An instant to the minute, in the legal time of its market, or of this house."""
        return self.taste.times.to_the_minute(at, market)

    def exactly(self, at: datetime | None, market: str | None = None) -> str:
        """An instant to the second, with its offset, for the title of a short one."""
        return "" if at is None else f"{at.astimezone(self.taste.times.zone(market)):%Y-%m-%d %H:%M:%S %z}"

    def day(self, at: datetime | date | None, market: str | None = None) -> str:
        """The civil day of an instant, in the legal time of its market, or of this house."""
        return self.taste.times.day(at, market)

    def told(self, value: Any, market: str | None = None) -> Any:
        """A value of JSON with its instants as people read them. See `LegalTime.told`."""
        found = self.taste.times.told(value, market)
        return self.t(NO_TIME) if found == NO_TIME else found

    def many(self, number: float | None) -> str:
        """A number with spaces between thousands."""
        return "" if number is None else f"{number:,.0f}".replace(",", " ")

    def state(self, name: str) -> str:
        """The words of a state."""
        return self.t(STATES.get(name, name))


STATES = {
    "received": "received",
    "accepted": "accepted",
    "quarantined": "waiting",
    "rejected": "rejected",
    "engine_error": "rule broke",
    "to_replay": "to replay",
    "treated": "treated",
    "delegated": "delegated",
    "ticketed": "in a ticket",
    "withdrawn": "withdrawn",
}
"""State of a Kernel message -> its words."""


@cache
def _environment() -> jinja2.Environment:
    made = templates(Path(__file__).parent / "templates")
    made.tests["weblink"] = is_link
    made.filters["path"] = lambda value: quote(str(value), safe="")
    return made


def page(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """An answer made from a template.

    Args:
      request: what is answered.
      name: of the template.
      status: HTTP status.
      values: for the template.
    """
    words = Words(taste_of(request))
    person: Person | None = getattr(request.state, "person", None)
    content = (
        _environment()
        .get_template(name)
        .render(
            t=words.t,
            when=words.when,
            exactly=words.exactly,
            told=words.told,
            day=words.day,
            many=words.many,
            state_words=words.state,
            language=words.taste.language,
            theme=words.taste.theme,
            person=person,
            may_read=person is not None and person.may(frozenset(READERS)),
            may_change=person is not None and person.may(frozenset((Role.CONSULTANT,)), Scope.CORRECT),
            path=request.url.path,
            here=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
            additions=getattr(request.app.state, "additions", ()),
            **values,
        )
    )
    return HTMLResponse(content, status)


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
