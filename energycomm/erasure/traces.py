"""The words that tell of one customer, found in and taken out of any text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from energycomm.kernel.personal import ERASED, PersonalValue
from energycomm.masking import written

SHORTEST: Final = 3
"""Characters of a word that is looked for inside of texts; a shorter one has to be the whole text."""

DIGITS: Final = 6
"""Digits of a number that is found however it is spaced: telephones, register numbers."""

_NUMBER = re.compile(r"[+(]?[0-9][0-9 ().\-/+]*[0-9]")
_SPACED = r"[\s.()/\-]*"
_NATIONAL = 9
"""Digits of a telephone number without its country and the zero that stands for it."""
_COUNTRY = rf"(?:\+|00)?(?:[0-9]{{1,3}}{_SPACED})?0?{_SPACED}"
_NOTHING = re.compile(r"(?!)")


class Traces:
    """The names and contacts of one customer.

    Args:
      values: what messages tell of the customer; traits are not looked for.
      kept: texts that stay although they are the customer's too: the address of the installation.

    Attributes:
      words: the texts that are looked for, in small letters.
    """

    def __init__(self, values: Iterable[PersonalValue], kept: Iterable[str] = ()) -> None:
        stays = {_plain(text) for text in kept}
        names: list[str] = []
        contacts: list[str] = []
        for one in values:
            text = " ".join(str(one.value).split())
            if isinstance(one.value, str) and one.personal != "trait" and text and _plain(text) not in stays:
                (names if one.personal == "name" else contacts).append(text)
        names = [name for name in dict.fromkeys(names) if not _is_erased(name)]
        contacts = [contact for contact in dict.fromkeys(contacts) if not _is_erased(contact)]
        self.words = frozenset(_plain(text) for text in (*names, *contacts))
        texts = {text for text in (*names, *contacts) if len(text) >= SHORTEST}
        parts = {part for name in names for part in _parts(name)}
        # A single name is a word of others' texts too; contacts and full names are not.
        sure = {text for text in texts if text in contacts or " " in text}
        sure |= {f"{one} {other}" for one in names for other in names if one != other}
        self._all, self._sure, self._parted = _pattern(texts), _pattern(sure), _pattern(texts | parts)
        # Of a name of several words a text may have only some: beside what is taken out they are no words of others.
        near = {part for name in names for part in re.split(r"[ \-]", name) if len(part) >= SHORTEST}
        self._beside = _beside(_pattern(near).pattern)

    def __bool__(self) -> bool:
        return bool(self.words)

    def scrub(self, text: str) -> str:
        """A text that belongs to the customer, without the words that tell of one."""
        if _plain(text) in self.words:
            return ERASED
        clean, number = self._all.subn(ERASED, text)
        return self._beside.sub(ERASED, clean) if number else clean

    def scrub_wholly(self, text: str) -> str:
        """A text that people or programs wrote of the customer, without parts of names too: of Camille Morel neither
        Camille nor Morel is left. Files of a market are not done so: their tags and codes are words as well."""
        if _plain(text) in self.words:
            return ERASED
        return self._parted.sub(ERASED, text)

    def scrub_surely(self, text: str) -> str:
        """A text that may be about anybody: left alone unless it has a full name or a contact of this customer's."""
        return self.scrub_wholly(text) if self._sure.search(text) else text

    def surely_in(self, text: str) -> bool:
        """Whether a text that may be about anybody has a full name or a contact of this customer's."""
        return self._sure.search(text) is not None

    def in_text(self, text: str) -> bool:
        """Whether a text of the customer has words that tell of one."""
        return _plain(text) in self.words or self._all.search(text) is not None

    def told_by(self, text: str) -> bool:
        """Whether a value of a market's file tells of the customer: it has the words, or is a part of them."""
        plain = _plain(text)
        if self.in_text(text):
            return True
        return len(plain) > SHORTEST and not plain.isdigit() and any(_within(plain, word) for word in self.words)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _parts(name: str) -> list[str]:
    """The words of a name of several: not its particles (de la, van der), nor what is short."""
    words = re.findall(r"\w+", name)
    return [word for word in words if len(words) > 1 and len(word) > SHORTEST and not word.islower()]


def _is_erased(text: str) -> bool:
    return set(text.split()) == {ERASED}


def _beside(words: str) -> re.Pattern[str]:
    """An expression of what was taken out, with the words on both sides of it and what was taken out beside it."""
    mark = re.escape(ERASED)
    return re.compile(rf"(?:{words}[ \-])*{mark}(?:[ \-](?:{words}|{mark}))*", re.IGNORECASE)


def _within(part: str, word: str) -> bool:
    return part in word and f" {part} " in f" {word} "


def _number(text: str) -> str:
    """An expression of a number however it is spaced; of a telephone with and without the country."""
    digits = "".join(sign for sign in text if sign.isdigit())
    before = ""
    if text.startswith(("+", "00")) and len(digits) > _NATIONAL:
        digits, before = digits[-_NATIONAL:], _COUNTRY
    elif text.startswith("0"):
        digits, before = digits[1:], _COUNTRY
    return before + _SPACED.join(digits)


def _pattern(texts: Iterable[str]) -> re.Pattern[str]:
    """One expression that finds each of the texts as whole words, in any usual writing."""
    forms: set[str] = set()
    for text in texts:
        if _NUMBER.fullmatch(text) and sum(sign.isdigit() for sign in text) >= DIGITS:
            forms.add(_number(text))
            continue
        bare = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
        for form in {text, bare, *written(text), *written(bare)}:
            forms.add(r"\s+".join(re.escape(word) for word in form.split()))
    if not forms:
        return _NOTHING
    longest_first = "|".join(sorted(forms, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{longest_first})(?!\w)", re.IGNORECASE)
