"""The codes that this adapter answers with beside the shared ones. docs/codes.md is made from them."""

from __future__ import annotations

from adapters.common.codes import AdapterCode, CodeTable
from adapters.common.edifact import syntax as edifact

OWN = (
    *edifact.CODES,
    AdapterCode(
        "TYPE_NOT_OURS",
        "member",
        "The member is no Belgian message.",
        "Check the folder it came from; another market's adapter may read it.",
    ),
    AdapterCode(
        "TYPE_UNKNOWN",
        "member",
        "The member is a Belgian message that no digester reads, or an unknown label.",
        "Nothing is lost: the bytes are kept. Have the mapping table extended if the document matters.",
    ),
    AdapterCode(
        "VERSION_UNKNOWN",
        "member",
        "The root element is known, its namespace or EDIFACT version is not.",
        "Compare the namespace with the mapping table; the market may have published a new version.",
    ),
    AdapterCode(
        "HEADER_MISSING",
        "member",
        "The document has no header or no process context.",
        "Ask for the document again.",
    ),
    AdapterCode(
        "CSV_HEADER",
        "member",
        "No line names the columns of the calorific values.",
        "Add the new names to the mapping table, or correct the file and inject it.",
    ),
    AdapterCode(
        "CSV_LIMIT",
        "member",
        "A line is longer than any calorific value takes.",
        "Check what the file is.",
    ),
    AdapterCode(
        "SYN_SCHEMA",
        "message",
        "The market's own schema refuses the message.",
        "Report it to the clearing house; correct and replay.",
    ),
    AdapterCode(
        "EDI_UNREAD",
        "message",
        "The message is of a type or document that is not read.",
        "Nothing is lost: the bytes are kept. Have the mapping table extended if it matters.",
    ),
    AdapterCode(
        "BUILD_KIND",
        "build",
        "No Belgian message is built from this kind.",
        "Use another kind of request.",
    ),
    AdapterCode(
        "BUILD_SCHEMA",
        "build",
        "The message that was built does not satisfy the schema.",
        "Compare the mapping table with the schema; report it to the maintainers.",
    ),
    AdapterCode(
        "NOTE_TYPE_DECLARED",
        "note",
        "The header names another document type than the root element's.",
        "Nothing: the root decides. Report it to the clearing house if it persists.",
    ),
    AdapterCode(
        "NOTE_INDEX_FRACTION",
        "note",
        "An index has a fraction, which was cut off.",
        "Nothing.",
    ),
    AdapterCode(
        "NOTE_CSV_COLUMNS",
        "note",
        "The columns have another order or other names, or a preamble precedes them.",
        "Nothing: they were recognised by the mapping table.",
    ),
    AdapterCode(
        "NOTE_VALUE_ZERO",
        "note",
        "The calorific value is 0: the station is out of use.",
        "Nothing.",
    ),
    AdapterCode(
        "NOTE_VALUE_EMPTY",
        "note",
        "No calorific value is published for the station yet.",
        "Expect the value in a later file.",
    ),
)

_TABLE = CodeTable(*OWN)

CODES = _TABLE.codes
"""Every code of this adapter, in the order of the documentation."""

refusal = _TABLE.refusal
"""A refusal or note with the advice of its code."""
