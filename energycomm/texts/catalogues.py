"""The gettext catalogues, read from their `.po` files: nothing is compiled beforehand, so that none is ever stale."""

from __future__ import annotations

import re
from functools import cache, lru_cache, partial
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from energycomm.texts import wording
from energycomm.texts.sentences import refilled

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

LANGUAGES = ("en", "fr", "nl")
"""Languages of readers. The texts of the program are English; `en.po` has words for what the store names in a way of
its own."""

NAMES = {"en": "English", "fr": "Français", "nl": "Nederlands"}
"""Language -> how it calls itself."""

FOLDER = Path(__file__).parent

Folders: TypeAlias = tuple[Path, ...]
"""Folders of catalogues that count after those of the program: of rules, of adapters, of one's own scripts."""

_WORD = re.compile(r"[^\W\d_]{3,}")
_SENTENCES = re.compile(r"(?<=[.?]) (?=[A-Z])")
_OR = re.compile(r" or (?=\S+$)")
_FIELD = re.compile(r"(?:--)?[a-z]\w*(?:[./-]\w+)*|/[\w/.-]+|[A-Z][A-Z0-9_]+|'[^']*'")
"""What stands before a mistake: a field, an option, a file, a variable, the value that was found."""
_COUNTED = re.compile(r"(\d+) (\D+)")


def wanted(header: str, otherwise: str) -> str:
    """The language of ours that a browser or program wants most.

    Args:
      header: `Accept-Language` (RFC 9110, section 12.5.4): ranges with weights, as in `nl-BE, fr;q=0.8`.
      otherwise: where it wants none of ours.
    """
    weighed = []
    for place, piece in enumerate(header.split(",")):
        name, _, weight = piece.replace(" ", "").partition(";q=")
        try:
            weighed.append((-float(weight or 1), place, name[:2].lower()))
        except ValueError:
            continue
    return next((name for weight, _, name in sorted(weighed) if weight < 0 and name in LANGUAGES), otherwise)


def translate(text: str, language: str, folders: Folders = ()) -> str:
    """A text in a language; without a translation it is returned unchanged.

    Args:
      text: English, or as the store names it.
      language: en, fr or nl.
      folders: those whose catalogues count too.
    """
    return catalogue(language, folders).gettext(text) if text else text


def translate_plural(one: str, several: str, number: int, language: str, folders: Folders = ()) -> str:
    """The form of a text that goes with a number, in a language.

    Args:
      one, several: the English forms.
      number: what is counted.
      language: en, fr or nl.
      folders: those whose catalogues count too.
    """
    return catalogue(language, folders).ngettext(one, several, number)


@lru_cache(4096)
def translate_sentence(text: str, language: str, folders: Folders = (), least: int = 1) -> str:
    """A finished English sentence in a language: as it is in the catalogues, or by the template that fits it.

    A value of the sentence, or an item of a list, that is a text of ours is translated as well.

    Args:
      text: the sentence, with its values in it.
      language: en, fr or nl.
      folders: those whose catalogues count too.
      least: words that a template must have: what people wrote fits one of a single word by chance.
    """
    found = translate(text, language, folders)
    if found != text or language == "en":
        return found
    told = partial(translate_sentence, language=language, folders=folders, least=least)
    # Many texts are kept without the point that ends them where they stand alone.
    bare = text.removesuffix(".")
    if bare != text and (found := translate(bare, language, folders)) != bare:
        return f"{found}."
    pieces = _SENTENCES.split(text)
    if len(pieces) > 1 and all((done := told(piece)) != piece for piece in pieces):
        return " ".join(map(told, pieces))
    field, colon, mistake = text.partition(": ")
    if colon and _FIELD.fullmatch(field) and (done := told(mistake)) != mistake:
        return f"{field}: {done}"
    value = partial(_value, language=language, folders=folders)
    for template in _templates(folders, least):
        written = text if template.endswith((".", "}")) else bare
        if (filled := refilled(written, template, translate(template, language, folders), value)) is not None:
            return filled + text[len(written) :]
    if bare != text and (done := told(bare)) != bare:
        return f"{done}."
    return _listed(text, language, folders)


