"""Envelopes: zip files with the names and running numbers that Enedis gives them, and the truth of what is in them."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeVar

from msgspec.structs import replace

from adapters.fr_enedis.simulator.codes import CONTRACT, GRD, OPERATOR, SUBSCRIPTION, SUPPLIER
from adapters.fr_enedis.simulator.drafts import (
    BillingReadingDraft,
    ChargeDraft,
    DailyReadingDraft,
    Draft,
    EventDraft,
    RequestDraft,
)
from energycomm.simulation.edits import NothingToEdit
from energycomm.simulation.expectation import Outcome, Truth, TruthFile

ACCEPTED = Outcome()
ENTRIES = frozenset(("PMES", "MES", "CFNE"))
EXITS = frozenset(("RES", "CFNS"))
_POINT = re.compile("<Id_PRM>([^<]*)<")
_D = TypeVar("_D", bound=Draft)

Encrypt = Callable[[bytes], bytes]


@dataclass(slots=True)
class Member:
    """One file inside an envelope."""

    name: str
    content: bytes
    truths: list[Truth]


@dataclass(slots=True)
class Counts:
    """What was written."""

    envelopes: int = 0
    members: int = 0
    messages: int = 0
    bytes: int = 0
    by_type: dict[str, int] = field(default_factory=dict)


def _twin(member: Member, envelope: str) -> Member:
    """The member, each message a twin of the same in another envelope."""
    truths = [replace(t, twin=t.twin or f"{envelope} {member.name} {t.position}") for t in member.truths]
    return Member(member.name, member.content, truths)


def _moved(member: Member, envelope: str) -> Member:
    """The same member in another envelope."""
    return Member(member.name, member.content, [replace(truth, envelope=envelope) for truth in member.truths])


def zip_bytes(members: Sequence[tuple[str, bytes]], stamp: str) -> bytes:
    """A zip of members, the same bytes whenever it is made. `stamp` is YYYYMMDDHHMMSS."""
    moment = tuple(int(stamp[a:b]) for a, b in ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name, moment)  # type: ignore[arg-type]
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


class Post:
    """Writes envelopes into a folder and their truth into a file."""

    def __init__(
        self, folder: Path, truth: TruthFile, encrypt: Encrypt | None = None, twice: float = 0.0, seed: int = 0
    ) -> None:
        """Deliver into `folder`.

        Args:
          folder: of the envelopes.
          truth: where to write what should become of their messages.
          encrypt: turns the bytes of each zip into what travels.
          twice: share of the envelopes that are delivered again, as they are or as other zips of the same files.
          seed: of all chance.
        """
        self._folder = folder
        self._twice = twice
        self._chance = Random(f"duplicates {seed}")  # noqa: S311 - simulated chance
        self._truth = truth
        self._encrypt = encrypt
        self._series: dict[str, int] = {}
        self.counts = Counts()

    def number(self, series: str) -> int:
        """The next running number of a series."""
        number = self._series.get(series, 0) + 1
        self._series[series] = number
        return number

    def name(self, flux: str, stamp: str) -> str:
        """Name of the next envelope of a flux, without its ending."""
        number = self.number(flux)
        if flux in ("C15", "R15"):
            return f"{OPERATOR}_{flux}_{SUPPLIER}_{CONTRACT}_{GRD}_{number:05d}_{stamp}"
        if flux == "R151":
            return f"{OPERATOR}_R151_{SUPPLIER}_{CONTRACT}_{SUBSCRIPTION}_{number:05d}_Q_00001_00001_{stamp}"
        if flux == "F15":
            return f"{OPERATOR}_F15_{SUPPLIER}_{CONTRACT}_{GRD}_C_M_9_D_{number:05d}_{stamp}"
        return f"{OPERATOR}_{flux}_{SUPPLIER}_{number:05d}_{stamp}"

    def send(self, flux: str, name: str, stamp: str, members: Sequence[Member]) -> None:
        """Write one envelope, and now and then the same again under another name."""
        content = zip_bytes([(member.name, member.content) for member in members], stamp)
        if self._twice and self._chance.random() < self._twice:
            again = self.name(flux, stamp)
            # The very same zip, or another zip of the same files: made a minute later, it has other bytes.
            same = self._chance.random() < 0.5
            later = f"{stamp[:-2]}59"
            copy = content if same else zip_bytes([(member.name, member.content) for member in members], later)
            first = [_twin(member, f"{name}.zip") for member in members]
            self._write(name, content, first)
            self._write(again, copy, [_moved(member, f"{again}.zip") for member in first])
        else:
            self._write(name, content, members)

    def _write(self, name: str, content: bytes, members: Sequence[Member]) -> None:
        if self._encrypt is not None:
            content = self._encrypt(content)
        self._folder.joinpath(f"{name}.zip").write_bytes(content)
        counts = self.counts
        counts.envelopes += 1
        counts.bytes += len(content)
        for member in members:
            counts.members += 1
            for truth in member.truths:
                self._truth.write(truth)
                counts.messages += 1
                counts.by_type[truth.type] = counts.by_type.get(truth.type, 0) + 1


def written(drafts: Sequence[_D], writer: Callable[[_D], str]) -> list[str]:
    """The XML of each draft, with the mistakes that are played on it."""
    bodies = []
    for draft in drafts:
        xml = writer(draft)
        if draft.edit is not None and not draft.alone:
            try:
                xml = draft.edit(xml)
            except NothingToEdit:
                # An affaire may not have come so far yet that its mistake shows.
                if not isinstance(draft, RequestDraft):
                    raise
            point = _POINT.search(xml)
            draft.prm = point[1] if point else draft.prm
        bodies.append(xml)
    return bodies


def _kinds(draft: Draft) -> tuple[str, ...] | None:
    """Kinds of the Kernel messages of a message, sorted; None when a mistake may have changed them."""
    if draft.edit is not None:
        return None
    if isinstance(draft, EventDraft):
        readings = ["MeterReading"] * len(draft.readings)
        if draft.nature in EXITS:
            return tuple(sorted(["EndOfSupply", *readings]))
        meters = ["MeterData"] * (2 if draft.removed else 1)
        entry = ["StartOfSupply"] if draft.nature in ENTRIES else []
        return tuple(sorted([*entry, *readings, *meters, "AccessPointData", "ContractTerms", "CustomerData"]))
    if isinstance(draft, BillingReadingDraft):
        energies = any(r.energy is not None for r in (*draft.distributor_registers, *draft.supplier_registers))
        return ("MeterReading", "MeteredVolume") if energies else ("MeterReading",)
    if isinstance(draft, DailyReadingDraft):
        return ("MeterReading",)
    if isinstance(draft, RequestDraft):
        return ("RequestStatus",)
    return ("GridCharge",) if isinstance(draft, ChargeDraft) else ("GridInvoice",)


def truths_of(flux: str, envelope: str, member: str, drafts: Sequence[Draft]) -> list[Truth]:
    """The truth of the CH messages of a member, in their order: one a draft, and one a milestone of a request."""
    truths: list[Truth] = []
    for draft in drafts:
        outcome = draft.outcome or ACCEPTED
        if isinstance(draft, RequestDraft):
            for milestone in draft.milestones:
                name = f"{flux} {draft.affaire} {milestone.number}"
                right = draft.wrong and milestone.number not in draft.wrong
                own = ACCEPTED if right else outcome
                truths.append(_truth(flux, envelope, member, len(truths) + 1, draft, own, name, name))
        else:
            truths.append(_truth(flux, envelope, member, len(truths) + 1, draft, outcome, draft.reference, draft.twin))
    return truths


def _truth(
    flux: str,
    envelope: str,
    member: str,
    position: int,
    draft: Draft,
    outcome: Outcome,
    reference: str,
    twin: str | None,
) -> Truth:
    return Truth(
        envelope=f"{envelope}.zip",
        member=member,
        position=position,
        type=flux,
        access_point=draft.prm,
        reference=reference,
        outcome=outcome,
        kinds=_kinds(draft),
        twin=twin,
    )
