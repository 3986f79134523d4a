"""`energycomm find`: anything that has a name or a number, by what somebody remembers of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from energycomm.commands.output import Form, listed, say
from energycomm.commands.recording import recorded
from energycomm.config import load
from energycomm.correction.library import script_headings
from energycomm.eis.store import Store
from energycomm.finding import SHOWN, Found, about
from energycomm.finding import find as find_all
from energycomm.pipeline.gateway import open_catalogue
from energycomm.pipeline.opening import open_store


def _look(store: Store, words: list[str], limit: int) -> Found:
    config = load()
    catalogue, scripts = open_catalogue(config.rules_folder), script_headings(config.scripts_folder)
    texts = (config.rules_folder / "texts",)
    return find_all(store.engine, catalogue, scripts, " ".join(words), limit=limit, texts=texts)


def _subject(store: Store, typed: Mapping[str, Any]) -> str:
    """What is found: the words may be a person's name, which no audit keeps."""
    return about(_look(store, typed["words"], typed["limit"]))


@recorded("find", subject=_subject)
@listed
def find(
    form: Form,
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="What you know of it, also a part or mistyped.")],
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many of a kind.")] = SHOWN,
) -> None:
    """Find access points, contracts, meters, customers, requests, references, files, tickets, codes.

    The best results come first. What is not found as it was typed is looked for with one mistake.

    Example: energycomm find 99000000000017
    """
    with open_store(load()) as store:
        found = _look(store, words, limit)
    rows = [
        (group.kind, hit.field, hit.value, hit.how, hit.market, f"energycomm {hit.command}")
        for group in found.groups
        for hit in group.hits
    ]
    form.show(found, ("kind", "what", "value", "fits", "market", "shown by"), rows)
    if not form.json:
        for line in remarks(found):
            say(line, err=True)


def remarks(found: Found) -> list[str]:
    """What is to be said of an answer beside its results."""
    lines = list(found.notes)
    if not found.groups:
        lines.append(f"Nothing fits {found.words!r}, nor with one mistake. Searched: {', '.join(found.searched)}.")
    elif found.mistyped:
        lines.append(f"Nothing fits {found.words!r}; these would, with one mistake less.")
    if more := [group.kind for group in found.groups if group.more]:
        lines.append(f"There are more: {', '.join(more)}; --limit shows them.")
    return lines
