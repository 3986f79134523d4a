"""Sign-ins in progress: the values for checking the provider's answer, kept encrypted by the browser.

The gateway remembers nothing of a sign-in that was begun, so that no number of them keeps anybody from signing in. What
is sealed can be neither read nor made without the secret that we have at the provider.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

import msgspec
from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from msgspec import Struct

MINUTES = 10
"""How long somebody may be on their way through the provider."""
LONGEST_THEN = 1000
"""Characters of a path to come back to: browsers keep no cookie above 4096."""

_HEADER = {"alg": "dir", "enc": "A256GCM"}
_ALGORITHMS = ["dir", "A256GCM"]


class Underway(Struct, frozen=True):
    """A sign-in under way: see OpenID Connect Core, 3.1.2.1, and RFC 7636.

    Attributes:
      state: comes back with the provider's answer.
      nonce: stands in the ID token.
      verifier: proves to the provider that we are who began.
      then: path of the page to show afterwards.
      until: seconds since the epoch when it is over.
    """

    state: str
    nonce: str
    verifier: str
    then: str
    until: float


def _sealed(content: bytes, key: OctKey) -> tuple[str, str]:
    """The header, which is always the same, and what follows it."""
    head, _, rest = jwe.encrypt_compact(_HEADER, content, key, algorithms=_ALGORITHMS).partition(".")
    return head, rest


_HEAD = _sealed(b"", OctKey.generate_key(256))[0]


class Seal:
    """Encrypts sign-ins in progress; all processes with the same secret can decrypt them.

    Args:
      secret: reads our secret at the provider.
      clock: seconds since the epoch.
    """

    def __init__(self, secret: Callable[[], str], clock: Callable[[], float]) -> None:
        self._secret, self._clock = secret, clock

    def close(self, state: str, nonce: str, verifier: str, then: str) -> str:
        """A sign-in that begins now, for the cookie."""
        short = then if len(then) <= LONGEST_THEN else "/"
        content = Underway(state, nonce, verifier, short, self._clock() + MINUTES * 60)
        return _sealed(msgspec.json.encode(content), self._key())[1]

    def open(self, cookie: str) -> Underway | None:
        """The decrypted sign-in; None if it is not ours or has expired."""
        try:
            # The header is ours: nobody else chooses how it is opened.
            opened = jwe.decrypt_compact(f"{_HEAD}.{cookie}", self._key(), algorithms=_ALGORITHMS)
            content = msgspec.json.decode(opened.plaintext or b"", type=Underway)
        except (JoseError, ValueError):  # of msgspec too
            return None
        return content if content.until > self._clock() else None

    def _key(self) -> OctKey:
        derived = hmac.digest(self._secret().encode(), b"energycomm: sign-in under way", hashlib.sha256)
        return OctKey.import_key(derived)
