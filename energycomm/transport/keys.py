"""The key ring: keys that open envelopes, and keys that the data keys of the store are wrapped with.

Keys of envelopes are dated and rotate; every one is tried, and right only when what comes out is a zip that opens.

Enedis encrypts each zip with AES-CBC and PKCS7 padding: AES-128 with a fixed initialisation vector delivered with the
key, and since June 2026 AES-256 with the vector in the first 16 bytes of the file. Valid padding alone proves nothing:
one wrong key in 256 gives it by chance, and a supplier lost ten days to that.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from msgspec import Struct

from energycomm.kernel.verdicts import Refusal
from energycomm.masking import conceal
from energycomm.transport.codes import refuse
from energycomm.transport.forms import ZIP_ENTRY
from energycomm.transport.windows import CHUNK, Window

Scheme = Literal["aes-128-fixed-iv", "aes-256-iv-in-file"]
STORAGE: Final = "aes-256-gcm"
"""The scheme of keys for the store: what is stored, never an envelope, is encrypted under them."""
BLOCK: Final = 16
_NONCE: Final = 12
_QUOTED: Final = re.compile(r"'[^']*'|`[0-9A-Fa-f]{16,}`")
_LIKE_A_KEY: Final = re.compile(r"[0-9A-Fa-f]{16,}")
_KEY_BYTES: Final[dict[str, int]] = {"aes-128-fixed-iv": 16, "aes-256-iv-in-file": 32}


class KeyEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One key as the configuration writes it. The key itself is not in the configuration, only where it is found.

    Attributes:
      label: name that reports use for the key.
      scheme: ``aes-128-fixed-iv`` or ``aes-256-iv-in-file`` for envelopes, ``aes-256-gcm`` for the store.
      key_file: file that holds the key in hexadecimal; relative to the configuration's folder.
      key_env: environment variable that holds the key in hexadecimal.
      iv: the fixed initialisation vector in hexadecimal, for the first scheme.
      iv_file, iv_env: where the vector is found, instead.
      since: first day the key was used, None when not known.
      until: last day the key was used, None while it is in use.
    """

    label: str
    scheme: Scheme | Literal["aes-256-gcm"]
    key_file: str | None = None
    key_env: str | None = None
    iv: str | None = None
    iv_file: str | None = None
    iv_env: str | None = None
    since: date | None = None
    until: date | None = None


