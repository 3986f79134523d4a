"""Questions on what the store holds of access points, and on grid invoices, as operations: meters, readings, periods of
consumption and of supply, contracts. What arrived of them is asked of the messages, in `store_forms`."""

from __future__ import annotations

from assistant.operations.conditions import markets_of
from assistant.operations.family import Stored, Thing
from assistant.operations.slots import Read, Slots, yes_no

_KINDS: dict[str, Thing] = {
    "MeterReading": "reading", "MeteredVolume": "volume", "MeasureSeries": "series", "ContractTerms": "contract",
}  # fmt: skip
"""What is held of a kind of message."""
_ELSEWHERE = (
    "code", "message", "envelope", "type", "ebix_reason", "severity", "class", "gateway", "number_is", "each",
    "late", "unanswered", "checked", "direction", "only", "except", "amount", "list", "subject",
)  # fmt: skip
"""Slots of what nothing that is held is restricted by."""
_OTHER_INTENTS = ("why", "compare", "changed", "average", "top", "bottom", "distinct", "life", "default")
_PAST = frozenset((
    "were", "was", "been", "had", "previously", "formerly", "eu", "eus", "ete", "etait", "etaient", "avait", "avaient",
    "gezeten", "geweest", "gehad", "waren", "stonden", "stond", "hing", "hingen", "zat", "zaten", "hadden", "known",
    "know", "connu", "connus", "connaissons", "connait", "kennen", "bekend",
))  # fmt: skip
"""Words of what was and need not be so any more, or of all that is known."""


def held(slots: Slots) -> Read:
    """Meters, readings, periods of consumption and of supply, contracts of access points; grid invoices."""
    if any(slots.has(one) for one in _ELSEWHERE) or slots.has("intent", *_OTHER_INTENTS):
        return None
    if _besides(slots, "state"):
        return None
    if slots.has("thing") and slots.values("thing") != ["access_point"]:
        return None
    if slots.has("invoice_number") or (slots.has("kind", "GridInvoice") and slots.has("invoice_value", "due")):
        return _grid_invoices(slots)
    thing = None if of_values(slots) else _thing(slots)
    if thing is None or (slots.has("runs") and thing != "supply_period"):
        return None
    meter, point = slots.one("meter"), None
    if meter is None:
        point = slots.one("point")
    states = _states(slots, thing, point)
    how = _how(slots, thing)
    if how is None or states is None:
        return None
    slots.take("thing", "access_point")
    slots.take("group", "access_point")
    slots.take("in_place")
    slots.take("stored")
    slots.take("keeps")
    slots.take("topic")
    slots.take("times", "1")
    days = slots.days()
    if days.other is not None or (states == ("ended",) and days.since):
        return None  # the days are those on which they begin
    return (
        Stored(
            thing=thing, how=how, states=states, markets=markets_of(slots), access_point=point, meter=meter,  # type: ignore[arg-type]
            since=days.since, until=days.until,
        ),
    )  # fmt: skip


_VALUE = frozenset(("value", "values", "valeur", "valeurs", "waarde", "waarden", "kwh"))


def of_values(slots: Slots) -> bool:
    """Whether it asks what was measured at an access point, which only the console tells."""
    measured = slots.has("kind", "MeterReading", "MeteredVolume", "MeasureSeries") or slots.has("held", "volume")
    return slots.has("point") and measured and not _VALUE.isdisjoint(slots.asked.tokens)


def _besides(slots: Slots, slot: str, *values: str) -> bool:
    """Whether a question has a phrase that is no part of the name of what is held, or of what it is in: en cours."""
    names = slots.of_all(("held", "runs", "so_far", "invoice_value"))
    inside = {place for one in names for place in range(one.start, one.end)}
    return any(one.start not in inside for one in slots.of(slot, *values))


