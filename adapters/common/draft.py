"""Writes the draft of a market from its schemas and samples: package, table, fixtures, rules, tests, entry point.

What the schema says is taken over: leaves, types, what is needed, code lists. What a schema cannot say is guessed by
the names of elements and is to be corrected in the table: what a leaf means, which element is a CH message, which
Kernel message is made of it. A leaf whose meaning is not guessed is kept as a particular of the message.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from adapters.common.places import places
from adapters.common.schemaleaves import SchemaDocument, SchemaElement, SchemaFault, documents_of
from adapters.common.table import TableFault, read_table
from adapters.common.tableadapter import TableAdapter
from energycomm.errors import UserError
from energycomm.kernel.messages import AccessPointData
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import LONGEST_NAME, Transaction

RULE_SETS = {
    "validation": "what its messages have to be",
    "qualification": "what is done with a message that is right, or that has to wait",
    "rejection": "what is done with a message that is wrong",
    "validation_out": "what a request has to be before it is sent",
    "qualification_out": "what is done with a request that is right",
    "rejection_out": "what is done with a request that is wrong",
}
"""The six files of rules of a market -> what they say."""

_MARKET = re.compile(r"[a-z]{2}")
_PACKAGE = re.compile(r"[a-z][a-z0-9_]{1,40}")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./@-]*")
_SENDER = re.compile(r"sender|from|source|issuer|emett", re.IGNORECASE)
_RECEIVER = re.compile(r"receiver|recipient|^to$|/to$|destin", re.IGNORECASE)
_CREATED = re.compile(r"creat|issue|written", re.IGNORECASE)
_REFERENCE = re.compile(r"(^|[._/])(mrid|id|identification|identifier|reference|number)$", re.IGNORECASE)
_POINT = re.compile(r"point|place|location|ean|gsrn|prm|cups", re.IGNORECASE)
_START = re.compile(r"start|begin|from|effective|occurrence", re.IGNORECASE)
_ABOVE = re.compile(rb"""(schemaLocation\s*=\s*["'])[^"']*/([^"'/]+["'])""")
_LONGEST_SAMPLE = 64 << 20


class Draft(NamedTuple):
    """What was written.

    Attributes:
      folder: of the package.
      files: all of them.
      placed: leaves that got a field of a Kernel message.
      particulars: leaves that are kept as particulars.
      unplaced: elements that may stand several times: they are left out until the table says where they go.
      digested: name of a fixture -> CH messages in it, and those that were refused.
    """

    folder: Path
    files: list[Path]
    placed: int
    particulars: int
    unplaced: int
    digested: dict[str, tuple[int, int]]


def write_draft(
    market: str, schemas: Sequence[Path], samples: Sequence[Path], into: Path, *, package: str | None = None,
    zone: str | None = None,
) -> Draft:  # fmt: skip
    """Write the draft of a market.

    Args:
      market: its ISO code, two letters.
      schemas: XML Schemas and JSON Schemas of what the market sends.
      samples: messages that become its first fixtures.
      into: folder to write to; inside the repository of EnergyComm the files go to where its own markets have them.
      package: name of the package; the code and ``market`` by default.
      zone: of its legal time; that of the country's capital by default.

    Raises:
      UserError: something given is wrong, or something to be written is there already. Nothing was written then.
    """
    code = market.lower()
    if not _MARKET.fullmatch(code):
        raise UserError(f"{market!r} is no code of a market.", "Give the two letters of the country: dk.")
    name = package or f"{code}_market"
    if not _PACKAGE.fullmatch(name):
        raise UserError(f"{name!r} is no name of a package.", "Use small letters, digits and _: dk_energinet.")
    place = _Place(into, code, name)
    for path in (place.package, place.rules, place.fixtures, place.test) if place.inside else (place.root,):
        if path.exists():
            raise UserError(f"{path} is there already.", "Remove it, or give another --name or --into.")
    try:
        documents = _merged([one for path in schemas for one in documents_of(path)])
    except SchemaFault as fault:
        raise UserError(f"The schema cannot be read: {fault}", "Its includes have to lie beside it.") from None
    held = {path.name: _sample(path) for path in samples}
    text, writing = _table(code, zone or _zone(code), documents)
    try:
        return _write(place, documents, text, writing, held)
    except TableFault as fault:
        shutil.rmtree(place.package if place.inside else place.root, ignore_errors=True)
        raise UserError(f"The schema gives no table: {fault}", "Write the table by hand: docs/adapters.md.") from None


class _Place:
    """Where the parts of a draft go: as the repository has them, or in a package of its own."""

    def __init__(self, into: Path, code: str, package: str) -> None:
        self.code, self.name = code, package
        self.inside = (into / "adapters" / "common" / "table.py").is_file()
        self.root = into if self.inside else into / f"energycomm-{code}"
        self.module = f"adapters.{package}" if self.inside else package
        self.package = self.root / "adapters" / package if self.inside else self.root / package
        self.rules = self.root / "rules" / code
        self.fixtures = self.root / "fixtures" / code if self.inside else self.root / "fixtures"
        tests = self.root / "tests" / "adapters" if self.inside else self.root / "tests"
        self.test = tests / f"test_{package}.py"


def _zone(code: str) -> str:
    for line in files("tzdata.zoneinfo").joinpath("zone.tab").read_text("utf-8").splitlines():
        cells = line.split("\t")
        if len(cells) > 2 and cells[0] == code.upper():
            return cells[2]
    raise UserError(f"No legal time of {code.upper()} is known.", "Name it: --zone Europe/Prague.")


def _sample(path: Path) -> bytes:
    try:
        if path.stat().st_size > _LONGEST_SAMPLE:
            raise UserError(f"The sample {path} is larger than {_LONGEST_SAMPLE >> 20} MB.", "Cut it.")
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"The sample {path} cannot be read: {error.strerror or error}.") from None


