"""Options of a command that follow from a declaration of what may be looked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from operator import getitem
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ValidationError

from energycomm.errors import UserError


def options_of(model: type[BaseModel]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each field of a model, in place of its first parameter, which is the model."""

    def declare(command: Callable[..., None]) -> Callable[..., None]:
        def run(**typed: Any) -> None:
            command(_read(model, {name: typed.pop(name) for name in model.model_fields}), **typed)

        fields = [_option(name, field) for name, field in model.model_fields.items()]
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        run.__signature__ = inspect.Signature([*fields, *own])  # type: ignore[attr-defined]
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return declare


def _option(name: str, field: Any) -> inspect.Parameter:
    # The model reads texts by itself; only numbers are told apart in the help.
    type_ = int | None if field.annotation == int | None else str | None
    option = typer.Option(f"--{name.replace('_', '-')}", help=field.description)
    annotation = getitem(Annotated, (type_, option))
    return inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=field.default, annotation=annotation
    )


def _read(model: type[BaseModel], typed: dict[str, Any]) -> BaseModel:
    try:
        return model(**typed)
    except ValidationError as errors:
        first = errors.errors()[0]
        name = str(first["loc"][0]).replace("_", "-")
        raise UserError(f"--{name}: {first['input']!r}: {first['msg']}.", "See --help.") from None
