"""The page of what no rule says: access points unlike their past and peers, and rules that may be missing.

It takes minutes of a large store: it is worked out beside, once, and again when a reader asks for it anew.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from msgspec import Struct

from assistant.anomalies.ranking import Anomaly
from assistant.anomalies.stored import anomalies
from assistant.invariants.drafting import draft
from assistant.invariants.ranking import Missing
from assistant.invariants.stored import missing_rules
from assistant.web.addresses import PLACE
from assistant.web.words import Pages
from energycomm.config import Config
from energycomm.errors import UserError
from energycomm.pipeline.gateway import open_catalogue
from energycomm.pipeline.opening import open_store

LEAST = 2.0
"""Standard errors from which an access point is shown."""

MOST = 100


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
    with open_store(config) as store:
        points = anomalies(store, LEAST)[:MOST]
        groups = missing_rules(store, config, catalogue)[:MOST]
    drafts = [draft(group, catalogue, number) for number, group in enumerate(groups, 1)]
    return Unlike(datetime.now(UTC), points, [group.missing for group in groups], drafts)


def add_pages(app: FastAPI, config: Config, pages: Pages) -> Survey:
    """Add the page and the drafts to an application.

    Args:
      app: the application.
      config: the gateway's configuration.
      pages: answers pages.
    """
    survey = Survey(config)

    @app.get(f"/{PLACE}", response_class=HTMLResponse)
    def unlike(request: Request) -> HTMLResponse:
        if survey.found is None:
            survey.begin()
        return pages.page(request, "unlike.html", found=survey.found, place=PLACE)

    @app.post(f"/{PLACE}")
    def again() -> Response:
        survey.begin()
        return Response(headers={"HX-Refresh": "true"})

    @app.get(f"/{PLACE}/draft/{{number}}", response_class=PlainTextResponse)
    def draft_of(number: int) -> PlainTextResponse:
        found = survey.found
        if found is None or not 1 <= number <= len(found.drafts):
            return PlainTextResponse(f"There is no draft {number}.\n", 404)
        return PlainTextResponse(found.drafts[number - 1])

    return survey
