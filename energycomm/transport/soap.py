"""SOAP over HTTPS: SGE of Enedis, the services of EDSN. A request goes out, its answer comes back at once.

An answer of the market is content, a fault that gives its reasons (``detail``) too: it is handed on as it came. A fault
without reasons is a technical error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from lxml import etree
from msgspec import Struct

from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal
from energycomm.transport.binding import message_id_of
from energycomm.transport.channel import Direction, Outgoing, Sent, TechnicalError
from energycomm.transport.credentials import SecretUnreadableError
from energycomm.transport.https import Answer, HttpsClient, HttpsServer
from energycomm.transport.ws_security import Signer, Verifier

SoapVersion = Literal["1.1", "1.2"]
NAMESPACES: Final[dict[str, str]] = {
    "1.1": "http://schemas.xmlsoap.org/soap/envelope/",
    "1.2": "http://www.w3.org/2003/05/soap-envelope",
}
THEIR_FAULTS: Final = {"Server", "Receiver"}
"""Fault codes, local names, that say the fault is the server's."""


class Body(Struct, frozen=True, kw_only=True):
    """The content of a SOAP body.

    Attributes:
      element: the first element; None where the body is empty or holds a fault.
      fault: local name of the fault's code; None where there is no fault.
      reason: the fault's words.
      detailed: whether the fault gives its reasons as elements.
    """

    element: etree._Element | None = None
    fault: str | None = None
    reason: str = ""
    detailed: bool = False


def wrapped(content: bytes, version: SoapVersion) -> bytes:
    """The content as a SOAP message: as it is where it is one already, else in the body of an empty envelope.

    The content's own bytes are not changed, so that a signature inside stays valid.
    """
    head = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"<?xml"):
        head = head[head.index(b"?>") + 2 :].lstrip() if b"?>" in head else head
    refusal_or_root = safexml.parse_bytes(content)
    if not isinstance(refusal_or_root, Refusal):
        name = etree.QName(refusal_or_root)
        if name.localname == "Envelope" and name.namespace in NAMESPACES.values():
            return content
    namespace = NAMESPACES[version].encode()
    return b'<s:Envelope xmlns:s="' + namespace + b'"><s:Body>' + head + b"</s:Body></s:Envelope>"


def headers_of(version: SoapVersion, action: str) -> dict[str, str]:
    """The HTTP headers of a SOAP request."""
    if version == "1.1":
        return {"Content-Type": "text/xml; charset=utf-8", "SOAPAction": f'"{action}"'}
    parameter = f'; action="{action}"' if action else ""
    return {"Content-Type": f"application/soap+xml; charset=utf-8{parameter}"}


def read_body(content: bytes) -> Body | None:
    """The content of the body of a SOAP message; None if it is not one."""
    root = safexml.parse_bytes(content)
    if isinstance(root, Refusal):
        return None
    name = etree.QName(root)
    if name.localname != "Envelope" or name.namespace not in NAMESPACES.values():
        return None
    space = f"{{{name.namespace}}}"
    body = root.find(f"{space}Body")
    if body is None:
        return None
    element = next((child for child in body if isinstance(child.tag, str)), None)
    if element is None or element.tag != f"{space}Fault":
        return Body(element=element)
    if name.namespace == NAMESPACES["1.1"]:
        code, reason, detail = element.findtext("faultcode"), element.findtext("faultstring"), element.find("detail")
    else:
        code = element.findtext(f"{space}Code/{space}Value")
        reason = element.findtext(f"{space}Reason/{space}Text")
        detail = element.find(f"{space}Detail")
    detailed = detail is not None and any(isinstance(child.tag, str) for child in detail)
    local = (code or "Server").strip().rpartition(":")[2].partition(".")[0]
    return Body(fault=local, reason=" ".join((reason or "").split())[:200], detailed=detailed)


