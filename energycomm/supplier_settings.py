"""Settings of an installation of several suppliers: who they are, and what they share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from pydantic import Field, field_validator

from energycomm.transport.settings import Settings, WebAddress

NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,29}")
"""What the name of a supplier is made of."""

SHARED: Final[dict[str, tuple[str, ...] | None]] = {
    "web": (
        "host", "port", "certificate_file", "key_file", "proxies", "connections", "connections_per_address",
        "header_seconds",
    ),
    "daemon": ("host", "port", "token_file", "token_env"),
    "log_format": None,
    "log_level": None,
}  # fmt: skip
"""What one process has for all suppliers: where it listens, and its log. Such a setting is in the file of the
installation, and in no file of a supplier; every other one is the other way round."""


def is_party(party: str) -> str:
    """An identifier of ours in the markets.

    Raises:
      ValueError: it is neither an EIC nor a GLN.
    """
    if not (len(party) == 16 or (len(party) == 13 and party.isdigit())):
        raise ValueError(f"{party!r} is neither an EIC (16 characters) nor a GLN (13 digits)")
    return party


class SupplierSetting(Settings):
    """One supplier of an installation: all else is in a file of its own."""

    file: Path = Field(description="Its configuration; relative paths in it start from its folder.")
    title: str = Field(default="", max_length=60, description="Its name on pages; if not set, that of the table.")
    parties: tuple[str, ...] = Field(default=(), description="Its identifiers in the markets (EIC, GLN).")
    url: WebAddress | None = Field(
        default=None, description="Its public address, by which its pages and API are told apart: a host of its own."
    )

    @field_validator("parties")
    @classmethod
    def _known_form(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(is_party, value))

    @field_validator("url")
    @classmethod
    def _bare(cls, value: str | None) -> str | None:
        return value.rstrip("/") if value else value

    @property
    def host(self) -> str:
        """The host of its address; empty where it has none."""
        return (urlsplit(self.url).hostname or "") if self.url else ""


class Supplier(Struct, frozen=True, kw_only=True):
    """Which supplier of an installation something belongs to, and what it must know of the others.

    Attributes:
      name: its name.
      title: its name on pages.
      others: name -> title and address of each other supplier.
      people: person -> the suppliers that they work for.
      foreign: identifiers of the other suppliers: what is addressed to them is not taken.
    """

    name: str
    title: str
    others: dict[str, tuple[str, str]] = {}
    people: dict[str, tuple[str, ...]] = {}
    foreign: frozenset[str] = frozenset()

    def elsewhere(self, person: str) -> list[tuple[str, str]]:
        """Title and address of the other suppliers that a person works for; none for who does not work here."""
        names = self.people.get(person, ())
        return [self.others[name] for name in names if name in self.others and self.name in names]
