"""Every route of the API has an example, which passes its own schema and which the route takes as it is written."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jsonschema_rs
import pytest

from energycomm.web_settings import WebSettings
from energycomm.webservice.examples import BODIES, FILES, PLACES_OF, QUERIES, Example, examples
from energycomm.webservice.roles import Role
from tests.webservice.conftest import Site, configured, copied, told


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Any:
    url = copied(told, tmp_path_factory.mktemp("examples"))
    made = Site(url, configured(url, web=WebSettings(requests_per_minute=100_000)))
    yield made
    made.close()


class Sent:
    """What the shell makes of an example of curl."""

    def __init__(self, command: str) -> None:
        words = shlex.split(command.replace("$URL", "http://gateway.test").replace("$TOKEN", "ec_x"))
        assert words[:2] == ["curl", "--fail-with-body"]
        self.method, self.headers, self.body = "GET", {}, None
        rest = iter(words[2:])
        for word in rest:
            if word == "-X":
                self.method = next(rest)
            elif word == "-H":
                name, _, value = next(rest).partition(": ")
                self.headers[name] = value
            elif word in ("--data", "--data-binary"):
                self.body = next(rest)
            else:
                self.address = word
        parts = urlsplit(self.address)
        self.path, self.query = parts.path, dict(parse_qsl(parts.query))


def all_of(house: Site) -> list[Example]:
    return list(examples(house.app.openapi()))


def fitting(document: dict[str, Any], schema: dict[str, Any], value: Any) -> None:
    found = list(
        jsonschema_rs.Draft202012Validator({**schema, "components": document["components"]}).iter_errors(value)
    )
    assert [one.message for one in found] == []


def typed(value: str, schema: dict[str, Any]) -> Any:
    """A text of an address as its schema wants it."""
    kinds = {one.get("type") for one in schema.get("anyOf", [schema])}
    if "integer" in kinds:
        return int(value)
    return value == "true" if "boolean" in kinds else value


@pytest.mark.thorough
def test_every_route_has_an_example_that_passes_its_own_schema(house: Site) -> None:
    document = house.app.openapi()
    found = {(one.method, one.path): one for one in all_of(house)}
    routes = {(m.upper(), p) for p, operations in document["paths"].items() if p.startswith("/api") for m in operations}
    assert found.keys() == routes
    assert len(routes) > 60
    for (method, path), one in found.items():
        operation, sent = document["paths"][path][method.lower()], Sent(one.curl)
        assert sent.method == method
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path))
        places = re.fullmatch(pattern, sent.path)
        assert places, (path, sent.path)
        given = {"path": places.groupdict(), "query": sent.query, "header": {}}
        known = {(p["in"], p["name"]): p for p in operation.get("parameters", ())}
        for place, values in given.items():
            for name, value in values.items():
                assert (place, name) in known, f"{method} {path} has no parameter {name}"
                schema = known[place, name]["schema"]
                fitting(document, schema, typed(value, schema))
        assert {key for key, p in known.items() if p.get("required")} <= {
            (place, name) for place, values in given.items() for name in values
        }
        bodies = operation.get("requestBody", {}).get("content", {})
        assert (sent.body is not None) == bool(bodies), f"{method} {path}"
        if "application/json" in bodies:
            assert sent.headers["Content-Type"] == "application/json"
            fitting(document, bodies["application/json"]["schema"], json.loads(str(sent.body)))


def test_the_routes_take_what_the_examples_send(house: Site) -> None:
    """There may be nothing of that number; but nothing is unknown, missing or of a wrong form."""
    caller = house.caller(*Role, person="root")
    odd = []
    for one in all_of(house):
        sent = Sent(one.curl)
        if sent.path.endswith(("/try", "/proposals")):
            continue
        content = (
            b"market;access_point;as_of;supply.start;supply.supplier\n"
            if one.path.startswith("/api/v1/portfolio")
            else sent.body
        )
        headers = {name: value for name, value in sent.headers.items() if name != "Authorization"}
        answer = caller.request(sent.method, sent.path, params=sent.query, content=content, headers=headers)
        # What the content is, is not the example's matter: a rule refuses the request, the file has no point of ours.
        judged = answer.status_code == 422 and ("API_REFUSED" in answer.text or "PORTFOLIO_FILE" in answer.text)
        content_alone = judged and one.path.endswith(("/requests", "/comparison"))
        if answer.status_code not in (200, 201, 202, 204, 404, 409) and not content_alone:
            odd.append((one.method, one.path, answer.status_code, answer.text[:300]))
    assert odd == []


def test_python_and_curl_send_the_same(house: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "portfolio.csv").write_bytes(b"market\n")

    class Gateway:
        def raw(self, method: str, path: str, *, query: Any = None, body: Any = None) -> Any:
            return method, path, query or {}, body

    for one in all_of(house):
        names: dict[str, Any] = {"gateway": Gateway(), "Path": Path}
        exec(one.python, names)  # what the page tells people to run
        sent = Sent(one.curl)
        method, path, query, body = names["answer"]
        assert (method, "/api/v1" + path, query) == (sent.method, sent.path, sent.query)
        if isinstance(body, bytes):
            assert body == b"market\n"
        elif sent.body is not None:
            assert body == json.loads(sent.body)


def test_no_example_is_kept_of_a_route_that_is_gone(house: Site) -> None:
    known = {f"{one.method} {one.path.removeprefix('/api/v1')}" for one in all_of(house)}
    assert (BODIES.keys() | QUERIES.keys() | FILES.keys()) <= known
    assert PLACES_OF.keys() <= {name.split()[1] for name in known}


def test_the_page_shows_every_route_and_finds_some(house: Site) -> None:
    caller = house.caller(Role.OPERATOR)
    page = caller.get("/documentation")
    assert page.status_code == 200
    assert page.text.count('<details class="route"') == len(all_of(house))
    assert "<script>" not in page.text
    assert "style=" not in page.text
    found = caller.get("/documentation?q=billing%20contract").text
    assert "/api/v1/billing-periods" in found
    assert found.count("<details") < 5
    assert "No route matches" in caller.get("/documentation?q=xyzzy").text
