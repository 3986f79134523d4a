"""A message service with queues behind the HTTPS test server: sends, gets, counts, confirms."""

from __future__ import annotations

import base64

from lxml import etree

from energycomm.transport.messagequeue import QueueNames
from tests.servers.https import Reply, Request

SOAP = "http://schemas.xmlsoap.org/soap/envelope/"


class QueueBehaviour:
    """What the service holds and does.

    Attributes:
      waiting: (identifier, content) of the messages for us.
      sent: (reference, kind, content) of ours.
      is_available: what IsAvailable says.
      calls: names of the operations that were called.
    """

    def __init__(self, names: QueueNames) -> None:
        self.names = names
        self.waiting: list[tuple[str, bytes]] = []
        self.sent: list[tuple[str, str, bytes]] = []
        self.is_available = True
        self.calls: list[str] = []

    def __call__(self, request: Request) -> Reply:
        names = self.names
        body = etree.fromstring(request.content)[0][0]
        operation = etree.QName(body).localname
        self.calls.append(operation)
        fields = {etree.QName(item).localname: item for item in body}
        if operation == names.available:
            return self._reply(f"<{names.state}>{str(self.is_available).lower()}</{names.state}>")
        if operation == names.count:
            return self._reply(f"<{names.total}>{len(self.waiting)}</{names.total}>")
        if operation == names.confirm:
            self.waiting = [item for item in self.waiting if item[0] != fields[names.identifier].text]
            return self._reply("")
        if operation == names.get:
            return self._get()
        holder = fields[names.message]
        content = etree.tostring(holder[0]) if names.payload == "xml" else base64.b64decode(holder.text or "")
        reference = fields[names.identifier].text or ""
        self.sent.append((reference, fields[names.kind or ""].text or "", content))
        return self._reply(f"<{names.identifier}>their-{len(self.sent)}</{names.identifier}>")

    def _get(self) -> Reply:
        names = self.names
        if not self.waiting:
            return self._reply("")
        identifier, content = self.waiting[0] if names.confirm else self.waiting.pop(0)
        payload = content.decode() if names.payload == "xml" else base64.b64encode(content).decode()
        identified = f"<{names.identifier}>{identifier}</{names.identifier}>" if identifier else ""
        return self._reply(f"{identified}<{names.message}>{payload}</{names.message}>")

    def _reply(self, content: str) -> Reply:
        inner = f'<Answer xmlns="{self.names.namespace}">{content}</Answer>'
        return Reply(content=f'<s:Envelope xmlns:s="{SOAP}"><s:Body>{inner}</s:Body></s:Envelope>'.encode())