class _Both(NamedTuple):
    """A document as its schemas have it: the XML Schema where there is one, and every form."""

    schema: SchemaDocument
    forms: list[str]

    @property
    def label(self) -> str:
        """The name of its root, without its last part where it is too long for a label."""
        name = self.schema.root.name
        return name if len(name) <= LONGEST_NAME else re.split(r"[_.-]", name)[0][:LONGEST_NAME]


def _merged(documents: Iterable[SchemaDocument]) -> list[_Both]:
    found: dict[str, _Both] = {}
    for one in documents:
        known = found.get(one.root.name)
        if known is None:
            found[one.root.name] = _Both(one, [one.form])
        elif one.form not in known.forms:
            first = one if one.form == "xml" else known.schema
            found[one.root.name] = _Both(first, sorted([*known.forms, one.form], reverse=True))
    return list(found.values())


# --- the table ---


class _Writing:
    """The rows of a table while they are written."""

    def __init__(self) -> None:
        self.codes: dict[str, dict[str, str]] = {}
        self.names: dict[str, str] = {}
        """Path of a particular -> its type, as rules know it."""
        self.placed = self.particulars = self.unplaced = 0

    def codes_of(self, leaf: SchemaElement) -> str:
        """The name of a leaf's code list."""
        base = _snake(leaf.codes_name) or "codes"
        listed = {code: said for code, said in leaf.codes.items() if code}
        name, number = base, 2
        while name in self.codes and list(self.codes[name]) != list(listed):
            name, number = f"{base}_{number}", number + 1
        self.codes[name] = listed
        return name


