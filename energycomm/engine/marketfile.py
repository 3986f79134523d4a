"""`market.yaml` of a market's folder of rules: its legal time, packs of common rules, list of its own error codes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, tzinfo
from difflib import get_close_matches
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from energycomm.engine.problems import Problem
from energycomm.engine.yamlfile import Cell, YamlError, read_yaml

FILE = "market.yaml"

_KEYS = ("zone", "packs", "error_codes")


@dataclass(frozen=True)
class MarketFile:
    """The choices of a market for its rules: `market.yaml`.

    Attributes:
      packs: name -> line of the packs of `common` whose rules judge its messages.
      error_codes: its code list of `codes.csv` that holds its own error codes; None where it has none.
      line: line of `error_codes`.
      zone: its legal time, in which comments show instants.
    """

    packs: dict[str, int]
    error_codes: str | None = None
    line: int = 1
    zone: tzinfo = UTC


def read_market(path: Path, shown: str) -> tuple[MarketFile, list[Problem]]:
    """Read a market's file; an absent file has no choices.

    Args:
      path: the file.
      shown: its name in problems.
    """
    if not path.is_file():
        return MarketFile({}), []
    problems: list[Problem] = []
    try:
        entries = read_yaml(path.read_text(encoding="utf-8-sig")).entries()
        for name, cell in entries.items():
            if name not in _KEYS:
                problems.append(Problem(shown, cell.line, "", f"unknown key {name!r}", f"Keys: {', '.join(_KEYS)}."))
        packs = {item.text(): item.line for item in entries["packs"].items()} if "packs" in entries else {}
        named = entries.get("error_codes")
        zone = _zone(entries["zone"], shown, problems) if "zone" in entries else UTC
        found = MarketFile(packs, named.text() if named else None, named.line if named else 1, zone)
    except UnicodeDecodeError as error:
        return MarketFile({}), [
            Problem(shown, 1, "", f"the file is not UTF-8: byte {error.start}", "Save it as UTF-8.")
        ]
    except YamlError as error:
        return MarketFile({}), [Problem(shown, error.line, "", error.reason, error.advice)]
    return found, problems


def _zone(cell: Cell, shown: str, problems: list[Problem]) -> tzinfo:
    name = cell.text()
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        problems.append(Problem(shown, cell.line, "", f"there is no zone {name!r}", "Write it like Europe/Paris."))
        return UTC


def unknown_packs(market: MarketFile, shown: str, packs: frozenset[str]) -> list[Problem]:
    """The packs that a market names and `common` does not have."""
    problems = []
    for name, line in market.packs.items():
        if name not in packs:
            close = get_close_matches(name, packs, n=2) or sorted(packs)
            advice = f"Did you mean {' or '.join(close)}?" if close else "rules/common has no pack."
            problems.append(Problem(shown, line, "", f"there is no pack {name!r} in common", advice))
    return problems
