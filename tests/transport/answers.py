"""Signed SOAP answers as a market's server makes them: written here from the standards, without our own signer."""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from lxml import etree

SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
DS = "http://www.w3.org/2000/09/xmldsig#"
WSA = "http://www.w3.org/2005/08/addressing"
OASIS = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-"
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
PARTS = ("b", "r", "t")
"""Identifiers of the body, RelatesTo and the Timestamp."""


def stamp(created: datetime = NOW, expires: datetime | None = NOW + timedelta(minutes=5)) -> str:
    """A wsu:Timestamp."""
    end = f"<u:Expires>{expires:%Y-%m-%dT%H:%M:%SZ}</u:Expires>" if expires is not None else ""
    return f'<u:Timestamp u:Id="t"><u:Created>{created:%Y-%m-%dT%H:%M:%S.%f}Z</u:Created>{end}</u:Timestamp>'


def relation(message_id: str, attributes: str = "") -> str:
    """A wsa:RelatesTo."""
    return f'<a:RelatesTo u:Id="r"{attributes}>{message_id}</a:RelatesTo>'


def envelope(header: str, times: str, body: str = "<p:Answer xmlns:p='urn:p'>4210</p:Answer>") -> bytes:
    """An answer that is not signed yet."""
    spaces = f'xmlns:s="{SOAP}" xmlns:a="{WSA}" xmlns:u="{OASIS}utility-1.0.xsd" xmlns:w="{OASIS}secext-1.0.xsd"'
    security = f"<w:Security>{times}</w:Security>"
    return (
        f'<s:Envelope {spaces}><s:Header>{header}{security}</s:Header><s:Body u:Id="b">{body}</s:Body></s:Envelope>'
    ).encode()


def signed(content: bytes, key: rsa.RSAPrivateKey, parts: Collection[str] = PARTS) -> bytes:
    """The answer with a signature over the parts of those identifiers, in its wsse:Security."""
    root = etree.fromstring(content)
    references = ""
    for name in parts:
        (element,) = [one for one in root.iter() if one.get(f"{{{OASIS}utility-1.0.xsd}}Id") == name]
        digest = sha256(etree.tostring(element, method="c14n", exclusive=True, with_comments=False, with_tail=False))
        references += (
            f'<d:Reference URI="#{name}"><d:Transforms><d:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>'
            '</d:Transforms><d:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/>'
            f"<d:DigestValue>{base64.b64encode(digest.digest()).decode()}</d:DigestValue></d:Reference>"
        )
    info = (
        '<d:SignedInfo><d:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>'
        '<d:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>' + references
    )
    signature = etree.fromstring(f'<d:Signature xmlns:d="{DS}">{info}</d:SignedInfo></d:Signature>')
    (security,) = root.iterfind(f"{{{SOAP}}}Header/{{{OASIS}secext-1.0.xsd}}Security")
    security.append(signature)
    canonical = etree.tostring(signature[0], method="c14n", exclusive=True, with_tail=False)
    value = key.sign(canonical, PKCS1v15(), hashes.SHA256())
    etree.SubElement(signature, f"{{{DS}}}SignatureValue").text = base64.b64encode(value).decode()
    return bytes(etree.tostring(root))


def certificate(
    file: Path,
    key: Any,
    extensions: Sequence[tuple[x509.ExtensionType, bool]] = (),
    begin: datetime = NOW - timedelta(days=30),
    end: datetime = NOW + timedelta(days=30),
) -> Path:
    """A certificate of a key in PEM."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "portal")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(end)
    for value, critical in extensions:
        made = made.add_extension(value, critical)
    file.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    return file