def _table(code: str, zone: str, documents: Sequence[_Both]) -> tuple[str, _Writing]:
    writing = _Writing()
    blocks = [line for both in documents for line in _document(both, writing)]
    first = documents[0].label
    event = _pieces(documents[0].schema.root)[0].name
    lines = [
        f"# What the market {code.upper()} sends, and where each leaf goes. docs/adapters.md tells how to read it.",
        "# This is a draft: types, needed leaves and codes are those of the schema, the rest is guessed by names.",
        "# `particular` keeps a value under its own name. To do, for each piece: which Kernel message it is (`makes`),",
        "# which field each leaf goes to, the words of the Kernel in place of codes, and what may stand several times.",
        f"market: {_word(code.upper())}",
        f"zone: {zone}",
        "# How supply is announced to begin and to end: message type and code of the event.",
        f"entry: {{market_type: {_word(first)}, event: {_word(event)}}}",
        f"exit: {{market_type: {_word(first)}, event: {_word(event)}}}",
        "",
        "codes:" if writing.codes else "codes: {}",
    ]
    for name, listed in writing.codes.items():
        words = ", ".join(f"{json.dumps(one)}: {json.dumps(one)}" for one in listed)
        lines.append(f"  {name}: {{{words}}}")
    return "\n".join([*lines, "", "documents:", *blocks]) + "\n", writing


def _pieces(root: SchemaElement) -> list[SchemaElement]:
    """The children of a root that could be CH messages: those that repeat, or the last that has elements."""
    inner = [child for child in root.children if child.type is None and child.children]
    found = [child for child in inner if child.many] or inner[-1:]
    if not found:
        advice = "Give the schema of a document that holds messages."
        raise UserError(f"No element of {root.name} could be a CH message.", advice)
    return found


def _document(both: _Both, writing: _Writing) -> Iterator[str]:
    schema, root = both.schema, both.schema.root
    pieces = _pieces(root)
    names = {piece.name for piece in pieces}
    header = SchemaElement(root.name, children=[child for child in root.children if child.name not in names])
    of_pieces = [_piece_fields(piece) for piece in pieces]
    told = _header_fields(header)
    unnamed = not all("reference" in fields.values() for fields in of_pieces)
    named = [path for path, leaf, sure in _below(header) if sure and leaf.type == "text" and path not in told]
    number = next((path for path in named if _REFERENCE.search(path)), None)
    if unnamed and number is not None:
        told[number] = "reference"
    yield f"  {_word(both.label)}:"
    yield f"    about: {_word(root.name)}; one CH message per {' or '.join(names and [one.name for one in pieces])}"
    if both.forms != ["xml"]:
        yield f"    forms: [{', '.join(both.forms)}]"
    yield f"    root: {_word(root.name)}"
    yield f'    versions: {{"1": {json.dumps(schema.namespace)}}}'
    yield f"    schema: schemas/{schema.file.name}"
    if unnamed and number is None:
        yield '    fixed: {reference: "-"}'
    yield "    header:"
    rows = list(_rows(header, writing, told, header=True))
    if not any("[created," in row for row in rows):
        raise UserError(
            f"The header of {root.name} has no date-time: when a document was written is not told.",
            "Write the table by hand: docs/adapters.md.",
        )
    yield from (f"      {row}" for row in rows)
    yield "    pieces:"
    for piece, fields in zip(pieces, of_pieces, strict=True):
        yield f"      {_word(piece.name)}:"
        yield "        makes: AccessPointData"
        yield "        leaves:"
        yield from (f"          {row}" for row in _rows(piece, writing, fields))


def _rows(element: SchemaElement, writing: _Writing, fields: dict[str, str], *, header: bool = False) -> Iterator[str]:
    for path, leaf, needed in _below(element):
        if leaf.many or leaf.type is None:
            writing.unplaced += 1
            yield f'{_word(path)}: [left-out, "to be placed: it may stand several times"]'
            held = ", ".join(f"{_word(one)}: [field, {_TYPES.get(below.type, below.type)}]"
                             for one, below, _ in _below(leaf) if below.type is not None)  # fmt: skip
            yield f"# {_word(path)}: {{each: registers, leaves: {{{held}}}}}"
            continue
        if header and path not in fields and leaf.type == "text" and _REFERENCE.fullmatch(path.rpartition("/")[2]):
            yield f'{_word(path)}: [left-out, "names one delivery of the document: the next has another"]'
            continue
        said = [fields.get(path, "particular")]
        if path in fields:
            writing.placed += 1
        else:
            writing.particulars += 1
            writing.names.setdefault(path, _OF_RULES.get(leaf.type, "text"))
        codes = f"code:{writing.codes_of(leaf)}" if leaf.codes and path not in fields else leaf.type
        said.append(json.dumps(codes) if ":" in codes else _TYPES.get(codes, codes))
        if needed:
            said.append("needed")
        if header and path not in fields:
            said.append("entering")  # it reaches messages, and so their identity
        yield f"{_word(path)}: [{', '.join(said)}]"


