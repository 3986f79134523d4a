"""A queue over HTTP: the first waiting document is looked at, and removed by its identifier when the store has it.

Looking at a queue changes nothing: until it is removed, the same document is given again. What is sent is posted to a
path of its type. Which paths and headers a market has is its own matter; the names are arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal
from urllib.parse import quote

from msgspec import Struct

from energycomm.transport.channel import Direction, Outgoing, Sent, TechnicalError
from energycomm.transport.https import Answer, HttpsClient, HttpsServer
from energycomm.transport.tokens import ClientCredentials

Form = Literal["xml", "json"]

MEDIA_TYPES: Final[Mapping[str, str]] = {"xml": "application/xml", "json": "application/json"}
GONE: Final = (404, 410)
"""What a service answers to the removal of something that it does not have."""
_IDENTIFIER = re.compile(r"[!-~]{1,200}")
_LONGEST_WORDS = 300


class HttpQueueNames(Struct, frozen=True, kw_only=True):
    """The names of one service. Paths are relative to its address.

    Attributes:
      peek: path of the first waiting document; ``{queue}`` is the name of the queue.
      dequeue: path that is deleted to remove a document; ``{identifier}`` is that of the document.
      post: path that a message is sent to; ``{type}`` is the market's name of its type.
      identifier: header of an answer that holds the identifier of the document.
      known: code in a refusal of a message that the service has already; None where it has no such code.
    """

    peek: str = "peek/{queue}"
    dequeue: str = "dequeue/{identifier}"
    post: str = "{type}"
    identifier: str = "MessageId"
    known: str | None = None


class HttpQueueService:
    """The operations of a service, for both directions.

    Args:
      channel: name of the channel.
      server: the service and our certificate.
      names: its paths and headers.
      queues: names of the queues that are emptied.
      form: in which documents are asked for.
      credentials: give tokens; None where a certificate is enough.
    """

    def __init__(
        self,
        channel: str,
        server: HttpsServer,
        names: HttpQueueNames,
        queues: Sequence[str],
        form: Form = "xml",
        credentials: ClientCredentials | None = None,
    ) -> None:
        self.client = HttpsClient(channel, server)
        self.names, self.queues, self.form = names, queues, form
        self._credentials = credentials

    def check(self) -> str | TechnicalError:
        """Look at the first queue; nothing is removed."""
        found = self.get(self.queues[0])
        if isinstance(found, TechnicalError):
            return found
        return "the service answers, " + ("nothing waits" if found is None else "a document waits")

    def count(self, queue: str | None) -> None:
        """Nothing: the service does not count."""

    def get(self, queue: str | None) -> tuple[str, bytes] | TechnicalError | None:
        """The first document of a queue with its identifier, as it lies there; None where the queue is empty."""
        # Services choose the form by either header.
        wanted = MEDIA_TYPES[self.form]
        path = self.names.peek.format(queue=quote(queue or "", safe=""))
        answer = self.call("GET", path, {"Accept": wanted, "Content-Type": wanted})
        if isinstance(answer, TechnicalError):
            return answer
        error = self.client.judge(answer)
        if error is not None:
            return error
        if answer.status == 204:
            return None
        identifier = answer.headers.get(self.names.identifier.lower(), "").strip()
        if not _IDENTIFIER.fullmatch(identifier):
            return self._error("CHANNEL_ANSWER", f"no identifier in the header {self.names.identifier}")
        if not answer.content:
            return self._error("CHANNEL_ANSWER", f"the document {identifier} is empty")
        return identifier, answer.content

    def confirm(self, identifier: str) -> TechnicalError | None:
        """Remove a document that we have. One that is in no queue any more was removed before."""
        path = self.names.dequeue.format(identifier=quote(identifier, safe=""))
        answer = self.call("DELETE", path, {}, item=identifier)
        if isinstance(answer, TechnicalError):
            return answer
        error = None if answer.status in GONE else self.client.judge(answer, identifier)
        if error is None or error.code != "CHANNEL_REFUSED":
            return error
        # A removal whose answer was lost is refused when it is repeated; the queues show whether it was one.
        for queue in self.queues:
            found = self.get(queue)
            if isinstance(found, TechnicalError):
                return found
            if found is not None and found[0] == identifier:
                return error
        return None

    def call(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes = b"", item: str | None = None
    ) -> Answer | TechnicalError:
        """Ask something, with a token where the service wants one; with a new token if it refuses the present one."""
        for attempt in (1, 2):
            told = dict(headers)
            if self._credentials is not None:
                token = self._credentials.token()
                if isinstance(token, TechnicalError):
                    return token
                told["Authorization"] = f"Bearer {token}"
            answer = self.client.request(method, told, path, item, content)
            if isinstance(answer, TechnicalError) or answer.status != 401 or self._credentials is None:
                return answer
            self._credentials.forget()
            if attempt == 2:
                break
        return answer

    def close(self) -> None:
        """Close connections."""
        self.client.close()
        if self._credentials is not None:
            self._credentials.close()

    def _error(self, code: str, detail: str) -> TechnicalError:
        return TechnicalError(code=code, channel=self.client.channel, detail=detail)


class HttpQueueOut:
    """The sending side: each message is posted to the path of its type.

    Args:
      name: name of the channel.
      market: ISO code of the market.
      service: the service.
    """

    direction: Direction = "out"

    def __init__(self, name: str, market: str, service: HttpQueueService) -> None:
        self.name, self.market, self._service = name, market, service

    def check(self) -> str | TechnicalError:
        """Look at a queue of the service; nothing is sent or removed."""
        return self._service.check()

    def close(self) -> None:
        """Close connections."""
        self._service.close()

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        """Send a message. A refusal is an error with the service's own words; one that says that the service has the
        message already is none."""
        path = self._service.names.post.format(type=quote(message.type, safe=""))
        headers = {"Content-Type": message.content_type}
        answer = self._service.call("POST", path, headers, message.content, message.reference)
        if isinstance(answer, TechnicalError):
            return answer
        error = self._service.client.judge(answer, message.reference)
        if error is None:
            receipt = answer.headers.get(self._service.names.identifier.lower(), "").strip()
            return Sent(reference=message.reference, receipt=receipt[:200] or f"HTTP {answer.status}")
        words = _words(answer.content)
        known = self._service.names.known
        if error.code in ("CHANNEL_REFUSED", "CHANNEL_CONFLICT") and known is not None and known in words.split():
            return Sent(reference=message.reference, receipt=f"HTTP {answer.status}: {known}", duplicate=True)
        if not words:
            return error
        return TechnicalError(
            code=error.code,
            channel=error.channel,
            detail=f"{error.detail}: {words}",
            item=error.item,
            retry_after=error.retry_after,
            maybe_sent=error.maybe_sent,
        )


def _words(content: bytes) -> str:
    """What a service says in a refusal, without marks of its form, short."""
    text = re.sub(r"<[^>]*>|[{}\[\]\",:]", " ", content[:4096].decode("utf-8", "replace"))
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())[:_LONGEST_WORDS]
