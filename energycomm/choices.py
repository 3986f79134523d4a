"""Words that stand for one of a known few: a wrong one is refused with those that were meant or those there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

from energycomm.errors import UserError

MOST_NAMED = 12


class UnknownWord(UserError):
    """A filter, an option or a parameter names something that there is not.

    Attributes:
      field: name of the filter.
      value: what was given.
    """

    def __init__(self, field: str, value: str, message: str, advice: str) -> None:
        super().__init__(message, advice)
        self.field, self.value = field, value


def advice_of(value: str, known: Iterable[str], others: str = "") -> str:
    """What to write instead of a wrong word: those that look like it, else all there are.

    Args:
      value: the wrong word.
      known: the right ones.
      others: says where they are listed, when there are too many to name.
    """
    import difflib  # only needed when something is wrong

    names = list(known)
    lower = {name.lower(): name for name in names}
    close = [lower[name] for name in difflib.get_close_matches(value.lower(), lower, n=3)]
    if close:
        return f"Did you mean {' or '.join(close)}?"
    if others and len(names) > MOST_NAMED:
        return others
    return f"Known are: {', '.join(names)}." if names else "There is none."


def one_of(field: str, value: str, known: Iterable[str], what: str, others: str = "") -> str:
    """The known word that a value stands for, in any case of letters.

    Args:
      field: name of the filter or option.
      value: what was given.
      known: the words there are.
      what: what they name, with its article: "state of a message".
      others: says where they are listed, when there are too many to name.

    Raises:
      UnknownWord: it is none of them.
    """
    names = list(known)
    found = {name.lower(): name for name in names}.get(value.strip().lower())
    if found is None:
        raise UnknownWord(field, value, f"{value!r} is no {what}.", advice_of(value, names, others))
    return found


class Closed:
    """What a field of pydantic is annotated with when it names one of few words, in any case of letters.

    Attributes:
      what: what they name: "state of a message".
    """

    def __init__(self, what: str, known: Iterable[str] | Callable[[], Iterable[str]]) -> None:
        self.what, self._known = what, known

    @property
    def words(self) -> tuple[str, ...]:
        """The words there are; the description of the interface lists them."""
        return tuple(self._known() if callable(self._known) else self._known)

    @property
    def told(self) -> tuple[str, ...]:
        """The words that a help names: none of those that are only known when somebody asks."""
        return () if callable(self._known) else tuple(word for word in self.words if not word.startswith("-"))

    def check(self, value: str) -> str:
        """The word that a value stands for.

        Raises:
          ValueError: it is none of them.
        """
        try:
            return one_of("", value, self.words, self.what)
        except UnknownWord as unknown:
            raise ValueError(str(unknown)) from None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.words)}


def closed(what: str, known: Iterable[str] | Callable[[], Iterable[str]]) -> tuple[Closed]:
    """The annotation of a field that names one of few words: `Annotated[str, *closed(...)]`.

    Args:
      what: what they name: "state of a message".
      known: the words there are, or a function that gives them when somebody asks.
    """
    return (Closed(what, known),)
