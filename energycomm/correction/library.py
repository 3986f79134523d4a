"""The correction scripts there are: those that EnergyComm ships, those of each market, those of one's own folder."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from msgspec import Struct, structs

from energycomm.choices import one_of
from energycomm.correction.cases import Case
from energycomm.correction.lookup import Lookup
from energycomm.correction.script import Action, Script, Selection
from energycomm.engine.rule import Rule
from energycomm.errors import UserError
from energycomm.market.installed import installed_adapters

SHIPPED = Path(__file__).parent / "scripts"

Correct: TypeAlias = Callable[..., Action | None]
"""correct(case, parameters) or correct(case, parameters, lookup)."""

Suggest: TypeAlias = Callable[[Sequence[Case]], Sequence[Mapping[str, str]]]
"""suggest(cases): parameters that may be worth a try for a group of messages."""


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
        """The script's action for a message; a script with a third parameter gets the lookup."""
        wants = len(inspect.signature(self.correct).parameters) > len(("case", "parameters"))
        return self.correct(case, values, lookup) if wants else self.correct(case, values)

    @property
    def told(self) -> list[str]:
        """The documentation, a paragraph each."""
        return paragraphs(self.documentation)

    def meant_for(self, rules: Sequence[Rule]) -> LoadedScript:
        """The script with the codes of the rules that name it, where its selection leaves them to the rules."""
        selection = self.declared.selection
        if not selection.by_rules:
            return self
        codes = dict.fromkeys(rule.error_code for rule in rules if self.name in rule.repair)
        selection = structs.replace(selection, codes=(*selection.codes, *codes))
        return structs.replace(self, declared=structs.replace(self.declared, selection=selection))

    def values(self, given: Mapping[str, str]) -> dict[str, str]:
        """The parameters of a run: the given values, and defaults for the others.

        Raises:
          UserError: one is unknown or missing, or has a value that there is not.
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
            what = parameter.help.partition(":")[0]
            values[name] = one_of(name, value, parameter.known, what) if parameter.known else value
        return values

    def selection(self, values: Mapping[str, str]) -> Selection:
        """Which messages a run with these parameters is about."""
        declared = self.declared.selection
        return structs.replace(declared, codes=(values[declared.code_from],)) if declared.code_from else declared


def paragraphs(documentation: str) -> list[str]:
    """The paragraphs of a text, each in one line: what is translated at once."""
    return [" ".join(one.split()) for one in documentation.split("\n\n")]


def load_scripts(rules: Sequence[Rule], folder: Path | None = None) -> dict[str, LoadedScript]:
    """The scripts there are, by name, each for the codes of the rules that name it.

    Args:
      rules: of the catalogue.
      folder: one's own scripts.

    Raises:
      UserError: a script cannot be read.
    """
    return {name: script.meant_for(rules) for name, script in read_scripts(folder).items()}


def read_scripts(folder: Path | None = None) -> dict[str, LoadedScript]:
    """The scripts by name: shipped ones, those of markets, those of a folder; of two with one name the later counts.

    Raises:
      UserError: a script cannot be read.
    """
    scripts = (load_script(file) for file in _files(folder))
    return dict(sorted((script.name, script) for script in scripts))


class Heading(Struct, frozen=True):
    """What a script says of itself, told without running it.

    Attributes:
      name: its name.
      title: what it does; empty where that stands nowhere in plain words.
      states: the states of the messages that it selects, where it names them.
    """

    name: str
    title: str = ""
    states: tuple[str, ...] = ()


def script_headings(folder: Path | None = None) -> list[Heading]:
    """The names of the scripts and what they say of themselves; none is run, so that a broken one hinders nothing.

    Raises:
      UserError: there is no such folder.
    """
    found = {_name(file): _heading(file, file.stat().st_mtime_ns) for file in _files(folder)}
    return [found[name] for name in sorted(found)]


_TOLD = {"Script": "title", "Selection": "states"}
"""What is made in a script -> its field that is told."""


@cache
def _heading(file: Path, changed: int) -> Heading:
    """The heading of a file that was changed at some time; of what is no Python its name alone."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return Heading(_name(file))
    told: dict[str, object] = {}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            for one in call.keywords:
                if one.arg is not None and one.arg == _TOLD.get(call.func.id):
                    with suppress(ValueError):
                        told[one.arg] = ast.literal_eval(one.value)
    title, states = told.get("title", ""), told.get("states", ())
    states = tuple(map(str, states)) if isinstance(states, tuple) else ()
    return Heading(_name(file), title if isinstance(title, str) else "", states)


def _files(folder: Path | None) -> list[Path]:
    folders = [SHIPPED, *(adapter.scripts for adapter in installed_adapters().values() if adapter.scripts is not None)]
    if folder is not None:
        if not folder.is_dir():
            raise UserError(f"There is no folder of correction scripts {folder}.", "Correct `scripts`.")
        folders.append(folder)
    return [file for place in folders for file in sorted(place.glob("*.py")) if not file.name.startswith("_")]


def _name(file: Path) -> str:
    return file.stem.replace("_", "-")


def load_script(file: Path) -> LoadedScript:
    """One script.

    Raises:
      UserError: it cannot be run, or lacks its declaration, its function or its documentation.
    """
    name = _name(file)
    module = _run(file)
    declared, correct = getattr(module, "SCRIPT", None), getattr(module, "correct", None)
    if not isinstance(declared, Script) or not callable(correct):
        raise UserError(
            f"The correction script {file} is not complete.",
            "It needs SCRIPT = Script(...) and correct(case, parameters).",
        )
    documentation = (module.__doc__ or "").strip()
    if not documentation:
        raise UserError(f"The correction script {file} has no documentation.", "State at the top what it does and why.")
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


def find_script(name: str, rules: Sequence[Rule], folder: Path | None = None) -> LoadedScript:
    """A script by its name.

    Raises:
      UserError: there is none.
    """
    scripts = load_scripts(rules, folder)
    found: Any = scripts.get(name) or scripts.get(name.replace("_", "-"))
    if found is None:
        raise UserError(f"There is no correction script {name!r}.", f"Scripts: {', '.join(scripts)}.")
    return found  # type: ignore[no-any-return]
