"""The catalogues of texts brought up to date: `python -m energycomm.documentation.texts`.

Every text of the program is found where it stands: in templates and code by the functions that show or mark it, in
declarations by their own names, in rule files by the fields that readers see. A text that is new comes into every
catalogue without a translation; one that nobody asks for any more goes.
"""

from __future__ import annotations

import ast
import csv
import io
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any, get_args

import yaml
from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po
from lxml import etree

from energycomm import fielderrors, finding
from energycomm.billing.period import BLOCKING, NOTED, SIDES
from energycomm.commands.helping import SAYINGS
from energycomm.console.failures import AT_ONCE
from energycomm.console.lifeline import LANES
from energycomm.console.view import STATES
from energycomm.correction import report
from energycomm.correction.acting import ACTIONS
from energycomm.correction.analysis import AGES, DIMENSIONS
from energycomm.correction.dating import OTHER_DATES
from energycomm.correction.library import paragraphs
from energycomm.daemon.alarms import ALARMS
from energycomm.daemon.operations import State as ChannelState
from energycomm.documentation.commandtexts import TYPED, help_texts, printed
from energycomm.documentation.templates_in_code import templates_of
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
from energycomm.engine.wording import declarations as named_in_rules
from energycomm.engine.wording import plain
from energycomm.erasure.erasing import COPIES, EVIDENCE, HINDRANCES, STAYING, WAITS
from energycomm.erasure.handing import PARTS
from energycomm.invoicing.disputes import DISPUTES
from energycomm.invoicing.words import CHECKS
from energycomm.kernel import safexml
from energycomm.kernel.demands import DEMANDS, OTHERWISE
from energycomm.kernel.family import KINDS
from energycomm.kernel.history import ComputedFacts, RegisterFacts
from energycomm.kernel.shape import items_of, shape_of
from energycomm.kernel.verdicts import ErrorClass, Severity
from energycomm.kernel.vocabulary import FRENCH
from energycomm.pipeline.listsearch import AUDIT_ACTIONS
from energycomm.pipeline.retention import CLASSES
from energycomm.texts import parsers
from energycomm.texts.catalogues import FOLDER, LANGUAGES, translate
from energycomm.webservice.problems import PROBLEMS
from energycomm.webservice.roles import Role

PROGRAM = FOLDER.parent
RULES = PROGRAM.parent / "rules" / "texts"
_SHARED = PROGRAM.parent / "adapters" / "common" / "texts"
ADAPTERS = (
    _SHARED,
    *(
        file.parent / "texts"
        for file in sorted(PROGRAM.parent.glob("adapters/*/adapter.py"))
        if file.parent != _SHARED.parent
    ),
)
"""Folders of what adapters say: first that of what they share."""

ASSISTANT = PROGRAM.parent / "assistant" / "texts"
"""What the pages of the assistant say."""

_OTHER = tuple(one for one in LANGUAGES if one != "en")
CATALOGUES: dict[Path, tuple[str, ...]] = {
    FOLDER: LANGUAGES,
    **dict.fromkeys((RULES, *ADAPTERS, ASSISTANT), _OTHER),
}
"""Folder of catalogues -> their languages."""

Keywords = dict[str, tuple[int, ...] | None]

SHOWN: Keywords = {"t": None, "tn": (1, 2), "Column": None}
"""Functions of the console that show a text."""

MARKED: Keywords = {"wording": None, "wordings": (1, 2)}
"""Functions that mark one that is shown elsewhere."""

SENTENCES = (
    *("webservice/**/*.py", "console/*.py", "correction/**/*.py", "choices.py", "errors.py", "finding.py", "links.py"),
    *("billing/*.py", "erasure/*.py", "export/*.py", "invoicing/*.py", "portfolio/*.py"),
    *("eis/archive.py", "eis/away.py", "eis/browsing.py", "eis/changelog.py", "eis/envelopes.py"),
    *("eis/database.py", "eis/particulars.py", "eis/views.py", "eis/fitting.py"),
    *("pipeline/*.py", "market/dispatch.py", "market/installed.py", "daemon/operations.py", "daemon/alarming.py"),
    *("kernel/codec.py", "kernel/prescan.py", "kernel/decoder.py", "kernel/encoder.py", "kernel/check.py"),
    *("kernel/safexml.py", "kernel/parts.py"),
    *("config.py", "*_settings.py", "transport/settings.py"),
    *("transport/intake.py", "transport/binding.py", "transport/ws_security.py", "transport/codes.py"),
)
"""Files whose refusals, evidence and notes readers see on pages and in answers of the API."""

ALARMING = (
    *("daemon/survey.py", "daemon/watching.py", "daemon/supervisor.py", "daemon/polling.py", "daemon/clock.py"),
    "backoffice/webhook.py",
)
"""Files that say what alarms."""

