"""Signatures of SOAP messages: WS-Security with an X.509 certificate, over the body, as the Dutch P4 portal demands.

What is signed is the body by exclusive canonical XML; the certificate goes with the message in a BinarySecurityToken.
A signature depends on the message and the key alone (RSA, PKCS #1 v1.5): the same message gives the same bytes.

An answer is believed when the body that is used is the one that is signed: the only element with the identifier that
the signature refers to, where a body belongs, by a key of a certificate that the configuration names and that may sign
now; and when it says under its signature which request it answers and when, see `energycomm.transport.binding`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509 import Certificate
from lxml import etree
from msgspec import Struct

from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal
from energycomm.transport import binding
from energycomm.transport.binding import WSSE, WSU, Doubt
from energycomm.transport.certificates import read_certificates, unfit
from energycomm.transport.credentials import Secret, SecretUnreadableError

Algorithm = Literal["rsa-sha1", "rsa-sha256"]
Answers = Literal["bound", "timed", "signed"]
MOST_REFERENCES: Final = 20

SOAP_SPACES: Final = ("http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope")
DS: Final = "http://www.w3.org/2000/09/xmldsig#"
_OASIS = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-"
_BASE64 = _OASIS + "soap-message-security-1.0#Base64Binary"
_X509 = _OASIS + "x509-token-profile-1.0#X509v3"
C14N: Final = "http://www.w3.org/2001/10/xml-exc-c14n#"
_ID = f"{{{WSU}}}Id"
_SIGNATURES: dict[str, type[hashes.HashAlgorithm]] = {
    f"{DS}rsa-sha1": hashes.SHA1,  # what the policy of P4 (Basic128) asks for; believed only where it is configured
    "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256": hashes.SHA256,
    "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512": hashes.SHA512,
}
_DIGESTS: dict[str, type[hashes.HashAlgorithm]] = {
    f"{DS}sha1": hashes.SHA1,
    "http://www.w3.org/2001/04/xmlenc#sha256": hashes.SHA256,
    "http://www.w3.org/2001/04/xmlenc#sha512": hashes.SHA512,
}
_WRITTEN: dict[Algorithm, tuple[str, str]] = {
    "rsa-sha1": (f"{DS}rsa-sha1", f"{DS}sha1"),
    "rsa-sha256": ("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", "http://www.w3.org/2001/04/xmlenc#sha256"),
}
_BODY, _TOKEN = "ec-body", "ec-certificate"


class Signer:
    """Signs messages. Certificate and key are read when they are used: new files take effect without a restart.

    Args:
      certificate_file: our certificate in PEM; the first one of the file goes with the message.
      key_file: its private RSA key in PEM; None where it is in `certificate_file`.
      passphrase: opens the key; None where it is not encrypted.
      algorithm: how the signature is made.
    """

    def __init__(
        self,
        certificate_file: Path,
        key_file: Path | None = None,
        passphrase: Secret | None = None,
        algorithm: Algorithm = "rsa-sha256",
    ) -> None:
        self.certificate_file, self.key_file = certificate_file, key_file or certificate_file
        self.passphrase, self.algorithm = passphrase, algorithm

    def sign(self, content: bytes, message_id: str | None = None, action: str = "") -> bytes:
        """A SOAP message with the signature of its body in its header.

        Args:
          content: a SOAP envelope.
          message_id: wsa:MessageID that its answer has to repeat, signed as well; None writes none.
          action: wsa:Action that goes with it.

        Raises:
          SecretUnreadableError: certificate or key cannot be used; the words name the file and never the key.
          ValueError: the content is no SOAP envelope with a body.
        """
        envelope, body = _opened(content)
        certificate, key = self._read()
        method, digest = _WRITTEN[self.algorithm]
        body.set(_ID, _BODY)
        header = _header(envelope)
        parts = {_BODY: body}
        if message_id is not None:
            parts |= binding.address(header, _ID, message_id, action)
        security = self._security(header, certificate)
        signature = etree.SubElement(security, f"{{{DS}}}Signature", nsmap={"ds": DS})
        signed = _sub(signature, DS, "SignedInfo")
        _sub(signed, DS, "CanonicalizationMethod", Algorithm=C14N)
        _sub(signed, DS, "SignatureMethod", Algorithm=method)
        for name, part in parts.items():
            reference = _sub(signed, DS, "Reference", URI=f"#{name}")
            _sub(_sub(reference, DS, "Transforms"), DS, "Transform", Algorithm=C14N)
            _sub(reference, DS, "DigestMethod", Algorithm=digest)
            _sub(reference, DS, "DigestValue").text = _hashed(_DIGESTS[digest], _canonical(part))
        value = key.sign(_canonical(signed), PKCS1v15(), _SIGNATURES[method]())
        _sub(signature, DS, "SignatureValue").text = base64.b64encode(value).decode("ascii")
        token = _sub(_sub(signature, DS, "KeyInfo"), WSSE, "SecurityTokenReference")
        _sub(token, WSSE, "Reference", URI=f"#{_TOKEN}", ValueType=_X509)
        return bytes(etree.tostring(envelope, encoding="UTF-8", xml_declaration=True))

    def _read(self) -> tuple[Certificate, RSAPrivateKey]:
        certificate = read_certificates(self.certificate_file)[0]
        words = self.passphrase.read().encode() if self.passphrase is not None else None
        try:
            key = load_pem_private_key(self.key_file.read_bytes(), words)
        except (OSError, ValueError, TypeError):
            raise SecretUnreadableError(f"the key of {self.key_file} cannot be read with its pass phrase") from None
        if not isinstance(key, RSAPrivateKey) or key.public_key() != certificate.public_key():
            raise SecretUnreadableError(f"{self.key_file} holds no RSA key of the certificate {self.certificate_file}")
        return certificate, key

    @staticmethod
    def _security(header: etree._Element, certificate: Certificate) -> etree._Element:
        space = etree.QName(header).namespace
        security = etree.SubElement(header, f"{{{WSSE}}}Security", nsmap={"wsse": WSSE, "wsu": WSU})
        security.set(f"{{{space}}}mustUnderstand", "1")
        token = _sub(security, WSSE, "BinarySecurityToken", EncodingType=_BASE64, ValueType=_X509)
        token.set(_ID, _TOKEN)
        token.text = base64.b64encode(certificate.public_bytes(Encoding.DER)).decode("ascii")
        return security


class Trust(Struct, frozen=True, kw_only=True):
    """What makes an answer believed, besides its signature.

    Attributes:
      answers: ``bound``: it says, under its signature, which request it answers (wsa:RelatesTo) and when it was made
        (wsu:Timestamp); ``timed``: when it was made; ``signed``: neither is asked for.
      seconds: how old it may be.
      skew: seconds by which the clocks of both sides may differ.
      algorithm: ``rsa-sha1`` to believe SHA-1 as well.
    """

    answers: Answers = "bound"
    seconds: float = 300.0
    skew: float = 60.0
    algorithm: Algorithm = "rsa-sha256"


class Verifier:
    """Verifies that a SOAP message is signed by a configured certificate, for our request, within its time.

    Args:
      certificates_file: the certificates in PEM, each believed for itself; read when they are used.
      trust: what else is asked for.
      clock: the time, with its zone.
    """

    def __init__(
        self, certificates_file: Path, trust: Trust | None = None, clock: Callable[[], datetime] | None = None
    ) -> None:
        self.certificates_file, self.trust = certificates_file, trust or Trust()
        self._clock = clock or (lambda: datetime.now(UTC))

    def fault(self, content: bytes, message_id: str | None = None) -> str | None:
        """The reason why a signature is not accepted; None if the body and all required elements are signed.

        Args:
          content: the answer.
          message_id: wsa:MessageID of the request.

        Raises:
          SecretUnreadableError: the file of certificates cannot be read.
        """
        try:
            envelope, body = _opened(content)
            signature = _only(envelope, f"{{{DS}}}Signature", "signature")
            signed = _only(signature, f"{{{DS}}}SignedInfo", "SignedInfo")
            references = signed.findall(f"{{{DS}}}Reference")
            if len(references) > MOST_REFERENCES:
                raise Doubt("the signature refers to too much", len(references), f"at most {MOST_REFERENCES}")
            targets = [self._checked(envelope, reference) for reference in references]
            if body not in targets:
                raise Doubt("the signature does not cover the body", _names(targets), "Body")
            self._check_key(signature, signed)
            if self.trust.answers != "signed":
                binding.check_time(envelope, targets, self._clock(), self.trust.seconds, self.trust.skew)
            if self.trust.answers == "bound":
                binding.check_relation(envelope, targets, message_id)
        except Doubt as doubt:
            return str(doubt)
        except ValueError:
            return "it is no SOAP message"
        return None

    def _checked(self, envelope: etree._Element, reference: etree._Element) -> etree._Element:
        """The element that a reference names, its digest being right."""
        name = (reference.get("URI") or "").removeprefix("#")
        named = [element for element in envelope.iter(etree.Element) if name and name in _identifiers(element)]
        if len(named) != 1:
            raise Doubt("the signature refers to no element, or to several", f"{len(named)} of {name!r}", "1")
        transforms = [one.get("Algorithm") for one in reference.iter(f"{{{DS}}}Transform")]
        if transforms != [C14N]:
            raise Doubt("the signature has transforms that are not allowed", ", ".join(map(str, transforms)), C14N)
        digest = self._known(_DIGESTS, reference, "DigestMethod")
        wanted = "".join((reference.findtext(f"{{{DS}}}DigestValue") or "").split())
        found = _hashed(digest, _canonical(named[0], reference))
        if found != wanted:
            raise Doubt("the signed content was changed", f"digest {found}", wanted)
        return named[0]

    def _check_key(self, signature: etree._Element, signed: etree._Element) -> None:
        method = self._known(_SIGNATURES, signed, "SignatureMethod")
        canonicalization = signed.find(f"{{{DS}}}CanonicalizationMethod")
        if canonicalization is None or canonicalization.get("Algorithm") != C14N:
            found = None if canonicalization is None else canonicalization.get("Algorithm")
            raise Doubt("the signature does not use exclusive XML canonicalization", found, C14N)
        try:
            value = base64.b64decode("".join((signature.findtext(f"{{{DS}}}SignatureValue") or "").split()))
        except binascii.Error:
            raise Doubt("the value of the signature is not base64", "other characters", "base64") from None
        content = _canonical(signed, canonicalization)
        certificates = read_certificates(self.certificates_file)
        fitting = [one for one in certificates if _made_by(one, value, content, method())]
        if not fitting:
            known = ", ".join(one.subject.rfc4514_string() for one in certificates)
            raise Doubt("it is not signed by a certificate of `signers_file`", "another key", known)
        now, skew = self._clock(), timedelta(seconds=self.trust.skew)
        reasons = [unfit(one, now, skew) for one in fitting]
        if None not in reasons and reasons[0] is not None:
            raise Doubt(*reasons[0])

    def _known(
        self, table: dict[str, type[hashes.HashAlgorithm]], parent: etree._Element, name: str
    ) -> type[hashes.HashAlgorithm]:
        element = parent.find(f"{{{DS}}}{name}")
        named = element.get("Algorithm") if element is not None else None
        found = table.get(named or "")
        if found is None or (found is hashes.SHA1 and self.trust.algorithm != "rsa-sha1"):
            good = [uri for uri, made in table.items() if made is not hashes.SHA1 or self.trust.algorithm == "rsa-sha1"]
            raise Doubt("the method of the signature is not allowed", named, ", ".join(good))
        return found


def _made_by(certificate: Certificate, value: bytes, content: bytes, method: hashes.HashAlgorithm) -> bool:
    key = certificate.public_key()
    if not isinstance(key, RSAPublicKey):
        return False
    try:
        key.verify(value, content, PKCS1v15(), method)
    except InvalidSignature:
        return False
    return True


def _names(elements: Sequence[etree._Element]) -> str:
    return ", ".join(etree.QName(one).localname for one in elements) or "nothing"


def _opened(content: bytes) -> tuple[etree._Element, etree._Element]:
    root = safexml.parse_bytes(content)
    if not isinstance(root, Refusal):
        name = etree.QName(root)
        bodies = root.findall(f"{{{name.namespace}}}Body")
        if name.localname == "Envelope" and name.namespace in SOAP_SPACES and len(bodies) == 1:
            return root, bodies[0]
    raise ValueError("no SOAP envelope with one body")


def _header(envelope: etree._Element) -> etree._Element:
    space = etree.QName(envelope).namespace
    header = envelope.find(f"{{{space}}}Header")
    if header is None:
        header = etree.Element(f"{{{space}}}Header")
        envelope.insert(0, header)
    return header


def _only(parent: etree._Element, tag: str, what: str) -> etree._Element:
    found = list(parent.iter(tag))
    if len(found) != 1:
        raise Doubt(f"it has no {what}" if not found else f"it has several elements {what}", len(found), "1")
    return found[0]


def _identifiers(element: etree._Element) -> set[str]:
    return {str(value) for name, value in element.attrib.items() if etree.QName(name).localname.lower() == "id"}


def _canonical(element: etree._Element, method: etree._Element | None = None) -> bytes:
    prefixes: list[str] | None = None
    if method is not None:
        listed = next(method.iter(f"{{{C14N}}}InclusiveNamespaces"), None)
        prefixes = (listed.get("PrefixList") or "").split() if listed is not None else None
    written = etree.tostring(
        element, method="c14n", exclusive=True, with_comments=False, inclusive_ns_prefixes=prefixes
    )
    return bytes(written)


def _hashed(algorithm: type[hashes.HashAlgorithm], content: bytes) -> str:
    digest = hashes.Hash(algorithm())
    digest.update(content)
    return base64.b64encode(digest.finalize()).decode("ascii")


def _sub(parent: etree._Element, space: str, name: str, **attributes: str) -> etree._Element:
    return etree.SubElement(parent, f"{{{space}}}{name}", attributes)
