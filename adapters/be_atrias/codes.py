"""Every code that this adapter answers with, as data: what it means and what to do. docs/codes.md is made from it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from energycomm.kernel.verdicts import Refusal


class AdapterCode(NamedTuple):
    """One code.

    Attributes:
      code: as it stands in a `Refusal`.
      scope: what it is said of: a whole member (file), one CH message, a request to be built, or a note that refuses
        nothing.
      meaning: what was found.
      advice: what to do.
    """

    code: str
    scope: Literal["member", "message", "build", "note"]
    meaning: str
    advice: str


CODES: tuple[AdapterCode, ...] = tuple(
    AdapterCode(*row)
    for row in (
        ("TYPE_NOT_OURS", "member", "The member is no Belgian message.",
         "Check the folder it came from; another market's adapter may read it."),
        ("TYPE_UNKNOWN", "member", "The member is a Belgian message that no digester reads, or an unknown label.",
         "Nothing is lost: the bytes are kept. Have the mapping table extended if the document matters."),
        ("VERSION_UNKNOWN", "member", "The root element is known, its namespace or EDIFACT version is not.",
         "Compare the namespace with the mapping table; the market may have published a new version."),
        ("ROOT_UNEXPECTED", "member", "The root element is not that of the type.",
         "Check the file's name and content."),
        ("HEADER_MISSING", "member", "The document has no header or no process context.",
         "Ask for the document again."),
        ("HEADER_INVALID", "member", "A field of the header that every message needs is missing or unreadable.",
         "Ask for the document again, or correct the header and inject the file."),
        ("SYN_MISSING", "message", "An element that the mapping table calls needed is missing.",
         "Report it to the clearing house; correct and replay."),
        ("SYN_UNEXPECTED", "message", "A known element stands twice where once is allowed, or has children.",
         "Report it to the clearing house; correct and replay."),
        ("SYN_VALUE", "message", "A value is not of its type: a date, a number, a text too long.",
         "Report it to the clearing house; correct and replay."),
        ("SYN_CODE", "message", "A code that decides how the message is read is none of those in the mapping table.",
         "Check whether the market announced a new code; add it to the mapping table and replay."),
        ("SYN_SCHEMA", "message", "The market's own schema refuses the message.",
         "Report it to the clearing house; correct and replay."),
        ("DIGEST_FAILED", "message",
         "The digester itself failed on content that its table accepts: a fault of the adapter.",
         "Report the message to the maintainers; its neighbours are not concerned."),
        ("EDI_SYNTAX", "member", "The interchange is no well-formed EDIFACT: a segment, tag or separator is wrong.",
         "Answer with CONTRL and ask the sender for a correct interchange."),
        ("EDI_TRUNCATED", "member", "The interchange ends before its UNZ.", "Fetch the file again."),
        ("EDI_CONTROL", "member", "The counters or references of UNB and UNZ do not agree.",
         "Answer with CONTRL; find out whether messages are missing."),
        ("EDI_MESSAGE", "message", "The counters or references of UNH and UNT do not agree.",
         "Answer with CONTRL; the message's neighbours are not concerned."),
        ("EDI_UNREAD", "message", "The message is of a type or document that is not read.",
         "Nothing is lost: the bytes are kept. Have the mapping table extended if it matters."),
        ("CSV_HEADER", "member", "No line names the columns of the calorific values.",
         "Add the new names to the mapping table, or correct the file and inject it."),
        ("CSV_LIMIT", "member", "A line is longer than any calorific value takes.", "Check what the file is."),
        ("BUILD_KIND", "build", "No Belgian message is built from this kind.", "Use another kind of request."),
        ("BUILD_MISSING", "build", "A field that the market needs is missing.", "Give the field and send it again."),
        ("BUILD_VALUE", "build", "A value cannot be written as the market's type or code.",
         "Correct the value; the mapping table lists the codes."),
        ("BUILD_SCHEMA", "build", "The message that was built does not satisfy the schema.",
         "Compare the mapping table with the schema; report it to the maintainers."),
        ("NOTE_ELEMENT_UNKNOWN", "note", "An element that the mapping table does not know was left out.",
         "Check whether a new version of the document brings something needed."),
        ("NOTE_TYPE_DECLARED", "note", "The header names another document type than the root element's.",
         "Nothing: the root decides. Report it to the clearing house if it goes on."),
        ("NOTE_TIME_NAIVE", "note", "A date-time has no offset; Belgian time was assumed.",
         "Check the time if it lies in the night of a clock change."),
        ("NOTE_INDEX_FRACTION", "note", "An index has a fraction, which was cut off.", "Nothing."),
        ("NOTE_CSV_COLUMNS", "note", "The columns stand in another order, under other names, or below a preamble.",
         "Nothing: they were recognised by the mapping table."),
        ("NOTE_VALUE_ZERO", "note", "The calorific value is 0: the station is out of use.", "Nothing."),
        ("NOTE_VALUE_EMPTY", "note", "No calorific value is published for the station yet.",
         "Expect the value in a later file."),
    )
)  # fmt: skip
"""Every code of this adapter, in the order of the documentation. `digest` also passes on the codes ``XML_...`` of
`energycomm.kernel.prescan`, where the stream turns out to be damaged."""

_BY_CODE = {row.code: row for row in CODES}


class Unreadable(Exception):
    """Content that cannot be read; carries the refusal that says why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


def refusal(code: str, path: str = "", value: str | None = None, expected: str = "") -> Refusal:
    """A refusal or note with the advice of its code.

    Args:
      code: one of `CODES`.
      path: element path, header field or file name.
      value: what was found; shortened to 120 characters.
      expected: what was expected there.

    Raises:
      KeyError: the code is not in the table.
    """
    if value is not None and len(value) > 120:
        value = value[:117] + "..."
    return Refusal(code=code, path=path, value=value, expected=expected, advice=_BY_CODE[code].advice)