SILENT = ("simulator", "conformance", "commands.py", "draft.py", "settings.py", "tableadapter.py", "particulars.py")
"""What of the adapters is for those who write them alone."""

MAKERS: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys(("Problem", "UserError", "Evidence", "Doubt", "Mistake", "not_found", "_not_signed_in"), None),
    **dict.fromkeys(("UnknownWord", "one_of", "closed", "Closed", "Absent", "HistoryArchived", "Conflict"), None),
    **dict.fromkeys(("Modify", "Reorder", "Create", "Replay", "SetAside", "ValueError"), None),
    **dict.fromkeys(("Refusal", "Script", "Parameter"), ()),
    "refusal": (3,),
    "refuse": (2, 3),
    "_remark": (1,),
    "AdapterCode": (3,),
    "Code": (2,),
    "Stored": (0, 2),
}
"""What makes them -> places of the arguments that are texts, None for all; beside those whose name is one of `TOLD`."""

REFUSALS = (
    "UserError",
    "Absent",
    "HistoryArchived",
    "Conflict",
    "UnknownWord",
    "one_of",
    "closed",
    "Closed",
    "NobodyKnown",
)
"""What refuses anywhere: the command line tells it."""

STRERRORS = (
    *("No such file or directory", "Permission denied", "Operation not permitted", "File exists", "Is a directory"),
    *("Not a directory", "Directory not empty", "No space left on device", "Read-only file system"),
    *("Address already in use", "Connection refused"),
)
"""What the system says most."""

TOLD = ("advice", "detail", "expected", "note", "words", "message", "why", "others", "what", "title", "help", "source")
"""Names of arguments, and of variables of such files, that hold texts."""

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


def of_the_assistant() -> Iterator[Text]:
    """What the pages of the assistant show."""
    pages = ASSISTANT.parent / "web"
    for file in sorted((*pages.glob("*.py"), ASSISTANT.parent / "chat" / "attachments.py")):
        yield from _extracted(file, "python", SHOWN | MARKED)
    for file in sorted(pages.glob("templates/*.html")):
        yield from _extracted(file, "jinja2.ext:babel_extract", SHOWN)
    yield from help_texts("assistant")
    for file in sorted(ASSISTANT.parent.rglob("*.py")):
        if "energycomm.commands.output" in file.read_text("utf-8"):
            yield from chain(printed(file), by_line(sentences(file)))


def commanded() -> Iterator[Text]:
    """What the command line says: its help, what commands print, and what is refused anywhere in the program."""
    yield from help_texts("energycomm")
    for file in sorted((PROGRAM / "cli.py", *PROGRAM.glob("commands/*.py"))):
        yield from chain(printed(file), by_line(sentences(file)))
    for file in sorted(PROGRAM.rglob("*.py")):
        yield from by_line(sentences(file, dict.fromkeys(REFUSALS), ("advice", "message")))


def by_line(texts: Iterable[Text]) -> Iterator[Text]:
    """Texts of the command line, which tells each line by itself."""
    for text in texts:
        if isinstance(text, str):
            lines = map(str.strip, text.split("\n"))
            yield from (one for one in lines if " " in one and _TOLD.search(one) and not TYPED.fullmatch(one))
        else:
            yield text


def built() -> Iterator[Text]:
    """Refusals, evidence and notes of the program."""
    for file in sorted({file for folder in SENTENCES for file in PROGRAM.glob(folder)}):
        yield from sentences(file)


def sentences(
    file: Path, makers: Mapping[str, tuple[int, ...] | None] = MAKERS, told: Collection[str] = TOLD
) -> Iterator[Text]:
    """Sentences that are finished where they are made, their values as `{0}`, `{1}`.

    Args:
      file: the file.
      makers: what makes them, as `MAKERS`.
      told: names of arguments and variables that hold them.
    """
    for node in ast.walk(ast.parse(file.read_bytes())):
        given: list[ast.expr] = []
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in makers:
                places = makers[name]
                given = [one for place, one in enumerate(node.args) if places is None or place in places]
                given += [one.value for one in node.keywords if one.arg in told]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in told:
            given = [node.value]
        yield from _counted(node)
        for expression in given:
            yield from (text for text in templates_of(expression) if " " in text and _TOLD.search(text))


_TOLD = re.compile(r"(?<![{\w])[^\W\d_]{2,}")