class Key:
    """One usable key. Its bytes never appear in a representation, a log, an error, a copy by pickle or a serialisation.

    Attributes:
      label: name that reports use.
      scheme: how it is used.
      since, until: days of its use, both included; None is open.
    """

    __slots__ = ("__iv", "__key", "label", "scheme", "since", "until")

    def __init__(
        self,
        label: str,
        scheme: Scheme,
        key: bytes,
        iv: bytes | None = None,
        since: date | None = None,
        until: date | None = None,
    ) -> None:
        """Take a key.

        Raises:
          ValueError: the key or the vector has the wrong length for the scheme.
        """
        wanted = _KEY_BYTES[scheme]
        if len(key) != wanted:
            raise ValueError(f"key {label!r}: {len(key)} bytes, expected {wanted}")
        if scheme == "aes-128-fixed-iv" and (iv is None or len(iv) != BLOCK):
            raise ValueError(f"key {label!r}: the initialisation vector must have {BLOCK} bytes")
        if scheme == "aes-256-iv-in-file" and iv is not None:
            raise ValueError(f"key {label!r}: the initialisation vector is in the file, none is configured")
        self.label = label
        self.scheme: Scheme = scheme
        self.since = since
        self.until = until
        self.__key = key
        self.__iv = iv

    def __repr__(self) -> str:
        return f"Key({self.label!r}, {self.scheme}, since={self.since}, until={self.until})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not serialised")

    def fits(self, day: date) -> bool:
        """Whether the key was in use on that day."""
        return (self.since is None or self.since <= day) and (self.until is None or day <= self.until)

    @property
    def body(self) -> int:
        """Where the cipher text begins in the file, in bytes."""
        return BLOCK if self.__iv is None else 0

    def opens_beginning(self, head: bytes) -> bool:
        """Whether the first block of the clear text begins like a zip entry; `head` holds at least 32 bytes."""
        iv = self.__iv if self.__iv is not None else head[:BLOCK]
        block = head[self.body : self.body + BLOCK]
        return len(block) == BLOCK and self._decrypt(iv, block).startswith(ZIP_ENTRY)

    def clear_size(self, content: Window) -> int | None:
        """Size of the clear text in bytes, read from the last block's padding; None where the padding is not valid."""
        body = content.size - self.body
        if body < BLOCK or body % BLOCK:
            return None
        if body == BLOCK:
            before = self.__iv if self.__iv is not None else content.part(0, BLOCK)
        else:
            before = content.part(content.size - 2 * BLOCK, BLOCK)
        last = self._decrypt(before, content.part(content.size - BLOCK, BLOCK))
        padding = last[-1]
        if not 1 <= padding <= BLOCK or last[-padding:] != bytes((padding,)) * padding:
            return None
        return body - padding

    def decrypt(self, content: Window, clear_size: int) -> Iterator[bytes]:
        """The first `clear_size` bytes of the clear text, in pieces, in constant memory."""
        iv = self.__iv if self.__iv is not None else content.part(0, BLOCK)
        decryptor = Cipher(AES(self.__key), CBC(iv)).decryptor()
        stream = content.again()
        stream.seek(self.body)
        while clear_size > 0 and (chunk := stream.read(CHUNK)):
            clear = decryptor.update(chunk)[:clear_size]
            clear_size -= len(clear)
            yield clear

    def _decrypt(self, iv: bytes, block: bytes) -> bytes:
        decryptor = Cipher(AES(self.__key), CBC(iv)).decryptor()
        return decryptor.update(block) + decryptor.finalize()


class StorageKey:
    """A key that wraps the data keys of the store; its bytes never appear anywhere, as those of `Key`.

    Attributes:
      label: name that the store keeps to find the key again.
    """

    __slots__ = ("__cipher", "label")

    def __init__(self, label: str, key: bytes) -> None:
        """Take a key.

        Raises:
          ValueError: it has not 32 bytes.
        """
        if len(key) != 32:
            raise ValueError(f"key {label!r}: {len(key)} bytes, expected 32")
        self.label = label
        self.__cipher = AESGCM(key)

    def __repr__(self) -> str:
        return f"StorageKey({self.label!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not serialised")

    def wrap(self, secret: bytes, context: bytes) -> bytes:
        """A secret encrypted by AES-256-GCM under this key; it opens with the same context only."""
        nonce = secrets.token_bytes(_NONCE)
        return nonce + self.__cipher.encrypt(nonce, secret, context)

    def unwrap(self, wrapped: bytes, context: bytes) -> bytes | None:
        """The secret again; None where another key, another context or another hand was at work."""
        try:
            return self.__cipher.decrypt(wrapped[:_NONCE], wrapped[_NONCE:], context)
        except (InvalidTag, ValueError):
            return None


class KeyRing:
    """Every configured key: those of envelopes in the order in which they are tried, and those of the store.

    Attributes:
      storage: the keys of the store, in configured order.
    """

    def __init__(self, keys: Iterable[Key] = (), storage: Iterable[StorageKey] = ()) -> None:
        self._keys = tuple(keys)
        self.storage = tuple(storage)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self.labels)})"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the keys of envelopes, in configured order."""
        return tuple(key.label for key in self._keys)

    def in_order(self, day: date | None = None) -> tuple[Key, ...]:
        """Every key: those in use on `day` first, then the youngest first. Without a day, the youngest first."""
        youngest = sorted(self._keys, key=lambda key: key.since or date.min, reverse=True)
        return tuple(youngest if day is None else sorted(youngest, key=lambda key: not key.fits(day)))


