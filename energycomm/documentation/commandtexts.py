"""Every text of the command line: what the help says, and what commands print, each where it stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer

from energycomm.cli import app
from energycomm.commands.helping import paragraphs
from energycomm.documentation.templates_in_code import templates_of

SILENT = frozenset(
    (
        *("Option", "Argument", "Typer", "Place", "choice", "market_option", "command"),
        *("recorded", "record", "compile", "cast", "text", "execute", "exec_driver_sql"),
    )
)
"""Calls whose texts the help has, or nobody reads."""

KEPT = ("FORMS", "SORT", "STATE_COLOURS")
"""Variables whose texts the help has, or nobody reads."""

TABLES = {"show": 1, "print_rows": 0, "print_facts": 0, "_print_part": 0}
"""Functions that print a table, or names with their values -> the place of the first argument with names."""

_HEAD = re.compile(r"_?(head|HEAD|facts|FACTS|STATES|WORDS)\w*")
"""Variables that hold names of columns and facts."""

_WORDS = re.compile(r"(?<![{\w])[^\W\d_]{2,}")
TYPED = re.compile(
    r"energycomm .*|\w+ = .*|[A-Z]+ /.*|--.* \"\.\.\.\"|(\{\d\} )?(MB|kWh(/m3)?)|uid .*|\w+(\[| on ).*|`[^`]*`"
    r"|BM25|sha256|\{0\},? \w+ \{1\}"
)
"""What is typed, the same in every language, or a single word between values, which would fit everything."""


def help_texts(package: str) -> Iterator[str]:
    """Every paragraph that the help of a package's commands says.

    Args:
      package: energycomm, or one that adds commands.
    """
    for of, text in _helps():
        if of == package:
            yield from paragraphs(text)


@cache
def _helps() -> tuple[tuple[str, str], ...]:
    """Package -> the help of a command or an option of it."""
    found: list[tuple[str, str]] = []

    def walk(command: Any, above: str) -> None:
        package = command.callback.__module__.split(".")[0] if command.callback else above
        package = package if package != "typer" else above
        texts = (command.help, *(getattr(one, "help", None) for one in command.params))
        found.extend((package, text) for text in texts if text)
        children: Any = getattr(command, "commands", {})
        for name in children:
            words = children.words(name) if hasattr(children, "words") else ""
            added = name in getattr(children, "added", ())
            inner = children.added[name].module.split(".")[0] if added else package
            found.extend([(inner, words)] if words else [])
            walk(children[name], inner)

    walk(typer.main.get_command(app), "energycomm")
    return tuple(found)


def printed(file: Path) -> Iterator[str]:
    """Every text that a file of commands prints, its values as `{0}`, `{1}`; names of columns and facts with them."""
    tree = ast.parse(file.read_bytes())
    lines = (line.strip() for text in _sentences(tree) for line in text.split("\n"))
    yield from (line for line in lines if " " in line and _WORDS.search(line) and not TYPED.fullmatch(line))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in TABLES:
                values = [*node.args[TABLES[name] :], *(one.value for one in node.keywords)]
                yield from (text for value in values for text in _names(value, pairs=name == "print_facts"))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and _HEAD.fullmatch(target.id) and node.value is not None:
                yield from _names(node.value, pairs=target.id.lower().endswith("facts"))


def _sentences(node: ast.AST) -> Iterator[str]:
    """The texts of a piece of code; of one that is put together the whole, and what its values say."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in SILENT:
        return
    if isinstance(node, ast.Assign | ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        kind = getattr(node, "annotation", None)
        if getattr(target, "id", "") in KEPT or getattr(kind, "id", "") == "TypeAlias":
            return
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        node.body = body[1:]  # type: ignore[attr-defined]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # what stands below a declaration
    if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
        yield from templates_of(node)
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant):
            continue
        if isinstance(node, ast.BinOp) and isinstance(child, ast.Constant):
            continue
        yield from _sentences(child)


def _names(node: ast.expr, *, pairs: bool) -> Iterator[str]:
    """The names in a literal: all of a head, the first of each pair."""
    match node:
        case ast.Constant(value=str(text)) if _WORDS.search(text) and not TYPED.fullmatch(text):
            yield text
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for one in elements[:1] if pairs and isinstance(node, ast.Tuple) else elements:
                yield from _names(one, pairs=pairs)
        case ast.Starred(value=value):
            yield from _names(value, pairs=pairs)
        case ast.BinOp(left=left, right=right):
            yield from _names(left, pairs=pairs)
            yield from _names(right, pairs=pairs)
        case ast.IfExp(body=body, orelse=otherwise):
            yield from _names(body, pairs=pairs)
            yield from _names(otherwise, pairs=pairs)
