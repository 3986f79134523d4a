"""The measures in the answers of the SGE: messages of their own beside the answer, judged like any other.

============================================  =======================================================================
Answer                                        Read as
============================================  =======================================================================
ConsultationMesures v1.1                      energies that were invoiced: one volume for each period and nature, by
                                              the time classes of the distributor (Turpe) and of the supplier (Frn),
                                              which tell the same energy twice
ConsultationMesuresDetaillees v2.0 and v3.0   what R63 to R66 bring, read by `adapters.fr_enedis.r6x`: curves, energies
                                              of days or months, highest powers, indexes by context (v3.0)
============================================  =======================================================================

* Instants of v2.0 bear an offset, those of v3.0 are plain texts in legal time.
* An energy without step is that of the day, or of the month where the answer says P1M, that its date begins.
* Their market type is SGE, so that they are compared with each other and not taken for a published flux.

Assumed: an energy of ConsultationMesures goes from midnight at the start of dateDebut to that of dateFin, as in R67. An
answer of v2.0 does not say whether its energies are of days or months; several that all begin a month are of months.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

from lxml import etree
from msgspec import structs

from adapters.common.outcome import Notes
from adapters.common.particulars import kept
from adapters.common.reading import TEXT, Fields, decimal, read_with_attributes
from adapters.fr_enedis.curves import PRODUCT
from adapters.fr_enedis.ondemand import Order, instant, shaped
from adapters.fr_enedis.r6x import READERS
from adapters.fr_enedis.r15 import VOLUME_NATURE
from adapters.fr_enedis.registers import time_class
from adapters.fr_enedis.times import start_of_day
from energycomm.kernel.messages import KernelMessage, MeteredVolume
from energycomm.kernel.parts import Volume
from energycomm.kernel.vocabulary import Grid

INVOICED = "consulterMesuresResponse"
DETAILED = frozenset(("consulterMesuresDetailleesResponse", "consulterMesuresDetailleesResponseV3"))
ANSWERS = frozenset((INVOICED, *DETAILED))
"""Responses that hold measures, or say by holding none that there are none."""
GRIDS: tuple[tuple[str, Grid], ...] = (
    ("seriesMesuresDateesGrilleTurpe", "distributor"),
    ("seriesMesuresDateesGrilleFrn", "supplier"),
)
ENERGY, POWER = "EA", "PMA"
_MANY = frozenset(("grandeur", "points", "contexte", "calendrier", "classeTemporelle", "valeur"))
_NAMES = {"mesure": "points"}
"""What v2.0 calls otherwise than v3.0 and the fluxes."""


def measures(content: etree._Element, head: dict[str, Any], at: datetime | None, notes: Notes) -> list[KernelMessage]:
    """The messages of the measures of a response; none where it holds none.

    Args:
      content: the response, one of `ANSWERS`.
      head: what every message starts with.
      at: when the answer was given, where that is known.
      notes: what was noticed.

    Raises:
      Unreadable: a stamp, a step or a value cannot be read.
    """
    head = {name: value for name, value in head.items() if name not in ("created", "effective", "correlation")}
    head["reason"] = "on-demand"
    if etree.QName(content).localname == INVOICED:
        return list(_invoiced(read_with_attributes(content), head, at))
    piece = _plain(content)
    piece.setdefault("idPrm", head["access_point"] or "-")
    piece["etapeMetier"] = piece.get("mesuresCorrigees")
    return [one for flux, part in _parts(piece) for one in _read(flux, part, head, at, notes)]


def _plain(element: etree._Element) -> dict[str, Any]:
    """An element as the JSON of the fluxes has it; a value that is nil or empty is missing."""
    found: dict[str, Any] = {}
    for child in element.iterchildren(etree.Element):
        name = etree.QName(child).localname
        name = _NAMES.get(name, "idPrm" if name == "pointId" else name)
        held: Any = _plain(child) if len(child) else (child.text or "").strip() or None
        if held is None:
            continue
        if name in _MANY:
            found.setdefault(name, []).append(held)
        else:
            found[name] = held
    return found


def _parts(piece: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parts of a response by the flux that brings such measures."""
    if "contexte" in piece:
        yield "R64", piece
    found: dict[str, list[Any]] = {}
    for quantity in piece.get("grandeur", ()):
        points = quantity.get("points")
        if not points:
            continue
        stepped = any("p" in point and not str(point["p"]).startswith(("P1D", "P1M")) for point in points)
        measured = str(quantity.get("grandeurPhysique"))
        flux = "R66" if measured.startswith(POWER) else "R63" if stepped else "R65"
        found.setdefault(flux, []).append(quantity)
    for flux, quantities in found.items():
        yield flux, {**piece, "grandeur": quantities}