def formatted(file: Path) -> Iterator[Text]:
    """Every text of a file that is put together with values and has words."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.JoinedStr):
            yield from (text for text in templates_of(node) if re.match(r"(?!SELECT).*[a-z]{3,} ", text))
        yield from _counted(node)


def _counted(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What is counted in words: one and several."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "counted":
        one, *more = [str(word.value) for word in node.args[1:] if isinstance(word, ast.Constant)] or [""]
        if one:
            yield f"{{n}} {one}", f"{{n}} {more[0] if more else one + 's'}"


def scripts(folder: Path) -> Iterator[str]:
    """What correction scripts say of themselves: the paragraphs at the top of their files."""
    for file in sorted(folder.glob("*.py")):
        if not file.name.startswith("_"):
            yield from paragraphs(ast.get_docstring(ast.parse(file.read_bytes())) or "")


def spoken(adapter: Path) -> Iterator[Text]:
    """What an adapter says: its codes with their advice, what it expected, and what its scripts are for."""
    files = [file for file in sorted(adapter.rglob("*.py")) if not set(file.relative_to(adapter).parts) & set(SILENT)]
    yield from chain.from_iterable(map(sentences, files))
    for file in sorted(adapter.rglob("*.xsd")):
        types = etree.parse(file, safexml.parser()).iter("{http://www.w3.org/2001/XMLSchema}appinfo")
        yield from (one.text for one in types if one.text and " " in one.text)
    yield from scripts(adapter / "scripts")
    if (adapter / "commands.py").is_file():
        commands = adapter / "commands.py"
        yield from chain(help_texts("adapters"), printed(commands), by_line(sentences(commands)))


def labels() -> Iterator[str]:
    """The labels of fields, which are declared in English and French."""
    for kind in KINDS.values():
        if kind.kept is not None:
            yield from (one.label("en") for one in declarations(kind.kept.table).values())
    yield from (one.label("en") for one in named_in_rules() if one.english)


def facts() -> Iterator[str]:
    """What rules read besides fields, and parts of a message one by one: their plain names."""
    names = [one for facts in (ComputedFacts, RegisterFacts) for one in facts.__struct_fields__]
    names += [item for kind in KINDS.values() for item in items_of(kind).values()]
    return map(plain, dict.fromkeys(names))


def bounds() -> Iterator[str]:
    """What fields of Kernel messages may hold, in words, a bound each."""
    scalars = {one.scalar for kind in KINDS.values() for one in shape_of(kind).attributes if not one.scalar.words}
    for scalar in scalars:
        for piece in scalar.expected().split(", "):
            numbers = count()
            yield re.sub(r"(?<=matching ).+|-?\d[\d-]*", lambda _: f"{{{next(numbers)}}}", piece)  # noqa: B023 - used at once


def declared() -> Iterator[Text]:
    """What the store, the alarms and the checks name, and pages show."""
    for alarm in ALARMS:
        yield from (alarm.meaning, alarm.advice)
    for words in (*_names().values(), *_sentences().values()):
        yield from words


def _names() -> dict[str, Iterable[Text]]:
    """States, classes, kinds and other lists: what they are of -> their words."""
    return {
        "states of messages": STATES.values(),
        "states of a ticket": TICKET_STATES,
        "states of a request": REQUEST_STATES,
        "states of an envelope": ENVELOPE_STATES,
        "states of a notification": NOTIFICATION_STATES,
        "states of an acknowledgement": ACKNOWLEDGEMENT_STATES,
        "states of a channel": get_args(ChannelState),
        "rule sets": RULE_SETS,
        "severities": get_args(Severity),
        "error classes": (*(classes := get_args(ErrorClass)), *(translate(one, "en") for one in classes)),
        "groupings": (f"by {one}" for one in (*AT_ONCE, *DIMENSIONS)),
        "tables": (table.name.replace("_", " ") for table in tables.EFFECTS),
        "kinds": (kind.kept.table.replace("_", " ") for kind in KINDS.values() if kind.kept is not None),
        "lanes": LANES,
        "ages": (*(words for _, words in AGES), "older"),
        "actions of campaigns": ACTIONS.values(),
        "checks of invoices": CHECKS.values(),
        "columns of disputes": DISPUTES,
        "classes of data": (one.holds for one in CLASSES),
        "what the system says": STRERRORS,
        "kinds found": finding.KINDS,
        "fields found": sorted(finding.FIELDS),
        "how it fits": HOW,
        "actions of the audit": (one for one in AUDIT_ACTIONS if one != "read"),
        "judgements": get_args(Judged),
        "ways of signing in": ("session by password", "session by provider", "session by token {0}"),
        "values of a field": bounds(),
        "facts of the history": facts(),
        "roles": (str(role) for role in Role),
        "an analysis": report.NAMES,
        "markets of rules": ("common",),
        "directions of a channel, states of a reading": ("in", "out", "current", "replaced"),
        "states of a worker": ("starting", "idle", "working", "stopping", "gone"),
        "states of a job": ("waiting", "working", "done", "failed"),
        "states of a password": ("none", "valid", "initial", "expired", "disabled"),
        "reasons to erase one": REASONS.values(),
        "what is known of one": (part.replace("_", " ") for part in PARTS),
        "titles of problems": (title for _, title in PROBLEMS.values()),
        "states of a campaign and its items": (
            one for held in (tables.campaign, tables.campaign_item) for one in str(held.c.state.comment).split(", ")
        ),
    }


def _sentences() -> dict[str, Iterable[Text]]:
    """What is said in one of few ways, with places for its values: of what -> the ways."""
    return {
        "what an action rule asks": (
            *("notify the back office: {0}", "store; notify the back office: {0}", "wait for {0}"),
        ),
        "remarks on a billing period": (
            *(BLOCKING | NOTED).values(),
            *(text for side in SIDES.values() for text in (side, f"{{0}} of the {side}")),
        ),
        "proposals for the same messages": (
            "Campaign {0} of {1} is proposed for {2} of this one: "
            "the one that is approved first is done, the other passes over what was corrected.",
        ),
        "titles of tickets": ("{0}: {1} of {2} access points ({3})", "{0}: {1} of 1 access point ({2})"),
        "advice about a wrong word": ("Known are: {0}.", "Did you mean {0}?", "There is none."),
        "other dates of a message": OTHER_DATES,
        "why a message changed": ("waits for {0}", "the message is no longer accepted", "corrected by message {0}"),
        "words of the library for command lines": (*SAYINGS, "error:"),
        "a refusal at a place": ("{0} at {1}: found {2}, expected {3} ({4})", "{0} at {1}: found {2}, expected {3}"),
        "an error of a channel": ("{0} on channel {1}: {2} ({3})",),
        "the daemon is silent": ("the last sign was of {0} at {1}Z",),
        "details of alarms": chain.from_iterable(formatted(PROGRAM / name) for name in ALARMING),
        "mistakes of fields": (_numbered(words) for words in fielderrors.WORDS.values()),
        "a mistake of a setting": ("{0} (found {1})", "no such setting", "no such setting; did you mean {0}?"),
        "what parsers say": parsers.SAYINGS,
        "what schemas demand": (OTHERWISE, *(words for _, words in DEMANDS)),
        "what stays of a customer": (words for told in (*STAYING, EVIDENCE, COPIES) for words in told),
        "what hinders it, and what it waits for": (*HINDRANCES, *WAITS),
        "words of the Kernel": FRENCH,
        "values of comments": (*COMMENT_WORDS["en"].values(), OPENING_WORDS["en"].strip()),
    }


def _numbered(template: str) -> str:
    """A template whose places have names, as that of a finished sentence."""
    numbers = count()
    return re.sub(r"{\w+}", lambda _: f"{{{next(numbers)}}}", template)


def ruled(rules: Path, language: str) -> Iterator[str]:
    """What readers see of rules: titles and sentences of all markets, since whoever answers for several reads them in
    one language; what rules found in the languages that a market speaks, those of its code lists.

    Args:
      rules: folder of the rule files.
      language: of the readers.
    """
    for lists in sorted(rules.glob("*/codes.csv")):
        with lists.open(encoding="utf-8", newline="") as table:
            spoken_there = language in next(csv.reader(table))
        for file in sorted(lists.parent.glob("*.yaml")):
            for rule in _rules_of(file):
                comments = rule.get("comment", {})
                texts = [rule["title"], rule["sentence"], *([rule["wait"]] if "wait" in rule else [])]
                # A rule file has its comments in English and French.
                texts += (
                    []
                    if language in comments or not spoken_there
                    else [comments[one] for one in ("en",) if one in comments]
                )
                yield from (" ".join(text.split()) for text in texts)


@cache
def _rules_of(file: Path) -> list[dict[str, Any]]:
    loaded = yaml.load(file.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    return loaded.get("rules") or []


@cache
def _of_the_program() -> tuple[Text, ...]:
    """What the program says in every language: to look through its files takes seconds."""
    return tuple(chain(written(), built(), commanded(), declared(), scripts(PROGRAM / "correction" / "scripts")))


@cache
def _of_an_adapter(adapter: Path) -> tuple[Text, ...]:
    return tuple(spoken(adapter))


@cache
def needed(folder: Path, language: str) -> Catalog:
    """All texts that a catalogue of a folder has to hold, without translations."""
    made = Catalog()
    found: Iterable[Text]
    above: tuple[Catalog, ...] = ()
    if folder == FOLDER:
        found = chain(_of_the_program(), () if language in ("en", "fr") else labels())
    elif folder in ADAPTERS:
        found = _of_an_adapter(folder.parent)
        # What the program, or all adapters, say is translated once.
        above = tuple(needed(one, language) for one in (FOLDER, ADAPTERS[0]) if one != folder)
    elif folder == ASSISTANT:
        found, above = of_the_assistant(), (needed(FOLDER, language),)
    else:
        found = ruled(folder.parent, language)
    for text in found:
        if not any(text in one for one in above):
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
