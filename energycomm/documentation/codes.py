"""The page docs/codes.md: every code that EnergyComm answers with, from the tables that the code itself uses."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import entry_points
from typing import NamedTuple

from energycomm.engine.catalogue import Catalogue
from energycomm.errors import DamagedRow, HistoryArchived
from energycomm.market.installed import GROUP
from energycomm.transport import codes as transport


class Code(NamedTuple):
    """One code of a table: what it means and what to do."""

    code: str
    meaning: str
    advice: str


XML: tuple[Code, ...] = (
    Code("XML_DOCTYPE", "The XML has a DOCTYPE, which could define entities.", "Ask the sender for it without one."),
    Code("XML_EMPTY", "There is no XML element at all.", "Ask the market to send it again."),
    Code(
        "XML_ENCODING", "The bytes are not in the encoding that the XML declares.", "Ask the market to send it again."
    ),
    Code("XML_SYNTAX", "The content is not well-formed XML.", "Ask the market to send it again."),
    Code("XML_TRUNCATED", "The XML ends in the middle.", "Fetch the file again."),
    Code("XML_LIMIT", "One element is larger or deeper than any market writes.", "Ask the sender about the file."),
)
"""Codes of the safe XML reader, for members of envelopes and for Kernel XML."""

KERNEL: tuple[Code, ...] = (
    Code(
        "KERNEL_XML_NAMESPACE", "The root element is not of the Kernel's namespace.", "Write urn:energycomm:kernel:1."
    ),
    Code("KERNEL_XML_KIND", "The root element is not a kind of Kernel message.", "See kernel.xsd for the kinds."),
    Code(
        "KERNEL_XML_ELEMENT", "An element that the kind does not have, or that may occur only once.", "See kernel.xsd."
    ),
    Code("KERNEL_XML_ATTRIBUTE", "An attribute that the element does not have.", "See kernel.xsd."),
    Code("KERNEL_XML_VALUE", "A value that its type does not allow.", "See kernel.xsd."),
    Code("KERNEL_XML_MISSING", "A required attribute or element is missing.", "See kernel.xsd."),
    Code("KERNEL_XML_TEXT", "Text between elements: the Kernel writes values as attributes.", "Remove the text."),
    Code("KERNEL_XML_SYNTAX", "A text holds characters that XML cannot hold.", "Remove them."),
    Code(
        "KERNEL_XML_SCHEMA",
        "The Kernel XML does not satisfy kernel.xsd.",
        "`energycomm message explain ID` lists every place, the value and what was expected.",
    ),
    Code(
        "KERNEL_JSON_SYNTAX", "The content is not one JSON object with a `kind`.", "See docs/glossary.md for the kinds."
    ),
    Code("KERNEL_JSON_VALUE", "A field has a value that its type does not allow.", "See kernel.xsd."),
)
"""Codes of Kernel messages that are read from XML or JSON."""

GATEWAY: tuple[Code, ...] = (
    Code(
        "TYPE_UNKNOWN",
        "No installed market has this type of member.",
        "Check the file, and which adapters are installed.",
    ),
    Code(
        "TYPE_CLAIMED",
        "Several installed markets recognise the member, and it came through no channel of one of them.",
        "Send it through a channel of its market.",
    ),
    Code(
        "CH_PUT_ASIDE",
        "The program failed on a CH message, which alone was put aside: it has no verdict.",
        "Report it with the envelope; then `energycomm envelope retry`.",
    ),
    Code(
        HistoryArchived.code,
        "A late CH message takes effect where the history of its access point is in an archive, or was removed; it was "
        "put aside.",
        "Bring the archive back (`energycomm eis archive restore`), then `energycomm envelope retry`.",
    ),
    Code(
        "CH_VALUE",
        "A CH message's type, version, sender, reference or access point is longer than the store holds.",
        "Ask the sender for a correct file.",
    ),
    Code(
        "ADAPTER_FAULT",
        "A digester failed on a member: a mistake of the program, not of the market.",
        "Report it with the envelope. The bytes are kept: `energycomm envelope retry` processes them after an upgrade.",
    ),
    Code(
        "ENV_PUT_ASIDE",
        "The program failed on an envelope repeatedly; the envelope was put aside.",
        "Report it with the envelope. The bytes are kept: `energycomm envelope retry` processes them after an upgrade.",
    ),
    Code("OUT_KIND", "Only the market sends messages of this kind.", "Inject it, or send another kind."),
    Code("OUT_MARKET", "No adapter of the message's market is installed.", "Install it, or correct the market."),
    Code("OUT_NOT_BUILT", "The market has no form for messages of this kind.", "Make the request in another way."),
    Code(
        "PORTFOLIO_FILE",
        "A portfolio file is damaged, too large, or no table.",
        "Save it again as CSV, XLSX or Parquet; `energycomm portfolio template` writes an empty one.",
    ),
    Code(
        "PORTFOLIO_COLUMN",
        "A column of a portfolio file is unknown, stands there twice, or a needed one is missing.",
        "docs/portfolio.md lists the columns.",
    ),
    Code("PORTFOLIO_VALUE", "A cell of a portfolio file holds what its column does not.", "Correct the cell."),
    Code("PORTFOLIO_POINT", "An access point has several rows in one portfolio file.", "Leave one of them."),
    Code(
        "PORTFOLIO_LIST",
        "The file is no list of points of a market, or an entry of it is no point that we supply.",
        "`energycomm process` takes the other documents of a market.",
    ),
    Code("INJECT_KIND", "Only suppliers send messages of this kind, not the market.", "Submit it as a request."),
    Code("INJECT_MARKET", "Its market is not installed, or is not that of the first message.", "Inject it apart."),
    Code(
        "INJECT_NUMBER",
        "An injection without messages, or with more messages than allowed.",
        "Send several injections.",
    ),
    Code(
        "FAULT_UNKNOWN", "`simulate --fault` names no known kind of fault.", "`energycomm simulate --help` lists them."
    ),
    Code("FAULT_RATE", "`simulate --fault` needs KIND=RATE with a share from 0 to 1.", "Write it so."),
    Code(
        DamagedRow.code,
        "An encrypted row of the store cannot be decrypted: it was changed, or copied from another row.",
        f"{DamagedRow.advice[:1].upper()}{DamagedRow.advice[1:]}.",
    ),
    Code(
        "EDIT_OTHER",
        "An edit changed the kind or market of a message.",
        "Edit its content only; inject the other message.",
    ),
)
"""Codes of the pipeline, of the store and of the simulator."""


INTRODUCTION = """\
# Codes

