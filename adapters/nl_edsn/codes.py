"""The codes that this adapter answers with beside the shared ones. docs/codes.md is made from them."""

from __future__ import annotations

from adapters.common.codes import AdapterCode, CodeTable

_TABLE = CodeTable(
    AdapterCode(
        "BUILD_SCHEMA",
        "build",
        "The message that was written does not satisfy its schema: a fault of the adapter, or of a field's form.",
        "Correct the field that is named; report it if the field is right.",
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
