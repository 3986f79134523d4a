"""The core names no market: no text of `energycomm/` holds a code, document type, number or namespace of one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from energycomm.engine.folder import load_catalogue
from energycomm.market.installed import installed_adapters

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "energycomm"
LEAST = 5
"""Codes of letters alone are told from words by their length; those with a digit are not words."""

REASONS: Mapping[str, str] = {
    "kernel/messages.py C15 R151 C1 C5 GRD-F FR NL BE": "examples in the descriptions of fields, for people",
    "kernel/parts.py autoproduced alloproduced autoconsumed surplus": "words of the Kernel that the French list uses",
    "kernel/parts.py reactive-capacitive reactive-inductive": "words of the Kernel that the Belgian list uses",
    "kernel/vocabulary.py active-energy active-power reactive-energy": "words of the Kernel that the Belgian list uses",
    "kernel/vocabulary.py reactive-capacitive reactive-inductive natural-gas": "the same",
    "kernel/requests.py reactive-capacitive reactive-inductive": "words of the Kernel that the Belgian list uses",
    "pipeline/measures.py active-energy": "a word of the Kernel that the Belgian list uses",
    "pipeline/correlation.py MoveInRequest SupplierSwitchRequest MoveOutRequest EndOfSupplyRequest": "kinds",
    "billing/period.py active-energy natural-gas": "words of the Kernel that the Belgian list uses",
    "correction/scripts/energy_of_point.py natural-gas active-energy": "words of the Kernel that the Belgian list uses",
    "correction/evidence.py CO-R05 CO-R07": "rules of `rules/common`, which are those of every market",
    "kernel/requests.py Courbe": "a French word, and the root of a document",
    "console/pieces.py UNB": "the segment that begins an interchange of EDIFACT, in any market",
    "* m3 kVArh": "units of the Kernel",
    "* month interval": "English words, and words of the Kernel for what is asked for",
    "* piece": "an English word, and the Kernel's unit of invoices",
    "* Envelope": "the root of SOAP, and what the gateway calls what arrives",
    "* SOAP EDIFACT": "names of standards that a market uses as the label of a type",
}
"""Place and words that may stand there -> why."""


@cache
def market_words() -> Mapping[str, str]:
    """Every word that belongs to a market -> where it comes from."""
    catalogue = load_catalogue(ROOT / "rules", check_examples=False)
    words: dict[str, str] = {}
    for rule in catalogue.rules:
        if rule.error_code:
            words[rule.error_code] = f"error code of {rule.file}"
    for entry in catalogue.codes.entries:
        if len(entry.code) >= LEAST or (re.search("[0-9]", entry.code) and re.search("[A-Za-z]", entry.code)):
            words[entry.code] = f"code of {entry.market} {entry.list}"
    for market, adapter in installed_adapters().items():
        words[market] = "a market"
        for kind in adapter.types.values():
            words |= dict.fromkeys((kind.label, kind.root), f"document type of {market}")
        for said in (adapter.entry, adapter.exit):
            words |= dict.fromkeys((said.market_type, said.event), f"announcement of {market}")
    return words


@cache
def market_namespaces() -> frozenset[str]:
    """The namespaces that stand in the adapters' modules, tables and schemas, those of standards apart."""
    files = (file for file in (ROOT / "adapters").rglob("*") if file.suffix in (".py", ".xsd", ".yaml"))
    spaces = {space for file in files for space in _NAMESPACE.findall(file.read_text("utf-8"))}
    return frozenset(space for space in spaces if not _STANDARD.search(space))


_NAMESPACE = re.compile(r"(?:urn:|un:|https?://)[A-Za-z0-9][\w./:#-]*[\w/]")
_STANDARD = re.compile(r"w3\.org|xmlsoap\.org|oasis-open\.org|^urn:energycomm:")
_PARTS = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")
_NUMBER = re.compile(r"(?<![0-9A-Za-z])(?:[0-9]{13,18}|[0-9]{2}[XYZTWV][A-Z0-9-]{12}[A-Z0-9])(?![0-9A-Za-z])")
_NAMES = re.compile("atrias|enedis|edsn|nedu|belgi|dutch|french|france|netherlands", re.IGNORECASE)
_LANGUAGES = frozenset(("fr", "nl"))
_LANGUAGE = frozenset(("French", "french"))
"""The second language of the console and of the rules' comments, which is no market."""