def _read(
    flux: str, piece: dict[str, Any], head: dict[str, Any], at: datetime | None, notes: Notes
) -> list[KernelMessage]:
    stamps = [str(point.get("d")) for one in piece.get("grandeur", ()) for point in one.get("points", ())]
    if "periode" not in piece:
        told = [str(one.get("d")) for one in _values(piece)] or stamps or ["-"]
        piece = {**piece, "periode": {"dateDebut": min(told), "dateFin": max(told)}}
    reader = READERS[flux]
    messages = reader.digest(shaped(piece, reader.shape), Order(flux, head, at), notes)
    if flux != "R65" or not _monthly(piece, stamps):
        return messages
    return [_month(message) if isinstance(message, MeteredVolume) else message for message in messages]


def _values(piece: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for setting in piece.get("contexte", ()):
        for quantity in setting.get("grandeur", ()):
            yield from quantity.get("cadranTotalisateur", {}).get("valeur", ())
            for calendar in quantity.get("calendrier", ()):
                for item in calendar.get("classeTemporelle", ()):
                    yield from item.get("valeur", ())


def _monthly(piece: dict[str, Any], stamps: list[str]) -> bool:
    if "pas" in piece:
        return bool(piece["pas"] == "P1M")
    days = {instant(stamp, "grandeur/mesure/d").date() for stamp in stamps}
    return len(days) > 1 and all(day.day == 1 for day in days)


def _month(message: MeteredVolume) -> MeteredVolume:
    """An energy of a day as that of the month that the day begins."""
    assert message.start is not None  # every energy of a day has one
    first = message.start.date()
    end = date(first.year + first.month // 12, first.month % 12 + 1, 1)
    reference = (message.reading_reference or "").replace(f"..{first + timedelta(days=1)}", f"..{end}")
    return structs.replace(message, effective=start_of_day(end), reading_reference=reference)


def _invoiced(fields: Fields, head: dict[str, Any], at: datetime | None) -> Iterator[KernelMessage]:
    found: dict[tuple[str, str, str, str, str], list[Volume]] = {}
    calendars: dict[str, str | None] = {}
    for tag, grid in GRIDS:
        for serie in [one for held in fields.get(tag, ()) for one in held.get("serie", ())]:
            measured = _code(serie, "grandeurPhysique") or ENERGY
            calendars[f"{tag}/calendrier"] = _code(serie, "calendrier")
            for one in [item for held in serie.get("mesuresDatees", ()) for item in held.get("mesure", ())]:
                told = (_text(one, "dateDebut"), _text(one, "dateFin"))
                nature, status, cause = (_code(one, name) or "" for name in ("nature", "statut", "declencheur"))
                key = (*told, nature, status, cause)
                found.setdefault(key, []).append(
                    Volume(
                        grid=grid,
                        time_class=time_class(_code(serie, "classeTemporelle") or "BASE"),
                        quantity=decimal(_text(one, "valeur")),
                        unit=_text(serie, "unite"),
                        product=None if measured == ENERGY else PRODUCT.get(measured, measured),
                    )
                )
    for (begin, end, nature, status, cause), volumes in found.items():
        until = instant(end, "mesure/dateFin")
        yield MeteredVolume(
            **head,
            created=at or until,
            effective=until,
            start=instant(begin, "mesure/dateDebut"),
            nature=VOLUME_NATURE.get(nature, "unknown"),
            reading_reference=f"{head['access_point']}:{begin}..{end}",
            volumes=tuple(volumes),
            particulars=kept([*calendars.items(), ("nature", nature), ("statut", status), ("declencheur", cause)])[0],
        )


def _text(fields: Fields, tag: str) -> str:
    held = fields.get(tag) or [{}]
    return str(held[0].get(TEXT, ""))


def _code(fields: Fields, tag: str) -> str | None:
    """A code: the attribute, else the element ``code``, else the text."""
    held = (fields.get(tag) or [{}])[0]
    return held.get("@code") or _text(held, "code") or held.get(TEXT) or None
