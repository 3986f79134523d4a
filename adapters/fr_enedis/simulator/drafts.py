"""CH messages before they are written: plain, mutable, so that a fault can change one field of one message."""

from __future__ import annotations

from dataclasses import dataclass, field

from adapters.fr_enedis.simulator.codes import Calendar
from energycomm.simulation.edits import Edit
from energycomm.simulation.expectation import Outcome
from energycomm.simulation.people import Customer, Place


@dataclass(slots=True)
class Draft:
    """What every CH message has.

    Attributes:
      prm: Id_PRM.
      number: running number of the access point.
      reference: how the simulation names the message in the truth file.
      outcome: what should become of it; None for acceptance without remark.
      twin: equal for messages of equal content, of which only the first to arrive counts; None when it is alone.
      edit: what a mistake changes in the written message.
      alone: the message travels alone in its envelope, and `edit` is of the whole document.
    """

    prm: str
    number: int
    reference: str
    outcome: Outcome | None = field(default=None, kw_only=True)
    twin: str | None = field(default=None, kw_only=True)
    edit: Edit | None = field(default=None, kw_only=True)
    alone: bool = field(default=False, kw_only=True)


@dataclass(slots=True)
class RegisterDraft:
    """One register of a reading: an index, and where a previous one is known the energy since."""

    code: str
    label: str
    rank: int
    value: int
    previous: int | None = None
    energy: int | None = None
    digits: int = 6
    rollover: int = 0
    unit: str = "kWh"
    doubtful: int = 0


@dataclass(slots=True)
class ReadingDraft:
    """A reading inside a C15 event: Donnees_Releve."""

    qualification: str
    at: str
    distributor: Calendar | None
    supplier: Calendar
    distributor_registers: list[RegisterDraft]
    supplier_registers: list[RegisterDraft]
    nature: str | None = "REEL"


@dataclass(slots=True)
class EventDraft(Draft):
    """One `PRM` of a C15 file."""

    nature: str
    at: str
    kind: str
    affaire: str | None
    readings: list[ReadingDraft]
    place: Place
    customer: Customer
    reference_contract: str
    in_service: str
    status: str
    terminated: str | None
    sequence: int
    sequence_start: str
    tariff: str
    power: str
    distributor: Calendar | None
    supplier: Calendar
    meter: str
    removed: str | None
    smart: bool
    reading_day: int
    level: int
    supply_state: str = "ALIM"
    power_unit: str = "kVA"
    meter_type: str = "CCB"
    category: str | None = None
    segment: str = "C5"


@dataclass(slots=True)
class BillingReadingDraft(Draft):
    """One `Donnees_Releve` of an R15 file."""

    identifier: str
    at: str
    reference_contract: str
    sequence: int
    motive: str
    distributor: Calendar | None
    supplier: Calendar
    distributor_registers: list[RegisterDraft]
    supplier_registers: list[RegisterDraft]
    meter: str
    meter_type: str
    level: int
    client: int
    status: str = "INITIAL"
    nature: str | None = "REEL"
    consumption: str = "REEL"
    correction: str | None = None
    previous_identifier: str | None = None
    previous_at: str | None = None
    previous_nature: str | None = None
    next_reading: str | None = None


@dataclass(slots=True)
class DailyReadingDraft(Draft):
    """One `PRM` of an R151 file."""

    day: str
    distributor: Calendar
    supplier: Calendar
    distributor_registers: list[RegisterDraft]
    supplier_registers: list[RegisterDraft]
    maximum_power: int | None


@dataclass(slots=True)
class LineDraft:
    """One `Element_Valorise` of a charge."""

    group: str
    code: str
    label: str
    start: str
    end: str
    quantity: str
    unit: str
    price: str
    cents: int
    tax: str
    power: str | None = None
    tariff: str | None = None


@dataclass(slots=True)
class ChargeDraft(Draft):
    """One `Donnees_Valorisation` of an F15 detail file."""

    identifier: str
    billing: str
    reference_contract: str
    meter_type: str
    municipality: str
    lines: list[LineDraft]
    cents: int


@dataclass(slots=True)
class MilestoneDraft:
    """One `jalon` of an affaire."""

    number: int
    at: str
    effect: str
    state: str


@dataclass(slots=True)
class RequestDraft(Draft):
    """One affaire of a snapshot, with the milestones reached so far."""

    affaire: str
    object: str
    milestones: list[MilestoneDraft]
    status: str | None
    received: bool = False
    wrong: tuple[int, ...] = ()
    """Milestones that `outcome` is of; empty for all."""
