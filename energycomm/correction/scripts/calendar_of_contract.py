"""Gives a measure the calendar of time classes that its contract has.

A reading under an unknown calendar (INCONNU, a test calendar, one of another product) cannot be put into the classes of
the contract. The terms of the contract say which calendar holds; for terms themselves the accepted reading nearest in
time does. The dry run tells whether the time classes of the reading belong to it.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from energycomm.correction.cases import Case, Neighbour
from energycomm.correction.neighbours import accepted, nearest
from energycomm.correction.script import Modify, Script, Selection
from energycomm.kernel.messages import ContractTerms, MeteredVolume, MeterReading

SCRIPT = Script(
    title="The calendar of the contract for a rogue one",
    selection=Selection(
        by_rules=True,
        kinds=("MeterReading", "MeteredVolume", "ContractTerms"),
    ),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The message under the calendar that the history has."""
    message = case.message
    if not isinstance(message, MeterReading | MeteredVolume | ContractTerms):
        return None
    reference = message.contract_reference
    terms = [one for one in accepted(case, ContractTerms, upto=case.at) if one.calendar]
    mine = [one for one in terms if reference is None or one.contract_reference == reference]
    calendar = mine[-1].calendar if mine else nearest(case, _measured)
    if calendar is None or calendar == message.calendar:
        return None
    note = f"calendar {message.calendar} -> {calendar}, that of the contract"
    return Modify(structs.replace(message, calendar=calendar), note)


def _measured(one: Neighbour) -> str | None:
    return one.message.calendar if isinstance(one.message, MeterReading) else None
