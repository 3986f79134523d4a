"""Curves: R50 (C5, half hours) and R4x (C1 to C4, R4Q daily, R4H weekly, R4M monthly), as interval series.

============  =====================================================  ==================================================
Flux          Written                                                Read as
============  =====================================================  ==================================================
R50           ``PDC``: H, V in W, IV; one ``PRM`` is one CH message  H is the END of the interval; one series for each
                                                                     Donnees_Releve (a day)
R4x           ``Donnees_Point_Mesure`` with attributes, in kW, kWr   Horodatage is the START of the interval; one series
              or V; one file (``Corps``) is one CH message           for each Donnees_Courbe
============  =====================================================  ==================================================

* The period that is announced (Date_Releve of R50, Horodatage_Debut and Horodatage_Fin of R4x) is that of the series:
  what is cut off at its head or tail is missing in it.
* A value that is missing (no V, no Valeur_Point) keeps its place and has the quality ``missing``.
* Times bear offsets, so a day of 23 or 25 hours has as many values as it has intervals.
* IV other than 0: the grid operator doubts the value. The Kernel has no field for it; the value is carried with a note.
* Grandeur_Metier is missing in some real R4x: consumption is assumed, and noted.

No schema of these fluxes is public: the structures are those that published readers expect.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from lxml import etree

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Notes
from adapters.common.reading import Fields, decimal, leaf, need, nodes, read
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.header import Context
from adapters.fr_enedis.labels import plain
from adapters.fr_enedis.outcome import daily, digester
from adapters.fr_enedis.times import civil_day, instant, instant_at, needed_instant, start_of_day
from energycomm.kernel.messages import MeasureSeries
from energycomm.kernel.parts import Position
from energycomm.kernel.vocabulary import Direction, Quality

R50_VERSIONS = ("1.1.0",)
R50_ENTERING = ("Pas_Publication",)
R4X_VERSIONS = ("1",)
"""The header of R4x declares no version: the only one known."""
R4X_ENTERING = ("Nature_De_Courbe_Demandee", "Frequence_Publication", "Reference_Demande")

PRODUCT = {
    "EA": "active",
    "PA": "active",
    "E": "voltage",
    "ER": "reactive",
    "ERC": "reactive-capacitive",
    "ERI": "reactive-inductive",
    "PRC": "reactive-capacitive",
    "PRI": "reactive-inductive",
    "PMA": "maximum-power",
}
"""Grandeur_Physique -> product of the series; others (TF, DD, DE, DQ) are carried untranslated."""

SENSE: dict[str | None, Direction] = {"CONS": "consumption", "PROD": "production"}
"""Grandeur_Metier -> direction."""

QUALITY: dict[str | None, Quality | None] = {
    "R": "as-read",
    "S": "as-read",
    "T": "as-read",
    "F": "as-read",
    "G": "as-read",
    "E": "estimated",
    "H": "calculated",
    "P": "calculated",
    "K": "calculated",
    "C": "revised",
    "D": "revised",
    None: None,
}
"""Statut_Point -> how the value was obtained. R read; S, T, F, G read in and around a power cut; E estimated; H, P
rebuilt; K calculated; C corrected; D put in by hand. What the letters beside R, E and C mean is unverified."""

RAW, CORRECTED = "power-raw", "power-corrected"
"""Streams of curves: as measured, and as corrected for settlement. R50 and R4x told them until R63B and R63A did."""


def stream_of(stage: str | None) -> str:
    """The stream of a curve by what the market calls its stage: BRUT or Brute, BEST or Corrigée; R50 names none."""
    return CORRECTED if plain(stage or "").startswith(("best", "corrig")) else RAW


_NONE = timedelta()
_LONGEST_STEP = 1440
_MOST = 120_000
"""Values of one series: a year of five-minute values and some more."""


class Value(NamedTuple):
    """One value of a curve, at the start of its interval."""

    at: datetime
    value: Decimal | None
    quality: Quality | None


class Span(NamedTuple):
    """The period that a curve is announced for; an end that is missed by a second is that of the interval."""

    start: datetime | None = None
    end: datetime | None = None


NOT_ANNOUNCED = Span()


def series(
    head: dict[str, Any],
    values: list[Value],
    minutes: int,
    path: str,
    announced: Span = NOT_ANNOUNCED,
    **fields: Any,
) -> MeasureSeries:
    """An interval series of values that may come in any order, with holes. It covers its values and the period that is
    announced, so that what is cut off at its head or tail is missing in it.

    Args:
      head: what every message of the member starts with.
      values: at least one.
      minutes: length of an interval.
      path: where the values stand, for refusals.
      announced: the period of the curve, where the market names one.
      fields: further fields of the message.

    Raises:
      Unreadable: a value does not lie on the step from the first one, comes twice, or there are too many (SYN_VALUE).
    """
    step = timedelta(minutes=minutes)
    start, end = min(value.at for value in values), max(value.at for value in values) + step
    if announced.start is not None and announced.start < start and (start - announced.start) % step == _NONE:
        start = max(announced.start, start - _MOST // 2 * step)
    if announced.end is not None and announced.end > end:
        end += min(-(-(announced.end - end) // step), _MOST // 2) * step
    positions: dict[int, Position] = {}
    for value in values:
        whole, rest = divmod(value.at - start, step)
        number = whole + 1
        if rest or number in positions or number > _MOST:
            expected = f"one value in each step of {minutes} minutes from {start.isoformat()}, {_MOST} at most"
            raise Unreadable(refusal("SYN_VALUE", path=path, value=value.at.isoformat(), expected=expected))
        positions[number] = Position(position=number, value=value.value, quality=value.quality)
    return MeasureSeries(
        **{**head, "effective": start},
        end=end,
        resolution=minutes,
        positions=tuple(positions[number] for number in sorted(positions)),
        **fields,
    )


def minutes_of(written: str | None, path: str) -> int:
    """The step of a curve in minutes.

    Raises:
      Unreadable: none is told, or none that a day could be cut into (SYN_VALUE).
    """
    step = int(written) if written is not None and written.isdecimal() and len(written) <= 4 else 0
    if not 1 <= step <= _LONGEST_STEP:
        raise Unreadable(refusal("SYN_VALUE", path=path, value=written, expected="minutes, 1 to 1440"))
    return step


# --- R50 ---


def digest_r50(fields: Fields, context: Context, notes: Notes) -> Digested:
    """One series per day, in the order of the days.

    Raises:
      Unreadable: no step in the header, no value, or a time that does not fit.
    """
    reference, _ = daily(fields, context)
    point = need(fields, "Id_PRM", "PRM")
    step = minutes_of(context.facts.get("Pas_Publication"), "En_Tete_Flux/Pas_Publication")
    head = {**context.head, "reason": "periodic", "reference": reference, "access_point": point}
    path = "PRM/Donnees_Releve/PDC"
    messages = []
    for releve in nodes(fields, "Donnees_Releve"):
        values = [_half_hour(item, step, path, notes) for item in nodes(releve, "PDC")]
        if values:
            asked = {**head, "request_reference": releve.get("Id_Affaire")}
            day = civil_day(releve, "Date_Releve", "PRM/Donnees_Releve")
            announced = NOT_ANNOUNCED if day is None else Span(start_of_day(day), start_of_day(day + timedelta(days=1)))
            told = {"unit": "W", "product": "active", "direction": "consumption", "stream": RAW}
            messages.append(series(asked, values, step, path, announced, **told))
    if not messages:
        raise Unreadable(refusal("SYN_MISSING", path=path, expected="a value"))
    messages.sort(key=lambda message: message.effective)
    return Digested(reference, point, tuple(messages))


def _half_hour(item: Fields, step: int, path: str, notes: Notes) -> Value:
    end = needed_instant(item, "H", path, notes)
    written, doubt = item.get("V"), item.get("IV")
    if doubt not in (None, "0"):
        notes.append(refusal("NOTE_VALUE_DOUBTFUL", path=f"{path}/IV", value=f"{doubt} at {end.isoformat()}"))
    value = None if written is None else Decimal(written)
    return Value(end - timedelta(minutes=step), value, "missing" if value is None else None)


R50 = digester(digest_r50, daily, R50_VERSIONS[-1])


# --- R4x ---


def refer_r4x(fields: Fields, context: Context) -> tuple[str, str | None]:
    """``PRM:first time..last time:nature of the curve``."""
    point = leaf(fields, "Identifiant_PRM")
    curves = nodes(fields, "Donnees_Courbe")
    first = min((leaf(curve, "Horodatage_Debut") or "-" for curve in curves), default="-")
    last = max((leaf(curve, "Horodatage_Fin") or "-" for curve in curves), default="-")
    nature = context.facts.get("Nature_De_Courbe_Demandee") or "-"
    return f"{point or '-'}:{first}..{last}:{nature}", point


def digest_r4x(fields: Fields, context: Context, notes: Notes) -> Digested:
    """One series per ``Donnees_Courbe`` that has values.

    Raises:
      Unreadable: a needed element is missing, no curve has values, or a time does not fit.
    """
    reference, _ = refer_r4x(fields, context)
    point = need(fields, "Identifiant_PRM", "Corps")
    path = "Corps/Donnees_Courbe"
    head = {
        **context.head,
        "market_reason": context.facts.get("Nature_De_Courbe_Demandee"),
        "reason": "periodic",
        "reference": reference,
        "access_point": point,
        "request_reference": context.facts.get("Reference_Demande"),
    }
    messages = []
    for curve in nodes(fields, "Donnees_Courbe"):
        points = nodes(curve, "Donnees_Point_Mesure")
        if not points:
            continue
        step = minutes_of(curve.get("Granularite"), f"{path}/Granularite")
        measured = need(curve, "Grandeur_Physique", path)
        values = [_point(item, f"{path}/Donnees_Point_Mesure", notes) for item in points]
        messages.append(
            series(
                head,
                values,
                step,
                f"{path}/Donnees_Point_Mesure/@Horodatage",
                Span(instant(curve, "Horodatage_Debut", path, notes), instant(curve, "Horodatage_Fin", path, notes)),
                unit=need(curve, "Unite_Mesure", path),
                product=PRODUCT.get(measured, measured),
                direction=direction(curve.get("Grandeur_Metier"), f"{path}/Grandeur_Metier", notes),
                stream=stream_of(context.facts.get("Nature_De_Courbe_Demandee")),
            )
        )
    if not messages:
        raise Unreadable(refusal("SYN_MISSING", path=f"{path}/Donnees_Point_Mesure", expected="a value"))
    messages.sort(key=lambda message: message.effective)
    return Digested(reference, point, tuple(messages))


def direction(written: str | None, path: str, notes: Notes) -> Direction:
    """Taken from the grid or fed into it; where nothing is told, taken from it is assumed and noted."""
    found = SENSE.get(written)
    if found is None:
        notes.append(refusal("NOTE_CODE_UNKNOWN", path=path, value=written, expected="CONS or PROD; CONS was assumed"))
    return found or "consumption"


def _point(item: Fields, path: str, notes: Notes) -> Value:
    written = item.get("@Horodatage")
    if written is None:
        raise Unreadable(refusal("SYN_MISSING", path=f"{path}/@Horodatage", expected="a date-time"))
    read_as = instant_at(written, f"{path}/@Horodatage")
    if read_as.naive:
        expected = read_as.at.isoformat()
        notes.append(refusal("NOTE_TIME_NAIVE", path=f"{path}/@Horodatage", value=written, expected=expected))
    value, status = item.get("@Valeur_Point"), item.get("@Statut_Point")
    if status not in QUALITY:
        notes.append(refusal("NOTE_CODE_UNKNOWN", path=f"{path}/@Statut_Point", value=status))
    if value is None:
        return Value(read_as.at, None, "missing")
    return Value(read_as.at, decimal(value), QUALITY.get(status))


def _read_r4x(element: etree._Element) -> Fields:
    """The content of a ``Corps``, with the attributes of its values."""
    fields = read(element)
    curves = nodes(fields, "Donnees_Courbe")
    for curve, fields_of_curve in zip(element.iterchildren("Donnees_Courbe"), curves, strict=False):
        fields_of_curve["Donnees_Point_Mesure"] = [
            {f"@{name!s}": text.strip() for name, text in point.attrib.items() if text.strip()}
            for point in curve.iterchildren("Donnees_Point_Mesure")
        ]
    return fields


R4X = digester(digest_r4x, refer_r4x, R4X_VERSIONS[-1], _read_r4x)
