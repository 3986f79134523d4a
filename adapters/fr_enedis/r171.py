"""R171: daily indexes and quantities of points of C2 to C4 (Enedis, flux R171, versions 1.0 to 1.2.0).

One ``serieMesuresDatees`` (one quantity of one time class of one point) is one CH message. A series of type INDEX gives
a meter reading of one register for each date; that of any other quantity than active energy (EA) names its quantity, so
that it is never taken for an index of active energy. Powers, and series of another type, give a series of one value for
each date, over the day before it.

* Times are naive and read as Paris time; the header's too.
* typeCalendrier: D the distributor's time classes, F the supplier's.
* The addressee of the header is the contract (GRD-F...), not an EIC.

Assumed: active energy is an index whatever its type says, as in every file that was described; a power (PMA, PA) never
is.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Notes
from adapters.common.reading import Fields, leaf, need, node, nodes
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.curves import PRODUCT, Value, direction, series
from adapters.fr_enedis.header import Context
from adapters.fr_enedis.outcome import digester
from adapters.fr_enedis.times import instant_at
from energycomm.kernel.messages import KernelMessage, MeterReading
from energycomm.kernel.parts import Register
from energycomm.kernel.vocabulary import Grid

VERSIONS = ("1.0", "1.2.0")
NAMESPACE = "http://www.enedis.fr/stm/R171"
GRID: dict[str | None, Grid] = {"D": "distributor", "F": "supplier"}
ACTIVE = "EA"
INDEX = "INDEX"
"""type of a series of indexes."""
POWERS = ("PMA", "PA")
"""Quantities that no register counts."""
_PATH = "serieMesuresDatees"
_DATE = f"{_PATH}/mesuresDateesListe/mesureDatee"
_DAY = 1440


def refer(fields: Fields, context: Context) -> tuple[str, str | None]:
    """``PRM:quantity:calendar:time class:first date..last date``."""
    point = leaf(fields, "prmId")
    names = ("grandeurMetier", "grandeurPhysique", "typeCalendrier", "codeClasseTemporelle")
    dates = [leaf(item, "dateFin") or "-" for item in nodes(node(fields, "mesuresDateesListe"), "mesureDatee")]
    span = f"{min(dates)}..{max(dates)}" if dates else "-"
    return ":".join([point or "-", *(leaf(fields, name) or "-" for name in names), span]), point


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """One message per date, in the order of the dates.

    Raises:
      Unreadable: a needed element is missing, there is no value, or a value or date is not of its type.
    """
    reference, _ = refer(fields, context)
    point = need(fields, "prmId", _PATH)
    head = {**context.head, "reason": "periodic", "reference": reference, "access_point": point}
    dated = [item for item in nodes(node(fields, "mesuresDateesListe"), "mesureDatee") if "valeur" in item]
    if not dated:
        raise Unreadable(refusal("SYN_MISSING", path=f"{_DATE}/valeur", expected="a value"))
    messages = [_message(item, fields, head, notes) for item in dated]
    messages.sort(key=lambda message: message.effective)
    return Digested(reference, point, tuple(messages))


def _message(item: Fields, fields: Fields, head: dict[str, Any], notes: Notes) -> KernelMessage:
    written, value = need(item, "dateFin", _DATE), need(item, "valeur", _DATE)
    at = instant_at(written, f"{_DATE}/dateFin").at
    quantity, unit = need(fields, "grandeurPhysique", _PATH), need(fields, "unite", _PATH)
    sense = direction(fields.get("grandeurMetier"), f"{_PATH}/grandeurMetier", notes)
    time_class = fields.get("codeClasseTemporelle")
    if quantity != ACTIVE and (fields.get("type") != INDEX or quantity in POWERS):
        one = [Value(at - timedelta(minutes=_DAY), Decimal(value), None)]
        product = PRODUCT.get(quantity, quantity)
        return series(head, one, _DAY, _DATE, unit=unit, product=product, direction=sense, register=time_class)
    grid = GRID.get(fields.get("typeCalendrier"))
    if grid is None:
        path = f"{_PATH}/typeCalendrier"
        raise Unreadable(refusal("SYN_CODE", path=path, value=fields.get("typeCalendrier"), expected="one of D, F"))
    if "." in value:
        raise Unreadable(refusal("SYN_VALUE", path=f"{_DATE}/valeur", value=value, expected="a whole number"))
    register = Register(
        grid=grid,
        time_class=need(fields, "codeClasseTemporelle", _PATH),
        value=int(value),
        unit=unit,
        direction=sense,
        product=None if quantity == ACTIVE else PRODUCT.get(quantity, quantity),
    )
    return MeterReading(**{**head, "effective": at}, qualification="periodic", nature="read", registers=(register,))


def version(fields: Fields, declared: str | None) -> str:
    """The declared one where it is known: the structure of all of them is the same."""
    return declared if declared in VERSIONS else VERSIONS[-1]


DIGESTER = digester(digest, refer, version)
