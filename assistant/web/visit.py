"""Whose a request is.

What somebody asked belongs to them: to the person that the sign-in tells (`request.state.person`), or, where nobody
signs in, to the browser that holds a secret cookie. What others asked and were answered is as if it did not exist.
"""

from __future__ import annotations

import re
import secrets
from hashlib import sha256

from fastapi import Request, Response

VISITOR = "visitor"
"""Cookie of a browser where nobody signs in."""
VISITOR_SECONDS = 365 * 86_400
SHORTEST_COOKIE = 32

CONVERSATION = "conversation"
"""Cookie, and field of forms, with the name of the conversation."""
_NAME = re.compile(r"[\w-]{1,64}", re.ASCII)


class Visit:
    """Whose a request is.

    Args:
      request: the request.

    Attributes:
      author: as the log names them.
    """

    def __init__(self, request: Request) -> None:
        person = getattr(request.state, "person", None)
        cookie = request.cookies.get(VISITOR, "")
        self._new = "" if person is not None or len(cookie) >= SHORTEST_COOKIE else secrets.token_urlsafe(24)
        if person is not None:
            self.author = f"person {person.name}"
        else:
            self.author = f"visitor {sha256((self._new or cookie).encode()).hexdigest()}"

    def remember(self, answer: Response, conversation: str = "") -> None:
        """Give a browser that is not known the cookie that it will be known by, and that of its conversation."""
        if self._new:
            answer.set_cookie(VISITOR, self._new, max_age=VISITOR_SECONDS, httponly=True, samesite="strict")
        if conversation:
            answer.set_cookie(CONVERSATION, conversation, httponly=True, samesite="strict")


def conversation_of(request: Request, told: str | None) -> str:
    """The name of a conversation: as the form or address tells it, else as the cookie does; empty otherwise."""
    name = told or request.cookies.get(CONVERSATION, "")
    return name if _NAME.fullmatch(name) else ""


def new_conversation() -> str:
    """A name that nobody can guess."""
    return secrets.token_urlsafe(12)
