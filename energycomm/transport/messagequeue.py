"""A message service that is polled: SendMessage, GetMessage, GetMessageCount and IsAvailable over SOAP.

Which elements carry what is the market's matter; the names are arguments. GetMessage is taken to remove the message
that it gives, so each lies in the spool before anything else happens, and none is asked for while the disk could not
take it. Where a service has an operation that confirms a message instead, it is called after the store has the bytes.
"""

from __future__ import annotations

import base64
import binascii
import io
import shutil
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, Protocol

from lxml import etree
from msgspec import Struct

from energycomm.kernel.counting import counted
from energycomm.transport.channel import Arrival, Direction, Outgoing, Sent, TechnicalError
from energycomm.transport.folder_lock import safe_name
from energycomm.transport.folders import local_error
from energycomm.transport.https import Answer, HttpsClient, HttpsServer
from energycomm.transport.soap import Body, SoapVersion, headers_of, understood, wrapped
from energycomm.transport.spool import Entry, Spool

TRUE: Final = {"true", "1"}


class Waiting(Protocol):
    """A service with messages that wait for us, as `QueueIn` empties it.

    Attributes:
      client: asks it.
      queues: names of the queues that are emptied, one after the other; None for the only one.
    """

    @property
    def client(self) -> HttpsClient: ...  # noqa: D102
    @property
    def queues(self) -> Sequence[str | None]: ...  # noqa: D102

    def check(self) -> str | TechnicalError:
        """Ask whether the service is there: a sentence, or the error."""
        ...

    def count(self, queue: str | None) -> int | TechnicalError | None:
        """The number of messages that wait in a queue, None where the service does not count them."""
        ...

    def get(self, queue: str | None) -> tuple[str, bytes] | TechnicalError | None:
        """The next message of a queue, its identifier (empty where it has none) and its bytes; None if none waits."""
        ...

    def confirm(self, identifier: str) -> TechnicalError | None:
        """Have a message removed that we have; nothing where getting it removes it."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


class QueueNames(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The names of one service. An operation's request element is also the last part of its SOAPAction.

    Attributes:
      namespace: of all elements below.
      action: beginning of the SOAPAction; the request element's name is put behind it. Empty for none at all.
      send, get, count, available: the request elements of the four operations.
      confirm: request element of the operation that removes a message; None where GetMessage does.
      queue: element of a request that names the queue.
      message: element that holds the payload.
      identifier: element of a message's identifier: ours when we send, the service's when we get.
      kind: element of the message type when we send; None to leave it out.
      total: element of the answer with the number of waiting messages.
      state: element of the answer that says ``true`` when the service is available.
      payload: how the payload stands in its element: ``base64``, or as ``xml``.
    """

    namespace: str
    action: str = ""
    send: str = "SendMessageRequest"
    get: str = "GetMessageRequest"
    count: str = "GetMessageCountRequest"
    available: str = "IsAvailableRequest"
    confirm: str | None = None
    queue: str = "QueueName"
    message: str = "Message"
    identifier: str = "MessageIdentifier"
    kind: str | None = "MessageType"
    total: str = "MessageCount"
    state: str = "Available"
    payload: Literal["base64", "xml"] = "base64"


