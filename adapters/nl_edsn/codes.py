"""The codes that this adapter answers with beside the shared ones, and how the market's own codes are translated.
docs/codes.md is made from the former."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from adapters.common.codes import AdapterCode, CodeTable, Unreadable
from adapters.common.outcome import Notes
from adapters.common.reading import Fields, leaf
from energycomm.kernel.verdicts import Refusal

T = TypeVar("T")

_TABLE = CodeTable(
    AdapterCode(
        "BUILD_SCHEMA",
        "build",
        "The message that was written does not satisfy its schema: a fault of the adapter, or of a field's form.",
        "Correct the field that is named; report it if the field is right.",
    ),
    AdapterCode(
        "NOTE_READING_MISSING",
        "note",
        "A register of a meter was told without an index; the registers beside it are read.",
        "Query the day again, or ask the grid operator; no index is invented.",
    ),
    AdapterCode(
        "NOTE_VALUE_MISSING",
        "note",
        "An element that holds a volume was told without one; what stands beside it is read.",
        "Ask the grid operator if the volume is needed; none is invented.",
    ),
    AdapterCode(
        "NOTE_ORDER",
        "note",
        "Readings of an interval answer came out of their order in time and were put into it.",
        "Nothing. Report it to EDSN if it persists.",
    ),
    AdapterCode(
        "NOTE_TIME_UNKNOWN",
        "note",
        "A SOAP fault has no time, neither in its SOAP header nor in its name; the year 1970 is used.",
        "Keep answers under a name with a time stamp, as docs/markets/nl.md says.",
    ),
    AdapterCode(
        "NOTE_TEST",
        "note",
        "The header says that the message is a test.",
        "Check that a test system is meant to feed this store.",
    ),
)

CODES = _TABLE.codes
"""Every code of this adapter, in the order of the documentation."""

refusal = _TABLE.refusal
"""A refusal or note with the advice of its code."""


def meaning(table: Mapping[str, T], code: str, path: str) -> T:
    """What a code means that decides how the message is read.

    Raises:
      Unreadable: the code is not in the list (SYN_CODE).
    """
    if code not in table:
        raise Unreadable(refusal("SYN_CODE", path=path, value=code, expected=", ".join(table)))
    return table[code]


def known_meaning(table: Mapping[str, T], fields: Fields, tag: str, path: str, notes: Notes) -> T | None:
    """What the code of a field means, None where there is none; one that is not in the list is noted once."""
    code = leaf(fields, tag)
    if code is None or code in table:
        return None if code is None else table[code]
    noted = refusal("NOTE_CODE_UNKNOWN", path=f"{path}/{tag}", value=code, expected=", ".join(table))
    if noted not in notes:
        notes.append(noted)
    return None


UNKNOWN = "unknown-code"
"""First step of the name of a particular that is a code of no list we know."""


def unknown_codes(notes: Iterable[Refusal]) -> Iterator[tuple[str, str | None]]:
    """The unknown codes that were noted, as particulars that say so by their name: whoever sees the message sees that
    its word (unknown, other, none) stands for a code that we do not know."""
    return ((f"{UNKNOWN}/{note.path}", note.value) for note in notes if note.code == "NOTE_CODE_UNKNOWN")
