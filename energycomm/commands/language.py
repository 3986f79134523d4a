"""The language of the command line: that of the terminal, otherwise that of the configuration, otherwise English."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from energycomm.errors import UserError
from energycomm.texts import wording

LANGUAGES = ("en", "fr", "nl")
VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
"""What a terminal says its language in: the first that is set counts (POSIX, Environment Variables, 8.2)."""

_NOBODYS = ("C", "POSIX")
"""Names of a locale that is no language of a person: a service and a container have it when nobody chose."""

_ADDED = ("energycomm.adapters", "energycomm.commands")
"""Entry points of packages that have texts of their own."""

_WORDS = frozenset((wording("yes"), wording("no"), wording("NO"), wording("none"), wording("never")))
"""Single words of cells that nobody types; others are what the store calls it."""

_SURE = 2
"""Words that a text and its template share where it is one of ours for sure."""

_PLACE = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)


def of_terminal(environ: Mapping[str, str]) -> str | None:
    """The language that a terminal asks for; None where it asks for none of ours.

    Args:
      environ: the environment. `LANGUAGE` is a list that goes before the others, as gettext reads it, unless these say
        that there is no language.
    """
    locale = next((environ[name] for name in VARIABLES if environ.get(name)), "")
    if locale.partition(".")[0] in ("", *_NOBODYS):
        return None
    wanted = [*environ.get("LANGUAGE", "").split(":"), locale]
    return next((name for name in (re.split(r"[_.@-]", one)[0].lower() for one in wanted) if name in LANGUAGES), None)


def of_configuration(environ: Mapping[str, str]) -> str:
    """The language of the configuration; English where it has none, or cannot be read.

    Args:
      environ: the environment.
    """
    if not _may_say_it(environ):
        return "en"
    from energycomm.config import load_all

    # Whoever needs the configuration tells what is wrong with it.
    with suppress(UserError):
        installation, suppliers = load_all()
        return (next(iter(suppliers.values())) if len(suppliers) == 1 else installation).language
    return "en"


def _may_say_it(environ: Mapping[str, str]) -> bool:
    """Whether a configuration has the word: the help is shown without reading the whole of it otherwise."""
    if environ.get("ENERGYCOMM_LANGUAGE"):
        return True
    try:
        return b"language" in Path(environ.get("ENERGYCOMM_CONFIG") or "energycomm.toml").read_bytes()
    except OSError:
        return False


_reader: ContextVar[Callable[[], str]] = ContextVar("reader", default=lambda: "en")


@contextmanager
def reader() -> Iterator[None]:
    """A block whose words are in the language of the terminal or of the configuration; it is found on first use."""
    token = _reader.set(cache(lambda: of_terminal(os.environ) or of_configuration(os.environ)))
    try:
        yield
    finally:
        _reader.reset(token)


def language() -> str:
    """The language of whoever reads: en, fr or nl."""
    return _reader.get()()


def told(text: str) -> str:
    """A finished English text in the reader's language; what is no text of ours is returned unchanged.

    Args:
      text: a line or a paragraph, its values in it.
    """
    if (chosen := language()) == "en" or not text:
        return text
    from energycomm.texts.catalogues import translate_sentence

    before, words, after = _PLACE.fullmatch(text).groups()  # type: ignore[union-attr]
    return f"{before}{translate_sentence(words, chosen, folders())}{after}"


def told_value(text: str) -> str:
    """A value in the reader's language, where it is a text of ours for sure; what people wrote stays.

    Args:
      text: the cell of a table, or what stands behind the name of a fact.
    """
    if (chosen := language()) == "en" or " " not in text:
        return named(text) if text in _WORDS else text
    from energycomm.texts.catalogues import translate_sentence

    return translate_sentence(text, chosen, folders(), _SURE)


def named(text: str) -> str:
    """The name of a column or of a fact in the reader's language; a name that is data is returned unchanged."""
    if (chosen := language()) == "en" or not text:
        return text
    from energycomm.texts.catalogues import translate

    return translate(text, chosen, folders())


@cache
def folders() -> tuple[Path, ...]:
    """Folders of the catalogues beside that of the program: of rules, scripts, markets and added commands."""
    from energycomm.config import load

    found: list[Path] = []
    with suppress(UserError):
        config = load()
        found = [config.rules_folder, *filter(None, [config.scripts_folder])]
    for point in (one for group in _ADDED for one in entry_points(group=group)):
        top, *inner = point.module.split(".")
        spec = find_spec(top)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            found += [Path(place, *inner[:depth]) for depth in range(len(inner) + 1)]
    return tuple(folder / "texts" for folder in dict.fromkeys(found) if (folder / "texts").is_dir())