def read_keys(
    entries: Iterable[Mapping[str, Any]], environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> tuple[KeyRing, tuple[Refusal, ...]]:
    """Build the key ring from the configuration.

    Args:
      entries: one mapping a key, with the fields of `KeyEntry`; dates as ``2026-06-09`` or as dates.
      environ: environment to read keys from; the process's own by default.
      folder: folder that relative key files are in; the current one by default.

    Returns:
      The ring of usable keys, and one refusal ``KEY_CONFIG`` for each that is not, without any part of the secret.
    """
    environ = os.environ if environ is None else environ
    keys: list[Key] = []
    storage: list[StorageKey] = []
    refusals: list[Refusal] = []
    for number, entry in enumerate(entries, 1):
        path = f"key {number}"
        try:
            parsed = msgspec.convert(dict(entry), KeyEntry)
        except msgspec.ValidationError as fault:
            # The message quotes values only where it quotes; a key pasted into the wrong field must not be repeated.
            reason = _QUOTED.sub("'…'", str(fault))
            refusals.append(refuse("KEY_CONFIG", path, reason, "label, scheme, key_file or key_env"))
            continue
        path = f"key {parsed.label!r}"
        if parsed.label in {*(key.label for key in keys), *(key.label for key in storage)}:
            refusals.append(refuse("KEY_CONFIG", path, "a label used twice", "one label a key"))
            continue
        key = _read_key(parsed, path, environ, folder or Path())
        if isinstance(key, Refusal):
            refusals.append(key)
        elif isinstance(key, StorageKey):
            storage.append(key)
        else:
            keys.append(key)
    return KeyRing(keys, storage), tuple(refusals)


def _read_key(entry: KeyEntry, path: str, environ: Mapping[str, str], folder: Path) -> Key | StorageKey | Refusal:
    """The key of one entry."""
    if entry.since and entry.until and entry.until < entry.since:
        return refuse("KEY_CONFIG", path, f"until {entry.until}", f"a day from {entry.since} on")
    secret = _read_hex("key", None, entry.key_file, entry.key_env, path, environ, folder)
    if isinstance(secret, Refusal):
        return secret
    iv: bytes | None = None
    if entry.iv or entry.iv_file or entry.iv_env:
        read = _read_hex("iv", entry.iv, entry.iv_file, entry.iv_env, path, environ, folder)
        if isinstance(read, Refusal):
            return read
        iv = read
    try:
        if entry.scheme == STORAGE:
            if iv is not None:
                return refuse("KEY_CONFIG", path, "an initialisation vector", f"none: a {STORAGE} key needs no vector")
            return StorageKey(entry.label, secret)
        return Key(entry.label, entry.scheme, secret, iv, entry.since, entry.until)
    except ValueError as fault:
        return refuse("KEY_CONFIG", path, str(fault), f"a usable {entry.scheme} key")


def _read_hex(
    what: str,
    inline: str | None,
    file: str | None,
    variable: str | None,
    path: str,
    environ: Mapping[str, str],
    folder: Path,
) -> bytes | Refusal:
    """Hexadecimal bytes from the one place that is configured for them."""
    if sum(place is not None for place in (inline, file, variable)) != 1:
        return refuse("KEY_CONFIG", path, f"not one place for the {what}", f"either {what}_file or {what}_env")
    if variable is not None:
        text = environ.get(variable)
        if text is None:
            unset = f"environment variable {_place(variable)} is not set"
            return refuse("KEY_CONFIG", path, unset, "a variable that is set")
    elif file is not None:
        try:
            text = (folder / file).read_text("ascii")
        except (OSError, ValueError) as fault:
            reason = fault.strerror if isinstance(fault, OSError) else "not hexadecimal"
            return refuse("KEY_CONFIG", path, f"{_place(file)}: {reason}", "a readable file")
    else:
        text = inline or ""
    try:
        return bytes.fromhex(conceal("".join(text.split())))
    except ValueError:
        return refuse("KEY_CONFIG", path, f"the {what} is not hexadecimal", "digits and letters a to f")


def _place(name: str) -> str:
    """The name of a file or variable, unless somebody wrote the key itself there."""
    return "(hidden: it looks like a key)" if _LIKE_A_KEY.search(name) else name
