"""R17: indexes and consumptions of points of C2 to C4 that a grid invoice is made of (Enedis SGE, flux R17, version
1.9.1; guide Enedis.SGE.GUI.0131).

One ``Corps_PRM`` is one CH message. Each ``Donnees_Releve`` is a *set*: it gives one meter reading of its indexes at
Date_Fin_Mesure, if it has any, and one metered volume of its consumptions from Date_Debut_Mesure on. Both dates mean
the start of the day. A consumption is not always the difference of two indexes, and there may be more of one than of
the other: nothing is computed from them.

* Type_Mesure: active energy is EA; EAAUTO and EAALLO are its shares in collective self-consumption; any other quantity
  names its product. Classes are those of the distributor, and of the supplier in ``.._Fournisseur``.
* An index may have two digits after the point; it is then carried in the finer unit that makes it whole.
* Statut_Mesure: a correction sends the whole original set again, cancelled (ANNULE), and then the right one
  (RECTIFICATIF). There is no identifier of a set. ``reading_reference`` is made of what both have in common, the dates
  and all values; a cancelled set finds its original by it. A RECTIFICATIF does not say what it replaces: it replaces
  the set of the same point and days.
* Valeur_Forfait, a lump sum in place of or beside the difference, and the indexes of the three phases are kept as
  particulars.

Assumed: a set without Nature_Index_Nouveaux has indexes of the nature of the measure.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from hashlib import blake2b
from typing import Any

import msgspec

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Notes
from adapters.common.reading import Fields, decimal, leaf, need, need_node, node, nodes
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.curves import PRODUCT
from adapters.fr_enedis.header import Context
from adapters.fr_enedis.outcome import digester
from adapters.fr_enedis.r15 import CORRECTION, FUNCTION, VOLUME_NATURE
from adapters.fr_enedis.registers import NATURE, REASONS, time_class
from adapters.fr_enedis.times import civil_day, start_of_day
from energycomm.kernel.messages import KernelMessage, MeteredVolume, MeterReading
from energycomm.kernel.parts import Register, Volume
from energycomm.kernel.vocabulary import Grid, ReadingNature

VERSIONS = ("1.9.1",)

ACTIVE = "EA"
PRODUCTS = {**PRODUCT, "PA": "maximum-power", "ERN": "reactive-negative"}
"""Type_Mesure -> product; PA is the power that was reached (puissance atteinte). Others are carried untranslated."""
SHARES = {"EAAUTO": "autoproduced", "EAALLO": "alloproduced"}
"""Type_Mesure of active energy in collective self-consumption -> share."""
QUANTITIES: tuple[tuple[str, Grid], ...] = (
    ("Donnees_Par_Type_Mesure", "distributor"),
    ("Donnees_Par_Type_Mesure_Fournisseur", "supplier"),
)
"""Element of a quantity -> whose time classes it follows."""
FINER = {"kWh": ("Wh", 1_000), "kVArh": ("VArh", 1_000), "h": ("s", 3_600), "kW": ("W", 1_000), "kVA": ("VA", 1_000)}
"""Unit -> a finer one, and how many of it are one."""
READ_AS: dict[str, ReadingNature] = {"REEL": "read", "ESTIME": "estimated", "REGULARISE": "read"}
"""Nature_Mesure -> nature of the new indexes: a regularisation is a real index after an estimated one."""
_PATH = "Corps_PRM/Donnees_Releve"


def refer(fields: Fields, context: Context) -> tuple[str, str | None]:
    """``PRM:part of the invoice:first day..last day``, with the status of a correction."""
    point, sets = leaf(fields, "Id_PRM"), nodes(fields, "Donnees_Releve")
    first = min((leaf(one, "Date_Debut_Mesure") or "-" for one in sets), default="-")
    last = max((leaf(one, "Date_Fin_Mesure") or "-" for one in sets), default="-")
    told = sorted({leaf(one, "Statut_Mesure") or "-" for one in sets} - {"INITIAL"})
    parts = (point or "-", leaf(fields, "Num_Sous_Lot") or "-", f"{first}..{last}", *told)
    return ":".join(parts), point


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """Kernel messages of one ``Corps_PRM``: see the module.

    Raises:
      Unreadable: a needed element is missing, or a date does not exist.
    """
    reference, _ = refer(fields, context)
    point = need(fields, "Id_PRM", "Corps_PRM")
    need_node(fields, "Donnees_Releve", "Corps_PRM")
    messages = [one for told in fields["Donnees_Releve"] for one in _set(told, reference, point, context)]
    if not messages:
        raise Unreadable(
            refusal("SYN_MISSING", path=f"{_PATH}/Donnees_Par_Type_Mesure", expected="an index or a quantity")
        )
    return Digested(reference, point, messages)


def _set(told: Fields, reference: str, point: str, context: Context) -> Iterator[KernelMessage]:
    function = FUNCTION[need(told, "Statut_Mesure", _PATH)]
    nature = need(told, "Nature_Mesure", _PATH)
    days = {}
    for name in ("Date_Debut_Mesure", "Date_Fin_Mesure"):
        need(told, name, _PATH)
        found = civil_day(told, name, _PATH)
        days[name] = None if found is None else start_of_day(found)
    begin, end = days.values()
    motive = told.get("Motif_Releve_Nouveau")
    identifier = _identifier(told)
    head: dict[str, Any] = {
        **context.head,
        "market_reason": motive,
        "reason": CORRECTION.get(function) or REASONS.get(motive or "", "periodic"),
        "reference": reference,
        "correlation": {"original": None, "replace": identifier.partition(":")[0], "cancel": identifier}[function],
        "function": function,
        "effective": end,
        "access_point": told.get("Id_PRM") or point,
    }
    registers = tuple(_registers(told))
    if registers:
        new, old = told.get("Nature_Index_Nouveaux"), told.get("Nature_Index_Precedents")
        yield MeterReading(
            **head,
            reading_reference=identifier,
            qualification="periodic",
            nature=NATURE[new] if new is not None else READ_AS[nature],
            previous_date=begin,
            previous_nature=None if old is None else NATURE[old],
            correction_reason=told.get("Motif_Rectif"),
            registers=registers,
        )
    volumes = tuple(_volumes(told))
    if volumes:
        yield MeteredVolume(
            **head,
            start=begin,
            nature=VOLUME_NATURE[nature],
            reading_reference=identifier,
            correction_reason=told.get("Motif_Rectif"),
            volumes=volumes,
        )


def _identifier(told: Fields) -> str:
    """What a set and its cancellation have in common: the dates, and every value by type and class."""
    dates = (told["Date_Debut_Mesure"], told["Date_Fin_Mesure"])
    values = sorted(
        msgspec.json.encode(one, order="deterministic") for tag, _ in QUANTITIES for one in nodes(told, tag)
    )
    state = blake2b(repr((dates, values)).encode(), digest_size=8)
    return f"{dates[0]}..{dates[1]}:{state.hexdigest()}"


def _product(kind: str) -> str | None:
    return None if kind == ACTIVE or kind in SHARES else PRODUCTS.get(kind, kind)


def _registers(told: Fields) -> Iterator[Register]:
    for tag, grid in QUANTITIES:
        for quantity in nodes(told, tag):
            kind, unit = (
                need(quantity, "Type_Mesure", f"{_PATH}/{tag}"),
                need(quantity, "Unite_Mesure", f"{_PATH}/{tag}"),
            )
            for item in nodes(quantity, "Index_Par_Classe_Temporelle"):
                index = node(item, "Index")
                if "Index_Nouveau" not in index:
                    continue
                values = [decimal(index[name]) for name in ("Index_Nouveau", "Index_Precedent") if name in index]
                (value, *before), whole_unit = _whole(values, unit)
                yield Register(
                    grid=grid,
                    time_class=time_class(item["Classe_Temporelle"]),
                    value=value,
                    unit=whole_unit,
                    previous_value=before[0] if before else None,
                    product=_product(kind),
                )


def _whole(values: list[Decimal], unit: str) -> tuple[list[int], str]:
    """Indexes as whole numbers, and the unit in which they are.

    Raises:
      Unreadable: one is not whole, in a unit that has no finer one (SYN_VALUE).
    """
    if all(value == value.to_integral_value() for value in values):
        return [int(value) for value in values], unit
    if unit not in FINER:
        path, value = f"{_PATH}/Donnees_Par_Type_Mesure/Index_Par_Classe_Temporelle/Index", str(values[0])
        raise Unreadable(refusal("SYN_VALUE", path=path, value=value, expected=f"a whole number of {unit}"))
    name, factor = FINER[unit]
    return [int(value * factor) for value in values], name


def _volumes(told: Fields) -> Iterator[Volume]:
    for tag, grid in QUANTITIES:
        for quantity in nodes(told, tag):
            kind, unit = (
                need(quantity, "Type_Mesure", f"{_PATH}/{tag}"),
                need(quantity, "Unite_Mesure", f"{_PATH}/{tag}"),
            )
            for item in nodes(quantity, "Conso_Par_Classe_Temporelle"):
                yield Volume(
                    grid=grid,
                    time_class=time_class(item["Classe_Temporelle"]),
                    quantity=decimal(item["Quantite_Mesure"]),
                    unit=unit,
                    purpose=SHARES.get(kind),
                    product=_product(kind),
                )


DIGESTER = digester(digest, refer, VERSIONS[-1])
