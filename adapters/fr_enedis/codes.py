"""The codes that this adapter answers with beside the shared ones. docs/codes.md is made from them."""

from __future__ import annotations

from adapters.common.codes import AdapterCode, CodeTable

_TABLE = CodeTable(
    AdapterCode(
        "TYPE_NOT_OURS",
        "member",
        "The member is no Enedis flux.",
        "Check the folder it came from; another market's adapter may read it.",
    ),
    AdapterCode(
        "TYPE_UNKNOWN",
        "member",
        "The member is an Enedis flux that no digester reads.",
        "Nothing is lost: the bytes are kept. Ask for a digester if the flux matters.",
    ),
    AdapterCode(
        "VERSION_UNKNOWN",
        "member",
        "The version is not in the table of types: an XML namespace or a declared number that no known one "
        "has. The content decides: a note where it could be read all the same, a refusal where it could "
        "not.",
        "Get the new schema from Enedis and have the digester adapted; replay the envelope then.",
    ),
    AdapterCode(
        "HEADER_MISSING",
        "member",
        "The member has no header (En_Tete_Flux, enteteFlux).",
        "Ask for the file again.",
    ),
    AdapterCode(
        "SGE_LIMIT",
        "member",
        "An answer of the SGE is larger than any should be.",
        "Ask for a shorter period.",
    ),
    AdapterCode(
        "CSV_DAMAGED",
        "message",
        "A spreadsheet has rounded the identifier of a point (9.9E+13); its last digits are lost.",
        "Send the file as Enedis delivered it; do not open and save it with a spreadsheet before.",
    ),
    AdapterCode(
        "NAME_UNKNOWN",
        "name",
        "The envelope's file name matches no known pattern, so no gap in its series can be seen.",
        "Check the name; have the pattern added if Enedis introduced it.",
    ),
    AdapterCode(
        "BUILD_SERVICE",
        "build",
        "market_type names a service for another kind of request, or no service fits the request.",
        "Name one of the services of the kind, or none.",
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
        "Nothing: the content decides. Report it to Enedis if it persists.",
    ),
    AdapterCode(
        "NOTE_TIME_UNKNOWN",
        "note",
        "An answer of the SGE contains no time, and its file's name has none; the year 1970 is used.",
        "Keep answers under the name that the channel gives them: answer-REFERENCE_YYYYMMDDTHHMMSSZ.xml.",
    ),
    AdapterCode(
        "NOTE_MEASURES_UNREAD",
        "note",
        "The measures in an answer of the SGE cannot be read; the answer itself was.",
        "Look at the place that is named; the bytes are kept. Ask again, or order the measures as a file.",
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
        "NOTE_VALUE_DOUBTFUL",
        "note",
        "The grid operator doubts a value of a curve (IV is not 0); the value was carried.",
        "Look at the curve before it is invoiced.",
    ),
    AdapterCode(
        "NOTE_TIME_OF_CHANGE",
        "note",
        "Data of a point came under a name without time; they were dated by the latest change that they tell.",
        "Keep files under the names that Enedis gave them.",
    ),
    AdapterCode(
        "NOTE_CONTRACT_AMBIGUOUS",
        "note",
        "Data of a point name several contracts, and no date tells which one is in force; no terms were made of them.",
        "Look at the contracts among the particulars of the point.",
    ),
    AdapterCode(
        "NOTE_VALUE_MISSING",
        "note",
        "A file names a day without a value; nothing is put in its place.",
        "Nothing; ask Enedis for the day if it is needed.",
    ),
    AdapterCode(
        "NOTE_VALUE_TWICE",
        "note",
        "A file gives two values of one interval, day or instant; the later one of the file was carried.",
        "Look at the value; the next publication tells it again.",
    ),
    AdapterCode(
        "NOTE_COUNT",
        "note",
        "The file announces another number of pieces (affaires of X12 and X13, parts of F12) than it holds.",
        "Compare with the next file of the flow; ask Enedis for what stays away.",
    ),
)

CODES = _TABLE.codes
"""Every code of this adapter, in the order of the documentation."""

refusal = _TABLE.refusal
"""A refusal or note with the advice of its code."""
