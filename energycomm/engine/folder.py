"""A folder of rules, read into a catalogue.

It holds ``predicates.py``, and one folder a market (``common``, ``fr``, ...) with rule files (``*.yaml``) and a
``codes.csv``, that of a market also a ``market.yaml`` and, where it has particulars, a ``particulars.csv``. All
problems are collected; a catalogue with a problem is never used.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.checking import doubles, misjudged, unknown_errors
from energycomm.engine.codes import COMMON, CodeEntry, CodeLists, read_codes
from energycomm.engine.codes import FILE as CODES_FILE
from energycomm.engine.marketfile import FILE as MARKET_FILE
from energycomm.engine.marketfile import MarketFile, read_market, unknown_packs
from energycomm.engine.particulars import FILE as PARTICULARS_FILE
from energycomm.engine.particulars import Declarations, read_particulars
from energycomm.engine.predicates import FILE as PREDICATES_FILE
from energycomm.engine.predicates import load_predicates
from energycomm.engine.problems import BrokenCatalogue, Problem
from energycomm.engine.rule import Rule
from energycomm.engine.rulefile import RuleFile


def load_catalogue(
    folder: Path, *, check_examples: bool = True, examples: bool = True, expressions: bool = True
) -> Catalogue:
    """The catalogue of a folder of rules.

    Args:
      folder: the folder.
      check_examples: judge every example and run the predicates' own.
      examples: read the examples; without them the catalogue is read sooner, for those who only look rules up.
      expressions: read conditions, fields and the places of comments; without them in half the time again, for those
        who ask for no condition. Such a catalogue judges nothing.

    Raises:
      BrokenCatalogue: something is wrong; it lists every problem.
    """
    catalogue, problems = read_catalogue(
        folder, check_examples=check_examples, examples=examples, expressions=expressions
    )
    if problems:
        raise BrokenCatalogue(problems)
    return catalogue


def read_catalogue(
    folder: Path, *, check_examples: bool = True, examples: bool = True, expressions: bool = True
) -> tuple[Catalogue, tuple[Problem, ...]]:
    """The catalogue of a folder of rules, and all its problems.

    Args:
      folder: the folder.
      check_examples: judge every example and run the predicates' own.
      examples: read the examples.
      expressions: read conditions, fields and the places of comments.

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
    codes, particulars, wrong = _lists(folders)
    problems += wrong
    own: dict[str, MarketFile] = {}
    for path in folders:
        if path.name != COMMON:
            own[path.name.upper()], wrong = read_market(path / MARKET_FILE, f"{path.name}/{MARKET_FILE}")
            problems += wrong
    rules: list[Rule] = []
    claimed: list[Rule] = []
    packs: set[str] = set()
    every = [file for path in folders for file in sorted((*path.glob("*.yaml"), *path.glob("*.yml")))]
    files = [file for file in every if file.name != MARKET_FILE]
    for file in files:
        shown = file.relative_to(folder).as_posix()
        reader = RuleFile(file, shown, predicates, codes, own, particulars, examples=examples, expressions=expressions)
        reader.read()
        if reader.pack:
            packs.add(reader.pack)
        rules += reader.rules
        claimed += reader.claimed
        problems += reader.problems
    problems += _wrong_choices(own, frozenset(packs), codes)
    problems += doubles(claimed)
    problems += unknown_errors(rules, claimed)
    if check_examples:
        for rule in (rule for rule in claimed if rule.complete):
            problems += [Problem(rule.file, line, rule.code, *told) for line, *told in misjudged(rule, codes)]
    if not files and not problems:
        problems.append(Problem(str(folder), 1, "", "the folder holds no rule file", "Add common/*.yaml or fr/*.yaml."))
    lists = [path / name for path in folders for name in (CODES_FILE, PARTICULARS_FILE)]
    version = _version(folder, [folder / PREDICATES_FILE, *lists, *every])
    zones = {name: market.zone for name, market in own.items()}
    catalogue = Catalogue(tuple(rules), predicates, codes, version, markets, particulars, zones)
    return catalogue, tuple(sorted(set(problems)))


def rule_texts(folder: Path) -> str:
    """The rule files of a folder as JSON (path -> text): kept with the verdicts that were reached with them."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".yaml", ".csv", ".py"))
    return json.dumps({path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in files})


@contextmanager
def unpacked(texts: str) -> Iterator[Path]:
    """A folder of rule files that were kept as JSON by `rule_texts`, as long as the block lasts.

    Raises:
      ValueError: a path leads out of the folder.
    """
    with tempfile.TemporaryDirectory(prefix="energycomm-rules-") as name:
        folder = Path(name).resolve()
        for path, text in json.loads(texts).items():
            file = (folder / path).resolve()
            if not file.is_relative_to(folder):
                raise ValueError(f"{path} is outside of the folder of the rules")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        yield folder


def read_texts(texts: str) -> tuple[Catalogue, tuple[Problem, ...]]:
    """The catalogue of rule files that were kept as JSON by `rule_texts`, and its problems; examples are not judged.

    Raises:
      ValueError: a path leads out of the folder.
    """
    with unpacked(texts) as folder:
        return read_catalogue(folder, check_examples=False)


def _lists(folders: Iterable[Path]) -> tuple[CodeLists, dict[str, Declarations], list[Problem]]:
    """The code lists, the particulars of each market, and what is wrong with them."""
    entries: list[CodeEntry] = []
    particulars: dict[str, Declarations] = {}
    problems: list[Problem] = []
    for path in folders:
        market = path.name if path.name == COMMON else path.name.upper()
        if (path / CODES_FILE).is_file():
            found, wrong = read_codes(path / CODES_FILE, market, f"{path.name}/{CODES_FILE}")
            entries += found
            problems += wrong
        if (path / PARTICULARS_FILE).is_file():
            shown = f"{path.name}/{PARTICULARS_FILE}"
            if market == COMMON:
                problems.append(Problem(shown, 1, "", "particulars belong to one market", "Move them to its folder."))
                continue
            particulars[market], wrong = read_particulars(path / PARTICULARS_FILE, shown)
            problems += wrong
    return CodeLists(tuple(entries)), particulars, problems


def _wrong_choices(own: Mapping[str, MarketFile], packs: frozenset[str], codes: CodeLists) -> list[Problem]:
    """The packs and code lists that markets name and that do not exist."""
    problems: list[Problem] = []
    for name, market in own.items():
        shown = f"{name.lower()}/{MARKET_FILE}"
        problems += unknown_packs(market, shown, packs)
        if market.error_codes and not codes.has(name, market.error_codes):
            reason = f"{name} has no code list {market.error_codes!r}"
            problems.append(Problem(shown, market.line, "", reason, f"Add it to {name.lower()}/{CODES_FILE}."))
    return problems


def _version(folder: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            content = file.read_bytes()
            digest.update(f"{file.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()[:12]