class QueueService:
    """The operations of a service, for both directions.

    Args:
      channel: name of the channel.
      server: the service and our certificate.
      names: what its elements are called.
      queue: name of our queue; None to leave it out.
      version: SOAP version.
    """

    def __init__(
        self,
        channel: str,
        server: HttpsServer,
        names: QueueNames,
        queue: str | None = None,
        version: SoapVersion = "1.1",
    ) -> None:
        self.client = HttpsClient(channel, server)
        self.names, self.queue, self.version = names, queue, version
        self.queues: Sequence[str | None] = (queue,)

    def check(self) -> str | TechnicalError:
        """Ask whether the service is available and how much waits."""
        count = self.available() or self.count(self.queue)
        if isinstance(count, TechnicalError):
            return count
        return f"the service is available, {counted(count, 'message waits', 'messages wait')}"

    def close(self) -> None:
        """Close connections; the next use opens others."""
        self.client.close()

    def available(self) -> TechnicalError | None:
        """Ask whether the service is available; an error where it is not."""
        body = self.call(self.names.available, {})
        if isinstance(body, TechnicalError):
            return body
        words = self.text(body, self.names.state)
        if words.lower() in TRUE:
            return None
        return self._error("CHANNEL_SERVER", f"the service says it is not available ({words or 'no word'})")

    def count(self, queue: str | None) -> int | TechnicalError:
        """The number of messages that wait."""
        body = self.call(self.names.count, {self.names.queue: queue})
        if isinstance(body, TechnicalError):
            return body
        words = self.text(body, self.names.total)
        if not words.isascii() or not words.isdecimal() or len(words) > 9:
            return self._error("CHANNEL_ANSWER", f"no number of messages in {self.names.total}")
        return int(words)

    def get(self, queue: str | None) -> tuple[str, bytes] | TechnicalError | None:
        """The next message: its identifier (empty where it has none) and its bytes; None where none waits."""
        body = self.call(self.names.get, {self.names.queue: queue})
        if isinstance(body, TechnicalError):
            return body
        holder = self._find(body, self.names.message)
        if holder is None:
            return None
        content = self._payload(holder)
        if isinstance(content, TechnicalError):
            return content
        return self.text(body, self.names.identifier), content

    def confirm(self, identifier: str) -> TechnicalError | None:
        """Have a message removed that we have, where GetMessage does not remove it."""
        operation = self.names.confirm
        if operation is None:
            return None
        fields = {self.names.queue: self.queue, self.names.identifier: identifier}
        body = self.call(operation, fields, item=identifier)
        return body if isinstance(body, TechnicalError) else None

    def call(self, operation: str, fields: Mapping[str, str | None], item: str | None = None) -> Body | TechnicalError:
        """Call an operation with simple fields; a fault is an error, with its reasons or without."""
        body_and_answer = self.exchange(self._request(operation, fields), operation, item)
        if isinstance(body_and_answer, TechnicalError):
            return body_and_answer
        body, _ = body_and_answer
        if body.fault is not None:
            return self._error("CHANNEL_REFUSED", f"SOAP fault {body.fault}: {body.reason or 'no words'}", item)
        return body

    def exchange(self, request: bytes, operation: str, item: str | None) -> tuple[Body, Answer] | TechnicalError:
        """Send a SOAP message and read what it is answered."""
        action = f"{self.names.action}{operation}" if self.names.action else ""
        answer = self.client.post(request, headers_of(self.version, action), item=item)
        if isinstance(answer, TechnicalError):
            return answer
        body = understood(self.client, answer, item)
        return body if isinstance(body, TechnicalError) else (body, answer)

    def sending(self, message: Outgoing) -> bytes:
        """The request that sends a message.

        Raises:
          ValueError: the payload is to stand there as XML and is none.
        """
        names = self.names
        fields: dict[str, str | None] = {names.queue: self.queue, names.identifier: message.reference}
        if names.kind is not None:
            fields[names.kind] = message.type
        root = self._element(names.send, fields)
        holder = etree.SubElement(root, etree.QName(names.namespace, names.message))
        if names.payload == "base64":
            holder.text = base64.b64encode(message.content).decode("ascii")
            return wrapped(etree.tostring(root), self.version)
        # The payload is put in as it is, byte by byte: what was validated and perhaps signed is not written anew.
        holder.text = mark = sha256(message.content).hexdigest()
        head = message.content.lstrip(b"\xef\xbb\xbf \t\r\n")
        if head.startswith(b"<?xml"):
            head = head.partition(b"?>")[2]
        if not head.lstrip().startswith(b"<") or b"<!DOCTYPE" in head:
            raise ValueError("the payload is not XML")
        return wrapped(etree.tostring(root).replace(mark.encode(), head), self.version)

    def text(self, body: Body, name: str) -> str:
        """The text of the first element of that name, without white space around it."""
        found = self._find(body, name)
        return (found.text or "").strip() if found is not None else ""

    def _find(self, body: Body, name: str) -> etree._Element | None:
        if body.element is None:
            return None
        return next(body.element.iter(f"{{{self.names.namespace}}}{name}"), None)

    def _payload(self, holder: etree._Element) -> bytes | TechnicalError:
        if self.names.payload == "xml":
            child = next((item for item in holder if isinstance(item.tag, str)), None)
            if child is None:
                return self._error("CHANNEL_ANSWER", f"{self.names.message} is empty")
            return etree.tostring(child, encoding="UTF-8", xml_declaration=True, with_tail=False)
        try:
            return base64.b64decode("".join((holder.text or "").split()), validate=True)
        except (binascii.Error, ValueError):
            return self._error("CHANNEL_ANSWER", f"{self.names.message} is not base64")

    def _request(self, operation: str, fields: Mapping[str, str | None]) -> bytes:
        return wrapped(etree.tostring(self._element(operation, fields)), self.version)

    def _element(self, operation: str, fields: Mapping[str, str | None]) -> etree._Element:
        root = etree.Element(etree.QName(self.names.namespace, operation), nsmap={"m": self.names.namespace})
        for name, value in fields.items():
            if value is not None:
                etree.SubElement(root, etree.QName(self.names.namespace, name)).text = value
        return root

    def _error(self, code: str, detail: str, item: str | None = None) -> TechnicalError:
        return TechnicalError(code=code, channel=self.client.channel, detail=detail, item=item)


