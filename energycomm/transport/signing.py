"""Signatures of SOAP messages: WS-Security with an X.509 certificate, over the body, as the Dutch P4 portal demands.

What is signed is the body by exclusive canonical XML; the certificate goes with the message in a BinarySecurityToken.
A signature depends on the message and the key alone (RSA, PKCS #1 v1.5): the same message gives the same bytes.

An answer is believed when the body that is used is the one that is signed: the only element with the identifier that
the signature refers to, where a body belongs, by a key of a certificate that the configuration names.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509 import Certificate, load_pem_x509_certificates
from lxml import etree

from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal
from energycomm.transport.credentials import Secret, SecretUnreadableError

Algorithm = Literal["rsa-sha1", "rsa-sha256"]

SOAP_SPACES: Final = ("http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope")
DS: Final = "http://www.w3.org/2000/09/xmldsig#"
_OASIS = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-"
WSSE: Final = _OASIS + "wssecurity-secext-1.0.xsd"
WSU: Final = _OASIS + "wssecurity-utility-1.0.xsd"
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

    def sign(self, content: bytes) -> bytes:
        """A SOAP message with the signature of its body in its header.

        Args:
          content: a SOAP envelope.

        Raises:
          SecretUnreadableError: certificate or key cannot be used; the words name the file and never the key.
          ValueError: the content is no SOAP envelope with a body.
        """
        envelope, body = _opened(content)
        certificate, key = self._read()
        method, digest = _WRITTEN[self.algorithm]
        body.set(_ID, _BODY)
        security = self._header(envelope, certificate)
        signature = etree.SubElement(security, f"{{{DS}}}Signature", nsmap={"ds": DS})
        signed = _sub(signature, DS, "SignedInfo")
        _sub(signed, DS, "CanonicalizationMethod", Algorithm=C14N)
        _sub(signed, DS, "SignatureMethod", Algorithm=method)
        reference = _sub(signed, DS, "Reference", URI=f"#{_BODY}")
        _sub(_sub(reference, DS, "Transforms"), DS, "Transform", Algorithm=C14N)
        _sub(reference, DS, "DigestMethod", Algorithm=digest)
        _sub(reference, DS, "DigestValue").text = _hashed(_DIGESTS[digest], _canonical(body))
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
    def _header(envelope: etree._Element, certificate: Certificate) -> etree._Element:
        space = etree.QName(envelope).namespace
        header = envelope.find(f"{{{space}}}Header")
        if header is None:
            header = etree.Element(f"{{{space}}}Header")
            envelope.insert(0, header)
        security = etree.SubElement(header, f"{{{WSSE}}}Security", nsmap={"wsse": WSSE, "wsu": WSU})
        security.set(f"{{{space}}}mustUnderstand", "1")
        token = _sub(security, WSSE, "BinarySecurityToken", EncodingType=_BASE64, ValueType=_X509)
        token.set(_ID, _TOKEN)
        token.text = base64.b64encode(certificate.public_bytes(Encoding.DER)).decode("ascii")
        return security


class Verifier:
    """Tells whether a SOAP message was signed by one of the certificates that we were given.

    Args:
      certificates_file: the certificates in PEM, read when they are used.
      algorithm: ``rsa-sha1`` to believe SHA-1 as well.
    """

    def __init__(self, certificates_file: Path, algorithm: Algorithm = "rsa-sha256") -> None:
        self.certificates_file, self.algorithm = certificates_file, algorithm

    def fault(self, content: bytes) -> str | None:
        """Why a message is not believed; None where its body is signed.

        Raises:
          SecretUnreadableError: the file of certificates cannot be read.
        """
        try:
            envelope, body = _opened(content)
            signature = _only(envelope, f"{{{DS}}}Signature", "signature")
            signed = _only(signature, f"{{{DS}}}SignedInfo", "SignedInfo")
            references = signed.findall(f"{{{DS}}}Reference")
            targets = [self._checked(envelope, reference) for reference in references]
            if body not in targets:
                return "the signature does not cover the body"
            return self._key_fault(signature, signed)
        except _Doubt as doubt:
            return str(doubt)
        except ValueError:
            return "it is no SOAP message"

    def _checked(self, envelope: etree._Element, reference: etree._Element) -> etree._Element:
        """The element that a reference names, its digest being right."""
        name = (reference.get("URI") or "").removeprefix("#")
        named = [element for element in envelope.iter(etree.Element) if name and name in _identifiers(element)]
        if len(named) != 1:
            raise _Doubt("the signature refers to no element, or to several")
        transforms = [one.get("Algorithm") for one in reference.iter(f"{{{DS}}}Transform")]
        if transforms != [C14N]:
            raise _Doubt("the signature transforms what it signs")
        digest = self._known(_DIGESTS, reference, "DigestMethod")
        wanted = "".join((reference.findtext(f"{{{DS}}}DigestValue") or "").split())
        if _hashed(digest, _canonical(named[0], reference)) != wanted:
            raise _Doubt("what is signed was changed")
        return named[0]

    def _key_fault(self, signature: etree._Element, signed: etree._Element) -> str | None:
        method = self._known(_SIGNATURES, signed, "SignatureMethod")
        canonicalization = signed.find(f"{{{DS}}}CanonicalizationMethod")
        if canonicalization is None or canonicalization.get("Algorithm") != C14N:
            return "the signature is canonical in another way than exclusive XML"
        try:
            value = base64.b64decode("".join((signature.findtext(f"{{{DS}}}SignatureValue") or "").split()))
        except binascii.Error:
            return "the value of the signature is not base64"
        content = _canonical(signed, canonicalization)
        for certificate in read_certificates(self.certificates_file):
            key = certificate.public_key()
            if isinstance(key, RSAPublicKey):
                try:
                    key.verify(value, content, PKCS1v15(), method())
                except InvalidSignature:
                    continue
                return None
        return "it is signed by none of the certificates that are believed"

    def _known(
        self, table: dict[str, type[hashes.HashAlgorithm]], parent: etree._Element, name: str
    ) -> type[hashes.HashAlgorithm]:
        element = parent.find(f"{{{DS}}}{name}")
        found = table.get((element.get("Algorithm") or "") if element is not None else "")
        if found is None or (found is hashes.SHA1 and self.algorithm != "rsa-sha1"):
            raise _Doubt("the signature is made in a way that is not believed")
        return found


class _Doubt(Exception):
    """Why a signature is not believed."""


def read_certificates(file: Path) -> Sequence[Certificate]:
    """The certificates of a file in PEM.

    Raises:
      SecretUnreadableError: it cannot be read, or holds none.
    """
    try:
        return load_pem_x509_certificates(file.read_bytes())
    except (OSError, ValueError):
        raise SecretUnreadableError(f"{file} holds no certificate in PEM") from None


def _opened(content: bytes) -> tuple[etree._Element, etree._Element]:
    root = safexml.parse_bytes(content)
    if not isinstance(root, Refusal):
        name = etree.QName(root)
        bodies = root.findall(f"{{{name.namespace}}}Body")
        if name.localname == "Envelope" and name.namespace in SOAP_SPACES and len(bodies) == 1:
            return root, bodies[0]
    raise ValueError("no SOAP envelope with one body")


def _only(parent: etree._Element, tag: str, what: str) -> etree._Element:
    found = list(parent.iter(tag))
    if len(found) != 1:
        raise _Doubt(f"it has no {what}" if not found else f"it has {len(found)} elements {what}")
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
