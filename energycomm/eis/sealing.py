"""Columns that are kept compressed, and encrypted at rest: the one place that writes and reads them.

The columns marked `SEALED` in the tables are kept packed (`energycomm.eis.packing`). A store that has a data key
(`energycomm.eis.datakeys`) keeps them encrypted under it, by AES-256-GCM. Each value says how it is kept, so that
values of every form, and under several data keys, stand side by side. A sealed one is bound to its row: moved to
another row, or changed, it does not open (`DamagedRow`).

    bytes   89 45 43 02 | packed
    bytes   89 45 43 03 | data key, 4 bytes | nonce, 12 bytes | packed and encrypted | tag, 16 bytes
    text    ec:2:BASE64 of packed
    text    ec:3:DATA KEY:BASE64 of nonce, packed and encrypted, tag

What earlier versions stored is not packed. It is read as ever; `energycomm eis compact` writes it anew:

    bytes   89 45 43 01 | data key, 4 bytes | nonce, 12 bytes | encrypted | tag, 16 bytes
    text    ec:1:DATA KEY:BASE64 of nonce, encrypted, tag
    either  the value itself; behind 89 45 43 00 or ec:0: where it begins as one of these forms does
"""

from __future__ import annotations

import binascii
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import Engine, LargeBinary, Table

from energycomm.eis import tables
from energycomm.eis.packing import TEXTS, pack, unpack
from energycomm.errors import DamagedRow, ExitCode, UserError

Row = tuple[Any, ...]
Values = Sequence[Any]

NONCE: Final = 12
_BYTES: Final = b"\x89EC"
_TEXT: Final = "ec:"
_SEALED_BYTES: Final = _BYTES + b"\x03"
_SEALED_TEXT: Final = "ec:3:"
_PACKED_BYTES: Final = _BYTES + b"\x02"
_PACKED_TEXT: Final = "ec:2:"
_SEALED_BYTES_BEFORE: Final = _BYTES + b"\x01"
_PACKED: Final = 3
"""The number of the sealed form that is packed."""
_TEXT_FORM: Final = re.compile(r"ec:(?:2|([13]):([0-9]{1,18})):")
_PLAIN_BYTES: Final = _BYTES + b"\x00"
_PLAIN_TEXT: Final = "ec:0:"


class WrappingKey(Protocol):
    """A key of the key ring, as the store needs it."""

    label: str

    def wrap(self, secret: bytes, context: bytes) -> bytes:
        """A secret encrypted under this key."""

    def unwrap(self, wrapped: bytes, context: bytes) -> bytes | None:
        """The secret again; None where another key was at work."""