def understood(client: HttpsClient, answer: Answer, item: str | None) -> Body | TechnicalError:
    """The SOAP content of an HTTP answer; an error if it has none of the market.

    Args:
      client: who asked.
      answer: the answer; a fault comes with status 500, or 400.
      item: the message it is about.
    """
    error = client.judge(answer, item)
    body = read_body(answer.content) if error is None or answer.status in (400, 500) else None
    if body is None:
        return error or TechnicalError(
            code="CHANNEL_ANSWER", channel=client.channel, detail="the answer is not SOAP", item=item, maybe_sent=True
        )
    if body.fault is None:
        return error or body
    if body.detailed:
        return body
    theirs = body.fault in THEIR_FAULTS
    return TechnicalError(
        code="CHANNEL_SERVER" if theirs else "CHANNEL_REFUSED",
        channel=client.channel,
        detail=f"SOAP fault {body.fault}: {body.reason or 'no words'}",
        item=item,
        maybe_sent=theirs,
    )


class Signatures(NamedTuple):
    """How messages of a channel are signed.

    Attributes:
      signs: whether messages of a type are.
      signer: signs them.
      verifier: believes their answers; None where answers are not signed.
    """

    signs: Callable[[str], bool]
    signer: Signer
    verifier: Verifier | None = None


class SoapOut:
    """A SOAP service that answers at once.

    Args:
      name: name of the channel.
      market: ISO code of the market.
      server: the service and our certificate.
      version: SOAP version.
      actions: message type -> SOAPAction; empty for types that are not listed.
      paths: message type -> path of the service, relative to the server's address.
      signatures: how messages are signed; None where none is.
    """

    direction: Direction = "out"

    def __init__(
        self,
        name: str,
        market: str,
        server: HttpsServer,
        *,
        version: SoapVersion = "1.1",
        actions: Mapping[str, str] | None = None,
        paths: Mapping[str, str] | None = None,
        signatures: Signatures | None = None,
    ) -> None:
        self.name, self.market = name, market
        self._client = HttpsClient(name, server)
        self._version, self._actions, self._paths = version, dict(actions or {}), dict(paths or {})
        self._signatures = signatures

    def check(self) -> str | TechnicalError:
        """Open a TLS connection as a test; nothing is requested.

        An empty body is sent: a service refuses that, which shows that it is there and knows our certificate.
        """
        answer = self._client.post(b"", headers_of(self._version, ""))
        if isinstance(answer, TechnicalError):
            return answer
        if answer.status in (401, 403, 407):
            return self._client.judge(answer) or ""
        return f"the service answers (HTTP status {answer.status} to an empty request)"

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        """Send a request; its answer, a fault with reasons too, is in `Sent.answer`."""
        content = wrapped(message.content, self._version)
        message_id = None
        signatures = self._signatures if self._signatures and self._signatures.signs(message.type) else None
        if signatures is not None:
            try:
                if signatures.verifier is not None and signatures.verifier.trust.answers == "bound":
                    message_id = message_id_of(message.reference, content)
                content = signatures.signer.sign(content, message_id, self._actions.get(message.type, ""))
            except (SecretUnreadableError, ValueError) as fault:
                return self._untrusted("CHANNEL_LOCAL", str(fault), message, maybe_sent=False)
        headers = headers_of(self._version, self._actions.get(message.type, ""))
        answer = self._client.post(content, headers, self._paths.get(message.type, ""), message.reference)
        if isinstance(answer, TechnicalError):
            return answer
        body = understood(self._client, answer, message.reference)
        if isinstance(body, TechnicalError):
            return body
        if signatures is not None and signatures.verifier is not None:
            try:
                doubt = signatures.verifier.fault(answer.content, message_id)
            except SecretUnreadableError as fault:
                return self._untrusted("CHANNEL_LOCAL", str(fault), message, maybe_sent=True)
            if doubt is not None:
                words = f"the answer is not accepted: {doubt}"
                return self._untrusted("CHANNEL_SIGNATURE", words, message, maybe_sent=True)
        return Sent(reference=message.reference, receipt=f"HTTP {answer.status}", answer=answer.content)

    def _untrusted(self, code: str, detail: str, message: Outgoing, *, maybe_sent: bool) -> TechnicalError:
        return TechnicalError(
            code=code, channel=self.name, detail=detail, item=message.reference, maybe_sent=maybe_sent
        )