def statements(node: ast.AST) -> list[ast.stmt]:
    """The statements of a module, class or function."""
    body = getattr(node, "body", None)
    return body if isinstance(body, list) else []


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of every string of a module that is no docstring."""
    tree = ast.parse(source)
    told = {line.value for node in ast.walk(tree) for line in statements(node) if isinstance(line, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in told:
            yield node.lineno, node.value


def allowed(path: str) -> set[str]:
    """The words that may stand in a file of the core."""
    return {word for place in REASONS for file, *words in [place.split()] if file in ("*", path) for word in words}


def found(path: str, source: str) -> list[str]:
    """What a module says of a market: place, word and where the word belongs."""
    known, fine, wrong = market_words(), allowed(path), []
    for line, text in texts(source):
        wholes = _PARTS.findall(text)
        parts = {part for whole in wholes for part in ([whole] if whole in known else whole.split("-"))}
        words = {word: known[word] for word in parts & known.keys()}
        # A code of a market that is compared or looked up may be written small; two of them are languages too.
        if text not in _LANGUAGES and text.upper() in installed_adapters():
            words[text] = "a market"
        words |= dict.fromkeys(_NUMBER.findall(text), "a GLN, GSRN or EIC")
        words |= dict.fromkeys(market_namespaces() & set(_NAMESPACE.findall(text)), "a namespace of a market")
        words |= {name: "a name of a market" for name in _NAMES.findall(text) if name not in _LANGUAGE}
        wrong += [f"{path}:{line}: {word}, {where}" for word, where in sorted(words.items()) if word not in fine]
    return wrong


def test_the_core_names_no_market() -> None:
    """Correction scripts, defaults and texts of help too."""
    files = sorted(CORE.rglob("*.py"))
    assert len(files) > 200
    assert [line for file in files for line in found(file.relative_to(CORE).as_posix(), file.read_text("utf-8"))] == []


@pytest.mark.thorough
@pytest.mark.parametrize("place", REASONS)
def test_every_reason_is_of_use(place: str) -> None:
    """A word that may stand somewhere stands there: nothing is allowed that nobody needs."""
    file, *words = place.split()
    files = CORE.rglob("*.py") if file == "*" else [CORE / file]
    there = {part for one in files for _, text in texts(one.read_text("utf-8")) for part in _PARTS.findall(text)}
    assert set(words) - there == set()
    assert set(words) - market_words().keys() == set()


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ('SELECTION = ("NL-S06", "XX-R01")', "NL-S06"),
        ('ENTRY = {"FR": 1}', "FR"),
        ('if market == "be":\n    pass', "be"),
        ('def channel(market: str = "NL") -> None: ...', "NL"),
        ('EDSN = "8712423010208"', "8712423010208"),
        ('SENDER = "17X100A100A0001A"', "17X100A100A0001A"),
        ('SPACE = "urn:be:atrias:b2b:messageservice:1"', "atrias"),
        ('SPACE = "http://www.enedis.fr/stm/R50/1.2"', "enedis"),
        ('SPACE = "urn:be:atrias:b2b:messageservice:1"', "urn:be:atrias:b2b:messageservice:1"),
        ('WORDS = dict(market_type="StartOfAccess", event="ZZZZZ")', "StartOfAccess"),
        ('WAITS = {"GainResultResponse": "StartOfSupply"}', "GainResultResponse"),
        ('CALENDAR = f"the {name} of DI000001"', "DI000001"),
        ('HELP = "Only with this error code: FR-R03."', "FR-R03"),
        ('def f() -> None:\n    """FR-R03 is a docstring."""\n    g("C15")', "C15"),
    ],
)
def test_a_word_of_a_market_is_found(source: str, word: str) -> None:
    """The check itself is checked."""
    lines = found("pipeline/anything.py", source)
    assert any(f": {word}, " in line for line in lines), lines


@pytest.mark.parametrize(
    "source",
    [
        '"""FR-R03 and C15 in a docstring."""',
        'def f() -> None:\n    """C15."""',
        'LANGUAGE = "fr"',
        'MARKET = "XX"',
        'CODE = "XX-R03"',
        'COUNT = "1234567890"',
        'WORDS = "Answer with the identifier of the envelope."',
    ],
)
def test_what_names_no_market_is_left_alone(source: str) -> None:
    """Docstrings may give examples; languages, words and numbers are no codes."""
    assert found("pipeline/anything.py", source) == []
