"""Around every request: bounds of the body, and headers that keep browsers from doing more than they should."""

from __future__ import annotations

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
      body_bytes: largest body.
    """

    def __init__(self, app: ASGIApp, body_bytes: int) -> None:
        self.app, self.body_bytes = app, body_bytes

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
                _harden(scope, MutableHeaders(scope=message))
            await send(message)

        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdigit() and int(declared) > self.body_bytes:
            await self._refuse(scope, sending)
            return
        taken = 0

        async def receiving() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.body_bytes:
                # Handled like every refusal of a route: what reads the body is inside of one.
                raise HTTPException(413, self._words())
            return message

        try:
            await self.app(scope, receiving, sending)
        except Exception as error:
            # Here and not further out: this answer is hardened like every other.
            response = fault(Request(scope), error)
            if not began:
                await response(scope, receive, sending)

    def _words(self) -> str:
        return f"More than {self.body_bytes} bytes."

    async def _refuse(self, scope: Scope, send: Send) -> None:
        problem = Problem("API_TOO_LARGE", self._words(), advice="Send it in pieces.")
        body = msgspec.json.encode(problem.details(scope["path"]))
        headers = [(b"content-type", MEDIA.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": problem.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _harden(scope: Scope, headers: MutableHeaders) -> None:
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("Cache-Control", "no-store")
    if scope["scheme"] == "https":
        headers.setdefault("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
