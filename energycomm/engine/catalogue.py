"""The catalogue: every rule, predicate and code list of a folder of rules, checked and immutable.

A folder of rules holds ``predicates.py``, and one folder a market (``common``, ``fr``, ...) with rule files
(``*.yaml``) and a ``codes.csv``. All problems are collected; a catalogue with a problem is never used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from energycomm.engine.codes import COMMON, CodeEntry, CodeLists, read_codes
from energycomm.engine.codes import FILE as CODES_FILE
from energycomm.engine.examples import misjudged
from energycomm.engine.loading import RuleFile
from energycomm.engine.predicates import FILE as PREDICATES_FILE
from energycomm.engine.predicates import Predicate, load_predicates
from energycomm.engine.problems import BrokenCatalogue, Problem
from energycomm.engine.rule import Rule, RuleSet
from energycomm.engine.terms import Condition, HasError, Value, children


@dataclass(frozen=True)
class Catalogue:
    """Every rule that there is.

    Attributes:
      rules: the rules, common ones first, then by market, file and line.
      predicates: declared predicates by name.
      codes: the code lists.
      version: hash of the content of every file, 12 hexadecimal digits.
      markets: markets that have a folder, upper case.
    """

    rules: tuple[Rule, ...] = ()
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    codes: CodeLists = field(default_factory=CodeLists)
    version: str = ""
    markets: tuple[str, ...] = ()

    def rules_for(self, rule_set: RuleSet, market: str, kind: str) -> tuple[Rule, ...]:
        """The rules of a set that judge a kind of a market, whatever the day."""
        return tuple(
            rule
            for rule in self.rules
            if rule.rule_set == rule_set and kind in rule.triggers and rule.judges_market(market)
        )

    def of_market(self, market: str) -> tuple[Rule, ...]:
        """Every rule that judges messages of a market."""
        return tuple(rule for rule in self.rules if rule.judges_market(market))

    def find(self, code: str) -> tuple[Rule, ...]:
        """The rules with a code or an error code; several where it has versions."""
        return tuple(rule for rule in self.rules if code in (rule.code, rule.error_code))

    def in_force(self, day: date) -> tuple[Rule, ...]:
        """The rules in force on a day."""
        return tuple(rule for rule in self.rules if rule.in_force(day))

    def dates(self) -> tuple[date, ...]:
        """The days on which the rules in force change, in order."""
        from datetime import timedelta

        found = {rule.since for rule in self.rules if rule.since}
        found |= {rule.until + timedelta(days=1) for rule in self.rules if rule.until and rule.until < date.max}
        return tuple(sorted(found))


def load_catalogue(folder: Path, *, check_examples: bool = True) -> Catalogue:
    """The catalogue of a folder of rules.

    Args:
      folder: the folder.
      check_examples: judge every example and run the predicates' own.

    Raises:
      BrokenCatalogue: something is wrong; it lists every problem.
    """
    catalogue, problems = read_catalogue(folder, check_examples=check_examples)
    if problems:
        raise BrokenCatalogue(problems)
    return catalogue


def read_catalogue(folder: Path, *, check_examples: bool = True) -> tuple[Catalogue, tuple[Problem, ...]]:
    """What a folder of rules holds, and everything that is wrong with it.

    Args:
      folder: the folder.
      check_examples: judge every example and run the predicates' own.

    Returns:
      The catalogue of the rules that could be read, and the problems, in the order of files and lines.
    """
    if not folder.is_dir():
        return Catalogue(), (
            Problem(str(folder), 1, "", "there is no such folder of rules", "Name a folder of rules."),
        )
    predicates, problems = load_predicates(folder, run_examples=check_examples)
    folders = sorted(
        path for path in folder.iterdir() if path.is_dir() and (path.name == COMMON or len(path.name) == 2)
    )
    folders.sort(key=lambda path: path.name != COMMON)
    markets = tuple(path.name.upper() for path in folders if path.name != COMMON)
    entries: list[CodeEntry] = []
    for path in folders:
        if (path / CODES_FILE).is_file():
            market = path.name if path.name == COMMON else path.name.upper()
            found, wrong = read_codes(path / CODES_FILE, market, f"{path.name}/{CODES_FILE}")
            entries += found
            problems += wrong
    codes = CodeLists(tuple(entries))
    rules: list[Rule] = []
    claimed: list[Rule] = []
    files = [file for path in folders for file in sorted((*path.glob("*.yaml"), *path.glob("*.yml")))]
    for file in files:
        reader = RuleFile(file, file.relative_to(folder).as_posix(), predicates, codes, frozenset(markets))
        reader.read()
        rules += reader.rules
        claimed += reader.claimed
        problems += reader.problems
    problems += _doubles(claimed)
    problems += _unknown_errors(rules, claimed)
    if check_examples:
        for rule in (rule for rule in claimed if rule.complete):
            problems += [Problem(rule.file, line, rule.code, *told) for line, *told in misjudged(rule, codes)]
    if not files and not problems:
        problems.append(Problem(str(folder), 1, "", "the folder holds no rule file", "Add common/*.yaml or fr/*.yaml."))
    version = _version(folder, [folder / PREDICATES_FILE, *(path / CODES_FILE for path in folders), *files])
    catalogue = Catalogue(tuple(rules), predicates, codes, version, markets)
    return catalogue, tuple(sorted(set(problems)))


def _version(folder: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            content = file.read_bytes()
            digest.update(f"{file.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()[:12]


def _overlap(one: Rule, other: Rule) -> bool:
    """Whether some message of some market on some day meets both."""
    days = (one.until is None or other.since is None or other.since <= one.until) and (
        other.until is None or one.since is None or one.since <= other.until
    )
    markets = not one.markets or not other.markets or bool(set(one.markets) & set(other.markets))
    return days and markets


def _doubles(rules: Sequence[Rule]) -> list[Problem]:
    """Codes and error codes that two rules share on the same days."""
    problems: list[Problem] = []
    for name, advice in (
        ("code", "Give one another code, or part their since/until."),
        ("error_code", "Give one another error code, or part their since/until."),
    ):
        seen: dict[str, list[Rule]] = {}
        for rule in rules:
            value = getattr(rule, name)
            if not value:
                continue
            for other in seen.get(value, ()):
                if _overlap(rule, other):
                    reason = f"{name} {value} is also that of {other.file}:{other.line}, for the same days"
                    problems.append(Problem(rule.file, rule.line, rule.code, reason, advice))
                    break
            seen.setdefault(value, []).append(rule)
    return problems


def _unknown_errors(rules: Sequence[Rule], claimed: Sequence[Rule]) -> list[Problem]:
    """Error codes that rejection rules ask for and no validation rule gives."""
    known = {rule.error_code for rule in claimed if rule.error_code}
    problems: list[Problem] = []
    for rule in rules:
        stack: list[Value | Condition] = list(rule.triggers.values())
        while stack:
            term = stack.pop()
            if isinstance(term, HasError) and term.error_code not in known:
                reason = f"has_error asks for {term.error_code}, which no rule gives"
                problems.append(Problem(rule.file, rule.line, rule.code, reason, "Correct the error code."))
            stack.extend(children(term))
    return problems
