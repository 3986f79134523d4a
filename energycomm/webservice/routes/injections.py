"""Market message injection (MMI): Kernel messages given directly to the Kernel."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from energycomm.kernel.counting import counted
from energycomm.kernel.messages import INCOMING
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.injection import Injection, inject, unfit
from energycomm.pipeline.submissions import Handed, read_handed
from energycomm.webservice.answers import answer, described, one_of
from energycomm.webservice.bodies import LARGE, check_density
from energycomm.webservice.idempotency import once
from energycomm.webservice.parameters import Injector, Key, Shared
from energycomm.webservice.problems import Mistake, Problem, mistake_of
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.roles import Person
from energycomm.webservice.services import Services

router = APIRouter(prefix="/injections", tags=["injections"], route_class=RecordedRoute)

XML = "application/xml"


async def body_of(request: Request) -> bytes:
    """The bytes of the request; a dependency, since routes that use the store are plain functions.

    Raises:
      Problem: it holds more values than any injection.
    """
    content = await request.body()
    check_density(content)
    return content


Sent = Annotated[bytes, Depends(body_of)]


def sent_as(schema: dict[str, Any], about_it: str) -> dict[str, Any]:
    """The description of a body that the route reads itself."""
    content = {"application/json": {"schema": schema}, XML: {"schema": {"type": "string"}}}
    return LARGE | {"requestBody": {"required": True, "description": about_it, "content": content}}


_SCHEMA = {"anyOf": [one_of(*INCOMING), {"type": "array", "items": one_of(*INCOMING), "minItems": 1}]}


@router.post(
    "",
    summary="Inject messages",
    status_code=201,
    responses=described(Injection, "Judged and stored, each with its state and codes.", 201),
    openapi_extra=sent_as(_SCHEMA, "One Kernel message or many, as JSON, or as Kernel XML in a `batch` element."),
)
def create(request: Request, shared: Shared, person: Injector, sent: Sent, key: Key = None) -> Response:
    """Either all messages are stored or none. A message that a rule rejects is stored as rejected.

    422 lists every mistake; 409: all messages were injected before.
    """
    handed = readable(sent, shared.config.web.inject_messages)
    wrong = unfit(handed, shared.gateway.markets.keys(), shared.config.web.inject_messages, shared.config.foreign)
    if wrong:
        mistakes = [mistake_of(refusal, f"/{number}/") for number, refusal in wrong]
        raise Problem("API_INVALID", f"{counted(len(mistakes), 'mistake')}; nothing is stored.", errors=mistakes)
    points = sorted({one.message.access_point or "" for one in handed if one.message is not None})
    about(request, f"access points {' '.join(points)}")
    return once(request, shared.store, person, key, sent, lambda: _inject(shared, person, handed, sent))


def _inject(shared: Services, person: Person, handed: list[Handed], sent: bytes) -> Response:
    form = "xml" if sent.lstrip()[:1] == b"<" else "json"
    done = inject(shared.store, shared.writer(), handed, sent, f"injection-by-{person.name}.{form}", person.name)
    if all(one.duplicate for one in done.messages):
        raise Problem(
            "API_CONFLICT",
            "All of it was injected before; nothing else happened.",
            errors=[
                Mistake(
                    code="duplicate",
                    target=f"/{one.position - 1}",
                    detail="Injected before.",
                    value=str(one.message.id),
                )
                for one in done.messages
            ],
            advice="The value of each error is the number of the first message.",
        )
    return answer(done, 201, {"Location": f"/api/v1/envelopes/{done.envelope_id}"})


def readable(sent: bytes, most: int) -> list[Handed]:
    """The messages of a body.

    Args:
      sent: the body.
      most: how many messages it may hold.

    Raises:
      Problem: it is neither JSON nor XML, or holds more.
    """
    found = read_handed(sent, most)
    if isinstance(found, Refusal) and found.code == "INJECT_NUMBER":
        raise Problem("API_INVALID", "Too many messages; nothing is stored.", errors=[mistake_of(found, "/")])
    if isinstance(found, Refusal):
        raise Problem("API_UNREADABLE", str(found), errors=[mistake_of(found)])
    return found
