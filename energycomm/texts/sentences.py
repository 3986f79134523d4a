"""A finished English sentence in another language: the template that it was made from tells its values.

What rules found is kept as the sentence of its day. Its translation needs no room in the store: the values are read out
of the sentence, and put into the translated template.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_PLACE = re.compile(r"\{([^{}]*)\}")


def refilled(text: str, english: str, translated: str, told: Callable[[str], str] = str) -> str | None:
    """A sentence with its values in a translated template; None where the sentence was not made from the template.

    Args:
      text: the sentence.
      english: the template it was made from: `{name}` is a value, `{name|one|several}` a number with its words.
      translated: the template in the other language, with the same names.
      told: how a value is written in that language.

    >>> refilled("7 has 2 registers.", "{m} has {n|register|registers}.", "{m} heeft {n|telwerk|telwerken}.")
    '7 heeft 2 telwerken.'
    """
    # Most templates do not fit, and their words say so sooner than their pattern.
    if not all(piece in text for piece in _literals(english)) or (found := _pattern(english).fullmatch(text)) is None:
        return None
    values = dict(zip((place.partition("|")[0] for place in _PLACE.findall(english)), found.groups(), strict=True))

    def put(place: re.Match[str]) -> str:
        name, *forms = place[1].split("|")
        value = values[name]
        return f"{told(value)} {forms[value != '1']}" if forms else told(value)

    return _PLACE.sub(put, translated)


@lru_cache(4096)
def _literals(english: str) -> tuple[str, ...]:
    """What a sentence must hold that was made from the template: the longest first."""
    return tuple(sorted(filter(None, _PLACE.split(english)[::2]), key=len, reverse=True))


@lru_cache(2048)
def _pattern(english: str) -> re.Pattern[str]:
    pieces = _PLACE.split(english)
    parts = [re.escape(pieces[0])]
    for place, literal in zip(pieces[1::2], pieces[2::2], strict=True):
        _, *forms = place.split("|")
        parts.append(rf"(\S+) (?:{'|'.join(map(re.escape, forms))})" if forms else "(.*?)")
        parts.append(re.escape(literal))
    return re.compile("".join(parts), re.DOTALL)
