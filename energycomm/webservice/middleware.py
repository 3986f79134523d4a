"""Around every request: bounds of the body, and headers that keep browsers from doing more than they should."""

from __future__ import annotations

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from energycomm.webservice.bodies import bound_of, most_of
from energycomm.webservice.problems import MEDIA, Problem, fault

POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'"
)
"""Everything comes from ourselves, nothing is written into a page as script or style."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Of every answer, unless the route said otherwise."""


class Shield:
    """Middleware.

    Args:
      app: what it stands around.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        began = False

        async def sending(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                harden(scope, MutableHeaders(scope=message))
            await send(message)

        headers, taken = Headers(scope=scope), 0

        async def receiving() -> Message:
            nonlocal taken
            declared, most = headers.get("content-length", ""), bound_of(scope)
            if not (declared.isdigit() and int(declared) > most):
                message = await receive()
                taken += len(message.get("body", b""))
                if taken <= most:
                    return message
            # Handled like every refusal of a route: what reads the body is inside of one.
            raise HTTPException(413, f"More than {most} bytes.")

        problem = _beforehand(scope, headers)
        if problem is not None:
            await _refuse(scope, problem, sending)
            return
        try:
            await self.app(scope, receiving, sending)
        except Exception as error:
            # Here and not further out: this answer is hardened like every other.
            response = fault(Request(scope), error)
            if not began:
                await response(scope, receive, sending)


def _beforehand(scope: Scope, headers: Headers) -> Problem | None:
    """The refusal of what no route takes, told by the head of the request."""
    encoding = headers.get("content-encoding", "identity")
    if encoding.strip().lower() not in ("", "identity"):
        # A small packed body may unpack to any size.
        return Problem(
            "API_ENCODED", target="Content-Encoding", value=encoding, advice="Send it without Content-Encoding."
        )
    declared, most = headers.get("content-length", ""), most_of(scope)
    if declared.isdigit() and int(declared) > most:
        return Problem("API_TOO_LARGE", f"More than {most} bytes.", advice="Send it in pieces.")
    return None


async def _refuse(scope: Scope, problem: Problem, send: Send) -> None:
    body = msgspec.json.encode(problem.details(scope["path"]))
    headers = [(b"content-type", MEDIA.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def harden(scope: Scope, headers: MutableHeaders) -> None:
    """Set the headers of every answer that its route did not set.

    Args:
      scope: of the request.
      headers: of the answer.
    """
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("Cache-Control", "no-store")
    if scope["scheme"] == "https":
        headers.setdefault("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