class QueueIn:
    """The receiving side of a message service.

    Args:
      name: name of the channel.
      market: ISO code of the market.
      service: the service.
      spool: folder of ours where messages lie until the store has them.
      max_messages: most messages of one poll.

    Attributes:
      more: whether the last poll left messages that can be had as soon as those that it gave are acknowledged: a
        service that removes what is confirmed gives the first message of a queue until then.
    """

    direction: Direction = "in"

    def __init__(self, name: str, market: str, service: Waiting, spool: Path, *, max_messages: int = 500) -> None:
        self.name, self.market, self.more = name, market, False
        self._service, self._spool, self._max_messages = service, Spool(name, spool), max_messages

    def check(self) -> str | TechnicalError:
        """Ask whether the service is there."""
        return self._service.check()

    def close(self) -> None:
        """Close connections and let others poll."""
        self._service.close()
        self._spool.close()

    def poll(self) -> Iterator[Arrival | TechnicalError]:
        """First what was got before a crash, then as many messages as wait, one queue after the other."""
        self.more = False
        error = self._spool.open_for_polling()
        if error is not None:
            yield error
            return
        yield from self._spool.arrivals(self._told)
        errors = self._spool.retell(self._told)
        if errors:
            yield from errors
            return
        left = self._max_messages
        for queue in self._service.queues:
            for outcome in self._waiting(queue, left):
                left -= 1
                yield outcome
                if isinstance(outcome, TechnicalError):
                    return

    def _waiting(self, queue: str | None, most: int) -> Iterator[Arrival | TechnicalError]:
        """The messages of one queue, at most so many; an error ends them."""
        count = self._service.count(queue)
        if isinstance(count, TechnicalError):
            yield count
            return
        others = self.more
        for number in range(most if count is None else min(count, most)):
            outcome = self._next(queue)
            if outcome is None:
                return
            further = count is None or number + 1 < count
            self.more = others or (further and not isinstance(outcome, TechnicalError))
            yield outcome

    def _next(self, queue: str | None) -> Arrival | TechnicalError | None:
        """Get one message into the spool; None where none waits, or the first one is still unconfirmed."""
        room = shutil.disk_usage(self._spool.folder).free
        if room < self._service.client.server.max_answer:
            return local_error("CHANNEL_LOCAL", self.name, f"only {room} bytes are free in {self._spool.folder}")
        got = self._service.get(queue)
        if got is None or isinstance(got, TechnicalError):
            return got
        identifier, content = got
        digest = sha256(content).hexdigest()
        key = f"{identifier}|{digest}"
        if self._spool.find(key) is not None:
            return None
        name = safe_name(identifier or digest[:32]) + _ending(content)
        try:
            entry = self._spool.put(key, name, io.BytesIO(content), reference=identifier or None)
        except OSError as fault:
            return local_error("CHANNEL_LOCAL", self.name, fault, identifier)
        return self._spool.arrival(entry, self._told)

    def _told(self, entry: Entry) -> TechnicalError | None:
        return None if entry.reference is None else self._service.confirm(entry.reference)


def _ending(content: bytes) -> str:
    begins = content[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return ".xml" if begins == b"<" else ".json" if begins in (b"{", b"[") else ""


class QueueOut:
    """The sending side of a message service.

    Args:
      name: name of the channel.
      market: ISO code of the market.
      service: the service.
    """

    direction: Direction = "out"

    def __init__(self, name: str, market: str, service: QueueService) -> None:
        self.name, self.market, self._service = name, market, service

    def check(self) -> str | TechnicalError:
        """Ask whether the service is available."""
        return self._service.available() or "the service is available"

    def close(self) -> None:
        """Close connections."""
        self._service.close()

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        """Send a message; the service's own identifier for it is the receipt, a fault with reasons the answer."""
        try:
            request = self._service.sending(message)
        except ValueError as fault:
            detail = str(fault)
            return TechnicalError(code="CHANNEL_REFUSED", channel=self.name, detail=detail, item=message.reference)
        outcome = self._service.exchange(request, self._service.names.send, message.reference)
        if isinstance(outcome, TechnicalError):
            return outcome
        body, answer = outcome
        if body.fault is not None:
            return Sent(reference=message.reference, receipt=f"fault {body.fault}", answer=answer.content)
        receipt = self._service.text(body, self._service.names.identifier) or f"HTTP {answer.status}"
        return Sent(reference=message.reference, receipt=receipt)
