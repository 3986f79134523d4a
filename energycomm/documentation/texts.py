"""The catalogues of texts brought up to date: `python -m energycomm.documentation.texts`.

Every text of the program is found where it stands: in templates and code by the functions that show or mark it, in
declarations by their own names, in rule files by the fields that readers see. A text that is new comes into every
catalogue without a translation; one that nobody asks for any more goes.
"""

from __future__ import annotations

import ast
import csv
import io
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any, get_args

import yaml
from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po

from energycomm import finding
from energycomm.billing.period import BLOCKING, NOTED
from energycomm.console.failures import AT_ONCE
from energycomm.console.lifeline import LANES
from energycomm.console.view import STATES
from energycomm.correction.acting import ACTIONS
from energycomm.correction.analysis import AGES, DIMENSIONS
from energycomm.daemon.alarms import ALARMS
from energycomm.daemon.operations import State as ChannelState
from energycomm.eis import tables
from energycomm.eis.domain import declarations
from energycomm.eis.erasures import REASONS
from energycomm.eis.finding import HOW
from energycomm.eis.states import (
    ACKNOWLEDGEMENT_STATES,
    ENVELOPE_STATES,
    NOTIFICATION_STATES,
    REQUEST_STATES,
    TICKET_STATES,
)
from energycomm.engine.report import COMMENT_WORDS, OPENING_WORDS
from energycomm.engine.rule import RULE_SETS, Judged
from energycomm.erasure.erasing import COPIES, EVIDENCE, HINDRANCES, STAYING, WAITS
from energycomm.erasure.handing import PARTS
from energycomm.invoicing.disputes import DISPUTES
from energycomm.invoicing.words import CHECKS
from energycomm.kernel.family import KINDS
from energycomm.kernel.verdicts import ErrorClass, Severity
from energycomm.kernel.vocabulary import FRENCH
from energycomm.pipeline.listsearch import AUDIT_ACTIONS
from energycomm.texts.catalogues import FOLDER, LANGUAGES
from energycomm.webservice.problems import PROBLEMS
from energycomm.webservice.roles import Role

PROGRAM = FOLDER.parent
RULES = PROGRAM.parent / "rules" / "texts"

CATALOGUES: dict[Path, tuple[str, ...]] = {FOLDER: LANGUAGES, RULES: tuple(one for one in LANGUAGES if one != "en")}
"""Folder of catalogues -> their languages."""

Keywords = dict[str, tuple[int, ...] | None]

SHOWN: Keywords = {"t": None, "tn": (1, 2), "Column": None}
"""Functions of the console that show a text."""

MARKED: Keywords = {"wording": None, "wordings": (1, 2)}
"""Functions that mark one that is shown elsewhere."""

SENTENCES = ("webservice/**/*.py", "console/*.py", "correction/evidence.py", "choices.py")
"""Files whose refusals and evidence readers see on pages."""

MAKERS = ("Problem", "UserError", "Evidence", "not_found", "_not_signed_in")
"""What makes them."""

HEADER = """# `python -m energycomm.documentation.texts` brings this file up to date; docs/texts.md.
msgid ""
msgstr ""
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: {plural}\\n"
"""


Text = str | tuple[str, ...]


def written() -> Iterator[Text]:
    """Everything that templates show, and that code shows or marks."""
    for file in sorted(PROGRAM.rglob("*.py")):
        yield from _extracted(file, "python", SHOWN | MARKED if "console" in file.parts else MARKED)
    for file in sorted(PROGRAM.glob("console/templates/*.html")):
        yield from _extracted(file, "jinja2.ext:babel_extract", SHOWN)


def _extracted(file: Path, method: str, keywords: Keywords) -> Iterator[Text]:
    options = {"trim_blocks": "true", "lstrip_blocks": "true", "silent": "false"}
    with file.open("rb") as content:
        for _, text, _, _ in extract(method, content, keywords, (), options):
            yield text


def built() -> Iterator[str]:
    """Refusals and evidence: sentences that are finished where they are made, their values as `{0}`, `{1}`."""
    for folder in SENTENCES:
        for file in sorted(PROGRAM.glob(folder)):
            for node in ast.walk(ast.parse(file.read_bytes())):
                if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in MAKERS:
                    given = (*node.args, *(one.value for one in node.keywords if one.arg in ("advice", "detail")))
                    yield from (text for text in map(_template, given) if " " in text)


