"""The truth file: the expected outcome of each simulated CH message."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec
from msgspec import Struct, field

from energycomm.kernel.verdicts import ErrorClass

State = Literal["accepted", "rejected", "quarantined", "refused"]


class Outcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The expected final outcome of the Kernel messages of one CH message.

    Attributes:
      state: of each Kernel message, by kind; ``kind/n`` for the n-th of its kind, ``*`` for those that are not named.
      errors: error codes of severity error, named in the same way; sorted.
      warnings: codes of severity warning, the same.
      error_class: whose fault it is.
      fault: the fault that was played.
      freed_by: what would free it: words for a person.
      told_by: what else that arrives tells the right content: words for a person; None when nothing does. It follows
        from what was left out or spoilt, whoever can make use of it.
    """

    state: dict[str, State] = field(default_factory=lambda: {"*": "accepted"})
    errors: dict[str, tuple[str, ...]] = {}
    warnings: dict[str, tuple[str, ...]] = {}
    error_class: ErrorClass | None = None
    fault: str | None = None
    freed_by: str | None = None
    told_by: str | None = None

    def of(self, kind: str, number: int) -> tuple[State, tuple[str, ...], tuple[str, ...]]:
        """State, errors and warnings of one Kernel message, the `number`-th of its kind in the CH message, from 1."""
        names = (f"{kind}/{number}", kind, "*")
        accepted: State = "accepted"
        state = next((self.state[name] for name in names if name in self.state), accepted)
        errors = next((self.errors[name] for name in names if name in self.errors), ())
        warnings = next((self.warnings[name] for name in names if name in self.warnings), ())
        return state, errors, warnings


class Truth(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the truth file: one CH message.

    Attributes:
      envelope: file name of the envelope.
      member: path of the member in it; the envelope's own name for a plain file.
      position: number of the CH message in its member, from 1.
      type: the market's message type.
      access_point: the point of the life that it tells of, as the market writes it.
      reference: the simulation's name of the message.
      kinds: kinds of its Kernel messages, each as often as there are messages of it, sorted; None when not foretold.
      outcome: what should become of it.
      twin: lines of one twin have equal content: all but the first to arrive are duplicates.
    """

    envelope: str
    member: str
    position: int
    type: str
    access_point: str | None
    reference: str
    outcome: Outcome = Outcome()
    kinds: tuple[str, ...] | None = None
    twin: str | None = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Truth)


class TruthFile:
    """Writes a truth file line by line."""

    def __init__(self, file: BinaryIO) -> None:
        """Write to an open binary file."""
        self._file = file
        self.lines = 0

    def write(self, truth: Truth) -> None:
        """Add a line."""
        self._file.write(_encoder.encode(truth) + b"\n")
        self.lines += 1


def read_truth(path: Path) -> Iterator[Truth]:
    """The lines of a truth file.

    Raises:
      msgspec.ValidationError: a line is not one of a truth file.
    """
    with path.open("rb") as file:
        for line in file:
            yield _decoder.decode(line)
