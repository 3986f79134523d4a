"""Options of commands: those of a declared search, and words of which there are few, checked and completed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from operator import getitem
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ValidationError

from energycomm.choices import one_of
from energycomm.config import load
from energycomm.errors import UserError
from energycomm.fielderrors import in_words
from energycomm.market.installed import Markets, installed_adapters


def _starting(there: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
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
    return typer.Option(name, help=words, metavar="WORD", parser=read, autocompletion=_starting(lambda: there))


def markets() -> Markets:
    """The installed markets, with the mapping tables of the configuration."""
    return installed_adapters(load().mapping_files)


def _read_market(value: str) -> str:
    return one_of("--market", value, markets(), "market that is installed")


def market_option(words: str = "Only of this market, by its ISO code.") -> Any:
    """The option --market: one that is installed, in any case of letters; a shell completes it."""
    return typer.Option("--market", help=words, metavar="CODE", parser=_read_market, autocompletion=_starting(markets))


OneMarket = Annotated[str | None, market_option()]


def options_of(model: type[BaseModel]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each field of a model, in place of its first parameter, which is the model."""

    def declare(command: Callable[..., None]) -> Callable[..., None]:
        def run(**typed: Any) -> None:
            command(_read(model, {name: typed.pop(name) for name in model.model_fields}), **typed)

        properties = model.model_json_schema()["properties"]
        fields = [_option(name, field, properties[name]) for name, field in model.model_fields.items()]
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        run.__signature__ = inspect.Signature([*fields, *own])  # type: ignore[attr-defined]
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return declare


def _option(name: str, field: Any, schema: dict[str, Any]) -> inspect.Parameter:
    # The model reads texts by itself; only numbers are told apart in the help.
    type_ = int | None if field.annotation == int | None else str | None
    words = [word for one in (schema, *schema.get("anyOf", ())) for word in one.get("enum", ())]
    there = (lambda: words) if words else COMPLETED.get(name)
    option = typer.Option(
        f"--{name.replace('_', '-')}", help=field.description, autocompletion=there and _starting(there)
    )
    annotation = getitem(Annotated, (type_, option))
    return inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=field.default, annotation=annotation
    )


def _types() -> Iterable[str]:
    return (label for adapter in markets().values() for label in adapter.types)


def known_codes() -> Iterable[str]:
    """The codes of all rules, for a shell that completes them."""
    from energycomm.pipeline.gateway import open_catalogue

    catalogue = open_catalogue(load().rules_folder)
    return {rule.error_code or rule.code for rule in catalogue.rules}


COMPLETED: dict[str, Callable[[], Iterable[str]]] = {"market": markets, "type": _types, "code": known_codes}
"""Fields of searches whose words are only known when somebody asks a shell for them."""


def _read(model: type[BaseModel], typed: dict[str, Any]) -> BaseModel:
    try:
        return model(**typed)
    except ValidationError as errors:
        first = errors.errors()[0]
        name = str(first["loc"][0]).replace("_", "-")
        words = in_words(first)
        value = "" if repr(first["input"]) in words else f"{first['input']!r}: "
        raise UserError(f"--{name}: {value}{words}", "See --help.") from None
