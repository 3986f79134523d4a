"""Every code that this adapter answers with, as data: what it means and what to do. docs/codes.md is made from it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from energycomm.kernel.verdicts import Refusal


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
    scope: Literal["member", "message", "name", "note", "request"]
    meaning: str
    advice: str


CODES: tuple[AdapterCode, ...] = (
    AdapterCode(
        "TYPE_NOT_OURS",
        "member",
        "The member is no Enedis flux.",
        "Check the folder it came from; another market's adapter may read it.",
    ),
    AdapterCode(
        "TYPE_UNKNOWN",
        "member",
        "The member is an Enedis flux that no digester reads (R17, R63, R65, R66, C68, ...).",
        "Nothing is lost: the bytes are kept. Ask for a digester if the flux matters.",
    ),
    AdapterCode(
        "VERSION_UNKNOWN",
        "member",
        "The version is not in the table of types: an XML namespace or a declared number that no known one has. The "
        "content decides: a note where it could be read all the same, a refusal where it could not.",
        "Get the new schema from Enedis and have the digester adapted; replay the envelope then.",
    ),
    AdapterCode(
        "ROOT_UNEXPECTED", "member", "The root element is not that of the type.", "Check the file's name and content."
    ),
    AdapterCode(
        "HEADER_MISSING", "member", "The member has no header (En_Tete_Flux, enteteFlux).", "Ask for the file again."
    ),
    AdapterCode(
        "HEADER_INVALID",
        "member",
        "A field of the header that every message needs is missing or unreadable.",
        "Ask for the file again, or correct the header and inject the file.",
    ),
    AdapterCode(
        "SGE_LIMIT", "member", "An answer of the SGE is larger than any should be.", "Ask for a shorter period."
    ),
    AdapterCode(
        "JSON_SYNTAX",
        "member",
        "The content of an on-demand flux is no JSON.",
        "Ask Enedis for a correct file.",
    ),
    AdapterCode("JSON_TRUNCATED", "member", "The JSON of an on-demand flux ends too early.", "Fetch the file again."),
    AdapterCode(
        "JSON_LIMIT",
        "member",
        "One value of the JSON of an on-demand flux is too large or nested too deeply to be held.",
        "Ask Enedis for a correct file.",
    ),
    AdapterCode(
        "SYN_MISSING",
        "message",
        "An element that the digester needs is missing.",
        "Report it to Enedis; correct and replay.",
    ),
    AdapterCode(
        "SYN_UNEXPECTED",
        "message",
        "A known element stands where it does not belong, or twice where once is allowed.",
        "Report it to Enedis; correct and replay.",
    ),
    AdapterCode(
        "SYN_VALUE",
        "message",
        "A value is not of its type: a date, a number, a text too long.",
        "Report it to Enedis; correct and replay.",
    ),
    AdapterCode(
        "SYN_CODE",
        "message",
        "A code that decides how the message is read is none of those known.",
        "Check whether Enedis announced a new code; have the digester adapted.",
    ),
    AdapterCode(
        "DIGEST_FAILED",
        "message",
        "The digester itself failed on content that its schema accepts: a fault of the adapter.",
        "Report the message to the maintainers; its neighbours are not concerned.",
    ),
    AdapterCode(
        "BUILD_KIND",
        "request",
        "No SGE service serves messages of this kind.",
        "Make the request on the portal, or send another kind.",
    ),
    AdapterCode(
        "BUILD_SERVICE",
        "request",
        "market_type names a service of another kind of request, or no service serves what is asked.",
        "Name one of the services of the kind, or none.",
    ),
    AdapterCode(
        "BUILD_MISSING",
        "request",
        "A field that the service needs is missing.",
        "Complete the message; nothing was sent.",
    ),
    AdapterCode(
        "BUILD_VALUE",
        "request",
        "A field has a value that the service's schema does not take.",
        "Correct the message; nothing was sent.",
    ),
    AdapterCode(
        "NAME_UNKNOWN",
        "name",
        "The envelope's file name matches no known pattern, so no gap in its series can be seen.",
        "Check the name; have the pattern added if Enedis introduced it.",
    ),
    AdapterCode(
        "NOTE_VERSION_DECLARED",
        "note",
        "The header declares another version than the one the content was read as.",
        "Nothing: the content decides.",
    ),
    AdapterCode(
        "NOTE_TYPE_DECLARED",
        "note",
        "The header names another flux than the root element.",
        "Nothing: the content decides. Report it to Enedis if it goes on.",
    ),
    AdapterCode(
        "NOTE_ELEMENT_UNKNOWN",
        "note",
        "An element or attribute that the schema does not know was left out.",
        "Check whether a new version of the flux brings something needed.",
    ),
    AdapterCode(
        "NOTE_TIME_NAIVE",
        "note",
        "A date-time has no offset where there should be one; Paris time was assumed.",
        "Check the time if it lies in the night of a clock change.",
    ),
    AdapterCode(
        "NOTE_LABEL_REPAIRED",
        "note",
        "A label was encoded in UTF-8 twice and was repaired.",
        "Nothing.",
    ),
    AdapterCode(
        "NOTE_TERMINATED_EVENT",
        "note",
        "An event that is no exit says RESILIE. Seen for a MDPRM on the day of the RES: the exit's code gives the end.",
        "Check that an exit event of the same contract reference is there.",
    ),
    AdapterCode(
        "NOTE_CODE_UNKNOWN",
        "note",
        "A code of the market is not in the adapter's table; it was carried untranslated.",
        "Have the table extended once its meaning is known.",
    ),
    AdapterCode(
        "NOTE_VALUE_DOUBTFUL",
        "note",
        "The distributor doubts a value of a curve (IV is not 0); the value was carried.",
        "Look at the curve before it is invoiced.",
    ),
    AdapterCode(
        "NOTE_COUNT",
        "note",
        "The file announces another number of pieces (affaires of X12 and X13, parts of F12) than it holds.",
        "Ask Enedis whether the file is complete; the next daily snapshot repeats all affaires.",
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
