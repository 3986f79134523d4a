"""The documentation's own structure: settings, commands, codes and words, read from the pages that name them."""

from __future__ import annotations

import itertools
import re
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from assistant.knowledge.language import is_question_word
from assistant.operations.family import Manual
from assistant.operations.plaintext import plain
from assistant.operations.vocabulary import inflected
from assistant.operations.wording import say, thing_name
from assistant.operations.worked import Proof, Table, Worked

PAGES = {
    "setting": ("configuration.md", "setting"),
    "command": ("cli.md", ""),
    "code": ("codes.md", "code"),
    "word": ("glossary.md", "word"),
    "exit_code": ("cli.md", "code"),
    "field": ("fields.md", "field"),
    "alarm": ("operating.md", ""),
    "option": ("cli.md", "argument or option"),
}
"""What -> the page that lists them, and the head of the first column of its tables."""

ENOUGH = 0.7
"""Share of the words that an entry has to have to be about them."""
MOST_FOUND = 5
"""Entries that words may find; more are no answer."""
SHORTEST_VERB = 6
"""Letters of a verb that a noun begins with: correction."""

_ALARM = re.compile(r"### ([A-Z]+(?:_[A-Z]+)+)")
_SCOPE = re.compile(r"`\[([\w.]+)\]`")
_SPLIT = re.compile(r"(?<!\\)\|")


class Entry(Struct, frozen=True, kw_only=True):
    """One thing that a page names: a row of a table, or a section of its own.

    Attributes:
      name: as it is written, without quotes.
      cells: head of a column -> what stands there.
      section: heading above.
      file, line: where.
      shown: an example of it: its words count, and are not told.
    """

    name: str
    cells: tuple[tuple[str, str], ...]
    section: str
    file: str
    line: int
    shown: str = ""

    @property
    def about(self) -> str:
        """What is said of it."""
        return "; ".join(f"{value}" for _, value in self.cells if value)

    def cell(self, head: str) -> str:
        """What stands in a column; empty where there is none."""
        return dict(self.cells).get(head, "")


@lru_cache(maxsize=32)
def _entries(folder: Path, what: str, stamp: float) -> tuple[Entry, ...]:
    page, head = PAGES[what]
    text = (folder / page).read_text("utf-8")
    lines = text.splitlines()
    apart = {"command": _sections, "alarm": _alarms}.get(what)
    return tuple(apart(lines, page) if apart else _rows(lines, page, head))


def entries(folder: Path | None, what: str) -> tuple[Entry, ...]:
    """What a page of the documentation lists; nothing where there is no such page."""
    if folder is None or not (folder / PAGES[what][0]).is_file():
        return ()
    return _entries(folder, what, (folder / PAGES[what][0]).stat().st_mtime)


def _rows(lines: list[str], page: str, head: str) -> list[Entry]:
    found: list[Entry] = []
    columns: list[str] = []
    section = ""
    for number, line in enumerate(lines, start=1):
        if line.startswith("#"):
            section, columns = line.lstrip("# ").strip(), []
        elif not line.startswith("|"):
            columns = []
            scope = _SCOPE.match(line)
            section = scope[1] if scope else section
        else:
            cells = [cell.strip().replace("\\|", "|") for cell in _SPLIT.split(line)[1:-1]]
            if not columns:
                columns = cells
            elif columns[0] == head and set(cells[0]) - set("-: "):
                name = cells[0].removesuffix("*").strip().strip("`")
                pairs = tuple(zip(columns[1:], cells[1:], strict=False))
                found.append(Entry(name=name, cells=pairs, section=section, file=page, line=number))
    return found


def _sections(lines: list[str], page: str) -> list[Entry]:
    found = []
    for number, line in enumerate(lines, start=1):
        if line.startswith("### energycomm "):
            told = []
            for below in lines[number:]:
                if below.startswith(("#", "```", "|")):
                    break
                told.append(below.strip())
            first = " ".join(part for part in told if part)
            name = line.removeprefix("### energycomm ").strip()
            rest = itertools.takewhile(lambda one: not one.startswith("#"), lines[number:])
            shown = " ".join(one for one in rest if one.startswith(f"energycomm {name} "))
            cells = (("about", first),)
            found.append(Entry(name=name, cells=cells, section="Commands", file=page, line=number, shown=shown))
    return found


def _alarms(lines: list[str], page: str) -> list[Entry]:
    """The sections of alarms: what each means, and what to do."""
    found = []
    for number, line in enumerate(lines, start=1):
        name = _ALARM.fullmatch(line)
        if name:
            below = itertools.takewhile(lambda one: not one.startswith("#"), lines[number:])
            told = " ".join(part.strip() for part in below if part.strip()).replace("`", "").replace("*", "")
            meaning, _, advice = told.partition("Do: ")
            cells = (("meaning", meaning.strip()), ("what to do", advice.strip()))
            found.append(Entry(name=name[1], cells=cells, section="Alarms", file=page, line=number))
    return found