def _below(element: SchemaElement, above: str = "", needed: bool = True) -> Iterator[tuple[str, SchemaElement, bool]]:
    """Leaves with their paths as a table writes them, and elements that repeat; whether they are there for certain."""
    for child in element.children:
        sure = needed and child.needed
        path = f"{above}{child.name}" if child.name.startswith("@") or not above else f"{above}/{child.name}"
        if child.many:
            yield path, child, sure
            continue
        if child.type is not None:
            yield path, child, sure
        yield from _below(child, path, sure)


def _header_fields(header: SchemaElement) -> dict[str, str]:
    leaves = [(path, leaf) for path, leaf, _ in _below(header) if leaf.type is not None and not leaf.many]
    texts = [path for path, leaf in leaves if leaf.type == "text" and "@" not in path]
    times = [path for path, leaf in leaves if leaf.type in ("instant", "day")]
    found: dict[str, str] = {}
    _choose(found, "created", times, _CREATED, first=True)
    _choose(found, "sender", texts, _SENDER, first=True)
    _choose(found, "receiver", texts, _RECEIVER)
    return found


def _piece_fields(piece: SchemaElement) -> dict[str, str]:
    leaves = [(path, leaf) for path, leaf, _ in _below(piece) if leaf.type is not None and not leaf.many]
    sure = {path for path, _, needed in _below(piece) if needed}
    texts = [path for path, leaf in leaves if leaf.type == "text" and "@" not in path]
    times = [path for path, leaf in leaves if leaf.type in ("instant", "day") and path in sure]
    found: dict[str, str] = {}
    _choose(found, "access_point", [path for path in texts if not re.search("type|kind", path, re.I)], _POINT)
    _choose(found, "reference", [path for path in texts if path not in found and path in sure], _REFERENCE, first=True)
    _choose(found, "effective", times, _START, first=True)
    known = places(AccessPointData)
    for path, leaf in leaves:
        name = _snake(re.split(r"[/.]", path)[-1])
        place = known.get(name)
        if path not in found and name not in found.values() and place is not None and place.form == leaf.type:
            found[path] = name
    return found


def _choose(
    found: dict[str, str], field: str, paths: Sequence[str], pattern: re.Pattern[str], *, first: bool = False
) -> None:
    """Give a field to the first path that looks like it, or to the first at all."""
    chosen = next((path for path in paths if pattern.search(path)), paths[0] if first and paths else None)
    if chosen is not None:
        found[chosen] = field


