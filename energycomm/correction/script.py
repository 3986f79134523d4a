"""Correction scripts: a Python file with a declared selection, parameters, documentation and one function.

    from energycomm.correction.script import Modify, Script, Selection

    SCRIPT = Script(
        title="An index in the wrong unit",
        selection=Selection(codes=("XX-R05",), kinds=("MeterReading",)),
    )

    def correct(case, parameters):
        return Modify(structs.replace(case.message, ...), "the index was in Wh")

The function sees one stuck message (`Case`) with the history of its access point, and says what to do, or None. It
changes nothing by itself: campaigns try out what it says, record it and do it. A function of three parameters is given
a `Lookup` too, for what lies at other access points. A script whose parameters must be given may offer
`suggest(cases)`, which names parameters worth a try for a group of messages.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from energycomm.correction.cases import STUCK, Case
from energycomm.kernel.messages import KernelMessage


class Modify(Struct, frozen=True):
    """Store a corrected version of the message: a part removed, added or replaced.

    Attributes:
      message: the new content.
      note: what was done, for the record.
    """

    message: KernelMessage
    note: str


class Reorder(Struct, frozen=True):
    """Store a version with another place in business order: another effective instant or time of writing."""

    message: KernelMessage
    note: str


class Create(Struct, frozen=True):
    """Make a message that is missing; the stuck one is judged again after it."""

    message: KernelMessage
    note: str


class Replay(Struct, frozen=True):
    """Judge the message again without changes."""

    note: str


class SetAside(Struct, frozen=True):
    """Set the message aside because it says nothing new. The history continues without it; this can be undone."""

    note: str


Storing: TypeAlias = Modify | Reorder | Create
"""Actions that store a message."""

Action: TypeAlias = Storing | Replay | SetAside


class Selection(Struct, frozen=True, kw_only=True):
    """The stuck messages that a script selects; empty fields do not restrict.

    Attributes:
      codes: it has one of these error codes.
      by_rules: it has an error code of a rule that names the script as its `repair`; they are added to `codes` when the
        script is loaded, and where no rule names it, it takes nothing.
      kinds: it is of one of these kinds.
      states: it is in one of these states.
      waits_for: it waits, or waited in vain, for something whose words begin like this.
      markets: it is of one of these markets.
      sql: a query of ids of Kernel messages, for people who think in SQL; it is run read-only.
      code_from: name of the parameter that says which error code it has; it takes the place of `codes` in a run.
    """

    codes: tuple[str, ...] = ()
    by_rules: bool = False
    kinds: tuple[str, ...] = ()
    states: tuple[str, ...] = STUCK
    waits_for: tuple[str, ...] = ()
    markets: tuple[str, ...] = ()
    sql: str | None = None
    code_from: str = ""

    @property
    def any_code(self) -> bool:
        """Whether error codes do not restrict it."""
        return not (self.codes or self.by_rules)

    def takes(self, case: Case) -> bool:
        """Whether a stuck message is selected; `sql` apart."""
        return (
            case.state in self.states
            and (not self.kinds or case.kind in self.kinds)
            and (not self.markets or case.message.market in self.markets)
            and (self.any_code or bool(set(self.codes) & set(case.codes)))
            and (not self.waits_for or (case.waits_for or "").startswith(self.waits_for))
        )


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter of a script.

    Attributes:
      name: its name.
      help: its words.
      default: its value when none is given; None: it must be given.
      known: the values there are; empty where it may be any.
    """

    name: str
    help: str
    default: str | None = None
    known: tuple[str, ...] = ()


class Script(Struct, frozen=True, kw_only=True):
    """The declaration of a script.

    Attributes:
      title: what it does, in a few words.
      selection: which messages it is about.
      parameters: what whoever runs it may choose.
      automatic: `energycomm correct loop` may run it: it only adds what follows from the history.
    """

    title: str
    selection: Selection
    parameters: tuple[Parameter, ...] = ()
    automatic: bool = False