def manual_answer(folder: Path | None, plan: Manual, language: str) -> Worked | None:
    """One entry of the documentation, or all of a kind; None where the documentation is not there.

    Args:
      folder: of the documentation.
      plan: what is asked.
      language: of the answer.
    """
    known = entries(folder, plan.what)
    if not known:
        return None
    what = thing_name(plan.what, language)
    page = PAGES[plan.what][0]
    if plan.how in ("list", "count"):
        wanted = plain(plan.name).split()
        found = [
            one for one in known
            if all(word in plain(one.name) for word in wanted) and plan.section in ("", one.section)
        ]  # fmt: skip
        rows = tuple((one.name, one.about, f"docs/{one.file}:{one.line}") for one in found)
        return Worked(
            sentence=say(language, "entries", n=len(found), what=what),
            table=Table(columns=("name", "about", "file"), rows=rows),
            proofs=(Proof(text=f"docs/{page}", command="energycomm --help" if plan.what == "command" else ""),),
            values=(len(found),) if plan.how == "count" else tuple(one.name for one in found),
        )
    if plan.how in ("find", "find_default"):
        found = _about(tuple(one for one in known if plan.section in ("", one.section)), plan.name, plan.hints)
        if not found:
            return None
        how = "default" if plan.how == "find_default" else "one"
        return _told(found, msgspec.structs.replace(plan, how=how), language)
    found = [one for one in named_entries(known, plan.name) if plan.section in ("", one.section)]
    found = found if plan.what == "setting" else found[:1]
    if not found and plan.what == "code":
        found = named_entries(entries(folder, "alarm"), plan.name)[:1]
    if not found:
        text = say(language, "no_entry", what=what, name=plan.name, like=_like(plan.name, known, language))
        return Worked(sentence=text, proofs=(Proof(text=f"docs/{page}"),))
    return _told(found, plan, language)


def _about(known: tuple[Entry, ...], words: str, hints: str) -> list[Entry]:
    """The entries that are about what words say: those that have most of them, the name counting twice. Where none has
    enough of them, one word that no entry has is left out, if one entry alone is found so and its name has a word."""
    wanted = plain(words).split()
    also = [one for one in plain(hints).split() if len(one) > 2 and not is_question_word(one)]
    found = _best(known, wanted, also)
    if found:
        return found
    spoken = set().union(*(_words_of(one) for one in known))
    there = [word for word in wanted if _has(spoken, word)]
    if len(wanted) - len(there) != 1 or not there:
        return []
    found = _best(known, there, also)
    if len(there) == 1:
        found = [one for one in found if any(_has(_words_of(one), word) for word in also)]
    named = {one.name: set(re.findall(r"[a-z]+", plain(one.name))) for one in found}
    found = [one for one in found if not named[one.name] or any(_has(named[one.name], word) for word in there)]
    return found if len(found) == 1 else []


def _words_of(one: Entry) -> set[str]:
    """The words of an entry."""
    return set(re.findall(r"[a-z0-9]+", plain(f"{one.name} {one.section} {one.about} {one.shown}".replace("_", " "))))


def _best(known: tuple[Entry, ...], wanted: list[str], also: list[str]) -> list[Entry]:
    """The entries that have most of some words; hints count where enough of the words are there."""
    scored = []
    for one in known:
        name = set(re.findall(r"[a-z0-9]+", plain(f"{one.name} {one.section}".replace("_", " "))))
        text = set(re.findall(r"[a-z0-9]+", plain(f"{one.about} {one.shown}"))) | name
        there = [word for word in wanted if _has(text, word)]
        hinted = [word for word in also if _has(text, word)]
        twice = [word for word in (*there, *hinted) if _has(name, word)]
        if wanted and len(there) >= ENOUGH * len(wanted):
            scored.append((len(there) + len(hinted) + len(twice), one))
    best = max((score for score, _ in scored), default=0)
    found = [one for score, one in scored if score == best]
    return found if len(found) <= MOST_FOUND else []


def _has(words: set[str], word: str) -> bool:
    """Whether words have one, in some form of it: correct is the verb of correction."""
    return any(
        word == other or inflected(word, other) or (len(other) >= SHORTEST_VERB and word.startswith(other))
        for other in words
    )


def _like(name: str, known: tuple[Entry, ...], language: str) -> str:
    names = get_close_matches(name, [one.name for one in known], n=3)
    return say(language, "like", names=", ".join(names)) if names else ""


def _told(found: list[Entry], plan: Manual, language: str) -> Worked:
    """What the entries of a name say: a name may stand in several sections."""
    proofs = tuple(Proof(text=f"docs/{one.file}:{one.line}") for one in found[:5])
    several = len(found) > 1
    lines, values = [], []
    for one in found:
        name = f"[{one.section}] {one.name}" if several and plan.what == "setting" else one.name
        head = {"default": "default", "variable": "environment", "todo": "what to do"}.get(plan.how, "")
        value = one.cell(head).strip("`") if head else ""
        if plan.how == "variable" and not value:
            value = f"ENERGYCOMM_{one.section.upper()}__{one.name.upper()}"
        if plan.how == "default":
            lines.append(f"{say(language, 'default', name=name, value=value)} {one.cell('meaning')}".strip())
        else:
            lines.append(say(language, "entry", name=name, about=value or one.about))
        values.append(value or one.about)
    one = found[0]
    table = (
        Table(columns=("", ""), rows=one.cells) if len(one.cells) > 1 and not several and plan.how == "one" else None
    )
    return Worked(sentence=" ".join(lines), table=table, proofs=proofs, values=tuple(values))


def named_entries(known: tuple[Entry, ...], name: str) -> list[Entry]:
    """The entries of a name, in any case of letters; `_`, `-` and a blank are one."""

    def form(text: str) -> str:
        return re.sub(r"[\s_-]+", " ", plain(text)).strip()

    wanted = form(name)
    return [one for one in known if wanted and wanted in (form(one.name), *map(form, one.name.split(",")))]