class Reading(Protocol):
    """What reads rows: `energycomm.eis.bulk.Driver`."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""


class Sealed(NamedTuple):
    """The column of a table that is sealed.

    Attributes:
      table: name of the table.
      column: name of the column.
      keys: names of the columns of its primary key.
      binary: the column holds bytes; else text.
    """

    table: str
    column: str
    keys: tuple[str, ...]
    binary: bool


@cache
def sealed_column(table: Table) -> Sealed | None:
    """The sealed column of a table, None where there is none; a table has at most one."""
    for column in table.columns:
        if column.info.get("sealed"):
            keys = tuple(one.name for one in table.columns if one.primary_key)
            return Sealed(table.name, column.name, keys, isinstance(column.type, LargeBinary))
    return None


SEALED_COLUMNS: tuple[Sealed, ...] = tuple(
    found for table in tables.metadata.sorted_tables if (found := sealed_column(table)) is not None
)
"""Every column that is encrypted at rest."""

_BY_TABLE: Mapping[str, Sealed] = {found.table: found for found in SEALED_COLUMNS}


class Vault:
    """The data keys of an open store.

    Args:
      engine: the store; None for a vault that has no key and opens nothing but plain values.
      ring: the keys of the key ring that data keys may be wrapped with, by label.
      required: label of the key that the configuration wants: nothing is written in plain then.
    """

    def __init__(
        self, engine: Engine | None = None, ring: Mapping[str, WrappingKey] | None = None, required: str | None = None
    ) -> None:
        self._engine = engine
        self._ring = ring or {}
        self._ciphers: dict[int, AESGCM] = {}
        self.required = required

    def __repr__(self) -> str:
        return f"Vault({', '.join(self._ring)})"

    def text(self, table: str, key: Any, stored: str) -> str:
        """The clear value of a text column.

        Args:
          table: name of the table.
          key: primary key of the row.
          stored: the column as it was read.

        Raises:
          DamagedRow: it was changed, or belongs to another row.
          UserError: its key is not in the key ring.
        """
        if not stored.startswith(_TEXT):
            return stored
        if stored.startswith(_PLAIN_TEXT):
            return stored[len(_PLAIN_TEXT) :]
        found = _TEXT_FORM.match(stored)
        if found is None:
            raise DamagedRow(table, str(key), "is kept in a form that this version does not support")
        form, number = found.groups()
        try:
            content = binascii.a2b_base64(stored[found.end() :], strict_mode=True)
            if number is None:
                return unpack(content).decode()
            return self._opened(table, (key,), int(form), int(number), content).decode()
        except ValueError:
            raise DamagedRow(table, str(key), "was changed: it is not the value that was stored there") from None

    def content(self, table: str, keys: Row, stored: bytes) -> bytes:
        """The clear value of a binary column; `keys` is the primary key. Raises as `text` does."""
        if not stored.startswith(_BYTES):
            return stored
        start = len(_BYTES) + 1
        form, body = stored[start - 1 : start], stored[start:]
        if form == b"\x00":
            return body
        try:
            if form == b"\x02":
                return unpack(body)
            if form in (b"\x01", b"\x03"):
                return self._opened(table, keys, form[0], int.from_bytes(body[:4], "big"), body[4:])
        except ValueError:
            raise DamagedRow(table, shown_key(keys), "was changed: it is not the value that was stored there") from None
        raise DamagedRow(table, shown_key(keys), "is kept in a form that this version does not support")

    def value(self, column: Sealed, keys: Row, stored: Any) -> Any:
        """The clear value of a sealed column of any type. Raises as `text` does."""
        if column.binary:
            return self.content(column.table, keys, bytes(stored))
        return self.text(column.table, keys[0], stored)

    def sealed(self, column: Sealed, keys: Row, value: Any, number: int | None) -> Any:
        """A value as it is stored.

        Args:
          column: where it goes.
          keys: primary key of its row.
          value: what is to be kept: bytes or text, as the column is.
          number: data key to seal it under; None to keep it packed alone.
        """
        packed = pack(value) if column.binary else pack(value.encode(), TEXTS)
        if number is None:
            return _PACKED_BYTES + packed if column.binary else _PACKED_TEXT + _base64(packed)
        nonce = secrets.token_bytes(NONCE)
        context = _context(column.table, keys, _PACKED, number)
        sealed = nonce + self._cipher(number).encrypt(nonce, packed, context)
        if column.binary:
            return _SEALED_BYTES + number.to_bytes(4, "big") + sealed
        return f"{_SEALED_TEXT}{number}:{_base64(sealed)}"

    def sealed_values(
        self, column: Sealed, keys: Iterable[Row], values: Sequence[Any], number: int | None
    ) -> list[Any]:
        """Values of a column as they are stored: `sealed` of each, with the primary keys of their rows."""
        return [self.sealed(column, key, value, number) for key, value in zip(keys, values, strict=True)]

    def writes_under(self, driver: Reading) -> int | None:
        """The data key of this transaction, None for plain; it cannot change until the transaction ends.

        Raises:
          UserError: the configuration wants a key and the store has none.
        """
        # SQLite has one writer at a time. PostgreSQL: who changes the row waits for the transactions that read it.
        lock = "" if self._engine is None or self._engine.dialect.name == "sqlite" else " FOR SHARE"
        rows = driver.rows(_WRITES_UNDER + lock)
        number: int | None = rows[0][0] if rows else None
        if number is None and self.required is not None:
            raise UserError(
                f"The configuration wants the store encrypted under {self.required!r}; encryption was switched off.",
                "Unset storage_key to store plain text, or start again to switch encryption on.",
                ExitCode.DATABASE,
            )
        return number

    def check(self) -> None:
        """Open every data key of a store that is encrypted.

        A store in plain needs none: should a row of before be encrypted still, its reader names the key.

        Raises:
          UserError: the key that one is wrapped with is not in the key ring, or is another one.
        """
        if self._engine is None:
            return
        with self._engine.connect() as connection:
            if connection.exec_driver_sql(_WRITES_UNDER).scalar() is None:
                return
        for number, label, wrapped in self._data_keys():
            self._ciphers[number] = AESGCM(self.unwrapped(number, label, wrapped))

    def check_one(self, number: int) -> None:
        """Open one data key of the store. Raises as `check` does."""
        for found, label, wrapped in self._data_keys():
            if found == number:
                self._ciphers[number] = AESGCM(self.unwrapped(number, label, wrapped))

    def unwrapped(self, number: int, label: str, wrapped: bytes) -> bytes:
        """The bytes of a data key.

        Raises:
          UserError: the key that it is wrapped with is not in the key ring, or is another one.
        """
        key = self._ring.get(label)
        if key is None:
            raise UserError(
                f"The store is encrypted under the key {label!r}, which is not in the key ring.",
                f"Add the key {label!r} to `keys`; without it encrypted content cannot be read.",
                ExitCode.DATABASE,
            )
        found = key.unwrap(bytes(wrapped), wrapping_context(number))
        if found is None:
            raise UserError(
                f"The key {label!r} of the key ring does not open the store: data key {number} was wrapped with "
                "another key of that name.",
                f"Put the right key under {label!r}; `energycomm keys list` shows which labels the store needs.",
                ExitCode.DATABASE,
            )
        return found

    def wrapping(self, label: str) -> WrappingKey | None:
        """A key of the ring."""
        return self._ring.get(label)

    def _opened(self, table: str, keys: Row, form: int, number: int, content: bytes) -> bytes:
        cipher = self._known(number)
        if cipher is None:
            raise DamagedRow(table, shown_key(keys), f"names data key {number}, which the store does not have")
        try:
            clear = cipher.decrypt(content[:NONCE], content[NONCE:], _context(table, keys, form, number))
        except InvalidTag:
            raise ValueError("sealed otherwise") from None
        return unpack(clear) if form == _PACKED else clear

    def _cipher(self, number: int) -> AESGCM:
        cipher = self._known(number)
        if cipher is None:
            raise DamagedRow("at_rest", "store", f"names data key {number}, which the store does not have")
        return cipher

    def _known(self, number: int) -> AESGCM | None:
        if number not in self._ciphers:
            # Another process made it meanwhile. It was committed before anything was sealed under it.
            self.check_one(number)
        return self._ciphers.get(number)

    def _data_keys(self) -> list[Row]:
        if self._engine is None:
            return []
        with self._engine.connect() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(_DATA_KEYS)]


def lock_of(column: Sealed, number: int | None) -> str | bytes:
    """How values begin that are kept as they are written now: packed, and sealed under a data key if there is one."""
    if number is None:
        return _PACKED_BYTES if column.binary else _PACKED_TEXT
    return _SEALED_BYTES + number.to_bytes(4, "big") if column.binary else f"{_SEALED_TEXT}{number}:"


def data_key_of(column: Sealed, stored: Any) -> int | None:
    """The data key that a value is sealed under; None for a plain one."""
    if column.binary:
        start = len(_SEALED_BYTES)
        sealed = stored.startswith((_SEALED_BYTES, _SEALED_BYTES_BEFORE))
        return int.from_bytes(stored[start : start + 4], "big") if sealed else None
    found = _TEXT_FORM.match(stored)
    return None if found is None or found[2] is None else int(found[2])


def shown_key(keys: Row) -> str:
    """A primary key in words: bytes in hexadecimal, parts with slashes between."""
    return "/".join(part.hex() if isinstance(part, bytes) else str(part) for part in keys)


def wrapping_context(number: int) -> bytes:
    """What a wrapped data key is bound to."""
    return f"energycomm data key {number}".encode()


def _base64(content: bytes) -> str:
    return binascii.b2a_base64(content, newline=False).decode()


def _context(table: str, keys: Row, form: int, number: int) -> bytes:
    """What a sealed value is bound to: its form, its data key, its column and its row."""
    return f"energycomm {form} {number} {table}.{_BY_TABLE[table].column} {shown_key(keys)}".encode()


PLAIN = Vault()
"""For stores that were opened without a key ring."""

VAULT = "energycomm_vault"
"""The option of an engine that holds its vault."""

_WRITES_UNDER = "SELECT data_key FROM at_rest WHERE what = 'store'"
_DATA_KEYS = "SELECT number, label, wrapped FROM data_key ORDER BY number"
