"""The codes that an adapter answers with, as data, and refusals made of them.

What is wrong with XML has the same codes in every market; they are here, with their advice, and an adapter adds those
of its own. docs/codes.md is made from the tables.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from energycomm.kernel.verdicts import Refusal

Scope: TypeAlias = Literal["member", "message", "name", "note", "build"]
_SCOPES: tuple[Scope, ...] = ("member", "message", "name", "build", "note")
LONGEST_VALUE = 120


class AdapterCode(NamedTuple):
    """One code.

    Attributes:
      code: as it stands in a `Refusal`.
      scope: what it is said of: a whole member (file), one CH message, an envelope's name, a request that is to be
        built, or a note that refuses nothing.
      meaning: what was found.
      advice: what to do.
    """

    code: str
    scope: Scope
    meaning: str
    advice: str


SHARED: tuple[AdapterCode, ...] = (
    AdapterCode(
        "TYPE_NOT_OURS",
        "member",
        "The member is no message of this market.",
        "Check the folder or channel it came from; another market's adapter may read it.",
    ),
    AdapterCode(
        "TYPE_UNKNOWN",
        "member",
        "The member is a message of this market that is not read, or its label is not one of the types.",
        "Nothing is lost: the bytes are kept. Have the table of types extended if the message matters.",
    ),
    AdapterCode(
        "VERSION_UNKNOWN",
        "member",
        "The type is known, but not in this version or namespace.",
        "The market may have published a new version: get its schema, have the table extended, replay the envelope.",
    ),
    AdapterCode(
        "HEADER_MISSING",
        "member",
        "There is no header before the messages, or a part of it is missing.",
        "Ask for the file again.",
    ),
    AdapterCode(
        "ROOT_UNEXPECTED",
        "member",
        "The root element, or the content of the envelope, is not that of the type.",
        "Check the file's name and content.",
    ),
    AdapterCode(
        "HEADER_INVALID",
        "member",
        "A field of the header that every message needs is missing or unreadable.",
        "Ask for the file again, or correct the header and inject the file.",
    ),
    AdapterCode(
        "SYN_MISSING",
        "message",
        "An element that the digester needs is missing.",
        "Report it to the sender; correct and replay.",
    ),
    AdapterCode(
        "SYN_UNEXPECTED",
        "message",
        "A known element is in the wrong place, or occurs more often than allowed.",
        "Report it to the sender; correct and replay.",
    ),
    AdapterCode(
        "SYN_VALUE",
        "message",
        "A value is not of its type: a date, a number, a text too long.",
        "Report it to the sender; correct and replay.",
    ),
    AdapterCode(
        "SYN_CODE",
        "message",
        "A code that decides how the message is read is unknown.",
        "Check whether the market announced a new code; have the digester or its table extended, and replay.",
    ),
    AdapterCode(
        "DIGEST_FAILED",
        "message",
        "The digester itself failed on content that its schema accepts: a fault of the adapter.",
        "Report the message to the maintainers; its neighbours are not concerned.",
    ),
    AdapterCode(
        "BUILD_KIND",
        "build",
        "The market has no message for this kind of request, or none that is known here.",
        "Make the request on the portal of the market, or send another kind.",
    ),
    AdapterCode(
        "BUILD_MISSING",
        "build",
        "A field is missing without which the request cannot be written.",
        "Complete the request; nothing was sent.",
    ),
    AdapterCode(
        "BUILD_VALUE",
        "build",
        "A field has a value that the market's form does not take.",
        "Correct the request; nothing was sent.",
    ),
    AdapterCode(
        "JSON_SYNTAX",
        "member",
        "The content is not JSON, or has a key twice.",
        "Ask the sender for a correct file.",
    ),
    AdapterCode(
        "JSON_TRUNCATED",
        "member",
        "The JSON ends before its end: the file was cut.",
        "Fetch the file again.",
    ),
    AdapterCode(
        "JSON_LIMIT",
        "member",
        "A value of the JSON is larger, or nested deeper, than any message can be.",
        "Ask the sender for a correct file.",
    ),
    AdapterCode(
        "CSV_COLUMNS",
        "member",
        "The first row does not name the columns that the table needs.",
        "Check the file's separator and its first row.",
    ),
    AdapterCode(
        "CSV_SYNTAX",
        "member",
        "A row of the table is too long, has too many cells, or a quotation that does not end.",
        "Ask the sender for a correct file.",
    ),
    AdapterCode(
        "FORM_UNEXPECTED",
        "member",
        "The content is written in another form (XML, JSON, text) than its type.",
        "Check the file's name and content; the sender may have given it the wrong name.",
    ),
    AdapterCode(
        "NOTE_CODE_UNKNOWN",
        "note",
        "A code of the market is not in its list.",
        "Have the list extended once its meaning is known.",
    ),
    AdapterCode(
        "NOTE_INDEX_FRACTION",
        "note",
        "An index has a fraction, which was cut off.",
        "Nothing.",
    ),
    AdapterCode(
        "NOTE_FORM",
        "note",
        "The file's name announces another form (XML, JSON) than its content has; the content decides.",
        "Nothing. Report it to the sender if it persists.",
    ),
    AdapterCode(
        "NOTE_ELEMENT_UNKNOWN",
        "note",
        "An element or attribute that our schema does not know was left out.",
        "Check whether a new version of the message brings something needed.",
    ),
    AdapterCode(
        "NOTE_PARTICULARS",
        "note",
        "A message holds more values without a field of their own than are kept with it: those after the path are not.",
        "Nothing is lost: the bytes are kept. Have the table of particulars name fewer elements.",
    ),
    AdapterCode(
        "NOTE_TIME_NAIVE",
        "note",
        "A date-time has no offset where there should be one; the market's legal time was assumed.",
        "Check the time if it lies in the night of a clock change.",
    ),
)
"""Codes that mean the same in every market."""


class CodeTable:
    """Every code of an adapter, and the refusals made of them."""

    def __init__(self, *own: AdapterCode) -> None:
        """Args:
        own: the codes of the adapter beside `SHARED`; one of the same name stands in place of the shared one.
        """
        held = {row.code: row for row in (*SHARED, *own)}
        self.codes = tuple(sorted(held.values(), key=lambda row: _SCOPES.index(row.scope)))
        """In the order of the documentation. `digest` also passes on the codes ``XML_...`` of
        `energycomm.kernel.prescan`, where the stream turns out to be damaged."""
        self._held = held

    def refusal(self, code: str, path: str = "", value: str | None = None, expected: str = "") -> Refusal:
        """A refusal or note with the advice of its code.

        Args:
          code: one of the table's.
          path: element path, header field or file name.
          value: what was found; shortened to `LONGEST_VALUE` characters.
          expected: what was expected there.

        Raises:
          KeyError: the code is not in the table.
        """
        if value is not None and len(value) > LONGEST_VALUE:
            value = value[: LONGEST_VALUE - 3] + "..."
        return Refusal(code=code, path=path, value=value, expected=expected, advice=self._held[code].advice)


refusal = CodeTable().refusal
"""Refusals with the shared codes."""


class Unreadable(Exception):
    """Content that cannot be read; carries the refusal that says why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal
