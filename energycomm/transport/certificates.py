"""Certificates of those who sign: read from files, and fit for signing now or not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.x509 import (
    BasicConstraints,
    Certificate,
    ExtendedKeyUsage,
    ExtensionNotFound,
    ExtensionType,
    KeyUsage,
    UnrecognizedExtension,
    load_pem_x509_certificates,
)
from cryptography.x509.oid import ExtendedKeyUsageOID

from energycomm.transport.credentials import SecretUnreadableError

T = TypeVar("T", bound=ExtensionType)

LEAST_BITS: Final = 2048
_DOCUMENTS = "1.3.6.1.5.5.7.3.36"
_PURPOSES: Final = {
    ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE.dotted_string,
    ExtendedKeyUsageOID.CLIENT_AUTH.dotted_string,
    ExtendedKeyUsageOID.SERVER_AUTH.dotted_string,
    ExtendedKeyUsageOID.EMAIL_PROTECTION.dotted_string,
    _DOCUMENTS,
}
"""Extended purposes with which messages are signed: markets use the certificates of their servers and clients."""


class Unfit(NamedTuple):
    """Why a certificate may not sign.

    Attributes:
      words: what is wrong.
      found, expected: what it says, and what it would have to say.
    """

    words: str
    found: str
    expected: str


def read_certificates(file: Path) -> Sequence[Certificate]:
    """The certificates of a file in PEM.

    Raises:
      SecretUnreadableError: it cannot be read, or holds none.
    """
    try:
        return load_pem_x509_certificates(file.read_bytes())
    except (OSError, ValueError):
        raise SecretUnreadableError(f"{file} holds no certificate in PEM") from None


def unfit(certificate: Certificate, now: datetime, skew: timedelta) -> Unfit | None:
    """Why a certificate that we trust may not sign a message now; None where it may.

    Args:
      certificate: the certificate; it is trusted for itself, so its chain is not looked at.
      now: the time, with its zone.
      skew: how far the clocks of both sides may differ.
    """
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not begin - skew <= now <= end + skew:
        return Unfit("the certificate is not valid now", f"{begin:%Y-%m-%d} to {end:%Y-%m-%d}", f"{now:%Y-%m-%d}")
    key = certificate.public_key()
    if not isinstance(key, RSAPublicKey) or key.key_size < LEAST_BITS:
        size = key.key_size if isinstance(key, RSAPublicKey) else type(key).__name__
        return Unfit("the certificate has another key", str(size), f"RSA of at least {LEAST_BITS} bits")
    try:
        return _misused(certificate)
    except ValueError:
        return Unfit("the certificate cannot be read", "extensions that contradict each other", "RFC 5280")


def _misused(certificate: Certificate) -> Unfit | None:
    for one in certificate.extensions:
        if one.critical and isinstance(one.value, UnrecognizedExtension):
            return Unfit("the certificate has a critical extension that is not known", one.oid.dotted_string, "none")
    constraints = _extension(certificate, BasicConstraints)
    if constraints is not None and constraints.ca:
        return Unfit("the certificate is an authority's", "CA:TRUE", "the certificate that signs the answers itself")
    usage = _extension(certificate, KeyUsage)
    if usage is not None and not (usage.digital_signature or usage.content_commitment):
        return Unfit("the certificate is not for signatures", "keyUsage", "digitalSignature or nonRepudiation")
    purposes = _extension(certificate, ExtendedKeyUsage)
    if purposes is not None and not _PURPOSES & {one.dotted_string for one in purposes}:
        named = ", ".join(one.dotted_string for one in purposes)
        expected = "a purpose of servers, clients, e-mail or documents, or none"
        return Unfit("the certificate is for another purpose", named, expected)
    return None


def _extension(certificate: Certificate, kind: type[T]) -> T | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except ExtensionNotFound:
        return None
