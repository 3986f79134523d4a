"""What the simple types of a schema take: functions that are made of their facets, without a parser of XML.

A function takes no text that its type refuses, and not all that the type takes: where it says no, the schema decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from lxml import etree

from energycomm.kernel import safexml

Takes: TypeAlias = Callable[[str], object]
"""Whether a text without outer white space, and not empty, is a value of a type; true or false by its truth."""

_XS = "{http://www.w3.org/2001/XMLSchema}"
_DAY = (
    r"(?!0000)[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    r"|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
)
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9}|)"
_OFFSET = r"(?:Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|)"
PLAIN: dict[str, str] = {
    "boolean": "(?:0|1|true|false)",
    "date": _DAY + _OFFSET,
    "dateTime": f"{_DAY}T{_TIME}{_OFFSET}",
}
"""Expressions of types without facets, by name; they match nothing with white space around it."""
TEXTS = ("string", "normalizedString", "token")
_CHARACTER = r"[^\x00-\x1f\ud800-\udfff\ufffe\uffff]"
_MOST_DIGITS = 9
"""Before a point, and after it: libxml2 holds 24 in all."""
_DURATION = (
    r"P(?=[0-9T])(?:[0-9]{1,4}Y)?(?:[0-9]{1,4}M)?(?:[0-9]{1,4}D)?(?:T(?=[0-9])(?:[0-9]{1,5}H)?(?:[0-9]{1,5}M)?)?"
)
_BUILT_IN = PLAIN | {
    "decimal": rf"-?[0-9]{{1,{_MOST_DIGITS}}}(?:\.[0-9]{{1,{_MOST_DIGITS}}})?",
    "integer": rf"-?[0-9]{{1,{_MOST_DIGITS}}}",
    "positiveInteger": rf"[1-9][0-9]{{0,{_MOST_DIGITS - 1}}}",
    "nonNegativeInteger": rf"[0-9]{{1,{_MOST_DIGITS}}}",
    "duration": _DURATION,
    "gMonthDay": r"--(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])",
}
_SHARED_PATTERN = re.compile(r"(?:[A-Z0-9:-]|\\d|\[(?:[A-Z0-9]-[A-Z0-9])+\]|\{[0-9]+(?:,[0-9]+)?\})+")
"""Patterns that mean the same to XML Schema and to Python."""


class SimpleTypes:
    """The simple types of a schema file and of those that it includes."""

    def __init__(self, path: Path) -> None:
        """Args:
        path: of the schema; what it includes lies beside it.
        """
        self._types: dict[str, etree._Element] = {}
        self._made: dict[str, Takes | None] = {}
        self._read(path)

    def _read(self, path: Path) -> None:
        root = etree.parse(path, safexml.parser()).getroot()
        for included in root.iterchildren(f"{_XS}include"):
            self._read(path.with_name(included.get("schemaLocation", "")))
        self._types |= {kind.get("name", ""): kind for kind in root.iterchildren(f"{_XS}simpleType")}

    def takes(self, name: str) -> Takes | None:
        """What says whether a text is a value of a type; None where that is left to the schema.

        Args:
          name: of the type, with its prefix; ``xs:`` is that of the types of XML Schema.
        """
        if name not in self._made:
            prefix, _, kind = name.rpartition(":")
            self._made[name] = _built_in(kind, {}) if prefix == "xs" else self._restricted(kind)
        return self._made[name]

    def _restricted(self, kind: str) -> Takes | None:
        declared = self._types.get(kind)
        inner = [] if declared is None else [one for one in declared if one.tag != f"{_XS}annotation"]
        if len(inner) != 1 or inner[0].tag != f"{_XS}restriction":
            return None
        prefix, _, base = (inner[0].get("base") or "").rpartition(":")
        if prefix != "xs":
            return None
        facets: dict[str, list[str]] = {}
        for facet in inner[0].iterchildren(etree.Element):
            facets.setdefault(str(facet.tag).removeprefix(_XS), []).append(facet.get("value", ""))
        return _built_in(base, facets)


def _built_in(base: str, facets: Mapping[str, list[str]]) -> Takes | None:
    """What takes the values of a type of XML Schema that facets narrow; None where it is not known what they say."""
    names = set(facets)
    if base in _BUILT_IN and not names:
        return re.compile(_BUILT_IN[base]).fullmatch
    if base == "token" and names == {"enumeration"}:
        return frozenset(facets["enumeration"]).__contains__
    if base in TEXTS and names <= {"minLength", "maxLength"} and "maxLength" in names:
        most = int(facets["maxLength"][0])
        if int(facets.get("minLength", ["0"])[0]) <= 1 <= most:
            return re.compile(rf"{_CHARACTER}{{1,{most}}}").fullmatch
    if base in TEXTS and names == {"pattern"} and len(facets["pattern"]) == 1:
        (pattern,) = facets["pattern"]
        if _SHARED_PATTERN.fullmatch(pattern):
            return re.compile(pattern, re.ASCII).fullmatch
    if base == "positiveInteger" and names == {"maxInclusive"}:
        positive, most = re.compile(_BUILT_IN[base]).fullmatch, int(facets["maxInclusive"][0])
        return lambda text: positive(text) and int(text) <= most
    if base == "decimal" and names == {"totalDigits"}:
        after = min(int(facets["totalDigits"][0]) // 2, _MOST_DIGITS)
        if after:
            return re.compile(rf"-?[0-9]{{1,{after}}}(?:\.[0-9]{{1,{after}}})?").fullmatch
    return None
