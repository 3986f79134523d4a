"""An example of every route of the API, as a call of curl and of the Python client.

What an example sends is declared in examples.yaml: the values of parameters by their names, and a body for each route
that takes one. All else is of the OpenAPI document. A test sends every example as it is written there.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import yaml
from msgspec import Struct

PREFIX: Final = "/api/v1"
_SENT: Final = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))

PLACES: Final[Mapping[str, str]] = _SENT["places"]
"""Parts of a path -> what an example has there."""

PLACES_OF: Final[Mapping[str, Mapping[str, str]]] = _SENT["places_of"]
"""The same, of single routes."""

QUERIES: Final[Mapping[str, Mapping[str, str]]] = _SENT["queries"]
"""Parameters that an example has."""

BODIES: Final[Mapping[str, Any]] = _SENT["bodies"]
"""Bodies of JSON."""

FILES: Final[Mapping[str, str]] = _SENT["files"]
"""Bodies that are a file."""


class Parameter(Struct, frozen=True):
    """A parameter of a route: its name, where it goes, whether it is needed, its values, what it is."""

    name: str
    place: str
    needed: bool
    values: str
    words: str


class Example(Struct, frozen=True, kw_only=True):
    """A route with an example.

    Attributes:
      tag: its subject.
      method, path: what is asked, with the names of its parts.
      summary, words: what it does.
      parameters: what may be sent along.
      curl: the example in a shell; `$URL` is the address of the gateway, `$TOKEN` a token.
      python: the same with the Python client.
    """

    tag: str
    method: str
    path: str
    summary: str
    words: str
    parameters: tuple[Parameter, ...]
    curl: str
    python: str

    @property
    def sought(self) -> str:
        """All that a search looks at."""
        names = " ".join(one.name for one in self.parameters)
        return f"{self.method} {self.path} {self.tag} {self.summary} {self.words} {names}".lower()


def examples(document: Mapping[str, Any]) -> Iterator[Example]:
    """Every route of the API with its example, in the order of the document.

    Args:
      document: the OpenAPI document.
    """
    for path, operations in document["paths"].items():
        if not path.startswith(PREFIX):
            continue
        for method, operation in operations.items():
            short = path.removeprefix(PREFIX)
            name = f"{method.upper()} {short}"
            yield Example(
                tag=next(iter(operation.get("tags", ())), ""),
                method=method.upper(),
                path=path,
                summary=operation.get("summary", ""),
                words=operation.get("description", ""),
                parameters=tuple(_parameters(operation)),
                curl=_curl(name, short),
                python=_python(name, short),
            )


def _address(name: str, short: str) -> str:
    """The path of an example."""
    for part, value in (PLACES | PLACES_OF.get(short, {})).items():  # type: ignore[operator]
        short = short.replace(f"{{{part}}}", quote(value, safe=""))
    return short


def _curl(name: str, short: str) -> str:
    method, query = name.split()[0], QUERIES.get(name, {})
    address = f"$URL{PREFIX}{_address(name, short)}" + (f"?{urlencode(query)}" if query else "")
    words = ["curl --fail-with-body"]
    if method != "GET":
        words.append(f"-X {method}")
    words.append('-H "Authorization: Bearer $TOKEN"')
    if name in BODIES:
        words.append("-H 'Content-Type: application/json'")
        words.append(f"--data {shlex.quote(json.dumps(BODIES[name]))}")
    elif name in FILES:
        words.append(f"--data-binary @{FILES[name]}")
    return " ".join([*words, f'"{address}"'])


def _python(name: str, short: str) -> str:
    method, query = name.split()[0], QUERIES.get(name, {})
    words = [repr(method), repr(_address(name, short))]
    if query:
        words.append(f"query={dict(query)!r}")
    if name in BODIES:
        words.append(f"body={BODIES[name]!r}")
    elif name in FILES:
        words.append(f'body=Path("{FILES[name]}").read_bytes()')
    return f"answer = gateway.raw({', '.join(words)})"


def _parameters(operation: Mapping[str, Any]) -> Iterator[Parameter]:
    for one in operation.get("parameters", ()):
        schema = one.get("schema", {})
        yield Parameter(
            one["name"], one["in"], bool(one.get("required")), _values(schema), one.get("description", "") or ""
        )


def _values(schema: Mapping[str, Any]) -> str:
    """What a parameter may be, in a few words."""
    kinds = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    told = []
    for one in kinds:
        if "enum" in one:
            told.append(", ".join(map(str, one["enum"])))
        else:
            told.append(" ".join(filter(None, (str(one.get("type", "")), str(one.get("format", ""))))))
    return "; ".join(filter(None, told))
