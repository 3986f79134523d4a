"""A second factor: one-time codes by time (TOTP, RFC 6238), and recovery codes for a device that was lost.

A code holds for its period of 30 seconds and for the one before and after it, and is taken once: who reads it over a
shoulder comes too late. The codes are made by the library that does all our cryptography.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import secrets
from typing import Final
from urllib.parse import quote, urlencode

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.hotp import HOTP

PERIOD: Final = 30
DIGITS: Final = 6
SLACK: Final = 1
"""Periods that a clock may be off, either way."""
KEY_BYTES: Final = 20
"""As long as the hash: RFC 4226, requirement 6."""
RECOVERY_CODES: Final = 10
_RECOVERY_BYTES: Final = 10
ISSUER: Final = "EnergyComm"


def new_secret() -> bytes:
    """The key of a new device."""
    return secrets.token_bytes(KEY_BYTES)


def code_at(secret: bytes, step: int) -> str:
    """The code of a period.

    Args:
      secret: the key.
      step: which period since the epoch.
    """
    # SHA-1 is what the apps on people's phones know; as a MAC it is not weakened by what is known of it.
    return HOTP(secret, DIGITS, SHA1(), enforce_key_length=False).generate(step).decode()  # noqa: S303 # nosec B303


def step_of(secret: bytes, code: str, seconds: float, after: int) -> int | None:
    """The period that a code is of; None where it is wrong, over, or was used.

    Args:
      secret: the key.
      code: what was typed; spaces do not count.
      seconds: now, since the epoch.
      after: period of the last code that was used: only later ones count.
    """
    typed, now = "".join(code.split()).encode("utf-8", "replace"), int(seconds) // PERIOD
    found = None
    for step in range(now - SLACK, now + SLACK + 1):
        if hmac.compare_digest(code_at(secret, step).encode(), typed) and step > after:
            found = step
    return found


def shown(secret: bytes) -> str:
    """The key as people type it into their app: Base32 in groups of four."""
    plain = base64.b32encode(secret).decode().rstrip("=")
    return " ".join(plain[n : n + 4] for n in range(0, len(plain), 4))


def address(secret: bytes, name: str) -> str:
    """The key as an address that apps read (otpauth)."""
    values = {
        "secret": base64.b32encode(secret).decode().rstrip("="),
        "issuer": ISSUER,
        "algorithm": "SHA1",
        "digits": str(DIGITS),
        "period": str(PERIOD),
    }
    return f"otpauth://totp/{quote(f'{ISSUER}:{name}')}?{urlencode(values)}"


def drawn(secret: bytes, name: str) -> str:
    """The address as a QR code: SVG, to be put into a page."""
    import segno  # drawn where somebody enrols, and nowhere else

    out = io.BytesIO()
    segno.make(address(secret, name), error="m", micro=False).save(
        out, kind="svg", xmldecl=False, svgns=True, omitsize=True, border=4, dark="#000", light="#fff", title=None
    )
    return out.getvalue().decode()


def new_recovery_codes() -> list[str]:
    """Codes that stand in for a device, each once: 80 bits of chance, in groups of four."""
    codes = []
    for _ in range(RECOVERY_CODES):
        plain = base64.b32encode(secrets.token_bytes(_RECOVERY_BYTES)).decode().lower()
        codes.append("-".join(plain[n : n + 4] for n in range(0, len(plain), 4)))
    return codes


def recovery_hash(code: str) -> bytes:
    """What is kept of a recovery code; signs and spaces between do not count."""
    plain = "".join(letter for letter in code.lower() if letter.isalnum())
    return hashlib.sha256(plain.encode("utf-8", "replace")).digest()