Every refusal, incident, note and error code, what it means and what to do. This page is written by `make docs` from the
tables that the program itself uses; do not edit it.

Three refusals are kept apart: an envelope that cannot be read (`ENV_...`), content that is not what its schema says
(`XML_...`, `SYN_...`), and a message that breaks a business rule (market, letter, two digits).
"""

LETTERS = """\
## Error codes of rules

Letters: P point and perimeter, D dates, S supply status, R readings, V volumes, C contract, U customer, M meter, G grid
charges, A requests, E envelope and head. The document that `energycomm rules document` writes says more.

| code | rule | sentence | class |
|---|---|---|---|"""


def adapter_codes() -> dict[str, list[Code]]:
    """Name of an installed adapter's package -> the table of its codes (`CODES` of its module `codes`)."""
    packages = sorted({point.module for point in entry_points(group=GROUP)})
    tables = {package: import_module(f"{package}.codes").CODES for package in packages}
    return {package: [Code(row.code, row.meaning, row.advice) for row in rows] for package, rows in tables.items()}


def page(catalogue: Catalogue) -> str:
    """The page docs/codes.md.

    Args:
      catalogue: the rules whose error codes are listed.
    """
    parts = [
        INTRODUCTION,
        _section("Envelopes and keys", [Code(*row) for row in transport.CODES]),
        _section("XML", XML),
        _section("Kernel messages", KERNEL),
        _section("Gateway", GATEWAY),
    ]
    tables = adapter_codes()
    shared = [row for row in next(iter(tables.values()), []) if all(row in rows for rows in tables.values())]
    parts.append(_section("Every adapter", shared))
    for name, rows in tables.items():
        parts.append(_section(f"Adapter `{name}`", [row for row in rows if row not in shared]))
    parts.append(_error_codes(catalogue))
    return "\n".join(parts)


def _section(title: str, rows: Iterable[Code]) -> str:
    lines = [f"## {title}\n", "| code | meaning | what to do |", "|---|---|---|"]
    lines += [f"| `{row.code}` | {_cell(row.meaning)} | {_cell(row.advice)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _error_codes(catalogue: Catalogue) -> str:
    lines = [LETTERS]
    rules = sorted((rule for rule in catalogue.rules if rule.error_code), key=lambda rule: (rule.error_code, rule.code))
    lines += [f"| `{rule.error_code}` | {rule.code} | {_cell(rule.sentence)} | {rule.error_class} |" for rule in rules]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
