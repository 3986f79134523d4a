"""The table of routes in docs/api.md, from the routes of the API themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fastapi import APIRouter
from fastapi.routing import APIRoute

from energycomm.webservice.api import PREFIX
from energycomm.webservice.identity import guard_of
from energycomm.webservice.roles import Role, words_of


class Route(NamedTuple):
    """One route of the API.

    Attributes:
      method, path: what is asked.
      roles: one of these is needed; empty: any.
      scope: what a token must be good for.
      summary: in a few words.
      recorded: whether a read is in the audit; changes always are.
    """

    method: str
    path: str
    roles: tuple[str, ...]
    scope: str
    summary: str
    recorded: bool


def api_routes() -> Iterator[Route]:
    """Every route of the API, in the order of the subjects."""
    from energycomm.webservice import api

    for router in api.SUBJECTS:
        for route in _routes(router.router):
            guard = guard_of(route.dependant)
            for method in sorted(route.methods or ()):
                yield Route(
                    method,
                    PREFIX + route.path_format,
                    tuple(words_of(guard.roles).split()) if guard else (),
                    str(guard.scope) if guard else "",
                    route.summary or "",
                    (route.openapi_extra or {}).get("x-audit") != "none",
                )


def reference() -> str:
    """The routes as Markdown."""
    lines = ["| route | roles | scope | what | audit |", "|---|---|---|---|---|"]
    for route in api_routes():
        roles = "any" if len(route.roles) == len(Role) else ", ".join(f"`{role}`" for role in route.roles)
        audit = "yes" if route.recorded else "no"
        lines.append(f"| `{route.method} {route.path}` | {roles} | `{route.scope}` | {route.summary} | {audit} |")
    return "\n".join(lines) + "\n"


def _routes(router: APIRouter) -> Iterator[APIRoute]:
    yield from (route for route in router.routes if isinstance(route, APIRoute))
