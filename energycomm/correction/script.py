"""What a correction script is: one Python file with a declared selection, parameters, documentation and one function.

    from energycomm.correction.script import Modify, Script, Selection

    SCRIPT = Script(
        title="An index in the wrong unit",
        selection=Selection(codes=("CO-R05",), kinds=("MeterReading",)),
    )

    def correct(case, parameters):
        return Modify(structs.replace(case.message, ...), "the index was in Wh")

The function sees one stuck message (`Case`) with the history of its access point, and says what to do, or None. It
changes nothing by itself: campaigns try out what it says, record it and do it. A function of three parameters is given
a `Lookup` too, for what lies at other access points. A script whose parameters must be given may offer
`suggest(cases)`, which names parameters worth a try for a group of messages.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from msgspec import Struct

from energycomm.correction.cases import STUCK, Case
from energycomm.correction.lookup import Lookup
from energycomm.errors import UserError
from energycomm.kernel.messages import KernelMessage

SHIPPED = Path(__file__).parent / "scripts"


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
    """Send the message back to the Kernel as it is."""

    note: str


class SetAside(Struct, frozen=True):
    """Put the message aside: it says nothing new. The history goes on without it, and it can be taken back."""

    note: str


Storing: TypeAlias = Modify | Reorder | Create
"""Actions that store a message."""

Action: TypeAlias = Storing | Replay | SetAside

Correct: TypeAlias = Callable[..., Action | None]
"""correct(case, parameters) or correct(case, parameters, lookup)."""

Suggest: TypeAlias = Callable[[Sequence[Case]], Sequence[Mapping[str, str]]]
"""suggest(cases): parameters that may be worth a try for a group of messages."""


class Selection(Struct, frozen=True, kw_only=True):
    """Which stuck messages a script is about; what is empty does not restrict.

    Attributes:
      codes: it has one of these error codes.
      kinds: it is of one of these kinds.
      states: it is in one of these states.
      waits_for: it waits, or waited in vain, for something whose words begin like this.
      markets: it is of one of these markets.
      sql: a query of ids of Kernel messages, for people who think in SQL; it is run read-only.
    """

    codes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    states: tuple[str, ...] = STUCK
    waits_for: tuple[str, ...] = ()
    markets: tuple[str, ...] = ()
    sql: str | None = None

    def takes(self, case: Case) -> bool:
        """Whether a stuck message is selected; `sql` apart."""
        return (
            case.state in self.states
            and (not self.kinds or case.kind in self.kinds)
            and (not self.markets or case.message.market in self.markets)
            and (not self.codes or bool(set(self.codes) & set(case.codes)))
            and (not self.waits_for or (case.waits_for or "").startswith(self.waits_for))
        )


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter of a script: its name, its words, its value when none is given (None: it must be given)."""

    name: str
    help: str
    default: str | None = None


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


class LoadedScript(Struct, frozen=True, kw_only=True):
    """A script that was read.

    Attributes:
      name: of its file.
      declared: its declaration.
      correct: its function.
      suggest: its function of parameters worth a try, where it has one.
      documentation: the words at the top of its file.
      digest: SHA-256 of the file.
      path: of the file.
    """

    name: str
    declared: Script
    correct: Correct
    documentation: str
    digest: str
    path: Path
    suggest: Suggest | None = None

    def ask(self, case: Case, values: Mapping[str, str], lookup: Lookup) -> Action | None:
        """What the script says about a message; it is given the lookup if it wants one."""
        wants = len(inspect.signature(self.correct).parameters) > len(("case", "parameters"))
        return self.correct(case, values, lookup) if wants else self.correct(case, values)

    def values(self, given: Mapping[str, str]) -> dict[str, str]:
        """The parameters of a run: what was given, and the defaults.

        Raises:
          UserError: one is unknown or missing.
        """
        known = {parameter.name: parameter for parameter in self.declared.parameters}
        for name in given:
            if name not in known:
                words = ", ".join(known) or "none"
                raise UserError(f"The script {self.name} has no parameter {name!r}.", f"Its parameters: {words}.")
        values: dict[str, str] = {}
        for name, parameter in known.items():
            value = given.get(name, parameter.default)
            if value is None:
                raise UserError(f"The script {self.name} needs the parameter {name!r}: {parameter.help}.")
            values[name] = value
        return values


def load_scripts(folder: Path | None = None) -> dict[str, LoadedScript]:
    """The shipped scripts and those of one's own folder, by name; one's own goes before a shipped one of its name.

    Raises:
      UserError: a script cannot be read.
    """
    files = sorted(SHIPPED.glob("*.py"))
    if folder is not None:
        if not folder.is_dir():
            raise UserError(f"There is no folder of correction scripts {folder}.", "Correct `scripts`.")
        files += sorted(folder.glob("*.py"))
    scripts: dict[str, LoadedScript] = {}
    for file in files:
        if not file.name.startswith("_"):
            script = load_script(file)
            scripts[script.name] = script
    return dict(sorted(scripts.items()))


def load_script(file: Path) -> LoadedScript:
    """One script.

    Raises:
      UserError: it cannot be run, or lacks its declaration, its function or its documentation.
    """
    name = file.stem.replace("_", "-")
    module = _run(file)
    declared, correct = getattr(module, "SCRIPT", None), getattr(module, "correct", None)
    if not isinstance(declared, Script) or not callable(correct):
        raise UserError(
            f"The correction script {file} is not complete.",
            "It needs SCRIPT = Script(...) and correct(case, parameters).",
        )
    documentation = (module.__doc__ or "").strip()
    if not documentation:
        raise UserError(f"The correction script {file} has no documentation.", "Say at its top what it does and why.")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return LoadedScript(
        name=name,
        declared=declared,
        correct=correct,
        suggest=getattr(module, "suggest", None),
        documentation=documentation,
        digest=digest,
        path=file,
    )


def _run(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"energycomm_script_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UserError(f"The correction script {file} cannot be read: {type(error).__name__}: {error}.") from None
    return module


def find_script(name: str, folder: Path | None = None) -> LoadedScript:
    """A script by its name.

    Raises:
      UserError: there is none.
    """
    scripts = load_scripts(folder)
    found: Any = scripts.get(name) or scripts.get(name.replace("_", "-"))
    if found is None:
        raise UserError(f"There is no correction script {name!r}.", f"Scripts: {', '.join(scripts)}.")
    return found  # type: ignore[no-any-return]
