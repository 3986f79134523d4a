"""Commands are imported on first use: most runs need few of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from datetime import datetime
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple, get_args

import typer
from typer.core import TyperGroup

from energycomm.commands.helping import ToldContext

GROUP = "energycomm.commands"
"""Entry points of commands that other packages add; they import the gateway, it never imports them."""


class Place(NamedTuple):
    """Where a command is.

    Attributes:
      module: below the package of the program's commands.
      attribute: a `typer.Typer` of several commands, or the function of one.
      words: what the help of the whole program says of it; the first sentence of its own help. Where it is empty the
        command is imported for it.
    """

    module: str
    attribute: str
    words: str = ""


class Loaded(MutableMapping[str, Any]):
    """Name -> command, in the order of the help. A command is imported on first use."""

    def __init__(self, places: dict[str, Place], package: str, group: str) -> None:
        """Args:
        places: name -> where it is.
        package: of the modules of the places.
        group: of the entry points that add commands; empty where none may.
        """
        self.places = places
        self.package = package
        self.added = {point.name: point for point in sorted(entry_points(group=group))} if group else {}
        self._held: dict[str, Any] = {}
        self._names = dict.fromkeys((*places, *self.added))

    def words(self, name: str) -> str:
        """The sentence of a command in the program's help. A command of another package is imported for it."""
        place = self.places.get(name)
        return (place.words if place is not None else "") or str(self[name].get_short_help_str(limit=200))

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._held:
            place = self.places.get(name)
            if place is None:
                found = self.added[name].load()
            else:
                found = getattr(import_module(f"{self.package}.{place.module}"), place.attribute)
            self._held[name] = _command(name, found)
        return self._held[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._names[name] = None
        self._held[name] = command

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        self._held.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _command(name: str, found: Any) -> Any:
    parent = typer.Typer(rich_markup_mode=None)
    parent.callback()(lambda: None)
    if isinstance(found, typer.Typer):
        parent.add_typer(found, name=name)
    else:
        parent.command(name)(found)
    whole: Any = typer.main.get_command(parent)
    return _in_plain_words(whole.commands[name])


PLAIN = {str: "TEXT", int: "NUMBER", float: "NUMBER", Path: "PATH", datetime: "DAY"}
"""What the help calls a value of a Python type. A `datetime` of an option is always a day."""


def _plain(name: str | None, python: Callable[[Any], str], context: Any) -> str:
    """The name of a type; a choice keeps its words: <list[a|b]> is a|b."""
    return name or python(context).strip("<>").removeprefix("list[").removesuffix("]")


def _in_plain_words(command: Any) -> Any:
    """A command whose help says nothing of Python: what a value is has a plain name, and no sentence is cut. It is told
    in the language of whoever reads."""
    command.context_class = ToldContext
    for parameter in command.params:
        annotation = parameter.type_descriptor.annotation
        annotation = next(iter(get_args(annotation)), annotation)
        if parameter.param_type_name == "argument":
            parameter.display_type = lambda _: ""  # its name says what it is
        else:
            parameter.display_type = partial(_plain, PLAIN.get(annotation), parameter.display_type)
    commands = getattr(command, "commands", {})
    for inner in () if isinstance(commands, Loaded) else commands.values():
        inner.short_help = " ".join((inner.help or "").partition("\n\n")[0].split())
        _in_plain_words(inner)
    return command


def program(
    places: dict[str, Place], package: str = "energycomm.commands", group: str = GROUP
) -> Callable[..., TyperGroup]:
    """The class of a program whose commands are at these places, for `typer.Typer(cls=...)`.

    Args:
      places: name -> where it is.
      package: of the modules of the places.
      group: of the entry points that add commands; empty where none may.
    """

    class Program(TyperGroup):
        context_class = ToldContext

        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = Loaded(places, package, group)

        def list_commands(self, ctx: Any) -> list[str]:
            return list(self.commands)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            assert isinstance(self.commands, Loaded)
            with formatter.section("Commands"):
                formatter.write_dl([(name, self.commands.words(name)) for name in self.commands])

    return Program
