"""The rules as they are looked up: all that their files say of them but conditions, which only judging needs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from msgspec import Struct

from assistant.kept import Kept, state_of
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.codes import CodeEntry, CodeLists
from energycomm.engine.rule import Rule, Template

CODE = ("energycomm.kernel", "energycomm.engine", "assistant.operations")
"""The packages whose code reads rules."""

_UNREAD = ("triggers", "conditions", "pointed", "examples")
"""Attributes of a rule whose conditions and examples were not read."""
_FIELDS = {field.name: field.type for field in dataclasses.fields(Rule) if field.name not in (*_UNREAD, "comment")}
_DAY = "date | None"


class _Book(Struct, frozen=True, kw_only=True):
    """What is kept of a catalogue.

    Attributes:
      rules: the attributes of each rule, in the order of `_FIELDS`.
      comments: the comments of each rule by language, as they are written.
    """

    rules: list[list[Any]]
    comments: list[dict[str, str]]
    codes: list[CodeEntry]
    version: str
    markets: tuple[str, ...]


def rule_files(folder: Path) -> list[Path]:
    """Every file of a folder of rules that the catalogue or its translations are read from."""
    return [file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts]


def read_rulebook(folder: Path, kept: Kept) -> Catalogue:
    """The rules of a folder without conditions, predicates and examples.

    Args:
      folder: of the rules.
      kept: holds what was read before.

    Raises:
      BrokenCatalogue: something is wrong; it lists every problem.
    """
    book = kept.value("rules", state_of(CODE, rule_files(folder)), lambda: _read(folder), _Book)
    return Catalogue(
        rules=tuple(map(_rule, book.rules, book.comments)),
        codes=CodeLists(tuple(book.codes)),
        version=book.version,
        markets=book.markets,
    )


def read_whole(folder: Path) -> Catalogue:
    """The rules of a folder with their conditions, which few questions ask for; without examples.

    Raises:
      BrokenCatalogue: something is wrong; it lists every problem.
    """
    return _catalogue(folder, expressions=True)


def _catalogue(folder: Path, *, expressions: bool) -> Catalogue:
    # Imported here: what reads rules takes long to import.
    from energycomm.engine.folder import load_catalogue

    # They were judged with their examples when the gateway began; here they are only read.
    return load_catalogue(folder, check_examples=False, examples=False, expressions=expressions)


def _read(folder: Path) -> _Book:
    read = _catalogue(folder, expressions=False)
    return _Book(
        rules=[[getattr(rule, name) for name in _FIELDS] for rule in read.rules],
        comments=[{language: one.text for language, one in rule.comment.items()} for rule in read.rules],
        codes=list(read.codes.entries),
        version=read.version,
        markets=read.markets,
    )


def _rule(values: list[Any], comments: Mapping[str, str]) -> Rule:
    given = {name: _value(value, kind) for (name, kind), value in zip(_FIELDS.items(), values, strict=True)}
    return Rule(**given, comment={language: Template(text, (), {}, ()) for language, text in comments.items()})  # type: ignore[misc]


def _value(value: Any, kind: Any) -> Any:
    """A value as a rule holds it; bytes know neither tuples nor days."""
    if isinstance(value, list):
        return tuple(value)
    return date.fromisoformat(value) if kind == _DAY and isinstance(value, str) else value
