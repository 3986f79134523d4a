"""How large a body may be, by its route, and how much a JSON body may hold; both before anything is made of it.

    @router.post("/edit", openapi_extra=LARGE)

A route takes `SMALL_BYTES`; those that are declared `LIST` or `EDITED` take more, `LARGE` what [web] `body_bytes` says.
"""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.types import Scope

from energycomm.config import Config
from energycomm.webservice.problems import Problem

SMALL_BYTES = 64 << 10
"""Largest body of an ordinary route: a change of a few fields, a form."""
LIST_BYTES = 256 << 10
"""Largest body of a route that takes the numbers of ten thousand messages."""
EDITED_BYTES = 2 << 20
"""Largest body of a route that takes a message as Kernel XML."""
DEEPEST = 16
MOST_KEYS = 200
MOST_VALUES = 12_000
"""Lists and objects inside each other, keys of one object, values of all of a JSON body."""

MOST_GROUPS = 200_000
MOST_COMMAS = 1_000_000
"""Objects and lists, and values, of a large body that a route reads by itself."""

LARGE: dict[str, Any] = {"x-body": "large"}
LIST: dict[str, Any] = {"x-body": "list"}
EDITED: dict[str, Any] = {"x-body": "edited"}
"""Mark routes that take more: for `openapi_extra`."""

_BOUND = "energycomm.body"
_MOST = "energycomm.largest_body"


def bound_of(scope: Scope) -> int:
    """Largest body of a request in bytes."""
    most: int = scope.get(_BOUND, SMALL_BYTES)
    return min(most, most_of(scope))


def most_of(scope: Scope) -> int:
    """Largest body that any route takes, in bytes."""
    if _MOST not in scope:
        # Kept from the outermost application, which asks first: those that are mounted in it have no settings.
        config: Config = scope["app"].state.services.config
        scope[_MOST] = config.web.body_bytes
    most: int = scope[_MOST]
    return most


def set_bound(request: Request, marked: dict[str, Any] | None) -> None:
    """Let a request have the body that its route takes.

    Args:
      request: the request, before its body is read.
      marked: `openapi_extra` of the route.
    """
    kind = (marked or {}).get("x-body")
    if kind == "large":
        request.scope[_BOUND] = most_of(request.scope)
    elif kind is not None:
        request.scope[_BOUND] = {"list": LIST_BYTES, "edited": EDITED_BYTES}[kind]


class JsonRequest(Request):
    """A request whose JSON is read and checked against the limits before the route gets it."""

    parsed: Any = None

    async def json(self) -> Any:
        """The value."""
        return self.parsed


def _media(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def is_json(request: Request) -> bool:
    """Whether a request says that its body is JSON."""
    media = _media(request)
    return media == "application/json" or (media.startswith("application/") and media.endswith("+json"))


def check_media(request: Request, marked: dict[str, Any] | None, *, of_json: bool) -> None:
    """Refuse a body that says to be of a form that its route does not read. One that says nothing is looked at.

    Args:
      request: the request.
      marked: `openapi_extra` of the route; what its body may be is declared there.
      of_json: the route reads JSON into a declared model.

    Raises:
      Problem: it is of another form.
    """
    declared = (marked or {}).get("requestBody", {}).get("content", {"application/json": None} if of_json else {})
    media = _media(request)
    if not media or "application/json" not in declared or is_json(request):
        return
    if "application/xml" in declared and (media in ("application/xml", "text/xml") or media.endswith("+xml")):
        return
    advice = f"Send {' or '.join(declared)}, and say so in Content-Type."
    raise Problem("API_MEDIA", f"{media} is not read here.", target="Content-Type", value=media, advice=advice)


def read_json(content: bytes) -> Any:
    """The value of a JSON body.

    Raises:
      Problem: it is no JSON, or holds more than any route reads.
    """
    groups = content.count(b"[") + content.count(b"{")  # counted at once, where reading holds up everybody
    if groups > MOST_VALUES:
        raise _beyond(f"it has {groups} lists and objects", f"at most {MOST_VALUES}")
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        words = "too deep" if isinstance(error, RecursionError) else str(error)
        raise Problem("API_UNREADABLE", f"The body is no JSON: {words}.", target="/") from None
    _check(value)
    return value


def check_density(content: bytes) -> None:
    """Refuse a large JSON body that is made of brackets and commas: reading it would hold up everybody.

    Raises:
      Problem: it is.
    """
    if content.lstrip()[:1] == b"<":
        return
    groups, commas = content.count(b"[") + content.count(b"{"), content.count(b",")
    if groups > MOST_GROUPS:
        raise _beyond(f"it has {groups} lists and objects", f"at most {MOST_GROUPS}")
    if commas > MOST_COMMAS:
        raise _beyond(f"it has {commas} values", f"at most {MOST_COMMAS}")


def _check(value: Any) -> None:
    level, values = [value], 1
    for _ in range(DEEPEST):
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                if len(one) > MOST_KEYS:
                    raise _beyond(f"an object has {len(one)} keys", f"at most {MOST_KEYS}")
                below += one.values()
            elif isinstance(one, list):
                if len(one) > MOST_VALUES:
                    raise _beyond(f"a list has {len(one)} values", f"at most {MOST_VALUES} in all")
                below += one
            if values + len(below) > MOST_VALUES:
                raise _beyond("it holds too many values", f"at most {MOST_VALUES} in all")
        if not below:
            return
        level, values = below, values + len(below)
    raise _beyond("it is too deep", f"at most {DEEPEST} levels")


def _beyond(found: str, expected: str) -> Problem:
    words = f"The body is beyond what any route reads: {found}; {expected}."
    return Problem("API_UNREADABLE", words, target="/", advice="See the schema of this route in the OpenAPI document.")
