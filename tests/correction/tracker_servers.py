"""Trackers on loopback that speak as much of their REST APIs as exports use, and remember what they were told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "tracker-token"


class Tracker:
    """A tracker.

    Attributes:
      kind: jira, gitlab or webhook.
      issues: what it holds, by its own name.
      asked: (method, path, headers, body) of every request.
      failures: answers to give before it answers as it should; `lost` does the work and gives no answer.
    """

    def __init__(self, kind: str) -> None:
        self.kind, self.issues, self.asked, self.failures = kind, dict[str, Any](), list[Any](), list[Any]()
        self.url = ""

    def answer(self, method: str, target: str, headers: Any, body: bytes) -> tuple[int, Any]:
        """Status and JSON."""
        self.asked.append((method, target, dict(headers), body))
        content = json.loads(body) if body else None
        path, query = unquote(urlsplit(target).path), parse_qs(urlsplit(target).query)
        return {"jira": self._jira, "gitlab": self._gitlab, "webhook": self._webhook}[self.kind](
            method, path, query, headers, content
        )

    def _jira(self, method: str, path: str, query: Any, headers: Any, content: Any) -> tuple[int, Any]:
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            return 401, {"errorMessages": ["who are you"]}
        if path == "/rest/api/2/search":
            label = query["jql"][0].split('labels = "')[1].rstrip('"')
            found = [key for key, issue in self.issues.items() if label in issue["labels"]]
            return 200, {"issues": [{"key": key} for key in found]}
        if method == "POST" and path == "/rest/api/2/issue":
            key = f"EC-{len(self.issues) + 1}"
            self.issues[key] = content["fields"] | {"status": "new"}
            return 201, {"id": "1", "key": key}
        key = path.removeprefix("/rest/api/2/issue/").split("/")[0]
        if key not in self.issues or not path.startswith("/rest/api/2/issue/"):
            return 404, {"errorMessages": ["not there"]}
        if path.endswith("/transitions"):
            if method == "GET":
                done = {"id": "31", "to": {"statusCategory": {"key": "done"}}}
                return 200, {"transitions": [{"id": "11", "to": {"statusCategory": {"key": "new"}}}, done]}
            assert content == {"transition": {"id": "31"}}
            self.issues[key]["status"] = "done"
            return 204, None
        self.issues[key].update(content["fields"])
        return 204, None

    def _gitlab(self, method: str, path: str, query: Any, headers: Any, content: Any) -> tuple[int, Any]:
        if headers.get("PRIVATE-TOKEN") != TOKEN:
            return 401, {"message": "401 Unauthorized"}
        base = "/api/v4/projects/energy/desk/issues"
        if not path.startswith(base):
            return 404, {"message": "404 Project Not Found"}
        if method == "GET":
            label = query["labels"][0]
            return 200, [issue for issue in self.issues.values() if label in issue["labels"]]
        if method == "POST":
            made = str(len(self.issues) + 1)
            self.issues[made] = {"iid": int(made), "web_url": f"{self.url}/energy/desk/-/issues/{made}"} | content
            return 201, self.issues[made]
        number = path.removeprefix(f"{base}/")
        if number not in self.issues:
            return 404, {"message": "404 Not found"}
        self.issues[number].update(content)
        return 200, self.issues[number]

    def _webhook(self, method: str, path: str, query: Any, headers: Any, content: Any) -> tuple[int, Any]:
        self.issues[headers["Idempotency-Key"]] = content
        return 200, {"id": f"W{content['ticket']['id']}", "url": f"{self.url}/W{content['ticket']['id']}"}


@contextmanager
def serving(kind: str) -> Iterator[Tracker]:
    """A tracker that listens on loopback."""
    tracker = Tracker(kind)

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            failure = tracker.failures.pop(0) if tracker.failures else None
            if isinstance(failure, int):
                self.send_response(failure)
                self.send_header("Retry-After", "0")
                self.send_header("Location", tracker.url + "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            status, content = tracker.answer(self.command, self.path, self.headers, body)
            if failure == "lost":
                self.close_connection = True
                return
            out = b"" if content is None else json.dumps(content).encode()
            if failure == "nonsense":
                out = b"<html>an answer of the proxy</html>"
            self.send_response(status)
            self.send_header("Content-Length", str(len(out)))
            self.end_headers()
            self.wfile.write(out)

        do_GET = do_POST = do_PUT = _serve  # noqa: N815 - names of the base class

        def log_message(self, *_words: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    tracker.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield tracker
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
