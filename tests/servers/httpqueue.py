"""A queue over HTTP behind the HTTPS test server: gives tokens, shows the first document, removes it, takes ours."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, unquote

from tests.servers.https import Reply, Request

TOKEN_PATH = "/token"
CLIENT, SECRET = "us", "hunter2"
"""Who gets a token, and by which secret."""


class HttpQueueBehaviour:
    """What the service holds and does.

    Attributes:
      waiting: name of a queue -> (identifier, content) of the documents in it.
      taken: (path, content type, content) of what was sent.
      removed: identifiers that were removed, as often as that was asked for and done.
      token: that is given and accepted; another one is refused.
      given: how many tokens were given.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, list[tuple[str, bytes]]] = {}
        self.taken: list[tuple[str, str, bytes]] = []
        self.removed: list[str] = []
        self.token = "token-1"
        self.given = 0

    def __call__(self, request: Request) -> Reply:
        if request.path == TOKEN_PATH:
            return self._grant(request)
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return Reply(401)
        _, operation, written = request.path.rsplit("/", 2)
        name = unquote(written)
        if request.method == "GET" and operation == "peek":
            waiting = self.waiting.get(name, [])
            if not waiting:
                return Reply(204)
            identifier, content = waiting[0]
            return Reply(content=content, headers={"MessageId": identifier, "Content-Type": request.headers["Accept"]})
        if request.method == "DELETE" and operation == "dequeue":
            return self.remove(name)
        content_type = request.headers.get("Content-Type", "")
        if any(request.content == content for _, _, content in self.taken):
            error = {"Error": {"Code": "00101", "Message": "Message id is not unique"}}
            return Reply(400, json.dumps(error).encode())
        self.taken.append((name, content_type, request.content))
        return Reply(202)

    def _grant(self, request: Request) -> Reply:
        told = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
        if (told.get("client_id"), told.get("client_secret")) != (CLIENT, SECRET):
            return Reply(400, b'{"error": "invalid_client"}')
        self.given += 1
        return Reply(content=json.dumps({"access_token": self.token, "expires_in": 3600}).encode())

    def remove(self, identifier: str) -> Reply:
        """Remove the first document of a queue, if it has that identifier."""
        for waiting in self.waiting.values():
            if waiting and waiting[0][0] == identifier:
                waiting.pop(0)
                self.removed.append(identifier)
                return Reply(200)
        return Reply(400, b"<Error><Code>00399</Code></Error>")
