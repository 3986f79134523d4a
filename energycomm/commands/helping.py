"""The help of commands, and what is wrong with what was typed, in the language of whoever reads.

Commands declare their help in English. It is told where it is written, the words of the library for command lines with
it.
"""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup

from energycomm.commands.language import language, named, told

SAYINGS = (
    *("Usage:", "Arguments:", "Options:", "Commands:", "Example:", "Show this message and exit."),
    *("default: {0}", "env var: {0}", "required", "(dynamic)"),
    *("Try '{0}' for help.", "Error: {0}", "Missing command.", "No such command {0}.", "{0}. Did you mean {1}?"),
    *("Invalid value for {0}: {1}", "Invalid value: {0}", "Missing argument {0}.", "Missing option {0}."),
    *("Missing argument {0}. Choose from:", "Missing option {0}. Choose from:", "{0} is not one of {1}."),
    *("No such option: {0}", "No such option: {0} (Possible options: {1})", "Option {0} requires an argument."),
    *("Option {0} requires {1} arguments.", "Option {0} does not take a value.", "Argument {0} takes {1} values."),
    *("Got unexpected extra argument(s) ({0})", "{0} does not exist.", "{0} is a file.", "{0} is a directory."),
    *("{0} is not readable.", "{0} is not writable.", "Aborted!"),
)
"""What the library says by itself, its values as places."""

_EXTRA = re.compile(r"(?P<words>.*?)(?:(?:^|  )\[(?P<extra>.*)\])?", re.DOTALL)


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a help, each on one line; what stands behind `Example:` is typed, and none of them."""
    split = (" ".join(one.split()) for one in re.split(r"\n[^\S\n]*\n", inspect.cleandoc(text)))
    return [one for one in split if one and not one.startswith("Example:")]


def _told_paragraphs(text: str) -> str:
    found = []
    for one in re.split(r"\n[^\S\n]*\n", text):
        mark, example, typed = one.partition("Example:")
        found.append(f"{told(example)}{typed}" if example and not mark.strip() else named(" ".join(one.split())))
    return "\n\n".join(found)


def _told_row(text: str) -> str:
    """The help of an option: its words, and its default and bounds between brackets."""
    parts = _EXTRA.fullmatch(text)
    assert parts is not None
    extra = "; ".join(map(_told_extra, parts["extra"].split("; "))) if parts["extra"] else ""
    return "  ".join(filter(None, (_told_paragraphs(parts["words"]), extra and f"[{extra}]")))


def _told_extra(text: str) -> str:
    """A default, a variable or a bound: what is typed stays as it is typed."""
    name, colon, typed = text.partition(": ")
    return named(f"{name}: {{0}}").replace("{0}", typed) if colon else told(text)


_context: Any = TyperGroup.context_class


class Told(_context.formatter_class):  # type: ignore[misc]
    """What a help is written on: its texts are in the language of whoever reads."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """The line that says how a command is typed."""
        super().write_usage(prog, args, prefix if language() == "en" else f"{told(prefix or 'Usage:')} ")

    def write_heading(self, heading: str) -> None:
        """A heading, with its colon."""
        if language() == "en":
            super().write_heading(heading)
        else:
            self.write(f"{'':>{self.current_indent}}{told(f'{heading}:')}\n")

    def write_text(self, text: str) -> None:
        """Paragraphs."""
        super().write_text(text if language() == "en" else _told_paragraphs(text))

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Options, arguments or commands, with their help."""
        if language() != "en":
            rows = [(name, _told_row(help_)) for name, help_ in rows]
        super().write_dl(rows, col_max, col_spacing)


class ToldContext(_context):  # type: ignore[misc]
    """The run of a command whose help is told."""

    formatter_class = Told


def show_mistake(error: Any) -> None:
    """Print what is wrong with what was typed.

    Args:
      error: what the library raised.
    """
    # The help of a program that was called with nothing is an error of the library's too, and is told already.
    if language() == "en" or type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    from energycomm.commands.output import say_text

    written = io.StringIO()
    error.show(file=written)
    say_text("\n".join(map(told, written.getvalue().split("\n"))), err=True)
