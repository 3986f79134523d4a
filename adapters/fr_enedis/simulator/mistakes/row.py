"""What a row of the tables of mistakes is.

A row says which message of a faulty life is touched, how its XML is edited, and which codes each Kernel message that
comes of it must get. What a rejected message means for the ones that build on it is told by `cascade`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from energycomm.kernel.verdicts import ErrorClass
from energycomm.simulation.edits import Edit
from energycomm.simulation.expectation import Outcome, State

Target: TypeAlias = Literal[
    "point",  # MDPRM of the second supply
    "early-point",  # MDPRM of the first supply, after a change of terms
    "customer",  # MDACT of the first supply
    "entry",  # entry of the second supply
    "exit",  # exit of the first supply
    "reading",  # a periodic R15 in the quiet stretch of the first supply
    "last",  # the last periodic R15 of the life
    "daily",  # an R151 in the quiet stretch
    "daily-end",  # the last R151 of the first supply
    "daily-last",  # the last R151 of the life
    "early-charge",  # a charge that other invoices follow
    "charge",  # the last charge of the life
    "request",  # an affaire of its own
    "invoice",  # a general file of its own
]
Codes: TypeAlias = dict[str, tuple[str, ...]]
NONE: Codes = {}


class Mistake(NamedTuple):
    """One row.

    Attributes:
      name: error code, or a name of its own.
      target: the message that is touched.
      edit: of its XML; of the whole document when `document`.
      errors, warnings: codes by kind of Kernel message; ``kind/n`` is the n-th of its kind.
      error_class: class of the fault.
      extra: the message itself stays right; a copy with the edit is published `later` days after it.
      document: the message travels alone in its envelope and the document is edited.
      cascade: what is missing to the rest of the life when the message is refused.
      rest: state of the Kernel messages that get no error.
      before: edit of an extra copy that is right and comes a day before the wrong one.
      previous: edit of the reading before the one that is touched; that reading stays right.
      milestones: for an affaire, the milestones that are wrong; empty for all.
      told_by: see `Outcome`.
    """

    name: str
    target: Target
    edit: Edit
    errors: Codes = NONE
    warnings: Codes = NONE
    error_class: ErrorClass = "grid_operator"
    extra: bool = False
    later: int = 2
    document: bool = False
    cascade: Literal["entry", "exit"] | None = None
    rest: State = "accepted"
    before: Edit | None = None
    previous: Edit | None = None
    milestones: tuple[int, ...] = ()
    told_by: str | None = None

    def outcome(self) -> Outcome:
        """What should become of the message."""
        state: dict[str, State] = dict.fromkeys(self.errors, "rejected")
        state.setdefault("*", self.rest)
        freed = "a corrected message" if self.errors else None
        errors = {kind: tuple(sorted(codes)) for kind, codes in self.errors.items()}
        return Outcome(
            state=state,
            errors=errors,
            warnings=self.warnings,
            error_class=self.error_class,
            fault=self.name,
            freed_by=freed,
            told_by=self.told_by,
        )


def same(*codes: str, kinds: str = "AccessPointData ContractTerms CustomerData MeterData") -> Codes:
    """The same codes for each of several kinds, which are separated by spaces."""
    return dict.fromkeys(kinds.split(), codes)


POINT, TERMS, HOLDER, METER = "AccessPointData", "ContractTerms", "CustomerData", "MeterData"
READING, VOLUME, CHARGE, INVOICE, STATUS = "MeterReading", "MeteredVolume", "GridCharge", "GridInvoice", "RequestStatus"
STRANGER = "17XSIMULATEUR09Z"
"""Another party than ours."""
