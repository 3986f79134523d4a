"""Loading the predicates that rules may call, with their signatures."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from energycomm.engine.problems import Problem
from energycomm.engine.valuetypes import ValueType, type_of
from energycomm.kernel.predicate import MARK, PredicateMark

FILE = "predicates.py"

BUILT_IN: dict[str, str] = {
    "present": "present(x): the value is there. Never unknown.",
    "absent": "absent(x): the value is not there. Never unknown.",
    "count": "count(list): number of items of a list of the message: registers, volumes, positions, lines, ...",
    "particular": "particular('name'): the value that the market sends under its own name and declares in "
    "particulars.csv. Only in the rules of that market.",
    "in_list": "in_list('name', code) or in_list('name', code, day): the code is in the market's code list on the day, "
    "by default the day of the message's effective instant.",
    "has_error": "has_error('CODE'): the message was rejected with that error code. Only in rejection rules.",
}
"""What every rule may call without declaring it, with its description."""


@dataclass(frozen=True)
class Predicate:
    """A function that rules may call.

    Attributes:
      name: its name in expressions.
      function: the function.
      parameters: names and types of what a rule writes, in order.
      required: number of parameters without a default.
      returns: type of the result.
      needs_message: the message goes in front of the arguments.
      description: the docstring.
      line: line of its definition.
      source: text of its definition, part of the rules' content version.
      helpers: name -> text of the functions and constants of its file that it uses, and those that they use.
    """

    name: str
    function: Callable[..., Any]
    parameters: tuple[tuple[str, ValueType], ...]
    required: int
    returns: ValueType
    needs_message: bool
    description: str
    line: int
    source: str
    helpers: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def signature(self) -> str:
        """Name and parameters as a rule writes them."""
        return f"{self.name}({', '.join(name for name, _ in self.parameters)})"


def load_predicates(folder: Path, *, run_examples: bool = True) -> tuple[dict[str, Predicate], list[Problem]]:
    """The predicates of ``predicates.py`` in a folder of rules, and their problems.

    Args:
      folder: the folder of rules.
      run_examples: run the doctest examples of the docstrings.

    Returns:
      Name -> predicate, empty where there is no such file, and the problems found.
    """
    path = folder / FILE
    if not path.is_file():
        return {}, []
    try:
        module = _import(path)
    except SyntaxError as error:
        return {}, [Problem(FILE, error.lineno or 1, "", f"this is not Python: {error.msg}", "Correct the line.")]
    except Exception as error:  # whatever the module's own statements raise
        reason = f"the module cannot be imported: {type(error).__name__}: {error}"
        return {}, [Problem(FILE, 1, "", reason, "Correct the module so that `python predicates.py` runs.")]
    found: dict[str, Predicate] = {}
    problems: list[Problem] = _imports(path)
    definitions = _definitions(path.read_text("utf-8"))
    for name, value in vars(module).items():
        mark = getattr(value, MARK, None)
        if isinstance(mark, PredicateMark) and inspect.isfunction(value) and value.__module__ == module.__name__:
            _read(name, value, mark, found, problems)
    found = {name: replace(one, helpers=helpers_of(name, definitions)) for name, one in found.items()}
    if run_examples:
        problems += _run_doctests(module)
    return found, problems


def _definitions(text: str) -> dict[str, tuple[str, set[str]]]:
    """Name at the top of a file -> the text of its definition, and the names that it uses."""
    lines = text.split("\n")  # ast.get_source_segment would split the text anew for each definition
    found: dict[str, tuple[str, set[str]]] = {}
    for node in ast.parse(text).body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
        used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        for name in names:
            found[name] = ("\n".join(lines[node.lineno - 1 : node.end_lineno]), used - {name})
    return found


def helpers_of(name: str, definitions: Mapping[str, tuple[str, set[str]]]) -> dict[str, str]:
    """What a definition uses of its file, directly or not: name -> text."""
    found: dict[str, str] = {}
    waiting = [name]
    while waiting:
        for used in sorted(definitions[waiting.pop()][1]):
            if used in definitions and used != name and used not in found:
                found[used] = definitions[used][0]
                waiting.append(used)
    return dict(sorted(found.items()))


def _import(path: Path) -> ModuleType:
    name = f"energycomm_rules_{abs(hash(str(path.resolve()))):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # typing.get_type_hints looks annotations up there
    spec.loader.exec_module(module)
    return module


def _imports(path: Path) -> list[Problem]:
    """Rules know the kernel only: any other import of ours is refused."""
    problems = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            top = name.split(".")[0]
            if top in ("energycomm", "adapters", "assistant") and not name.startswith("energycomm.kernel"):
                reason = f"predicates import {name}"
                problems.append(
                    Problem(FILE, getattr(node, "lineno", 1), "", reason, "Import from energycomm.kernel only.")
                )
    return problems


def _read(
    name: str, function: Callable[..., Any], mark: PredicateMark, found: dict[str, Predicate], problems: list[Problem]
) -> None:
    line = function.__code__.co_firstlineno

    def report(reason: str, advice: str) -> None:
        problems.append(Problem(FILE, line, "", f"predicate {name}: {reason}", advice))

    if name in BUILT_IN:
        report("the name is built in", "Give it another name, or remove it and use the built-in one.")
        return
    description = inspect.getdoc(function)
    if not description:
        report("it has no docstring", "Describe it in one sentence; the KernelRules document prints it.")
        return
    parameters = list(inspect.signature(function).parameters.values())
    if mark.needs_message:
        parameters = parameters[1:]
    hints = typing.get_type_hints(function)
    typed: list[tuple[str, ValueType]] = []
    for parameter in parameters:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.name not in hints:
            report(f"parameter {parameter.name} has no plain annotation", "Annotate each parameter: `value: int`.")
            return
        try:
            typed.append((parameter.name, type_of(hints[parameter.name])))
        except TypeError as error:
            report(
                f"parameter {parameter.name}: {error}", "Use str, int, Decimal, bool, date, datetime or a Kernel part."
            )
            return
    try:
        returns = type_of(hints["return"])
    except (KeyError, TypeError):
        report("its result has no usable annotation", "Annotate it: `-> bool`, `-> int | None`.")
        return
    required = sum(parameter.default is parameter.empty for parameter in parameters)
    source = inspect.getsource(function)
    found[name] = Predicate(
        name, function, tuple(typed), required, returns, mark.needs_message, description, line, source
    )


def _run_doctests(module: ModuleType) -> list[Problem]:
    problems: list[Problem] = []

    class Collector(doctest.DocTestRunner):
        def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
            reason = f"{example.source.strip()} gives {got.strip()}, its example says {example.want.strip()}"
            line = (test.lineno or 0) + example.lineno + 1
            problems.append(Problem(FILE, line, "", reason, "Correct the function or the example."))

        def report_unexpected_exception(
            self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
        ) -> None:
            reason = f"{example.source.strip()} raises {exc_info[0].__name__}: {exc_info[1]}"
            line = (test.lineno or 0) + example.lineno + 1
            problems.append(Problem(FILE, line, "", reason, "Correct the function or the example."))

    runner = Collector(verbose=False)
    for test in doctest.DocTestFinder(recurse=True).find(module, module.__name__):
        runner.run(test, out=lambda _text: None)
    return problems
