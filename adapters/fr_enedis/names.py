"""File names of Enedis envelopes, and the numbered series they belong to.

A zip is named ``<emitter>_<flux>_<...>_<number>_<...>_<time stamp>``, number five digits, stamp YYYYMMDDHHMMSS.
Numbers run on without a hole within one series; a restart at 00001 is legal. Which parts of the name tell the series
is the table below. Files that answer an order (R63 to R67, C68) are numbered from 00001 within the order, which their
name tells too; recurrent ones (R63A, R64B, ...) within the publication; those of a company's account bear no number.
Case is not compared: zips are called ENEDIS_, members Enedis_.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.times import moment
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Series


class NamePattern(NamedTuple):
    """One pattern of file names.

    Attributes:
      about: the fluxes it is for.
      pattern: matches the whole name without extension. Group ``flux`` always; ``number`` and ``stamp`` where the
        series is numbered; every group whose name starts with ``key_`` belongs to the series' key, in the order of
        the name.
    """

    about: str
    pattern: re.Pattern[str]


def _pattern(about: str, text: str) -> NamePattern:
    return NamePattern(about, re.compile(text, re.IGNORECASE))


_MEASURES = (
    r"[^_]+_(?P<flux>R6[3-7][ABX]?|C68|CR[.-]M023|NASS)_(?P<key_mode>[PQHM])_(?P<key_data>[^_]+)_(?P<key_order>[^_]+)"
    r"(?:_(?P<key_contract>(?![0-9]{5}_)[^_]+))?(?:_(?P<number>[0-9]{5}))?_(?P<stamp>[0-9]{14})"
)
PATTERNS: tuple[NamePattern, ...] = (
    _pattern(
        "C15, R15: emitter_flux_receiver_contract_direction_number_stamp",
        r"[^_]+_(?P<flux>C15|R15)_[^_]+_(?P<key_contract>[^_]+)_(?P<key_direction>[^_]+)_(?P<number>[0-9]{5})_(?P<stamp>[0-9]+)",
    ),
    _pattern(
        "F15: emitter_F15_receiver_contract_direction_invoicetype_frequency_clienttype_demat_number_stamp",
        r"[^_]+_(?P<flux>F15)_(?P<key_receiver>[^_]+)_(?P<key_contract>[^_]+)_(?P<key_direction>[^_]+)_(?P<key_type>[^_]+)_"
        r"(?P<key_frequency>[^_]+)_(?P<key_client>[^_]+)_[^_]+_(?P<number>[0-9]{5})_(?P<stamp>[0-9]+)",
    ),
    _pattern(
        "F12: emitter_F12_receiver_contract_direction_number_x_y_stamp",
        r"[^_]+_(?P<flux>F12)_(?P<key_receiver>[^_]+)_(?P<key_contract>[^_]+)_(?P<key_direction>[^_]+)_(?P<number>[0-9]{5})_"
        r"[^_]+_[^_]+_(?P<stamp>[0-9]+)",
    ),
    _pattern(
        "R151: emitter_R151_receiver_contract_subscription_number_frequency_x_y_stamp",
        r"[^_]+_(?P<flux>R151)_[^_]+_[^_]+_(?P<key_subscription>[^_]+)_(?P<number>[0-9]{5})_[^_]+_[0-9]{5}_[0-9]{5}_(?P<stamp>[0-9]+)",
    ),
    _pattern(
        "C12, R17: emitter_flux_receiver_contract_number_stamp",
        r"[^_]+_(?P<flux>C12|R17)_[^_]+_(?P<key_contract>[^_]+)_(?P<number>[0-9]{5})_(?P<stamp>[0-9]+)",
    ),
    _pattern(
        "X12 to X15: emitter_flux_receiver_number_stamp",
        r"[^_]+_(?P<flux>X1[2-5])_(?P<key_receiver>[^_]+)_(?P<number>[0-9]{5})_(?P<stamp>[0-9]+)",
    ),
    _pattern("R63 to R67, C68: emitter_flux_mode_data_order[_contract][_number]_stamp", _MEASURES),
    _pattern(
        "R63 to R67, C68 under another name: not numbered",
        r"[^_]+_(?P<flux>R6[3-7][ABX]?|C68|CR[.-]M023|NASS)(?:_[^_]+)*?(?:_(?P<stamp>[0-9]{14}))?",
    ),
)
"""Every known pattern, tried in this order."""

_ARCHIVE = re.compile(r"\.zip(?:\.(?:aes|enc|crypt))?$", re.IGNORECASE)
_MEMBER = re.compile(r"\.(?:xml|json|csv)$", re.IGNORECASE)
_PART = re.compile(r"_(?P<part>[0-9]{5})_(?P<parts>[0-9]{5})(?:_[0-9]{14})?$")
_DETAIL = re.compile(r"(?:^|_)FL_(?P<part>[0-9]+)_(?P<parts>[0-9]+)$")

_KNOWN = "one of: " + "; ".join(row.about for row in PATTERNS)


def series(name: str) -> Series | Refusal | None:
    """The place of an envelope's file name in its numbered series.

    Args:
      name: file name, with or without folders and extension.

    Returns:
      The series with its number; number None where numbers of the flux say nothing. None for a plain XML, JSON or CSV
      file, whose name belongs to no series. A refusal (NAME_UNKNOWN) for a name that matches no pattern.
    """
    base = re.split(r"[/\\]", name)[-1]
    if _MEMBER.search(base):
        return None
    stem = _ARCHIVE.sub("", base)
    for about in PATTERNS:
        match = about.pattern.fullmatch(stem)
        if match is None:
            continue
        parts = match.groupdict()
        held = [value for group, value in parts.items() if group.startswith("key_") and value is not None]
        number = parts.get("number")
        key = "/".join([parts["flux"].upper(), *held])
        if "key_order" in parts:
            key = key.upper() if number is not None else parts["flux"].upper()
        return Series(key, None if number is None else int(number), parts.get("stamp"))
    return refusal("NAME_UNKNOWN", path=base, expected=_KNOWN)


def part_of(name: str) -> tuple[int, int] | None:
    """Which file of how many a member or envelope is: ``..._00002_00005.xml``, ``FL_2_5.xml`` give (2, 5).

    Args:
      name: file name, with or without extension.
    """
    stem = _MEMBER.sub("", _ARCHIVE.sub("", re.split(r"[/\\]", name)[-1]))
    match = _DETAIL.search(stem) or _PART.search(stem)
    return None if match is None else (int(match["part"]), int(match["parts"]))


_OURS = re.compile(
    r"[^_]+_(?:C1[25]|C68|R1[57]|R151|R171|R4[QHM]|R50|R6[3-7][ABX]?|F1[25]|X1[2-5]|S518|CR[.-]M023|NASS)_.+",
    re.IGNORECASE,
)


_REPORT = re.compile(r"[^_]+_CR[.-]M023_.+", re.IGNORECASE)


def is_report(name: str) -> bool:
    """Whether a file's name is that of the report that ends an order."""
    return _REPORT.fullmatch(re.split(r"[/\\]", name)[-1]) is not None


