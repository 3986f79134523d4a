"""Reads the segments of one transaction by the qualifiers of the mapping table, into the names that digesters know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from adapters.be_atrias.codes import refusal
from adapters.be_atrias.mapping import Table
from adapters.be_atrias.reading import Values
from adapters.be_atrias.times import belgian
from adapters.common.codes import Unreadable
from adapters.common.edifact.syntax import Segment

_NUMBER_LENGTH = 20


class Facts:
    """What a run of segments says.

    Attributes:
      dates: name of the mapping table -> instant; a period gives `start` and `end`.
      names: party, place, reference by the table's name.
      values: everything else, by the digesters' names.
    """

    def __init__(self, table: Table, zone: timezone | None = None) -> None:
        self.table = table
        self.edi: Mapping[str, Any] = table.edifact
        self.zone = zone
        self.dates: dict[str, datetime] = {}
        self.names: dict[str, str] = {}
        self.values: Values = {}
        self.characteristic = ""

    def take(self, run: Iterable[Segment]) -> Facts:
        """Read segments; gives itself.

        Raises:
          Unreadable: a date or number that is none (SYN_VALUE), a code that decides and is unknown (SYN_CODE).
        """
        for segment in run:
            reader = _READERS.get(segment.tag)
            if reader is not None:
                reader(self, segment)
        return self

    def date(self, segment: Segment) -> None:
        """DTM: qualifier, value, format."""
        qualifier, text, form = segment.get(0), segment.get(0, 1), segment.get(0, 2)
        if form == "406":
            self.zone = _offset(text)
            return
        name = next((known for known, code in self.edi["dates"].items() if code == qualifier), None)
        pattern = self.edi["formats"].get(form)
        if name is None or pattern is None:
            return
        if pattern == "period":
            half = len(text) // 2
            self.dates["start"], self.dates["period_end"] = self._at(text[:half]), self._at(text[half:])
        else:
            self.dates[name] = self._at(text, pattern)

    def _at(self, text: str, pattern: str = "%Y%m%d%H%M") -> datetime:
        try:
            read = datetime.strptime(text, pattern if len(text) != 8 else "%Y%m%d")
        except ValueError:
            raise Unreadable(refusal("SYN_VALUE", "DTM", text, "a date of its format")) from None
        if not 1900 <= read.year <= 2199:
            raise Unreadable(refusal("SYN_VALUE", "DTM", text, "a date in 1900 to 2199"))
        if read.tzinfo is None and self.zone is not None:
            read = read.replace(tzinfo=self.zone)
        return belgian(read)

    def name(self, segment: Segment) -> None:
        """NAD, LOC and RFF: qualifier and identifier."""
        group = {"NAD": "parties", "LOC": "places", "RFF": "references"}[segment.tag]
        spread = segment.tag == "RFF"
        qualifier = segment.get(0)
        found = segment.get(0, 1) if spread else segment.get(1)
        for known, codes in self.edi[group].items():
            if qualifier in codes:
                if found:
                    self.names[known] = _short(found, 40 if group != "references" else 64, segment.tag)
                self._person(known, segment)

    def _person(self, known: str, segment: Segment) -> None:
        if known == "customer":
            name = " ".join(part for part in (segment.elements[3] if len(segment.elements) > 3 else ()) if part)
            if name:
                self.values["surname"] = _short(name, 400, "NAD")
        elif known == "installation":
            for field, element in (("street", 4), ("city", 5), ("postal_code", 7), ("country", 8)):
                text = " ".join(
                    part for part in (segment.elements[element] if element < len(segment.elements) else ()) if part
                )
                if text:
                    self.values[f"point_{field}"] = _short(text, 400, "NAD")

    def status(self, segment: Segment) -> None:
        """STS: a reason, or the response to a request."""
        category, code = segment.get(0), segment.get(2) or segment.get(1)
        if category == self.edi["status"]["reason"]:
            self.values["market_reason"] = _short(code, 64, "STS") if code else None
            self.values["reason"] = self.table.codes["reason"].words.get(code)
        elif category == self.edi["status"]["response"]:
            if code not in self.edi["responses"]:
                raise Unreadable(refusal("SYN_CODE", "STS", code, ", ".join(self.edi["responses"])))
            self.values["status"] = self.edi["responses"][code]
            if segment.get(3):
                code = _short(segment.get(3), 64, "STS")
                self.values.setdefault("code", code)
                self.values.setdefault("codes", []).append(code)

    def characteristic_of(self, segment: Segment) -> None:
        """CCI names a characteristic, CAV gives its value."""
        if segment.tag == "CCI":
            self.characteristic = segment.get(2) or segment.get(0)
            return
        name = self.edi["characteristics"].get(self.characteristic)
        code = segment.get(0)
        if name is None or not code:
            return
        listed = self.table.codes.get({"direction": "direction", "connection": "connection"}.get(name, ""))
        if listed is None:
            self.values[name] = _short(code, 64, "CAV")
        elif code in listed.words:
            self.values["connection_status" if name == "connection" else name] = listed.words[code]

    def text(self, segment: Segment) -> None:
        """FTX: words."""
        words = " ".join(part for part in (segment.elements[3] if len(segment.elements) > 3 else ()) if part)
        if words:
            self.values["text"] = _short(words, 400, "FTX")

    def error(self, segment: Segment) -> None:
        """ERC: the code of an application error."""
        if segment.get(0):
            self.values["code"] = _short(segment.get(0), 64, "ERC")

    def meter(self, segment: Segment) -> None:
        """RFF+MG is read with the references; SEQ has nothing of its own."""


def number(text: str) -> Decimal:
    """A number of a QTY: a decimal point or comma, at most 20 figures.

    Raises:
      Unreadable: it is none (SYN_VALUE).
    """
    plain = text.replace(",", ".")
    body = plain.removeprefix("-").removeprefix("+")
    whole, _, fraction = body.partition(".")
    good = whole.isascii() and whole.isdigit() and (not fraction or (fraction.isascii() and fraction.isdigit()))
    if not good or len(body) > _NUMBER_LENGTH:
        raise Unreadable(refusal("SYN_VALUE", "QTY", text, "a decimal number"))
    return Decimal(plain)


def _short(text: str, longest: int, where: str) -> str:
    text = " ".join("".join(figure if figure.isprintable() else " " for figure in text).split())
    if not 1 <= len(text) <= longest:
        raise Unreadable(refusal("SYN_VALUE", where, text, f"1 to {longest} characters"))
    return text


def short(text: str, longest: int, where: str) -> str:
    """A text without control characters and double blanks.

    Raises:
      Unreadable: nothing is left, or too much (SYN_VALUE).
    """
    return _short(text, longest, where)


def _offset(text: str) -> timezone:
    """The zone of DTM+735, written +0100."""
    sign, figures = text[:1], text[1:]
    if sign not in ("+", "-") or len(figures) != 4 or not (figures.isascii() and figures.isdigit()) or figures > "1400":
        raise Unreadable(refusal("SYN_VALUE", "DTM+735", text, "an offset like +0100"))
    minutes = int(figures[:2]) * 60 + int(figures[2:])
    return timezone(timedelta(minutes=-minutes if sign == "-" else minutes))


_READERS = {
    "DTM": Facts.date,
    "NAD": Facts.name,
    "LOC": Facts.name,
    "RFF": Facts.name,
    "STS": Facts.status,
    "CCI": Facts.characteristic_of,
    "CAV": Facts.characteristic_of,
    "FTX": Facts.text,
    "ERC": Facts.error,
}
