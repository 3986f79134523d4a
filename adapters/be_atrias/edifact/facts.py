"""Reads the segments of one transaction by the qualifiers of the mapping table, into the names that digesters know.

What the table does not name, and what the digester of the message does not take, is kept as particulars.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from typing import Any

from adapters.be_atrias.codes import refusal
from adapters.be_atrias.times import belgian
from adapters.common.codes import Unreadable
from adapters.common.edifact.syntax import Segment
from adapters.common.pieces import Values
from adapters.common.table import Table

_NUMBER_LENGTH = 20
_STRUCTURE = frozenset(("BGM", "IDE", "LIN", "SEQ", "UNS"))
"""Segments that split a message; what they say is read where it is split."""
_NAD = {1: "3039", 2: "3124", 3: "3036", 4: "3042", 5: "3164", 6: "3229", 7: "3251", 8: "3207"}
"""Place in NAD -> number of the data element there."""
_ADDRESS = {4: "street", 5: "city", 7: "postal_code", 8: "country"}
_PERSONS: Mapping[str, Mapping[int, str]] = {"customer": {3: "surname"} | _ADDRESS, "installation": _ADDRESS}
_LIVES = {"customer": "CustomerData", "installation": "AccessPointData"}
"""Party with an address -> the kind that bears it."""
_LISTED = {"direction": "direction", "connection": "connection_status"}
"""Code list of a characteristic -> the field that takes its word."""
_NO_NAME = re.compile(r"[=\s]")


class Facts:
    """What a run of segments says.

    Attributes:
      dates: name of the mapping table -> instant; a period gives `start` and `period_end`.
      names: party, place, reference by the table's name.
      values: everything else, by the digesters' names.
    """

    def __init__(self, table: Table, zone: timezone | None = None) -> None:
        self.table = table
        self.edi: Mapping[str, Any] = table.raw["edifact"]
        self.zone = zone
        self.dates: dict[str, datetime] = {}
        self.names: dict[str, str] = {}
        self.values: Values = {}
        self.characteristic = ""
        self._told: list[tuple[str | None, str, Any]] = []
        self._first: dict[str, Any] = {}

    def take(self, run: Iterable[Segment]) -> Facts:
        """Read segments; gives itself. The offset that they tell holds for all of their dates, wherever it stands.

        Raises:
          Unreadable: a date or number that is none, or two access points (SYN_VALUE); a code that decides and is
            unknown (SYN_CODE).
        """
        run = list(run)
        for segment in run:
            if segment.tag == "DTM" and (zone := _zone(segment)) is not None:
                self.zone = zone
        for segment in run:
            _READERS.get(segment.tag, Facts._leave)(self, segment)
        return self

    def kept(self, takes: Callable[[str, Any], bool]) -> dict[str, Any]:
        """What is kept as particulars: segment, or segment and data element -> value.

        Args:
          takes: whether a field carries the value of a name of the table or the digesters.
        """
        found: dict[str, Any] = {}
        for name, where, value in self._told:
            if name is None or not takes(name, value):
                number = sum(known.partition("[")[0] == where for known in found) + 1
                found[where if number == 1 else f"{where}[{number}]"] = value
        return found

    def _again(self, name: str, value: Any) -> bool:
        """Whether a name has another value already: the first holds, this one is kept."""
        return bool(self._first.setdefault(name, value) != value)

    def _tell(self, name: str | None, where: str, value: Any) -> None:
        if isinstance(value, str):
            value = _printable(value)[:400]
        if value:
            self._told.append((name, named(where), value))

    def _leave(self, segment: Segment) -> None:
        if segment.tag not in _STRUCTURE:
            first, *others = segment.elements or ((),)
            text = "+".join(":".join(part) for part in (first[1:], *others)).strip("+:")
            above = f"CCI+{self.characteristic}/" if self.characteristic and segment.tag == "MEA" else ""
            self._tell(None, above + segment.tag + (f"+{segment.get(0)}" if segment.get(0) else ""), text)

    def date(self, segment: Segment) -> None:
        """DTM: qualifier, value, format."""
        qualifier, text, form = segment.get(0), segment.get(0, 1), segment.get(0, 2)
        if _zone(segment) is not None:
            return
        name = next((known for known, code in self.edi["dates"].items() if code == qualifier), None)
        pattern = self.edi["formats"].get(form)
        if name is None or pattern is None:
            self._leave(segment)
        elif pattern == "period":
            half = len(text) // 2
            period = self._at(text[:half]), self._at(text[half:])
            if self._again(name, period):
                self._leave(segment)
            else:
                self.dates["start"], self.dates["period_end"] = period
        else:
            at = self._at(text, pattern)
            again = self._again(name, at)
            if not again:
                self.dates[name] = at
            self._tell(None if again else name, f"DTM+{qualifier}", at)

    def _at(self, text: str, pattern: str = "%Y%m%d%H%M") -> datetime:
        """An instant. A day begins at midnight of Belgian time, whatever the offset of the times; 2400 ends a day."""
        return _instant(text, pattern, self.zone)

    def name(self, segment: Segment) -> None:
        """LOC and RFF: qualifier and identifier."""
        group, longest, found = (
            ("references", 64, segment.get(0, 1)) if segment.tag == "RFF" else ("places", 40, segment.get(1))
        )
        known = self._known(group, segment.get(0))
        if known is None:
            self._leave(segment)
        elif found:
            again = self._again(known, found)
            if again and known == "access_point":
                raise Unreadable(refusal("SYN_VALUE", segment.tag, found, f"one access point, {self.names[known]}"))
            if not again:
                self.names[known] = short(found, longest, segment.tag)
            self._tell(None if again else known, f"{segment.tag}+{segment.get(0)}", found)

    def party(self, segment: Segment) -> None:
        """NAD: qualifier, identifier, names, address."""
        known = self._known("parties", segment.get(0))
        fields = _PERSONS.get(known or "", {} if known is None else {1: known})
        for at, parts in enumerate(segment.elements):
            text = parts[0] if at == 1 else " ".join(part for part in parts if part)
            if not at or not text:
                continue
            name = fields.get(at)
            if name is not None and self._again(f"{known}/{at}", text):
                name = None
            if name is not None and at == 1:
                self.names[name] = short(text, 40, "NAD")
            elif name is not None:
                held = self.values
                if at in _ADDRESS:
                    held = held.setdefault(_LIVES[known or ""], {}).setdefault("address", {})
                    name = _LIVES[known or ""]
                held[fields[at]] = short(text, 400, "NAD")
            self._tell(name, f"NAD+{segment.get(0)}/{_NAD.get(at, at)}", text)

    def _known(self, group: str, qualifier: str) -> str | None:
        return next((known for known, codes in self.edi[group].items() if qualifier in codes), None)

    def status(self, segment: Segment) -> None:
        """STS: a reason, or the response to a request."""
        category, code = segment.get(0), segment.get(2) or segment.get(1)
        if category == self.edi["status"]["reason"]:
            self.values["market_reason"] = short(code, 64, "STS") if code else None
            self.values["reason"] = self.table.codes["reason"].words.get(code)
        elif category == self.edi["status"]["response"]:
            if code not in self.edi["responses"]:
                raise Unreadable(refusal("SYN_CODE", "STS", code, ", ".join(self.edi["responses"])))
            self.values["state"] = self.edi["responses"][code]
            self._tell("state", f"STS+{category}", code)
            if segment.get(3):
                code = short(segment.get(3), 64, "STS")
                self.values.setdefault("code", code)
                self.values.setdefault("codes", []).append(code)
                self._tell("code", f"STS+{category}/9013", code)
        else:
            self._leave(segment)

    def characteristic_of(self, segment: Segment) -> None:
        """CCI names a characteristic, CAV gives its value."""
        if segment.tag == "CCI":
            self.characteristic = segment.get(2) or segment.get(0)
            return
        known, code = self.edi["characteristics"].get(self.characteristic), segment.get(0)
        listed = self.table.codes[known].words if known in _LISTED else None
        if not code:
            return
        name = None if known is None or (listed is not None and code not in listed) else _LISTED.get(known, known)
        if name is not None and self._again(f"CCI/{name}", code):
            name = None
        if name is not None:
            self.values[name] = short(code, 64, "CAV") if listed is None else listed[code]
        self._tell(name, f"CCI+{self.characteristic}", code)

    def text(self, segment: Segment) -> None:
        """FTX: words."""
        words = " ".join(part for part in (segment.elements[3] if len(segment.elements) > 3 else ()) if part)
        if words:
            self._tell(None if "text" in self.values else "text", f"FTX+{segment.get(0)}", words)
            self.values.setdefault("text", short(words, 400, "FTX"))

    def error(self, segment: Segment) -> None:
        """ERC: the code of an application error."""
        if segment.get(0):
            self.values["code"] = short(segment.get(0), 64, "ERC")


@lru_cache(maxsize=1024)
def named(where: str) -> str:
    """The name of a particular: as a message can hold it, with room for what stands around it."""
    return _NO_NAME.sub("_", where)[:50]


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


def _printable(text: str) -> str:
    """A text without control characters and double blanks."""
    if not text.isprintable():
        text = "".join(figure if figure.isprintable() else " " for figure in text)
    return " ".join(text.split())


def short(text: str, longest: int, where: str) -> str:
    """A text without control characters and double blanks.

    Raises:
      Unreadable: nothing is left, or too much (SYN_VALUE).
    """
    text = _printable(text)
    if not 1 <= len(text) <= longest:
        raise Unreadable(refusal("SYN_VALUE", where, text, f"1 to {longest} characters"))
    return text


@lru_cache(maxsize=4096)  # the messages of an interchange share most of their dates
def _instant(text: str, pattern: str, zone: timezone | None) -> datetime:
    figures = text
    if pattern.endswith("%z"):
        pattern = pattern.removesuffix("%z")
        length = len(datetime(2000, 1, 1).strftime(pattern))
        figures, zone = text[:length], _named_zone(text[length:])
    if len(figures) == 8 or "%H" not in pattern:
        pattern, zone = pattern if len(figures) != 8 else "%Y%m%d", None
    late = figures[8:] in ("2400", "240000")
    try:
        read = datetime.strptime(figures[:8] + "0" * len(figures[8:]) if late else figures, pattern)
    except ValueError:
        raise Unreadable(refusal("SYN_VALUE", "DTM", text, "a date of its format")) from None
    if not 1900 <= read.year <= 2199:
        raise Unreadable(refusal("SYN_VALUE", "DTM", text, "a date in 1900 to 2199"))
    return belgian((read + timedelta(days=late)).replace(tzinfo=zone))


def _zone(segment: Segment) -> timezone | None:
    """The offset of all times that a DTM tells: DTM+735:+0100:406, or in hours DTM+ZZZ:1:805; None of another one.

    Raises:
      Unreadable: it is none (SYN_VALUE).
    """
    qualifier, text, form = segment.get(0), segment.get(0, 1), segment.get(0, 2)
    if form == "406":
        return _offset(text)
    if qualifier != "ZZZ" or form != "805":
        return None
    hours = text.removeprefix("+").removeprefix("-")
    if not (hours.isascii() and hours.isdigit() and int(hours[:3]) <= _FURTHEST):
        raise Unreadable(refusal("SYN_VALUE", "DTM+ZZZ", text, "hours from UTC"))
    return timezone(timedelta(hours=-int(hours) if text.startswith("-") else int(hours)))


def _named_zone(text: str) -> timezone:
    """The zone of an instant of format 303 or 304: UTC, CET, CEST, +01, +0100.

    Raises:
      Unreadable: it is none of these (SYN_VALUE).
    """
    if text in _ZONES:
        return timezone(timedelta(hours=_ZONES[text]))
    return _offset(text if len(text) != _HOURS_ALONE else f"{text}00")


_ZONES = {"UTC": 0, "GMT": 0, "Z": 0, "CET": 1, "MET": 1, "CES": 2, "CEST": 2, "MES": 2}
_HOURS_ALONE = 3
_FURTHEST = 14
"""Hours that a zone is from UTC at most."""


@lru_cache(maxsize=256)
def _offset(text: str) -> timezone:
    """The zone of DTM+735, written +0100."""
    sign, figures = text[:1], text[1:]
    if sign not in ("+", "-") or len(figures) != 4 or not (figures.isascii() and figures.isdigit()) or figures > "1400":
        raise Unreadable(refusal("SYN_VALUE", "DTM", text, "an offset like +0100"))
    minutes = int(figures[:2]) * 60 + int(figures[2:])
    return timezone(timedelta(minutes=-minutes if sign == "-" else minutes))


_READERS = {
    "DTM": Facts.date,
    "NAD": Facts.party,
    "LOC": Facts.name,
    "RFF": Facts.name,
    "STS": Facts.status,
    "CCI": Facts.characteristic_of,
    "CAV": Facts.characteristic_of,
    "FTX": Facts.text,
    "ERC": Facts.error,
}
