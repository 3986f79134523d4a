"""Words that stand for one of a known few: a wrong one is refused with those that were meant or those there are."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import AfterValidator, WithJsonSchema

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


def closed(what: str, known: Iterable[str]) -> tuple[AfterValidator, WithJsonSchema]:
    """What a field of pydantic is annotated with when it names one of few words, in any case of letters.

    Args:
      what: what they name: "state of a message".
      known: the words there are; the description of the interface lists them.
    """
    names = tuple(known)

    def check(value: str) -> str:
        try:
            return one_of("", value, names, what)
        except UnknownWord as unknown:
            raise ValueError(str(unknown)) from None

    return AfterValidator(check), WithJsonSchema({"type": "string", "enum": list(names)})
