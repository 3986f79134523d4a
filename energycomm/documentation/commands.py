"""The reference of commands in docs/cli.md, from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer


def all_commands(app: typer.Typer) -> Iterator[tuple[str, Any]]:
    """Every command that does something, as (`energycomm message list`, the command), in the order of the help."""
    yield from _walk("energycomm", typer.main.get_command(app))


def _walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
        return
    for name, child in children.items():
        yield from _walk(f"{path} {name}", child)


def reference(app: typer.Typer) -> str:
    """The reference as Markdown: one heading a command, its help, its arguments and options."""
    return "\n".join(_section(path, command) for path, command in all_commands(app))


def _section(path: str, command: Any) -> str:
    words = inspect.cleandoc(command.help or "")
    # What follows Example: is typed, so it is set as code.
    text, _, example = words.partition("Example:")
    lines = [f"### {path}\n", text.strip(), ""]
    if example.strip():
        typed = [line.strip() for line in example.strip().splitlines() if line.strip()]
        lines += ["```sh", *typed, "```", ""]
    rows = [_row(parameter) for parameter in command.params if parameter.name not in ("help",)]
    if rows:
        lines += ["| argument or option | meaning |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = (parameter.metavar or parameter.name).upper() + ("..." if parameter.nargs == -1 else "")
    else:
        name = ", ".join([*parameter.opts, *parameter.secondary_opts])
        if not parameter.is_flag:
            name += f" {(parameter.metavar or parameter.name or '').upper()}"
    meaning = " ".join((getattr(parameter, "help", "") or "").split())
    return f"| `{name.strip()}` | {meaning.replace('|', chr(92) + '|')} |"
