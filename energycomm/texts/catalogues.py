"""The gettext catalogues, read from their `.po` files: nothing is compiled beforehand, so that none is ever stale."""

from __future__ import annotations

import re
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

from energycomm.texts.sentences import refilled

LANGUAGES = ("en", "fr", "nl")
"""Languages of readers. The texts of the program are English; `en.po` has words for what the store names in a way of
its own."""

NAMES = {"en": "English", "fr": "Français", "nl": "Nederlands"}
"""Language -> how it calls itself."""

FOLDER = Path(__file__).parent


def translate(text: str, language: str, rules: Path | None = None) -> str:
    """A text in a language; without a translation it is returned unchanged.

    Args:
      text: English, or as the store names it.
      language: en, fr or nl.
      rules: folder of rules whose `texts` count too.
    """
    return catalogue(language, rules).gettext(text) if text else text


def translate_plural(one: str, several: str, number: int, language: str, rules: Path | None = None) -> str:
    """The form of a text that goes with a number, in a language.

    Args:
      one, several: the English forms.
      number: what is counted.
      language: en, fr or nl.
      rules: folder of rules whose `texts` count too.
    """
    return catalogue(language, rules).ngettext(one, several, number)


def translate_sentence(text: str, language: str, rules: Path | None = None) -> str:
    """A finished English sentence in a language: as it is in the catalogues, or by the template that fits it.

    Args:
      text: the sentence, with its values in it.
      language: en, fr or nl.
      rules: folder of rules whose `texts` count too.
    """
    found = translate(text, language, rules)
    if found != text or language == "en":
        return found
    for template in _templates():
        if (told := refilled(text, template, translate(template, language, rules))) is not None:
            return told
    return text


@cache
def _templates() -> tuple[str, ...]:
    """The templates of sentences that are finished where they are made, those with most words first."""
    from babel.messages.pofile import read_po

    with (FOLDER / "fr.po").open("rb") as lines:
        found = [str(one.id) for one in read_po(lines, locale="fr") if isinstance(one.id, str) and "{0}" in one.id]
    return tuple(sorted(found, key=lambda one: (-len(re.sub(r"{\d+}", "", one)), one)))


@cache
def catalogue(language: str, rules: Path | None = None) -> NullTranslations:
    """The translations into a language.

    Args:
      language: en, fr or nl; another has none.
      rules: folder of rules; the translations in its `texts` count after those of the program.
    """
    made = _read(FOLDER / f"{language}.po")
    if rules is not None:
        made.add_fallback(_read(rules / "texts" / f"{language}.po"))
    if language != "en":
        made.add_fallback(catalogue("en", rules))
    return made


def _read(file: Path) -> NullTranslations:
    """The translations of a file; none where there is no such file."""
    if not file.is_file():
        return NullTranslations()
    # Babel takes 40 ms to load, and the command line needs it seldom.
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = BytesIO()
    with file.open("rb") as lines:
        write_mo(compiled, read_po(lines, locale=file.stem))
    compiled.seek(0)
    return GNUTranslations(compiled)