def _snake(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")


def _word(text: str) -> str:
    """A text as YAML takes it for one."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in ("yes", "no", "on", "off", "y", "n", "true", "false", "null")
    return text if plain else json.dumps(text)


# --- the files ---


def _write(
    place: _Place, documents: Sequence[_Both], table: str, writing: _Writing, samples: dict[str, bytes]
) -> Draft:  # fmt: skip
    written: list[Path] = []

    def put(path: Path, content: str | bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        written.append(path)

    for both in documents:
        for file in _with_included(both.schema.file):
            if place.package / "schemas" / file.name not in written:
                # All schemas of the package lie in one folder, wherever they were.
                put(place.package / "schemas" / file.name, _ABOVE.sub(rb"\1\2", file.read_bytes()))
    put(place.package / "table.yaml", table)
    adapter = TableAdapter(read_table(place.package / "table.yaml"))
    names = {"market": place.code.upper(), "module": place.module, "package": place.name, "code": place.code}
    put(place.package / "__init__.py", _INIT.format(**names))
    put(place.package / "adapter.py", _ADAPTER.format(**names))
    put(place.package / "codes.py", _CODES.format(**names))
    for name, content in samples.items():
        put(place.fixtures / name, content)
    for both in documents:
        _minimal(both, adapter, samples, place, put)
    for name, about in RULE_SETS.items():
        rule_set = name if name.endswith("_out") else f"{name}_in"
        words = {"word": _word(place.code.upper()), "about": about, "rule_set": rule_set}
        put(place.rules / f"{name}.yaml", _RULES.format(**names, **words))
    put(place.rules / "market.yaml", f"zone: {adapter.zone}\npacks: []\n")
    put(place.rules / "codes.csv", _code_lists(writing))
    declared = [f"{_cell(name)},{form},{_cell(name)},{_cell(name)}" for name, form in sorted(writing.names.items())]
    put(place.rules / "particulars.csv", "\n".join(["name,type,en,fr", *declared]) + "\n")
    above = f'parents[2] / "fixtures" / "{place.code}"' if place.inside else 'parents[1] / "fixtures"'
    fixtures = f"Path(__file__).resolve().{above}"
    put(place.test, _TEST.format(**names, fixtures=fixtures))
    if not place.inside:
        put(place.root / "pyproject.toml", _PROJECT.format(**names))
    digested = {path.name: _digested(adapter, path) for path in sorted(place.fixtures.glob("*")) if path.is_file()}
    return Draft(place.package, written, writing.placed, writing.particulars, writing.unplaced, digested)


def _with_included(path: Path) -> list[Path]:
    """A schema and the files beside it that it includes, imports or refers to, each once."""
    found = [path.resolve()]
    for file in found:
        if file.suffix.lower() == ".xsd":
            named = [one.get("schemaLocation") or "" for one in etree.parse(file).iter("{*}include", "{*}import")]
        else:
            references = re.findall(r'"\$ref"\s*:\s*"([^"#]+)', file.read_text("utf-8"))
            named = [reference.rpartition("/")[2] for reference in references]
        for name in named:
            other = (file.parent / name).resolve()
            if other.is_file() and other not in found:
                found.append(other)
    return found


def _digested(adapter: TableAdapter, path: Path) -> tuple[int, int]:
    """CH messages in a fixture, and how many were refused; a refusal of the whole counts as one."""
    content = path.read_bytes()
    label = _label(adapter, content)
    if label is None:
        return 0, 1
    found = list(adapter.digest(label, BytesIO(content), path.name))
    messages = [part for part in found if isinstance(part, Transaction)]
    refused = [part for part in found if isinstance(part, Refusal) or (isinstance(part, Transaction) and part.refusals)]
    return len(messages), len(refused)


def _label(adapter: TableAdapter, content: bytes) -> str | None:
    """The document that a sample is, by its first element or keys."""
    for label, document in adapter.table.documents.items():
        root = re.escape(document.root or "")
        if re.search(rb"<([A-Za-z_][\w.-]*:)?" + root.encode() + rb"[\s>/]", content[:4096]):
            return label
        if (
            content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")
            and f'"{document.root}"'.encode() in content[:4096]
        ):
            return label
    return None


def _minimal(both: _Both, adapter: TableAdapter, samples: dict[str, bytes], place: _Place, put: Any) -> None:
    """A fixture with what a document needs and nothing else, where no sample is one of it."""
    schema = both.schema
    if schema.form != "xml" or any(_label(adapter, content) == both.label for content in samples.values()):
        return
    space = f"{{{schema.namespace}}}" if schema.namespace else ""
    root = _made(schema.root, space, {one.name for one in _pieces(schema.root)})
    etree.indent(root)
    content = etree.tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n"
    found = list(adapter.digest(both.label, BytesIO(content), "x.xml"))
    if not any(isinstance(part, Refusal) or getattr(part, "refusals", ()) for part in found):
        put(place.fixtures / f"{_snake(schema.root.name)}.xml", content)


_TYPES = {"code": "text", "whole": "index"}
"""Type of a leaf in a schema -> in a table, which takes a whole number of any length as an index."""
_OF_RULES = {"instant": "instant", "day": "day", "number": "number", "whole": "number", "flag": "truth"}
"""Type of a leaf in a schema -> of a particular, as the rules of the market declare it."""
_VALUES = {"instant": "2026-03-01T06:00:00Z", "day": "2026-03-01", "number": "1", "whole": "1", "flag": "true"}


def _made(element: SchemaElement, space: str, wanted: set[str]) -> etree._Element:
    made = etree.Element(space + element.name, nsmap={None: space[1:-1]} if space else None)  # type: ignore[dict-item]
    if element.type is not None:
        made.text = next((code for code in element.codes if code), _VALUES.get(element.type, "1"))
    for child in element.children:
        if child.name.startswith("@") and child.needed:
            made.set(child.name[1:], next((code for code in child.codes if code), _VALUES.get(child.type or "", "1")))
        elif not child.name.startswith("@") and (child.needed or child.name in wanted):
            made.append(_made(child, space, set()))
    return made


def _code_lists(writing: _Writing) -> str:
    rows = ["list,code,since,until,en,fr"]
    for name, listed in writing.codes.items():
        for code, said in listed.items():
            words = '"' + (said or code).replace('"', '""')[:200] + '"'
            rows.append(f'{name},{_cell(code)},,,{words},{words}')  # fmt: skip
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\s]', text) else text


_INIT = '''"""Market adapter for {market}."""

from __future__ import annotations

from {module}.adapter import adapter

__all__ = ["adapter"]
'''
_ADAPTER = '''"""The adapter of {market}: `table.yaml` says what is read and where it goes. What a table cannot say
goes here: numbered series of files (`series`), requests (`build`). Satisfies `energycomm.market.contract.Adapter`."""

from __future__ import annotations

from pathlib import Path

from adapters.common.table import read_table
from adapters.common.tableadapter import TableAdapter
from {module}.codes import OWN

adapter = TableAdapter(read_table(Path(__file__).with_name("table.yaml")), codes=OWN)
"""What the entry point ``{code}`` of the group ``energycomm.adapters`` names."""
'''
_CODES = '''"""The codes that this adapter answers with beside those that all markets share, as data."""

from __future__ import annotations

from adapters.common.codes import AdapterCode, CodeTable

OWN: tuple[AdapterCode, ...] = ()
"""The market's own codes."""

CODES = CodeTable(*OWN).codes
"""Every code."""
'''
_RULES = """# {market}: {about}, besides what is common to all markets.
rule_set: {rule_set}
market: {word}
rules: []
"""
_PROJECT = """[build-system]
requires = ["hatchling>=1.25,<2"]
build-backend = "hatchling.build"

[project]
name = "energycomm-{code}"
version = "0.1.0"
description = "The market {market} for EnergyComm"
requires-python = ">=3.11"
dependencies = ["energycomm"]

[project.entry-points."energycomm.adapters"]
{code} = "{package}:adapter"

[tool.hatch.build.targets.wheel]
packages = ["{package}"]
"""
_TEST = '''"""The adapter of {market} holds the contract: the suite of `energycomm adapter check`, on the fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.common.conformance.findings import Check, findings
from adapters.common.conformance.subject import REFUSED, Subject, members_of, requests_of
from adapters.common.conformance.suite import CHECKS
from {module} import adapter

FIXTURES = {fixtures}
SUBJECT = Subject(
    adapter,
    "{module}",
    members_of(FIXTURES),
    requests_of(FIXTURES.parent / "requests", "{market}"),
    refused=members_of(FIXTURES / REFUSED),
)


def test_there_are_fixtures() -> None:
    assert SUBJECT.members


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_nothing_is_wrong(check: Check) -> None:
    assert [found for found in findings(SUBJECT, [check]) if found.outcome == "failed"] == []
'''
