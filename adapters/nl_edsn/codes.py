"""Every code that this adapter answers with, as data: what it means and what to do. docs/codes.md is made from it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from energycomm.kernel.verdicts import Refusal


class AdapterCode(NamedTuple):
    """One code.

    Attributes:
      code: as it stands in a `Refusal`.
      scope: what it is said of: a whole member (file), one CH message, an envelope's name, a note that refuses nothing,
        or a request that cannot be built.
      meaning: what was found.
      advice: what to do.
    """

    code: str
    scope: Literal["member", "message", "name", "note", "build"]
    meaning: str
    advice: str


CODES: tuple[AdapterCode, ...] = (
    AdapterCode(
        "TYPE_NOT_OURS",
        "member",
        "The member is no message of EDSN.",
        "Check the channel it came from; another market's adapter may read it.",
    ),
    AdapterCode(
        "TYPE_UNKNOWN",
        "member",
        "The member is a message of EDSN that no digester reads (file exchange, measure correction, ...).",
        "Nothing is lost: the bytes are kept. Ask for a digester if the message matters.",
    ),
    AdapterCode(
        "VERSION_UNKNOWN",
        "member",
        "The message is known, but not in this namespace: EDSN has brought out another version.",
        "Get the new schema from EDSN and have the digester adapted; replay the envelope then.",
    ),
    AdapterCode(
        "ROOT_UNEXPECTED",
        "member",
        "The envelope holds another message than its type says.",
        "Check the file's name and content.",
    ),
    AdapterCode(
        "HEADER_MISSING",
        "member",
        "There is neither an EDSNBusinessDocumentHeader nor a SOAP fault.",
        "Ask for the message again.",
    ),
    AdapterCode(
        "HEADER_INVALID",
        "member",
        "A field of the header that every message needs is missing or unreadable.",
        "Ask for the message again, or correct the header and inject the file.",
    ),
    AdapterCode(
        "SYN_MISSING",
        "message",
        "An element that the digester needs is missing.",
        "Report it to EDSN; correct and replay.",
    ),
    AdapterCode(
        "SYN_UNEXPECTED",
        "message",
        "A known element stands where it does not belong, or twice where once is allowed.",
        "Report it to EDSN; correct and replay.",
    ),
    AdapterCode(
        "SYN_VALUE",
        "message",
        "A value is not of its type: a date, a number, a text too long, a reading off the grid of intervals.",
        "Report it to EDSN; correct and replay.",
    ),
    AdapterCode(
        "SYN_CODE",
        "message",
        "A code that decides how the message is read is none of those known.",
        "Check whether EDSN announced a new code; have the digester adapted.",
    ),
    AdapterCode(
        "DIGEST_FAILED",
        "message",
        "The digester itself failed on content that its schema accepts: a fault of the adapter.",
        "Report the message to the maintainers; its neighbours are not concerned.",
    ),
    AdapterCode(
        "NOTE_ELEMENT_UNKNOWN",
        "note",
        "An element that our schema does not know was left out.",
        "Check whether a new version of the message brings something needed.",
    ),
    AdapterCode(
        "NOTE_TIME_NAIVE",
        "note",
        "A date-time has no offset where there should be one; Amsterdam time was assumed.",
        "Check the time if it lies in the night of a clock change.",
    ),
    AdapterCode(
        "NOTE_CODE_UNKNOWN",
        "note",
        "A code of the market is not in the adapter's table; it was carried untranslated.",
        "Have the table extended once its meaning is known.",
    ),
    AdapterCode(
        "NOTE_ORDER",
        "note",
        "Readings of an interval answer came out of their order in time and were put into it.",
        "Nothing. Report it to EDSN if it goes on.",
    ),
    AdapterCode(
        "NOTE_TIME_UNKNOWN",
        "note",
        "A SOAP fault bears no time, neither in its SOAP header nor in its name; the year 1970 stands for it.",
        "Keep answers under a name with a time stamp, as docs/markets/nl.md says.",
    ),
    AdapterCode(
        "NOTE_TEST",
        "note",
        "The header says that the message is a test.",
        "Check that a test system is meant to feed this store.",
    ),
    AdapterCode(
        "BUILD_KIND",
        "build",
        "No message of EDSN is known for this kind of request.",
        "Make the request in the portal.",
    ),
    AdapterCode(
        "BUILD_MISSING",
        "build",
        "A field is missing without which the message cannot be written.",
        "Complete the request.",
    ),
    AdapterCode(
        "BUILD_VALUE",
        "build",
        "A field has a value that the message cannot hold.",
        "Correct the request.",
    ),
    AdapterCode(
        "BUILD_SCHEMA",
        "build",
        "The message that was written does not satisfy its schema: a fault of the adapter, or of a field's form.",
        "Correct the field that is named; report it if the field is right.",
    ),
)
"""Every code of this adapter, in the order of the documentation. `digest` also passes on the codes ``XML_...`` of
`energycomm.kernel.prescan`, where the stream turns out to be damaged."""

_BY_CODE = {row.code: row for row in CODES}


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
