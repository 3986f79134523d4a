"""A browser that chats, for tests."""

from __future__ import annotations

import html
import re
from typing import Any

from starlette.testclient import TestClient


class Chatter:
    """Somebody who chats.

    Args:
      app: the chat.
    """

    def __init__(self, app: Any) -> None:
        self.client = TestClient(app)
        self.client.get("/")

    @property
    def conversation(self) -> str:
        """The conversation that is open."""
        return str(self.client.cookies["conversation"])

    def begin(self) -> str:
        """Begin a new conversation; its name."""
        self.client.get("/?new=1")
        return self.conversation

    def ask(self, question: str, **filters: str) -> str:
        """What the page gets for a question."""
        data = {"question": question, "conversation": self.conversation, **filters}
        pending = self.client.post("/ask", data=data)
        ticket = re.search(r"answers/([\w-]+)", pending.text)
        assert ticket, pending.text
        return str(self.client.get(f"/answers/{ticket.group(1)}").text)

    def attach(self, name: str, content: bytes) -> Any:
        """Attach a document."""
        data = {"conversation": self.conversation}
        return self.client.post("/attachments", data=data, files={"document": (name, content)})

    def post(self, path: str, **fields: str) -> Any:
        """Send a form."""
        return self.client.post(path, data={"conversation": self.conversation, **fields})


def links(page: str, place: str) -> list[str]:
    """The addresses of a place that a page names."""
    return [html.unescape(one) for one in re.findall(rf'"(/{place}/[^"]+)"', page)]
