"""Clients of the trackers that tickets are exported to, behind one port: find, create, change.

Jira's REST API 2 (issues, search, transitions), GitLab's REST API 4 (issues of a project), and a webhook that is told
the whole ticket each time. An issue is found again by a label of its own, so that an answer that was lost makes no
second issue. Redirects are not followed: the token goes to the configured address and nowhere else.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import httpx
import msgspec
from msgspec import Struct

from energycomm.backoffice.webhook import KEY, SIGNATURE, sign
from energycomm.links import is_link
from energycomm.tracker_settings import TrackerSetting
from energycomm.transport.credentials import Secret, SecretUnreadableError

TRIES = 3
LONGEST_PAUSE = 30.0
LATER = frozenset((429, 502, 503, 504))
"""Answers of a tracker that is not ready."""


class TrackerTrouble(Exception):
    """A tracker failed or refused; the message has the reason, without secrets."""


class Issue(Struct, frozen=True, kw_only=True):
    """A ticket in the form of a tracker's issue.

    Attributes:
      mark: label that is this ticket's own: `energycomm-ticket-3`.
      title, body: words; the body is Markdown.
      due: YYYY-MM-DD, None when it is not due.
      closed: whether it is settled.
      facts: the ticket as plain values, for webhooks.
    """

    mark: str
    title: str
    body: str
    due: str | None
    closed: bool
    facts: dict[str, Any]


class Place(Struct, frozen=True):
    """Where a tracker keeps a ticket: its own name for it, and the address for people."""

    remote: str
    url: str | None


class Tracker(Protocol):
    """What an export needs of a tracker."""

    def find(self, mark: str) -> Place | None:
        """The issue with a label; None when there is none."""

    def create(self, issue: Issue) -> Place:
        """Make an issue."""

    def change(self, remote: str, issue: Issue) -> Place | None:
        """Change an issue; None when it is there no more."""


def open_tracker(setting: TrackerSetting, folder: Path) -> Tracker:
    """The client of a tracker.

    Args:
      setting: its setting.
      folder: that relative paths start from.

    Raises:
      TrackerTrouble: its token or its authorities cannot be read.
    """
    file = None if setting.token_file is None else folder / setting.token_file
    secret = Secret(f"token of tracker {setting.name}", file, setting.token_env)
    try:
        token = secret.read()
        trust: ssl.SSLContext | bool = True
        if setting.ca_file is not None:
            trust = ssl.create_default_context(cafile=str(folder / setting.ca_file))
    except SecretUnreadableError as error:
        raise TrackerTrouble(str(error)) from None
    except OSError as error:
        raise TrackerTrouble(f"{setting.ca_file} holds no authorities: {error.strerror or error}") from None
    if setting.kind == "jira":
        return Jira(setting, token, trust)
    if setting.kind == "gitlab":
        return GitLab(setting, token, trust)
    return Webhook(setting, token, trust)


class _Client:
    """Requests with a few tries, and errors in words."""

    def __init__(self, setting: TrackerSetting, headers: dict[str, str], trust: ssl.SSLContext | bool) -> None:
        self.setting = setting
        agent = {"User-Agent": "EnergyComm", "Accept": "application/json"}
        self._http = httpx.Client(headers=agent | headers, timeout=setting.timeout, verify=trust, trust_env=False)
        self.pause: Callable[[float], None] = time.sleep

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """The answer to a request; 404 is an answer.

        Raises:
          TrackerTrouble: it cannot be reached, or says no.
        """
        for left in reversed(range(TRIES)):
            try:
                answer = self._http.request(method, f"{self.setting.url}{path}", **more)
            except httpx.HTTPError as error:
                # Whether a request without an answer was done is not known: a second try could make a second issue.
                if left and (method == "GET" or isinstance(error, httpx.ConnectError)):
                    self.pause(0.5)
                    continue
                raise TrackerTrouble(f"{method} {path}: {type(error).__name__}: {error}"[:300]) from None
            if answer.status_code in LATER and left:
                self.pause(_seconds(answer.headers.get("Retry-After")))
                continue
            if answer.status_code >= 300 and answer.status_code != 404:
                words = answer.text.strip().replace("\n", " ")[:200]
                raise TrackerTrouble(f"{method} {path}: {answer.status_code} {words}".rstrip())
            return answer
        raise AssertionError("the last try returns or raises")

    def content(self, answer: httpx.Response) -> Any:
        """The JSON of an answer."""
        try:
            return answer.json()
        except ValueError:
            raise TrackerTrouble(f"{answer.request.method} {answer.request.url.path}: the answer is no JSON") from None


def _seconds(text: str | None) -> float:
    try:
        return min(max(float(text or 1), 0.0), LONGEST_PAUSE)
    except ValueError:
        return 1.0


class Jira(_Client):
    """Jira Server, Data Center and Cloud."""

    def __init__(self, setting: TrackerSetting, token: str, trust: ssl.SSLContext | bool) -> None:
        bearer = {} if setting.user else {"Authorization": f"Bearer {token}"}
        super().__init__(setting, bearer, trust)
        if setting.user:
            self._http.auth = httpx.BasicAuth(setting.user, token)

    def find(self, mark: str) -> Place | None:
        """By its label, in the project."""
        asked = {"jql": f'project = "{self.setting.project}" AND labels = "{mark}"', "maxResults": "1", "fields": "key"}
        answer = self.ask("GET", "/rest/api/2/search/jql", params=asked)
        if answer.status_code == 404:  # the older of the two addresses, which Server and Data Center have
            answer = self.ask("GET", "/rest/api/2/search", params=asked)
        found = self.content(answer).get("issues") if answer.status_code == 200 else None
        return self._place(found[0]["key"]) if found else None

    def create(self, issue: Issue) -> Place:
        """As an issue of the project."""
        fields = self._fields(issue) | {
            "project": {"key": self.setting.project},
            "issuetype": {"name": self.setting.issue_type},
        }
        answer = self.ask("POST", "/rest/api/2/issue", json={"fields": fields})
        if answer.status_code == 404:
            raise TrackerTrouble(f"there is no Jira at {self.setting.url}, or no project {self.setting.project}")
        place = self._place(self.content(answer)["key"])
        self._settle(place.remote, issue)
        return place

    def change(self, remote: str, issue: Issue) -> Place | None:
        """Its words, its due date, and its state when it is settled."""
        path = f"/rest/api/2/issue/{quote(remote, safe='')}"
        if self.ask("PUT", path, json={"fields": self._fields(issue)}).status_code == 404:
            return None
        self._settle(remote, issue)
        return self._place(remote)

    def _fields(self, issue: Issue) -> dict[str, Any]:
        return {
            "summary": issue.title,
            "description": issue.body,
            "labels": [*self.setting.labels, issue.mark],
            "duedate": issue.due,
        }

    def _settle(self, remote: str, issue: Issue) -> None:
        """Move an issue whose ticket is closed to a state that counts as done, where its workflow has such a way."""
        if not issue.closed:
            return
        path = f"/rest/api/2/issue/{quote(remote, safe='')}/transitions"
        ways = self.content(self.ask("GET", path)).get("transitions", [])
        done = [way["id"] for way in ways if way.get("to", {}).get("statusCategory", {}).get("key") == "done"]
        if done:
            self.ask("POST", path, json={"transition": {"id": done[0]}})

    def _place(self, key: str) -> Place:
        url = f"{self.setting.url}/browse/{quote(key, safe='')}"
        return Place(key, url if is_link(url) else None)


class GitLab(_Client):
    """GitLab."""

    def __init__(self, setting: TrackerSetting, token: str, trust: ssl.SSLContext | bool) -> None:
        super().__init__(setting, {"PRIVATE-TOKEN": token}, trust)
        self._issues = f"/api/v4/projects/{quote(setting.project or '', safe='')}/issues"

    def find(self, mark: str) -> Place | None:
        """By its label, in the project."""
        found = self.content(self._answer("GET", self._issues, params={"labels": mark, "per_page": "1"}))
        return self._place(found[0]) if found else None

    def create(self, issue: Issue) -> Place:
        """As an issue of the project."""
        place = self._place(self.content(self._answer("POST", self._issues, json=self._fields(issue))))
        if issue.closed:
            self.change(place.remote, issue)
        return place

    def change(self, remote: str, issue: Issue) -> Place | None:
        """Its words, its due date and its state."""
        event = {"state_event": "close" if issue.closed else "reopen"}
        answer = self.ask("PUT", f"{self._issues}/{quote(remote, safe='')}", json=self._fields(issue) | event)
        return None if answer.status_code == 404 else self._place(self.content(answer))

    def _answer(self, method: str, path: str, **more: Any) -> httpx.Response:
        answer = self.ask(method, path, **more)
        if answer.status_code == 404:
            raise TrackerTrouble(f"there is no project {self.setting.project} at {self.setting.url}")
        return answer

    def _fields(self, issue: Issue) -> dict[str, Any]:
        labels = ",".join([*self.setting.labels, issue.mark])
        return {"title": issue.title, "description": issue.body, "labels": labels, "due_date": issue.due}

    def _place(self, found: dict[str, Any]) -> Place:
        url = found.get("web_url")
        return Place(str(found["iid"]), url if is_link(url) else None)


class Webhook(_Client):
    """A webhook that receives each ticket as JSON, signed like notifications."""

    def __init__(self, setting: TrackerSetting, token: str, trust: ssl.SSLContext | bool) -> None:
        super().__init__(setting, {}, trust)
        self._token = token

    def find(self, mark: str) -> Place | None:
        """None: a webhook recognises a ticket by its idempotency key."""
        return None

    def create(self, issue: Issue) -> Place:
        """Send the ticket; the answer may name it: `{"id": ..., "url": ...}`."""
        body = msgspec.json.encode({"ticket": issue.facts, "title": issue.title, "body": issue.body})
        headers = {
            "Content-Type": "application/json",
            KEY: issue.mark,
            SIGNATURE: sign(self._token, body, int(time.time())),
        }
        answer = self.ask("POST", "", content=body, headers=headers)
        if answer.status_code == 404:
            raise TrackerTrouble(f"there is nothing at {self.setting.url}")
        try:
            told = answer.json()
        except ValueError:
            told = {}
        told = told if isinstance(told, dict) else {}
        url = told.get("url")
        return Place(str(told.get("id") or issue.mark)[:200], url if is_link(url) else None)

    def change(self, remote: str, issue: Issue) -> Place | None:
        """Tell it again."""
        return self.create(issue)
