"""Answers that are worked out, against gold that is computed without them.

The gold of a question is a query in SQL. Rules and code lists are read here from their files into tables of their own,
and the store is read by its tables: neither goes through the operations, the grammar or the engine, so that a mistake
of theirs is not in the gold. What a page of the documentation says was written down by a person.

Example: python -m assistant.evaluation.worked sqlite:///demo/energycomm.db
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple
from zoneinfo import ZoneInfo

import yaml
from babel.messages.pofile import read_po
from sqlalchemy import make_url

from assistant.config import AssistantConfig
from assistant.operations.house import House
from assistant.operations.likeness import Likeness
from assistant.operations.worked import Worked
from energycomm.config import Config

Form = Literal["number", "set", "value", "parts", "yes", "date", "state", "refusal", "unknown"]

UNSEEN = Path(__file__).parent / "questions" / "worked_unseen.jsonl"
"""Written by somebody who did not write the grammar; nobody develops with it."""
VISITORS = UNSEEN.with_name("worked_visitors.jsonl")
"""The same by two further people."""

DEVELOPMENT = tuple(
    UNSEEN.with_name(f"worked_{name}.jsonl")
    for name in (
        "development",
        "consultants",
        "analysts",
        "colleagues",
        "retired",
        "newcomers",
        "voices",
        "outsiders",
        "refusals",
        "strangers",
    )
)
"""Those that the grammar was written with: a line has one gold and the ways in which it was asked."""

OTHERS = ("also", "third", "fourth", "ties")
"""Further queries whose results are right as well: a question may be read with the common rules and without."""

FEW = 3
"""So many names need no table."""

_ZONE = ZoneInfo("Europe/Paris")
_YES = {"en": ("yes", "no"), "fr": ("oui", "non"), "nl": ("ja", "nee")}
_NONE = re.compile(r"\b(no|not|none|aucune?|pas|geen|niet)\b", re.IGNORECASE)
_STATES = {
    "rejected": ("rejected", "rejeté", "afgekeurd"),
    "accepted": ("accepted", "accepté", "aanvaard", "geaccepteerd"),
    "quarantined": ("quarantine", "quarantaine", "wacht"),
}
_TABLES = """
CREATE TABLE rule (
  code, error_code, market, rule_set, title, sentence, class, severity, ebix, source, field, since, until, file
);
CREATE TABLE applies (code, kind);
CREATE TABLE repair (code, script);
CREATE TABLE code (market, list, code, since, until, en, fr);
CREATE TABLE text (language, english, translated);
"""


class Question(NamedTuple):
    """One question.

    Attributes:
      id: of the question.
      kind: of the question: `list`, `count`, `field`, `compare`, `across`, `day`, `codes`, `store`, `why`, `point`,
        `request`, `freed`, `docs` or `refusal`.
      language: `en`, `fr` or `nl`.
      text: what is asked.
      form: of the answer; `refusal`: it must be refused; `unknown`: saying that it does not exist is right too.
      gold: answers, each of which is right; none for a question that must be refused.
      empty: whether "none" is right where the gold is empty.
    """

    id: str
    kind: str
    language: str
    text: str
    form: Form
    gold: tuple[frozenset[str], ...]
    empty: bool


class Given(NamedTuple):
    """What the assistant gave.

    Attributes:
      worked: whether it was worked out; a refusal and a passage are not.
      text: of the answer.
      rows: of its table, without the head.
      proof: file and line, or the query.
      fault: what went wrong where the question ended in an exception.
    """

    worked: bool
    text: str
    rows: Sequence[Sequence[str]]
    proof: str
    fault: str = ""


def catalogue(rules: Path) -> sqlite3.Connection:
    """The files of rules and code lists in tables of a database in memory.

    Args:
      rules: the folder of the rules.
    """
    found = sqlite3.connect(":memory:")
    found.executescript(_TABLES)
    for path in sorted(rules.glob("*/*.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        market = content.get("market", path.parent.name)
        for rule in content.get("rules", ()):
            row = [rule.get(name) for name in ("code", "error_code")]
            row += [market, content.get("rule_set"), rule["title"], rule["sentence"], rule.get("error_class")]
            row += [rule.get("severity", "error" if "error_code" in rule else None), rule.get("ebix"), rule["source"]]
            row += [
                rule.get("field"),
                *(str(rule[day]) if day in rule else None for day in ("since", "until")),
                path.name,
            ]
            found.execute(f"INSERT INTO rule VALUES ({','.join('?' * len(row))})", row)  # noqa: S608 - marks alone
            found.executemany("INSERT INTO applies VALUES (?, ?)", [(rule["code"], one) for one in rule["applies_to"]])
            found.executemany(
                "INSERT INTO repair VALUES (?, ?)", [(rule["code"], one) for one in rule.get("repair", ())]
            )
    for path in sorted(rules.glob("*/codes.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                row = [
                    path.parent.name.upper(),
                    *(line.get(name) for name in ("list", "code", "since", "until", "en", "fr")),
                ]
                found.execute("INSERT INTO code VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                meanings = [(language, line["en"], line.get(language)) for language in ("fr", "nl")]
                found.executemany("INSERT INTO text VALUES (?, ?, ?)", [one for one in meanings if one[2]])
    for path in sorted(rules.glob("texts/*.po")):
        with path.open("rb") as content:
            texts = [(path.stem, one.id, one.string) for one in read_po(content) if one.id and one.string]
        found.executemany("INSERT INTO text VALUES (?, ?, ?)", [one for one in texts if isinstance(one[1], str)])
    return found


def questions(path: Path, known: sqlite3.Connection, store: sqlite3.Connection) -> Iterator[Question]:
    """The questions of a file, with their gold.

    Args:
      path: the file.
      known: the catalogue, see `catalogue`.
      store: the tables of the store, read only.
    """
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        told: dict[str, Any] = json.loads(line)
        if "asked" in told:
            for language, texts in told["asked"].items():
                for number, text in enumerate(texts, start=1):
                    one = {**told, "language": language}
                    gold = tuple(_gold(one, {}, known, store)) if told["form"] not in ("refusal", "unknown") else ()
                    name = f"{told['id']}-{language}{number}"
                    yield Question(name, told["kind"], language, text, told["form"], gold, told.get("nothing", False))
            continue
        names = {name: str(_one(store, query)) for name, query in told.get("fill", {}).items()}
        text = told["question"].format(**names) if names else told["question"]
        yield Question(
            told["id"],
            told["kind"],
            told["language"],
            text,
            told["form"],
            tuple(_gold(told, names, known, store)),
            told.get("nothing", False),
        )


def _gold(
    told: Mapping[str, Any], names: Mapping[str, str], known: sqlite3.Connection, store: sqlite3.Connection
) -> Iterator[frozenset[str]]:
    if "said" in told:
        yield from (frozenset({one}) for one in told["said"])
        return
    for name in ("rules", "store", *OTHERS):
        if name in told:
            base = known if "rules" in told else store
            query = told[name].format(**names) if names else told[name]
            found = frozenset(str(row[0]) for row in base.execute(query) if row[0] is not None)
            if name == "ties":
                yield from (frozenset({one}) for one in found)
            else:
                yield found
                query = "SELECT translated FROM text WHERE language = ? AND english = ?"
                translated = {one: known.execute(query, (told["language"], one)).fetchone() for one in found}
                if any(translated.values()):
                    yield frozenset(row[0] if row else one for one, row in translated.items())


def _one(base: sqlite3.Connection, query: str) -> object:
    row = base.execute(query).fetchone()
    if row is None:
        raise LookupError(f"the store has nothing for {query}")
    return row[0]


def right(question: Question, given: Given) -> bool:
    """Whether an answer is right.

    Args:
      question: the question with its gold.
      given: the answer.
    """
    if given.fault:
        return False
    if question.form == "refusal":
        return not given.worked
    if question.form == "unknown":
        return not given.worked or _NONE.search(given.text) is not None
    if not given.worked or not given.proof:
        return False
    judge = _JUDGES[question.form]
    return any(judge(gold, given, question) for gold in question.gold)


def _number(gold: frozenset[str], given: Given, _: Question) -> bool:
    """The first number of the sentence that is no part of a name is the gold."""
    numbers = re.findall(r"(?<![\w.-])\d+(?:[\u00a0\u202f ]\d{3})*(?![\w-])", given.text)
    words = {"no": "0", "none": "0", "aucun": "0", "aucune": "0", "geen": "0"}
    first = re.sub(r"\D", "", numbers[0]) if numbers else None
    if first is None:
        first = next((words[one] for one in re.findall(r"\w+", given.text.lower()) if one in words), None)
    return gold == {first}


def _set(gold: frozenset[str], given: Given, question: Question) -> bool:
    """One column of the table is the gold, nothing more and nothing less; of a few the sentence is enough."""
    columns = zip(*given.rows, strict=True) if given.rows else iter(())
    if gold and any({str(cell).strip() for cell in column} == gold for column in columns):
        return True
    if not gold:
        return question.empty and not given.rows
    return len(gold) <= FEW and not given.rows and all(_holds(given.text, one) for one in gold)


def _value(gold: frozenset[str], given: Given, _: Question) -> bool:
    return bool(gold) and all(_holds(_everything(given), one) for one in gold)


def _yes(gold: frozenset[str], given: Given, question: Question) -> bool:
    yes, no = _YES[question.language]
    first = re.match(r"\w+", given.text.strip().lower())
    return first is not None and first[0] == (yes if gold == {"1"} else no)


def _date(gold: frozenset[str], given: Given, _: Question) -> bool:
    at = datetime.fromtimestamp(int(next(iter(gold))) / 1e6, UTC).astimezone(_ZONE)
    return f"{at:%Y-%m-%d}" in _everything(given) or f"{at:%d/%m/%Y}" in _everything(given)


def _state(gold: frozenset[str], given: Given, _: Question) -> bool:
    words = _STATES[next(iter(gold))]
    others = (word for state, known in _STATES.items() if state not in gold for word in known)
    text = given.text.lower()
    return any(word in text for word in words) and not any(word in text for word in others)


_JUDGES = {
    "number": _number,
    "set": _set,
    "value": _value,
    "parts": _value,
    "yes": _yes,
    "date": _date,
    "state": _state,
}


def _everything(given: Given) -> str:
    return "\n".join([given.text, *(" ".join(map(str, row)) for row in given.rows)])


def _holds(text: str, part: str) -> bool:
    """Whether a text holds a part as whole words, whatever its case, spaces and underscores; S01 is not in BE-S01."""

    def plain(one: str) -> str:
        return " ".join(one.replace("_", " ").casefold().split())

    return re.search(rf"(?<!\w)(?<!\w-){re.escape(plain(part))}(?!-?\w)", plain(text)) is not None


def measure(config: Config, *paths: Path, likeness: Likeness | None = None) -> list[tuple[Question, Given, bool]]:
    """Ask every question of a set and judge the answers.

    Args:
      config: its rules and its store, which is SQLite.
      paths: the sets.
      likeness: reads questions like known ones.
    """
    house = House(config, likeness=likeness)
    database = make_url(config.database_url).database
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as store:
        known = catalogue(config.rules_folder)
        asked = [question for path in paths for question in questions(path, known, store)]
    found = []
    for question in asked:
        readings = readings_of(house, question.text)
        given = next((one for one in readings if right(question, one)), readings[0])
        found.append((question, given, right(question, given)))
    return found


def readings_of(house: House, text: str) -> list[Given]:
    """What the assistant gave; an exception is a wrong answer, and does not end the run.

    Args:
      house: answers.
      text: the question.
    """
    try:
        reply = house.reply(text)
        return [*given_by(() if reply is None else reply.answers)] or [Given(False, "", (), "")]
    except Exception as error:  # whatever it is, it is told and counted
        at = traceback.extract_tb(error.__traceback__)[-1]
        return [Given(False, "", (), "", f"{type(error).__name__} in {Path(at.filename).name}:{at.lineno}")]


def given_by(answers: Sequence[Worked]) -> Iterator[Given]:
    """Each answer, and all of them as one: a question in two parts has two.

    Args:
      answers: what was worked out.
    """
    for answer in answers:
        rows = () if answer.table is None else answer.table.rows
        yield Given(True, answer.sentence, rows, answer.proofs[0].text)
    if len(answers) > 1:
        yield Given(True, "\n".join(one.sentence for one in answers), (), answers[0].proofs[0].text)


def _main(database: str, *options: str) -> None:
    settings: dict[str, Any] = {"database": database}
    development = "--development" in options
    likeness = Likeness.of(AssistantConfig())
    sets = DEVELOPMENT if development else (VISITORS,) if "--visitors" in options else (UNSEEN,)
    judged = measure(Config(**settings), *sets, likeness=likeness)
    if development:  # the unseen ones are never shown
        for question, given, well in judged:
            if not well:
                print(f"{question.id}: {question.text} -> {given.fault or given.text[:120] or '-'}")
    kinds = Counter(question.kind for question, _, _ in judged)
    good = Counter(question.kind for question, _, well in judged if well)
    missed = Counter(question.kind for question, given, well in judged if not well and not given.worked)
    print("| kind | questions | right | not understood |\n| --- | --- | --- | --- |")
    for kind, number in kinds.items():
        print(f"| {kind} | {number} | {good[kind]} | {missed[kind]} |")
    print(f"| all | {len(judged)} | {good.total()} ({good.total() / len(judged):.2f}) | {missed.total()} |")
    faults = Counter(given.fault for _, given, _ in judged if given.fault)
    for fault, number in faults.items():
        print(f"{number} ended in {fault}")


if __name__ == "__main__":
    _main(*sys.argv[1:])
