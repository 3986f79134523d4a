"""Answers as JSON with an ETag, and their schemas in the OpenAPI document.

What the store gives are msgspec structures: they are written as they are, and the same classes describe them in the
document and are what the Python client reads them into.
"""

from __future__ import annotations

import hashlib
import operator
import re
from functools import reduce
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.responses import Response

from energycomm.webservice.problems import MEDIA, Details

JSON = "application/json"
_encoder = msgspec.json.Encoder(decimal_format="string")

_described: list[Any] = []
"""Types that routes answer with, in the order of their first mention."""

_PLACEHOLDER = "energycomm:"
_TOKEN = re.compile(r'(?:W/)?("[^"]*")|(\*)')


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Content as JSON."""
    return Response(_encoder.encode(content), status, headers, JSON)


def tagged(request: Request, content: Any) -> Response:
    """Content as JSON with its ETag, or 304 where the caller has it already."""
    body = _encoder.encode(content)
    tag = etag(body)
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if tag in _tags(request.headers.get("if-none-match", "")) and request.method in ("GET", "HEAD"):
        return Response(status_code=304, headers=headers)
    return Response(body, 200, headers, JSON)


def etag(body: bytes) -> str:
    """The ETag of a body."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def tag_of(content: Any) -> str:
    """The ETag that content has when it is answered."""
    return etag(_encoder.encode(content))


def unchanged(request: Request, content: Any) -> bool:
    """Whether a change may be made: its `If-Match`, if sent, is the present ETag."""
    wanted = request.headers.get("if-match")
    return wanted is None or wanted.strip() == "*" or tag_of(content) in _tags(wanted)


def _tags(header: str) -> set[str]:
    return {found[1] or found[2] for found in _TOKEN.finditer(header)}


def described(type_: Any, description: str = "As asked.", status: int = 200) -> dict[int | str, dict[str, Any]]:
    """The answers of a route, for its `responses=`.

    Args:
      type_: a msgspec structure, or a generic of one.
      description: in words.
      status: HTTP status.
    """
    if type_ not in _described:
        _described.append(type_)
    schema = {"$ref": f"{_PLACEHOLDER}{_described.index(type_)}"}
    return {status: {"description": description, "content": {JSON: {"schema": schema}}}}


def one_of(*types: Any) -> dict[str, Any]:
    """The schema of something that is one of some structures, for the description of a body."""
    described(reduce(operator.or_, types))
    return {"$ref": f"{_PLACEHOLDER}{_described.index(reduce(operator.or_, types))}"}


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of an application: FastAPI's, with the schemas of the answers and of every refusal."""
    if app.openapi_schema is not None:
        return app.openapi_schema
    made: dict[str, Any] = FastAPI.openapi(app)
    schemas, components = msgspec.json.schema_components(
        [*_described, Details], ref_template="#/components/schemas/{name}"
    )
    known = made.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        known.pop(name, None)
    known.update(components)
    made["components"]["responses"] = {
        "Problem": {"description": "Refused: problem details (RFC 9457).", "content": {MEDIA: {"schema": schemas[-1]}}}
    }
    for path, operations in made["paths"].items():
        for operation in operations.values():
            _resolve(operation, schemas)
            _complete(path, operation)
    return made


def _resolve(node: Any, schemas: Any) -> None:
    """Put the schemas in the places of their numbers."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(value, dict) and str(value.get("$ref", "")).startswith(_PLACEHOLDER):
            node[key] = schemas[int(value["$ref"].removeprefix(_PLACEHOLDER))]
        elif isinstance(value, dict | list):
            _resolve(value, schemas)


def _complete(path: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    if path.startswith("/api"):
        responses["default"] = {"$ref": "#/components/responses/Problem"}