def _thing(slots: Slots) -> Thing | None:
    """What is asked of: of readings and the like only what is kept of a point, since their messages arrive, too."""
    if slots.has("meter"):
        others = [one for one in slots.values("held") if one != "meter"]
        if others or slots.has("kind"):
            return None
        slots.take("held", "meter")
        return "meter" if not _besides(slots, "intent", "count") else None
    arrived = slots.has("intent", "occurred") or (slots.has("fact") and not _dated(slots))
    named = slots.values("held")
    if "supply_period" in named:
        slots.take("held", "supply_period")
        slots.take("supplied")
        return "supply_period"
    if not slots.has("point") or arrived:
        return None
    if named == ["volume"]:
        slots.take("held")
        slots.take("kind", "MeteredVolume")
        return "volume"
    kinds = slots.values("kind")
    if kinds:
        kept = slots.has("stored") or slots.has("keeps") or slots.has("intent", "last", "since") or "contract" in named
        if len(kinds) > 1 or kinds[0] not in _KINDS or not kept:
            return None
        slots.take("kind")
        slots.take("held")
        return _KINDS[kinds[0]]
    if named in (["meter"], ["contract"]):
        return named[0]  # type: ignore[return-value]
    return None


def _dated(slots: Slots) -> bool:
    """Whether the only word for an arrival is that for a date: the date of the latest reading."""
    return all(slots.asked.word(one.start) == "date" for one in slots.of("fact"))


def _states(slots: Slots, thing: Thing, point: str | None) -> tuple[str, ...] | None:
    """Which of them: meters in place, supply periods that run or have ended; None where it is not understood."""
    so_far = slots.of("so_far")
    places = {place for one in so_far for place in range(one.start, one.end)}
    now = [one for one in slots.of("intent", "today") if one.start not in places]
    words = slots.of("held", "meter")
    slots.mark((*so_far, *now, *words))
    slots.take("held", thing)
    if thing == "meter":
        past = so_far or slots.take("ever") or not _PAST.isdisjoint(slots.asked.tokens)
        if past and now:
            return None
        slots.used |= {place for place, token in enumerate(slots.asked.tokens) if token in _PAST}
        whole = past or slots.has("stored") or slots.has("keeps") or point is None
        return ("present",) if now or not whole else ()
    if thing == "supply_period":
        told = slots.of("runs")
        slots.mark(told)
        states = [
            {"running": "ended", "ended": "running"}[one.value] if slots.denied(one, "not") else one.value
            for one in told
        ]
        return tuple(dict.fromkeys([*states, *(["running"] if now and not states else [])]))
    return () if not now else None


def _how(slots: Slots, thing: Thing) -> str | None:
    """Whether they are counted, listed, or the first or last of them is asked for."""
    slots.take("field", "sentence", "validity", "field")
    slots.take("fact")
    asks = yes_no(slots) or slots.has("intent", "exists")
    slots.take("intent", "list", "exists", "use")
    count, when = _besides(slots, "intent", "count"), slots.take("intent", "when")
    slots.take("intent", "count")
    began = slots.take("intent", "began")
    ended = slots.has("runs", "ended") and not slots.has("not")
    if ended and not began and (when or slots.has("intent", "since", "last")):
        return None  # when it ended
    if slots.take("intent", "last"):
        return "last"
    if slots.take("intent", "since") or ((when or began) and slots.has("point") and not slots.has("days")):
        return "first" if thing != "meter" else None
    if count:
        return "count" if thing != "contract" else None  # what holds of a contract is kept anew when it changes
    if when:
        return None
    return "exists" if asks and not slots.has("intent", "list") else "list"


def _grid_invoices(slots: Slots) -> Read:
    """What a grid invoice says, or which are due."""
    number = slots.one("invoice_number")
    asked = slots.values("invoice_value")
    if slots.has("point") or slots.has("held") or len(asked) > 1 or slots.has("intent", "last", "since"):
        return None
    if _besides(slots, "intent", "occurred"):
        return None  # the messages of it arrived
    slots.take("invoice_value")
    slots.take("due")
    slots.take("kind", "GridInvoice")
    slots.take("field", "sentence", "validity")
    if number is not None:
        if not asked or slots.has("days") or yes_no(slots):
            return None
        slots.take("intent", "list", "count", "when")
        slots.take("fact")
        return (Stored(thing="grid_invoice", how="list", invoice=number, value=asked[0]),)  # type: ignore[arg-type]
    days = slots.days()
    if days.since is None and days.until is None:
        return None
    asks = yes_no(slots) or slots.has("intent", "exists")
    count, listed = slots.take("intent", "count"), slots.take("intent", "list")
    slots.take("intent", "exists", "when")
    slots.take("fact")
    how = "count" if count else "exists" if asks and not listed else "list"
    return (
        Stored(
            thing="grid_invoice", how=how, markets=markets_of(slots), day_of="due",  # type: ignore[arg-type]
            since=days.since, until=days.until,
        ),
    )  # fmt: skip