QUOTED: Final = wording("the system says “{0}”")
"""What sets apart the words of an operating system or of another party, which nobody translates."""


def is_foreign(text: str, language: str, folders: Folders = ()) -> bool:
    """Whether a reader of a language is shown English that is none of ours: words that no catalogue has."""
    return language != "en" and " " in text.strip() and translate_sentence(text, language, folders) == text


def _value(text: str, language: str, folders: Folders) -> str:
    """A value of a sentence: a sentence of ours, something counted, a list. A single word is what somebody has to type,
    or a name of the store: it stays."""
    quote = text[:1]
    if quote in ("'", '"') and len(text) > 2 and text.endswith(quote):
        return f"{quote}{_value(text[1:-1], language, folders)}{quote}"
    found = translate_sentence(text, language, folders) if " " in text else text
    return _OR.sub(f" {translate('or', language)} ", text) if found == text else found


def _listed(text: str, language: str, folders: Folders) -> str:
    """Something that is counted, or a list of which an item at least is more than a word to type."""
    if (counted := _COUNTED.fullmatch(text)) and (forms := _counts(folders).get(counted[2])):
        number = int(counted[1])
        return translate_plural(*forms, number, language, folders).format(n=number)
    items = text.split(", ")
    if len(items) == 1 or not any(" " in one and translate_sentence(one, language, folders) != one for one in items):
        return text
    return ", ".join(translate_sentence(one, language, folders) for one in items)


def _all(folders: Folders) -> list[Path]:
    """The files that name every text: one of a language that all catalogues have."""
    return [folder / "fr.po" for folder in (FOLDER, *folders)]


@cache
def _templates(folders: Folders, least: int = 1) -> tuple[str, ...]:
    """The templates of sentences that are finished where they are made, those with most words first; of two with as
    many, the one that holds more values apart."""
    ids = {str(one.id) for file in _all(folders) for one in _loaded(file) if isinstance(one.id, str)}
    found = {one: re.sub(r"{\d+}", "", one) for one in ids if "{0}" in one}
    # What is a value alone, or values with signs between, would fit everything.
    told = (one for one in found if (one.endswith(".") and least < 2) or len(_WORD.findall(found[one])) >= least)
    return tuple(sorted(told, key=lambda one: (-len(found[one]), -one.count("{"), one)))


@cache
def _counts(folders: Folders) -> dict[str, tuple[str, str]]:
    """What is counted, after its number -> the forms of the text: `messages` -> `{n} message`, `{n} messages`."""
    pairs = [one.id for file in _all(folders) for one in _loaded(file) if not isinstance(one.id, str)]
    return {form.removeprefix("{n} "): (one, several) for one, several in pairs for form in (one, several)}


@cache
def catalogue(language: str, folders: Folders = ()) -> NullTranslations:
    """The translations into a language.

    Args:
      language: en, fr or nl; another has none.
      folders: those whose catalogues count after those of the program.
    """
    made = _read(FOLDER / f"{language}.po")
    for folder in folders:
        made.add_fallback(_read(folder / f"{language}.po"))
    if language != "en":
        made.add_fallback(catalogue("en", folders))
    return made


def _read(file: Path) -> NullTranslations:
    """The translations of a file; none where there is no such file."""
    if not file.is_file():
        return NullTranslations()
    # Babel takes 40 ms to load, and the command line needs it seldom.
    from babel.messages.mofile import write_mo

    compiled = BytesIO()
    write_mo(compiled, _loaded(file))
    compiled.seek(0)
    return GNUTranslations(compiled)


@cache
def _loaded(file: Path) -> Catalog:
    """A file of translations; empty where there is no such file."""
    from babel.messages.catalog import Catalog
    from babel.messages.pofile import read_po

    if not file.is_file():
        return Catalog()
    with file.open("rb") as lines:
        return read_po(lines, locale=file.stem)