def _template(node: ast.expr) -> str:
    """The template of a text in code; empty where it is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return ""
    numbers = count()
    return "".join(str(one.value) if isinstance(one, ast.Constant) else f"{{{next(numbers)}}}" for one in node.values)


def labels() -> Iterator[str]:
    """The labels of fields, which are declared in English and French."""
    for kind in KINDS.values():
        if kind.kept is not None:
            yield from (one.label("en") for one in declarations(kind.kept.table).values())


def declared() -> Iterator[str]:
    """What the store, the alarms and the checks name, and pages show."""
    for alarm in ALARMS:
        yield from (alarm.meaning, alarm.advice)
    for words in {
        "states of messages": STATES.values(),
        "states of a ticket": TICKET_STATES,
        "states of a request": REQUEST_STATES,
        "states of an envelope": ENVELOPE_STATES,
        "states of a notification": NOTIFICATION_STATES,
        "states of an acknowledgement": ACKNOWLEDGEMENT_STATES,
        "states of a channel": get_args(ChannelState),
        "rule sets": RULE_SETS,
        "severities": get_args(Severity),
        "error classes": get_args(ErrorClass),
        "groupings": (f"by {one}" for one in (*AT_ONCE, *DIMENSIONS)),
        "tables": (table.name.replace("_", " ") for table in tables.EFFECTS),
        "kinds": (kind.kept.table.replace("_", " ") for kind in KINDS.values() if kind.kept is not None),
        "lanes": LANES,
        "ages": (*(words for _, words in AGES), "older"),
        "actions of campaigns": ACTIONS.values(),
        "checks of invoices": CHECKS.values(),
        "columns of disputes": DISPUTES,
        "remarks on a billing period": (BLOCKING | NOTED).values(),
        "kinds found": finding.KINDS,
        "fields found": sorted(finding.FIELDS),
        "how it fits": HOW,
        "actions of the audit": (one for one in AUDIT_ACTIONS if one != "read"),
        "judgements": get_args(Judged),
        "ways of signing in": ("session by password", "session by provider", "session by token {0}"),
        "states of a reading": ("current", "replaced"),
        "roles": (str(role) for role in Role),
        "what stays of a customer": (words for told in (*STAYING, EVIDENCE, COPIES) for words in told),
        "reasons to erase one": REASONS.values(),
        "what hinders it, and what it waits for": (*HINDRANCES, *WAITS),
        "what is known of one": (part.replace("_", " ") for part in PARTS),
        "titles of problems": (title for _, title in PROBLEMS.values()),
        "words of the Kernel": FRENCH,
        "values of comments": (*COMMENT_WORDS["en"].values(), OPENING_WORDS["en"].strip()),
        "markets of rules": ("common",),
        "directions of a channel": ("in", "out"),
        "states of a worker": ("starting", "idle", "working", "stopping", "gone"),
        "states of a job": ("waiting", "working", "done", "failed"),
        "states of a password": ("none", "valid", "initial", "expired", "disabled"),
    }.values():
        yield from words
    for table, column in (("campaign", "state"), ("campaign_item", "state")):
        comment = tables.metadata.tables[table].c[column].comment or ""
        yield from comment.split(", ")


def ruled(rules: Path, language: str) -> Iterator[str]:
    """What readers see of rules; a market speaks the languages of its code lists.

    Args:
      rules: folder of the rule files.
      language: of the readers.
    """
    for lists in sorted(rules.glob("*/codes.csv")):
        with lists.open(encoding="utf-8", newline="") as table:
            if language not in next(csv.reader(table)):
                continue
        for file in sorted(lists.parent.glob("*.yaml")):
            for rule in _rules_of(file):
                comments = rule.get("comment", {})
                texts = [rule["title"], rule["sentence"]]
                # A rule file has its comments in English and French.
                texts += [] if language in comments else [comments[one] for one in ("en",) if one in comments]
                yield from (" ".join(text.split()) for text in texts)


@cache
def _rules_of(file: Path) -> list[dict[str, Any]]:
    loaded = yaml.load(file.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    return loaded.get("rules") or []


def needed(folder: Path, language: str) -> Catalog:
    """All texts that a catalogue of a folder has to hold, without translations."""
    made = Catalog()
    found: Iterable[Text]
    if folder == FOLDER:
        found = chain(written(), built(), declared(), () if language in ("en", "fr") else labels())
    else:
        found = ruled(folder.parent, language)
    for text in found:
        made.add(text)
    return made


def updated(folder: Path, language: str) -> tuple[Catalog, list[str]]:
    """The catalogue of a language brought up to date, and what it lacked or had too much."""
    file = folder / f"{language}.po"
    kept = Catalog(locale=language)
    if file.is_file():
        with file.open("rb") as lines:
            kept = read_po(lines, locale=language)
    made, wanted, changes = Catalog(locale=language), needed(folder, language), []
    for message in wanted:
        if not message.id or (language == "en" and message.id not in kept):
            continue
        former = kept.get(message.id)
        if former is None:
            changes.append(f"new: {message.id}")
        made.add(message.id, former.string if former is not None else None)
    changes += [f"gone: {one.id}" for one in kept if one.id and one.id not in wanted]
    return made, changes


def save(made: Catalog, file: Path, language: str) -> None:
    """Write a catalogue, its texts in alphabetical order."""
    text = io.BytesIO()
    write_po(text, made, width=100, sort_output=True, no_location=True, omit_header=True)
    head = HEADER.format(language=language, plural=made.plural_forms)
    file.write_text(f"{head}\n{text.getvalue().decode().strip()}\n", "utf-8")


def main() -> None:
    """Bring every catalogue up to date and say what changed."""
    for folder, languages in CATALOGUES.items():
        for language in languages:
            made, changes = updated(folder, language)
            save(made, folder / f"{language}.po", language)
            for change in changes:
                sys.stdout.write(f"{folder.parent.name} {language} {change}\n")


if __name__ == "__main__":
    main()
