"""The page of what no rule says: access points unlike their past and peers, and rules that may be missing.

It takes minutes of a large store: it is worked out beside, once, and again when a reader asks for it anew.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from fastapi.templating import Jinja2Templates
from msgspec import Struct

from assistant.anomalies.ranking import Anomaly, ranked
from assistant.anomalies.stored import followed
from assistant.invariants.drafting import draft
from assistant.invariants.ranking import Missing, learned
from assistant.web.interface import PLACE
from energycomm.config import Config
from energycomm.console.view import COOKIE_LANGUAGE
from energycomm.errors import UserError
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.gateway import open_catalogue, open_engine, open_store

LEAST = 2.0
"""Standard errors from which an access point is shown."""

MOST = 100

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "title": "What no rule says",
        "about": "Accepted messages that no rule refused. Nothing is decided: look at them, or ask the grid operator.",
        "points": "Access points unlike their past and peers",
        "rules": "Rules that may be missing",
        "pending": "This is being worked out from the store; the page shows it when it is there.",
        "again": "Work it out anew",
        "at": "Worked out on",
        "none": "None was found.",
        "draft": "draft of a rule",
        "message": "Message", "market": "Market", "point": "Access point", "kind": "Kind", "score": "Score",
        "why": "Why", "messages": "Messages",
    },
    "fr": {
        "title": "Ce qu'aucune règle ne dit",
        "about": "Des messages acceptés qu'aucune règle n'a refusés. Rien n'est décidé : voyez-les, ou interrogez le "
        "gestionnaire de réseau.",
        "points": "Points qui ne ressemblent ni à leur passé ni aux autres",
        "rules": "Règles qui manquent peut-être",
        "pending": "Le calcul est en cours ; la page affichera le résultat.",
        "again": "Recalculer",
        "at": "Calculé le",
        "none": "Rien n'a été trouvé.",
        "draft": "projet de règle",
        "message": "Message", "market": "Marché", "point": "Point", "kind": "Genre", "score": "Score",
        "why": "Pourquoi", "messages": "Messages",
    },
    "nl": {
        "title": "Wat geen regel zegt",
        "about": "Geaccepteerde berichten die geen regel weigerde. Er wordt niets beslist: bekijk ze, of vraag het de "
        "netbeheerder.",
        "points": "Aansluitingen die niet op hun verleden en op andere lijken",
        "rules": "Regels die misschien ontbreken",
        "pending": "Dit wordt uit de opslag berekend; de pagina toont het zodra het er is.",
        "again": "Opnieuw berekenen",
        "at": "Berekend op",
        "none": "Er is niets gevonden.",
        "draft": "ontwerp van een regel",
        "message": "Bericht", "market": "Markt", "point": "Aansluiting", "kind": "Soort", "score": "Score",
        "why": "Waarom", "messages": "Berichten",
    },
}  # fmt: skip


class Unlike(Struct, frozen=True):
    """What was found.

    Attributes:
      at: when.
      points: access points, the worst first.
      missing: groups of messages, the likeliest first.
      drafts: a draft of a rule for each group.
      trouble: why nothing could be worked out; empty if it could.
    """

    at: datetime
    points: list[Anomaly]
    missing: list[Missing]
    drafts: list[str]
    trouble: str = ""


class Survey:
    """Works out what is unlike, in a thread of its own.

    Args:
      config: the gateway's configuration: its store and rules.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.found: Unlike | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Begin, where it is not under way."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self.found = None
                self._thread = threading.Thread(target=self._work, name="unlike", daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait for the end, so long at most."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self) -> None:
        try:
            self.found = found_in(self.config)
        except UserError as error:
            self.found = Unlike(datetime.now(UTC), [], [], [], str(error))


def found_in(config: Config) -> Unlike:
    """What is unlike in a store."""
    catalogue = open_catalogue(config.rules_folder)
    engine = open_engine(catalogue, config.engine, config.curve_tolerance)
    with open_store(config) as store:
        points = [one for one in ranked(followed(store.engine)) if one.score >= LEAST][:MOST]
        markets = installed_adapters(config.mapping_files)
        groups = learned(store, catalogue, engine, markets, config.rules_folder)[:MOST]
    drafts = [draft(group, catalogue, number) for number, group in enumerate(groups, 1)]
    return Unlike(datetime.now(UTC), points, [group.missing for group in groups], drafts)


def add_pages(app: FastAPI, config: Config, templates: Jinja2Templates, policy: str) -> Survey:
    """Add the page and the drafts to an application.

    Args:
      app: the application.
      config: the gateway's configuration.
      templates: of the assistant.
      policy: what the page may load.
    """
    survey = Survey(config)

    @app.get(f"/{PLACE}", response_class=HTMLResponse)
    def unlike(request: Request) -> HTMLResponse:
        if survey.found is None:
            survey.begin()
        language = request.cookies.get(COOKIE_LANGUAGE, config.language)
        words = WORDS.get(language, WORDS["en"])
        answer = templates.TemplateResponse(
            request, "unlike.html", {"words": words, "lang": language, "found": survey.found, "place": PLACE}
        )
        answer.headers["Content-Security-Policy"] = policy
        return answer

    @app.post(f"/{PLACE}")
    def again(request: Request) -> RedirectResponse:
        survey.begin()
        return RedirectResponse(f"{request.scope['root_path']}/{PLACE}", 303)

    @app.get(f"/{PLACE}/draft/{{number}}", response_class=PlainTextResponse)
    def draft_of(number: int) -> PlainTextResponse:
        found = survey.found
        if found is None or not 1 <= number <= len(found.drafts):
            return PlainTextResponse(f"There is no draft {number}.\n", 404)
        return PlainTextResponse(found.drafts[number - 1])

    return survey