def is_ours(name: str) -> bool:
    """Whether a file's name looks like one of Enedis' fluxes, read or not."""
    return _OURS.fullmatch(re.split(r"[/\\]", name)[-1]) is not None


_TOKENS = re.compile(_MEASURES, re.IGNORECASE)
_STAMP = re.compile(r"_([0-9]{14})(?:\.[A-Za-z]+)*$")


def tokens(name: str) -> dict[str, str]:
    """What the name of a file of measures says: ``flux`` in upper case, ``mode``, ``order``, ``contract``, ``number``;
    empty where it has another form.

    Args:
      name: file name of an envelope or member.
    """
    match = _TOKENS.fullmatch(_MEMBER.sub("", _ARCHIVE.sub("", re.split(r"[/\\]", name)[-1])))
    if match is None:
        return {}
    found = {group.removeprefix("key_"): text for group, text in match.groupdict().items() if text is not None}
    return {**found, "flux": found["flux"].upper(), "mode": found["mode"].upper()}


def written(name: str) -> datetime | None:
    """When a file was written, by the time stamp that ends its name; None where there is none."""
    stamp = _STAMP.search(name)
    try:
        return moment(datetime.strptime(stamp[1], "%Y%m%d%H%M%S").isoformat()).at if stamp else None
    except ValueError:
        return None
