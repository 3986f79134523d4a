"""Questions between their sending and the stream that answers them, and the latest answers as they were given."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import NamedTuple

from assistant.chat.answer import Answer
from assistant.chat.assistant import Assistant, turn_of
from assistant.chat.attachments import Attachments
from assistant.chat.log import Exchange, Log
from assistant.retrieval.query import Filters

MOST_WAITING = 64
"""Questions that were sent and not yet fetched; conversations whose answers are held."""
MOST_DELETED = 1_000

Key = tuple[str, str]
"""Author and name of a conversation."""


class Waiting(NamedTuple):
    """A question that waits for its stream."""

    author: str
    conversation: str
    question: str
    filters: Filters


class Desk:
    """Answers questions, one after the other.

    Args:
      assistant: answers.
      log: where questions and answers are kept.
      attachments: the documents of conversations.
      model: one model, two cores: held by whoever uses it.
    """

    def __init__(self, assistant: Assistant, log: Log, attachments: Attachments, model: threading.Lock) -> None:
        self.assistant, self.log, self.attachments, self.model = assistant, log, attachments, model
        self._waiting: dict[str, Waiting] = {}
        self._turns: dict[Key, list[tuple[int | None, Answer]]] = {}
        self._deleted: dict[Key, None] = {}

    def put(self, waiting: Waiting) -> str:
        """Keep a question; returns the ticket that its stream is asked with."""
        while len(self._waiting) >= MOST_WAITING:
            self._waiting.pop(next(iter(self._waiting)))
        ticket = secrets.token_urlsafe(12)
        self._waiting[ticket] = waiting
        return ticket

    def take(self, ticket: str, author: str) -> Waiting | None:
        """The question of a ticket, once; None where it is not the author's."""
        waiting = self._waiting.get(ticket)
        return self._waiting.pop(ticket, None) if waiting is not None and waiting.author == author else None

    def answer(self, waiting: Waiting, streamed: Callable[[str], None]) -> tuple[Answer, int | None]:
        """Answer a question, and log it where its conversation is still there; with its number in the log."""
        key = (waiting.author, waiting.conversation)
        with self.model:
            turns = self._turns.setdefault(key, self._logged(key))
            own = self.attachments.search(*key)
            assistant = self.assistant if own is None else self.assistant.beside(own)
            earlier = [turn_of(answer) for _, answer in turns[-3:]]
            answer = assistant.ask(waiting.question, waiting.filters, earlier, streamed)
        if key in self._deleted:
            self._turns.pop(key, None)
            return answer, None
        number = self._log(answer, key)
        turns.append((number, answer))
        while len(self._turns) > MOST_WAITING:
            self._turns.pop(next(iter(self._turns)))
        return answer, number

    def _log(self, answer: Answer, key: Key) -> int | None:
        """Log an answer; what the log drops for it, by age or number, goes with its documents."""
        author, conversation = key
        before = {one.name for one in self.log.conversations(author)}
        number = self.log.write(answer, conversation, author)
        for name in before - {one.name for one in self.log.conversations(author)}:
            self.forget(author, name)
        return number

    def turns(self, author: str, conversation: str) -> list[Exchange]:
        """A conversation as it is shown again: the latest answers as they were given, older ones as they are logged."""
        given = dict(self._turns.get((author, conversation), []))
        logged = self.log.conversation(conversation, author)
        if not self.log.enabled:
            answers = [answer for _, answer in self._turns.get((author, conversation), [])]
            return [Exchange(id=0, at="", question=answer.question, answer=answer) for answer in answers]
        return [
            Exchange(id=one.id, at=one.at, question=one.question, answer=given.get(one.id, one.answer), good=one.good,
                     comment=one.comment)
            for one in logged
        ]  # fmt: skip

    def forget(self, author: str, conversation: str) -> None:
        """Forget a conversation; an answer that is under way is not kept."""
        key = (author, conversation)
        self._turns.pop(key, None)
        self._deleted[key] = None
        while len(self._deleted) > MOST_DELETED:
            self._deleted.pop(next(iter(self._deleted)))
        self.attachments.forget(author, conversation)

    def deleted(self, author: str, conversation: str) -> bool:
        """Whether a conversation was deleted."""
        return (author, conversation) in self._deleted

    def _logged(self, key: Key) -> list[tuple[int | None, Answer]]:
        author, conversation = key
        return [(one.id, one.answer) for one in self.log.conversation(conversation, author)]
