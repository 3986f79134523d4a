"""Users of the web services: a person or program, their roles, and the scopes of a token."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Role(StrEnum):
    """A role at the supplier; a person may have several."""

    BACK_OFFICE = "back_office"
    """Billing and customer system and its people: reads, asks the market, takes notifications."""
    CONSULTANT = "consultant"
    """Corrects rejected messages: reads, injects, edits, runs campaigns, writes tickets."""
    OPERATOR = "operator"
    """Keeps the gateway running: health, statistics, outbox; no content of messages."""
    ADMINISTRATOR = "administrator"
    """Reads the audit; hands out what they have themselves as tokens, and takes back tokens."""
    OFFICER = "officer"
    """Data protection officer: finds, hands over and erases customers' data; sees nothing else."""


class Scope(StrEnum):
    """What a token may be used for, within its roles, and the session that began with it. Others have all of them."""

    READ = "read"
    """Look at messages, access points, readings, charges, rules, campaigns."""
    REQUEST = "request"
    """Ask something of the market."""
    INJECT = "inject"
    """Hand messages to the Kernel."""
    CORRECT = "correct"
    """Run correction campaigns, edit, replay, write tickets."""
    NOTIFY = "notify"
    """Take and acknowledge notifications."""
    OPERATE = "operate"
    """See how the gateway runs; send again what was given up."""
    ADMINISTER = "administer"
    """Read the audit, make and revoke tokens."""
    ERASE = "erase"
    """Find customers, hand over and erase their data, read the evidence."""


class Person(Struct, frozen=True):
    """Who does something.

    Attributes:
      name: as it is written into every change and the audit.
      roles: what they are.
      via: how they came: ``token 17``, ``session``.
      scopes: what they may use their roles for now.
      csrf: the token that a form of the pages must carry; empty for who came with an API token.
      token: number of the API token that they came with, now or to begin the session; None for the others.
      until: when that token ends, microseconds since the epoch.
    """

    name: str
    roles: frozenset[Role]
    via: str
    scopes: frozenset[Scope] = frozenset(Scope)
    csrf: str = ""
    token: int | None = None
    until: int | None = None

    def may(self, roles: frozenset[Role], scope: Scope = Scope.READ) -> bool:
        """Whether they have one of the roles, and may use it for this."""
        return bool(self.roles & roles) and scope in self.scopes


WORKERS = frozenset(Role) - {Role.OFFICER}
"""Who sees how the gateway works: everybody but the officer, who needs none of it."""


def words_of(values: frozenset[Role] | frozenset[Scope]) -> str:
    """Roles or scopes as they are stored and shown: sorted, with spaces between."""
    return " ".join(sorted(str(value) for value in values))


def roles_of(words: str) -> frozenset[Role]:
    """Roles from their words; what is no role of this version is left out."""
    return frozenset(Role(word) for word in words.split() if word in set(Role))


def scopes_of(words: str) -> frozenset[Scope]:
    """Scopes from their words; what is no scope of this version is left out."""
    return frozenset(Scope(word) for word in words.split() if word in set(Scope))
