"""Nothing is missing in a catalogue, and nothing is kept that nobody asks for: the texts are extracted anew."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Message
from babel.messages.pofile import read_po

from assistant.explanation import words as explanation
from energycomm.documentation.texts import CATALOGUES, needed, updated
from energycomm.texts.catalogues import FOLDER, LANGUAGES

ALL = [(folder, language) for folder, languages in CATALOGUES.items() for language in languages]
COMPLETE = [(folder, language) for folder, language in ALL if language != "en"]
"""Catalogues that have a translation of every text."""

each = pytest.mark.parametrize(("folder", "language"), ALL, ids=lambda one: getattr(one, "parent", Path(one)).name)
complete = pytest.mark.parametrize(
    ("folder", "language"), COMPLETE, ids=lambda one: getattr(one, "parent", Path(one)).name
)

ALIKE = {
    "fr": {
        *(
            "action",
            "occurrences",
            "classes",
            "archive",
            "codes",
            "date",
            "document",
            "documents",
            "net",
            "note",
            "partition",
            "passages",
        ),
        *("points", "question", "session", "sessions", "station", "table", "type", "verdicts"),
        *("{n} code", "{n} document", "{n} session"),
        "readings, volumes, curves, charges, invoices, supply, contracts, findings, disputes.",
        "scifact, wice, qed, qed-answers, xquad-en, xquad-de.",
        "Assistant",
        *("Action", "Actions", "Campaign", "Code", "Codes", "Condition", "Message", "Messages", "Note", "Notes"),
        *("Notification", "Occurrences", "Script", "Source", "Ticket", "Tickets", "Type", "Verdict"),
        *("Date", "Euros", "Incidents", "Sessions", "Version", "initial", "API", "euros", "source"),
        *("correction", "index", "original", "rectification", "taxes", "tariff", "(absent)"),
        *("Suggestions", "code", "script", "ticket", "tickets", "notes", "corrections"),
        *("absent", "message", "messages", "notifications", "tables", "version", "volume"),
        *("Console", "Conversation", "Message {n}", "Pages", "Passage", "Question", "Score", "Sources", "page {n}"),
        *("{0} documents", "{0} passages", "{n} question", "{n} questions"),
        *("{n} message", "{n} ticket", "{n} action", "version {n}", "{n} notification was"),
        *("{left} plus {right}", "contribution", "relation", "point", "{0} wsa:RelatesTo", "{0} wsu:Timestamp"),
        *("POST /logout/provider",),
    },
    "nl": {
        *("SERIES_GAP: {0}", "Trackers: {0}.", "Types: {0}.", "adapter", "alarm", "codes", "daemon", "detail"),
        *(
            "document",
            "hash",
            "items",
            "labels",
            "link",
            "model",
            "parameters",
            "passages",
            "score",
            "set",
            "station",
            "status",
        ),
        *("tokens", "type", "via", "worker", "{0}: {1} kB", "{0}: {1} passages, {2} kB", "{0}: {1}, {2} MB"),
        *("{0}: {1}, {2} in {3}", "{n} byte", "{n} code", "{n} document", "{n} token"),
        "readings, volumes, curves, charges, invoices, supply, contracts, findings, disputes.",
        "scifact, wice, qed, qed-answers, xquad-en, xquad-de.",
        *(
            "API",
            "tickets",
            "Account",
            "Bytes",
            "Code",
            "Codes",
            "Enter",
            "Parameter",
            "Script",
            "Set",
            "Status",
            "Ticket",
            "Tickets",
        ),
        *("Tokens", "Type", "code", "contract", "database", "in", "meter", "open", "script", "ticket", "volume"),
        *("Console", "Filters", "Score"),
        *("{left} is {right}", "{left} plus {right}", "“{name}”", "curve in Wh"),
        *("{0} wsa:RelatesTo", "{0} wsu:Timestamp", "POST /logout/provider"),
        *("curve", "gas", "operator", "In tickets", "open tickets", "{n} in tickets", "{n} ticket"),
    },
}
"""Texts that are the same in a language as in English."""


def messages(folder: Path, language: str) -> list[Message]:
    with (folder / f"{language}.po").open("rb") as lines:
        return [one for one in read_po(lines, locale=language) if one.id]


def forms(text: str | tuple[str, ...] | list[str] | None) -> tuple[str, ...]:
    return (text or "",) if text is None or isinstance(text, str) else tuple(text)


def places(text: str) -> list[str]:
    return sorted(name.partition("|")[0] for _, name, _, _ in Formatter().parse(text) if name is not None)


@pytest.mark.thorough
@each
def test_the_catalogue_has_every_text_of_the_program_and_no_other(folder: Path, language: str) -> None:
    assert updated(folder, language)[1] == []


@complete
def test_every_text_is_translated_in_all_its_forms(folder: Path, language: str) -> None:
    assert [one.id for one in messages(folder, language) if one.fuzzy or not all(forms(one.string))] == []
    assert {one.id for one in messages(folder, language) if len(forms(one.id)) != len(forms(one.string))} == set()


@each
def test_a_translation_has_the_places_of_its_text(folder: Path, language: str) -> None:
    assert [
        one.id
        for one in messages(folder, language)
        if any(places(form) != places(forms(one.id)[-1]) for form in forms(one.string) if form)
    ] == []


@complete
def test_no_text_is_left_in_english(folder: Path, language: str) -> None:
    """Texts that are the same in both languages are named here."""
    same = {forms(one.id)[0] for one in messages(folder, language) if forms(one.id)[0] == forms(one.string)[0]}
    assert same - ALIKE[language] == set()


@each
def test_punctuation_of_the_end_and_code_are_kept(folder: Path, language: str) -> None:
    wrong = []
    for one in messages(folder, language):
        for form in filter(None, forms(one.string)):
            text = forms(one.id)[-1]
            if (text != "No." and text[-1] in ".:?" and form[-1] != text[-1]) or (
                sorted(re.findall(r"`[^`]+`", text)) != sorted(re.findall(r"`[^`]+`", form))
                and "NAME" not in text
                and "NUMBER" not in text
            ):
                wrong.append(one.id)
    assert wrong == []


@pytest.mark.thorough
def test_the_extraction_finds_what_pages_say_and_what_declarations_name() -> None:
    """Texts that a person read on the pages, one of each way that they come from."""
    found = {text for one in needed(FOLDER, "fr") for text in forms(one.id)}
    assert found >= {
        "Skip to the content",  # template
        "{n} messages are stuck",  # template, counted
        "Codes, or awaited message",  # column of a list
        "The name or the password is wrong.",  # marked
        "A channel has been paused for long.",  # alarm
        "the power is not that of the contract",  # check of invoices
        "by grid_operator",  # grouping
    }


def test_the_assistant_explains_the_same_things_in_each_language() -> None:
    assert set(explanation.WORDS) == set(LANGUAGES)
    for language, texts in explanation.WORDS.items():
        assert texts.keys() == explanation.WORDS["en"].keys()
        assert {key: places(text) for key, text in texts.items()} == {
            key: places(text) for key, text in explanation.WORDS["en"].items()
        }
        if language != "en":
            alike = {key for key, text in texts.items() if text == explanation.WORDS["en"][key]}
            assert alike <= {"by_message", "message", "script"}


def test_a_package_has_the_catalogues_of_each_folder() -> None:
    """The wheel takes whole packages; nothing keeps a folder of texts out of it, and its folder is a package's."""
    root = FOLDER.parent.parent
    build = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    packages = [root / name for name in build["targets"]["wheel"]["packages"]]
    shipped = [root / name.lstrip("/") for name in build["targets"]["sdist"]["include"]]
    ignored = subprocess.run(
        ["git", "check-ignore", *(str(folder / "fr.po") for folder in CATALOGUES)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ignored.stdout == ""
    for folder, languages in CATALOGUES.items():
        assert all((folder / f"{language}.po").is_file() for language in languages)
        assert any(folder.is_relative_to(package) for package in packages)
        assert any(folder.is_relative_to(place) for place in shipped)
    assert "exclude" not in build["targets"]["wheel"]
