"""Reads a member's header into what every message of the member needs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

from msgspec import NODEFAULT

from adapters.common.codes import Unreadable
from adapters.common.reading import Fields
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.times import day, moment, start_of_day
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import MemberHead

M = TypeVar("M", bound=KernelMessage)
MARKET = "FR"
_LONGEST = {"sender": 40, "receiver": 40, "declared": 64, "instance": 64}
_LONGEST_FACT = 64


@cache
def _needed(kind: type[KernelMessage]) -> tuple[str, ...]:
    # `structs.fields` tells it too, and looks at the type of every field for that.
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    given = dict(zip(reversed(names), reversed(defaults), strict=False))
    return tuple(name for name in names if given.get(name, NODEFAULT) is NODEFAULT)


class HeaderNames(NamedTuple):
    """What one family of fluxes calls the fields of its header."""

    element: str
    flux: str
    version: str | None
    sender: str
    receiver: str
    created: str
    instance: str | None = None


EN_TETE_FLUX = HeaderNames(
    "En_Tete_Flux",
    "Identifiant_Flux",
    "Version_XSD",
    "Identifiant_Emetteur",
    "Identifiant_Destinataire",
    "Date_Creation",
    "Instance_GRD",
)
"""Header of C15, C12, R15, R151, R50, F15 and F12."""

ENTETE_FLUX = HeaderNames("enteteFlux", "idFlux", "versionXsd", "idEmetteur", "idDestinataire", "dateCreation")
"""Header of X12 and X13."""

ENTETE = HeaderNames(
    "Entete", "Identifiant_Flux", None, "Identifiant_Emetteur", "Identifiant_Destinataire", "Date_Creation"
)
"""Header of R4x, which declares no version."""

ENTETE_R171 = HeaderNames("entete", "flux", "version", "emetteur", "destinataire", "dateHeureCreation")
"""Header of R171."""


class Context(NamedTuple):
    """What the messages of a member take from its header.

    Attributes:
      flux: the market's message type.
      declared: version that the header declares.
      sender: party that sent the member.
      receiver: party it is addressed to.
      created: as written.
      head: keyword arguments that every Kernel message of the member starts with.
      facts: header fields that digesters read: contract, invoice, units.
      seed: hash of market, sender, flux and the facts that enter the messages; identities go on from a copy of it.
      notes: what was noticed in the header.
      blanks: the messages that `blank` made.
    """

    flux: str
    declared: str | None
    sender: str | None
    receiver: str | None
    created: str
    head: dict[str, Any]
    facts: Mapping[str, str]
    seed: blake2b
    notes: tuple[Refusal, ...]
    blanks: dict[type[KernelMessage], Any]

    def blank(self, kind: type[M]) -> M:
        """A message of a kind that holds what the header says, for `structs.replace` to add its own fields to: that
        takes a third of the time of making one."""
        made: M | None = self.blanks.get(kind)
        if made is None:
            made = self.blanks[kind] = kind(**{**dict.fromkeys(_needed(kind)), **self.head})
        return made

    def member_head(self, version: str | None, notes: tuple[Refusal, ...] = ()) -> MemberHead:
        """The head of the member, once it is known which version its content was read as."""
        return MemberHead(
            type=self.flux,
            declared_version=self.declared,
            version=version,
            sender=self.sender,
            receiver=self.receiver,
            created=self.created,
            notes=(*self.notes, *notes),
        )


def context(
    fields: Fields, facts: Mapping[str, str], names: HeaderNames, fluxes: tuple[str, ...], entering: tuple[str, ...]
) -> Context:
    """Read a header.

    Args:
      fields: content of the header element.
      facts: leaves of the header and of the elements beside it (Contrat, Rappel_En_Tete).
      names: what its fields are called.
      fluxes: the fluxes that the root element allows; the first is assumed where the header names none of them.
      entering: names of the facts that enter Kernel messages, and so identities.

    Raises:
      Unreadable: a needed field is missing, unreadable or too long (HEADER_INVALID).
    """
    values = _values(fields, names)
    for name in entering:
        value = facts.get(name)
        if value is not None and len(value) > _LONGEST_FACT:
            raise _invalid(name, value, f"at most {_LONGEST_FACT} characters")
    created, instant, notes = _creation(fields, names)
    declared_flux = fields.get(names.flux)
    flux = declared_flux if declared_flux in fluxes else fluxes[0]
    if flux != declared_flux:
        path = f"{names.element}/{names.flux}"
        notes = (*notes, refusal("NOTE_TYPE_DECLARED", path=path, value=declared_flux, expected=" or ".join(fluxes)))
    seed = blake2b(digest_size=16)
    seed.update(repr((MARKET, values["sender"], flux, [facts.get(name) for name in entering])).encode())
    head = {
        "market": MARKET,
        "market_type": flux,
        "created": instant,
        "sender": values["sender"],
        "receiver": values["receiver"],
        "sender_role": "grid-operator",
        "receiver_role": "supplier",
        "grid_operator": values["instance"],
        "schema_version": values["declared"],
    }
    return Context(
        flux=flux,
        declared=values["declared"],
        sender=values["sender"],
        receiver=values["receiver"],
        created=created,
        head=head,
        facts=facts,
        seed=seed,
        notes=notes,
        blanks={},
    )


def _values(fields: Fields, names: HeaderNames) -> dict[str, str | None]:
    """Sender, receiver, declared version and instance; only the sender must be there."""
    values = {
        "declared": fields.get(names.version) if names.version else None,
        "sender": fields.get(names.sender),
        "receiver": fields.get(names.receiver),
        "instance": fields.get(names.instance) if names.instance else None,
    }
    for name, limit in _LONGEST.items():
        value = values[name]
        if value is not None and (type(value) is not str or len(value) > limit):
            path = f"{names.element}/{getattr(names, 'version' if name == 'declared' else name)}"
            raise _invalid(path, str(value), f"at most {limit} characters")
    if values["sender"] is None:
        raise _invalid(f"{names.element}/{names.sender}", None, "the sender's code")
    return values


def _creation(fields: Fields, names: HeaderNames) -> tuple[str, datetime, tuple[Refusal, ...]]:
    """When the market wrote the member, as written and as an instant; a day alone means its start, which is noted."""
    created, path = str(fields.get(names.created) or ""), f"{names.element}/{names.created}"
    try:
        return created, moment(created).at, ()
    except ValueError:
        pass
    try:
        at = start_of_day(day(created))
    except ValueError:
        raise _invalid(path, created or None, "a date-time") from None
    return created, at, (refusal("NOTE_TIME_NAIVE", path=path, value=created, expected=at.isoformat()),)


def _invalid(path: str, value: str | None, expected: str) -> Unreadable:
    return Unreadable(refusal("HEADER_INVALID", path=path, value=value, expected=expected))
