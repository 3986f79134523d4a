"""The mapping table (mapping.yaml) of the Belgian market: every element path and every code.

A licensee of the market's implementation guide puts the exact names into a copy of the table; the setting
`mappings` names it. It is read as `adapters.common.table` reads any; here stands what the program asks of it besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from adapters.be_atrias import times
from adapters.common import table as kit
from adapters.common.table import Document, Node, Piece, Table, TableFault
from energycomm.kernel.requests import OUTGOING

MARKET = "BE"
FILE = Path(__file__).parent / "mapping.yaml"
_BESIDES = ("type", "ended_by_answer", "service", "calorific", "edifact")
_LONGEST = {"key": 64, "party": 40, "point": 40, "code": 64, "text": 400}
"""Types of text -> the longest that a Kernel message can hold."""
_HEAD = frozenset(("document", "type", "created", "sender", "receiver", "reason", "sender_role", "energy"))
_EVENT = frozenset(("reference", "effective", "access_point"))
_NEEDED: dict[str, frozenset[str]] = {
    "StartOfAccess": _EVENT,
    "StopOfAccess": _EVENT,
    "ChangeOfAccess": _EVENT,
    "MasterData": _EVENT,
    "MeterReadings": _EVENT | {"nature"},
    "MeteredSeries": _EVENT | {"end", "resolution", "unit"},
    "GridFeeInvoice": frozenset(("reference",)),
    "GridFee": _EVENT,
    "Cancellation": _EVENT | {"correlation", "cancelled"},
    "Response": frozenset(("reference", "correlation", "state")),
    "ErrorReport": frozenset(("reference",)),
}
"""Documents that are read -> fields that have to be there beside those that no Kernel message can be made without."""
_SERVICE = frozenset(
    ("namespace", "send", "get", "count", "available", "queue", "message", "identifier", "kind", "total", "state",
     "payload"),
)  # fmt: skip


@cache
def table() -> Table:
    """Our table, which holds where the setting `mappings` names no other.

    Raises:
      TableFault: the table has a mistake.
    """
    return read_table(FILE)


def read_table(path: Path) -> Table:
    """Read and check a mapping table.

    Raises:
      TableFault: the file cannot be read, or a row of it is wrong.
    """
    found = kit.read_table(path, besides=_BESIDES)
    for fault in _faults(found):
        raise TableFault(f"{path}: {fault}")
    return found


def _faults(found: Table) -> Iterator[str]:
    """What the program cannot do with a table, in words."""
    if (found.market, found.legal.zone) != (MARKET, times.ZONE):
        yield f"market and zone are {MARKET} and {times.ZONE}"
    for section in ("service", "calorific", "edifact"):
        if not isinstance(found.raw.get(section), dict):
            yield f"{section} is missing"
            return
    for name, most in _LONGEST.items():
        if not 1 <= found.longest.get(name, 0) <= most:
            yield f"types/{name}/longest: 1 to {most} is expected"
    if lacking := _NEEDED.keys() - found.documents.keys():
        yield f"documents: {sorted(lacking)} are missing"
    for label, document in every(found).items():
        if strange := _HEAD ^ set(_names([document.head])):
            yield f"{label}: the header needs exactly {sorted(_HEAD)}; see {sorted(strange)}"
        if missing := _NEEDED.get(label, frozenset(("reference",))) - set(
            _names([piece_of(document).node], needed=True)
        ):
            yield f"documents/{label}: {sorted(missing)} have to be there, marked as needed"
    for label, document in found.sent.items():
        for kind, code in reasons_of(found, document).items():
            if code not in found.codes["reason"].words or kind not in {known.__name__ for known in OUTGOING}:
                yield f"sent/{label}/makes: {kind}: {code} is no outgoing kind with a known reason"
    service = found.raw["service"]
    if strange := _SERVICE ^ set(service):
        yield f"service: {sorted(strange)} are missing or not known"
    elif service["payload"] not in ("base64", "xml"):
        yield f"service/payload: {service['payload']!r} is neither base64 nor xml"


def _names(nodes: Iterable[Node], *, needed: bool = False) -> Iterator[str]:
    """Names of the leaves below some nodes, outside their groups."""
    for node in nodes:
        for child in node.children.values():
            if child.leaf is not None and (child.needed or not needed):
                yield from (target.path[0] for target in child.leaf.targets if not target.raw)
            elif child.leaf is None and child.group is None:
                yield from _names([child], needed=needed)


def every(found: Table) -> dict[str, Document]:
    """The documents that are read and those that are sent, by label."""
    return {**found.documents, **found.sent}


def piece_of(document: Document) -> Piece:
    """The one piece of a document."""
    (piece,) = document.pieces.values()
    return piece


def namespace_of(document: Document) -> str:
    """The one namespace of a document."""
    (namespace,) = document.versions.values()
    return str(namespace)


def type_of(found: Table, document: Document) -> str:
    """The type that the header of a document declares."""
    section = "documents" if document.label in found.documents else "sent"
    return str(found.raw[section][document.label]["type"])


def reasons_of(found: Table, document: Document) -> dict[str, str]:
    """Kind of a Kernel message that a document is made of -> code of the reason."""
    return dict(found.raw["sent"][document.label]["pieces"][piece_of(document).node.tag]["makes"])


def ended_by_answer(found: Table) -> frozenset[str]:
    """Reasons of requests that a positive answer ends; the others end with what is announced."""
    return frozenset(
        found.codes["reason"].words[code]
        for document in found.sent.values()
        if found.raw["sent"][document.label].get("ended_by_answer")
        for code in reasons_of(found, document).values()
    )
