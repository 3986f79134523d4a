"""Options of commands: those of a declared search, and words of which there are few, checked and completed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from operator import getitem
from types import MappingProxyType
from typing import Annotated, Any, get_args

import typer
from pydantic import BaseModel, ValidationError

from energycomm.choices import MOST_NAMED, Closed, one_of
from energycomm.config import load
from energycomm.errors import UserError
from energycomm.fielderrors import in_words
from energycomm.market.installed import Markets, installed_adapters


def starting(there: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """The words that begin with what was typed, in any case of letters."""

    def complete(incomplete: str) -> list[str]:
        return sorted(word for word in there() if word.lower().startswith(incomplete.lower()))

    return complete


def choice(name: str, known: Iterable[str], what: str, words: str) -> Any:
    """An option that names one of few words, in any case of letters; a shell completes them.

    Args:
      name: of the option: --state.
      known: the words there are.
      what: what they name: "state of a message".
      words: for the help; the words there are follow it.
    """
    there = tuple(known)

    def read(value: str) -> str:
        return one_of(name, value, there, what)

    words = f"{words}: {', '.join(there)}."
    return typer.Option(name, help=words, metavar="WORD", parser=read, autocompletion=starting(lambda: there))


def markets() -> Markets:
    """The installed markets, with the mapping tables of the configuration."""
    return installed_adapters(load().mapping_files)


def _read_market(value: str) -> str:
    return one_of("--market", value, markets(), "market that is installed")


def market_option(words: str = "Only of this market, by its ISO code.") -> Any:
    """The option --market: one that is installed, in any case of letters; a shell completes it."""
    return typer.Option("--market", help=words, metavar="CODE", parser=_read_market, autocompletion=starting(markets))


OneMarket = Annotated[str | None, market_option()]


def options_of(
    model: type[BaseModel], names: Mapping[str, str] = MappingProxyType({})
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each field of a model, in place of its first parameter, which is the model.

    Args:
      model: the filters of the list.
      names: field -> its option, where that is not the field's name.
    """
    options = {name: names.get(name, f"--{name.replace('_', '-')}") for name in model.model_fields}

    def declare(command: Callable[..., None]) -> Callable[..., None]:
        parameters = list(inspect.signature(command, eval_str=True).parameters.values())
        first, own = parameters[0].name, parameters[1:]

        @functools.wraps(command)
        def run(**typed: Any) -> None:
            given = {name: typed.pop(_parameter(option)) for name, option in options.items()}
            command(**{first: _read(model, given, options)}, **typed)

        fields = [_option(name, option, model.model_fields[name]) for name, option in options.items()]
        run.__signature__ = inspect.Signature([*fields, *own])  # type: ignore[attr-defined]
        return run

    return declare


def _parameter(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def _option(name: str, option: str, field: Any) -> inspect.Parameter:
    # The model reads texts by itself; only numbers and switches are told apart in the help.
    type_ = {int: int, int | None: int | None, bool: bool}.get(field.annotation, str | None)
    words = closed_of(field)
    there = COMPLETED.get(name) if words is None else lambda: words.words
    help_ = field.description
    if words is not None and 0 < len(words.told) <= MOST_NAMED:
        help_ = f"{help_.split(':')[0].rstrip('.')}: {', '.join(words.told)}."
    shape = "WORD" if words is not None else "DAY" if _is_time(field.annotation) else "TEXT"
    metavar = shape if type_ == (str | None) else None
    told = typer.Option(option, help=help_, metavar=metavar, autocompletion=there and starting(there))
    annotation = getitem(Annotated, (type_, told))
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(_parameter(option), kind, default=field.default, annotation=annotation)


def _is_time(annotation: Any) -> bool:
    return annotation in (date, datetime) or any(_is_time(part) for part in get_args(annotation))


def closed_of(field: Any) -> Closed | None:
    """The few words that a field may name; None where it may be any."""
    inner = [*getattr(field, "metadata", ()), *getattr(field, "__metadata__", ())]
    found = next((one for one in inner if isinstance(one, Closed)), None)
    parts = [field.annotation] if hasattr(field, "annotation") else get_args(field)
    return found or next((one for one in map(closed_of, parts) if one is not None), None)


def _types() -> Iterable[str]:
    return (label for adapter in markets().values() for label in adapter.types)


def known_codes() -> Iterable[str]:
    """The codes of all rules, for a shell that completes them."""
    from energycomm.pipeline.gateway import open_catalogue

    catalogue = open_catalogue(load().rules_folder)
    return {rule.error_code or rule.code for rule in catalogue.rules}


def known_scripts() -> Iterable[str]:
    """The names of the correction scripts, for a shell that completes them."""
    from energycomm.correction.library import read_scripts

    return read_scripts(load().scripts_folder)


COMPLETED: dict[str, Callable[[], Iterable[str]]] = {"type": _types, "code": known_codes}
"""Fields of searches whose words are only known when somebody asks a shell for them."""


def _read(model: type[BaseModel], typed: dict[str, Any], options: Mapping[str, str]) -> BaseModel:
    try:
        return model(**{name: value for name, value in typed.items() if value is not None})
    except ValidationError as errors:
        first = errors.errors()[0]
        words = in_words(first)
        value = "" if repr(first["input"]) in words else f"{first['input']!r}: "
        raise UserError(f"{options[str(first['loc'][0])]}: {value}{words}", "See --help.") from None
