"""Sentences that parsers of XML and JSON write, as templates, so that a reader sees them in the own language.

They stay English where they are kept, in logs and on the command line: whoever looks for one finds what others wrote of
it. What a parser says that is not here is shown as it is.
"""

from __future__ import annotations

from typing import Final

from energycomm.texts.sentences import refilled

PLACED: Final = "line {0}, column {1}: {2}"
"""Where a parser of XML stopped, and why."""

OF_XML: Final = (
    "Opening and ending tag mismatch: {0} line {1} and {2}",
    "Extra content at the end of the document",
    "Specification mandates value for attribute {0}",
    "AttValue: \" or ' expected",
    "AttValue: ' expected",
    'AttValue: " expected',
    "Attribute {0} redefined",
    "Entity '{0}' not defined",
    "xmlParseEntityRef: no name",
    "EntityRef: expecting ';'",
    "xmlParseCharRef: invalid xmlChar value {0}",
    "PCDATA invalid Char value {0}",
    "Invalid bytes in character encoding",
    "Input is not proper UTF-8, indicate encoding !",
    "Start tag expected, '<' not found",
    "StartTag: invalid element name",
    "Couldn't find end of Start Tag {0} line {1}",
    "Couldn't find end of Start Tag {0}",
    "Premature end of data in tag {0} line {1}",
    "Namespace prefix {0} on {1} is not defined",
    "Namespace prefix {0} for {1} on {2} is not defined",
    "xmlns:{0}: Empty XML namespace is not allowed",
    "Namespaced Attribute {0} in '{1}' redefined",
    "XML declaration allowed only at the start of the document",
    "Blank needed here",
    "Unsupported encoding: {0}",
    "Unsupported version '{0}'",
    "Double hyphen within comment: {0}",
    "Comment not terminated",
    "CData section not finished {0}",
    "Sequence ']]>' not allowed in content",
    "Unescaped '<' not allowed in attributes values",
    "attributes construct error",
    "error parsing attribute name",
    "expected '>'",
)
"""What libxml2 says."""

OF_JSON: Final = (
    "JSON is malformed: object keys must be strings (byte {0})",
    "JSON is malformed: trailing comma in object (byte {0})",
    "JSON is malformed: trailing comma in array (byte {0})",
    "JSON is malformed: expected ':' (byte {0})",
    "JSON is malformed: expected ',' or {0} (byte {1})",
    "JSON is malformed: expected ',' or ']' (byte {0})",
    "JSON is malformed: invalid number (byte {0})",
    "JSON is malformed: number out of range (byte {0})",
    "JSON is malformed: invalid escaped character (byte {0})",
    "JSON is malformed: invalid character (byte {0})",
    "JSON is malformed: trailing characters (byte {0})",
    "Input data was truncated",
    "Object missing required field `{0}`",
    "Object contains unknown field `{0}`",
    "Expected `{0}`, got `{1}`",
    "Expected `{0}` of length <= {1}",
    "Expected `{0}` of length >= {1}",
    "Expected `{0}` <= {1}",
    "Expected `{0}` >= {1}",
    "Expected `{0}` matching regex {1}",
    "Expected `{0}`",
    "Invalid value {0}",
    "Invalid enum value {0}",
    "parse error: premature EOF",
    "parse error: trailing garbage",
    "parse error: unallowed token at this point in JSON text",
    "parse error: invalid object key (must be a string)",
    "parse error: object key and value must be separated by a colon (':')",
    "parse error: after key and value, inside map, I expect ',' or {0}",
    "parse error: after array element, I expect ',' or ']'",
    "lexical error: invalid char in json text.",
    "lexical error: invalid string in json text.",
    "lexical error: invalid character inside string.",
    "lexical error: inside a string, '\\' occurs before a character which it may not.",
    "lexical error: malformed number, a digit is required after the exponent.",
    "lexical error: malformed number, a digit is required after the decimal point.",
    "lexical error: malformed number, a digit is required after the minus sign.",
    "lexical error: invalid bytes in UTF8 string.",
)
"""What msgspec and yajl, the library below ijson, say."""

SAYINGS: Final = (PLACED, *OF_XML, *OF_JSON)


def is_saying(text: str) -> bool:
    """Whether a parser said it, and no market wrote it.

    >>> is_saying("line 1, column 5: Extra content at the end of the document"), is_saying("2025-01-31")
    (True, False)
    """
    return any(refilled(text, template, template) is not None for template in SAYINGS)
