"""The words that Enedis writes for what happens in a simulated life, and the parties of the simulation."""

from __future__ import annotations

from typing import NamedTuple

from energycomm.kernel.vocabulary import Reason
from energycomm.simulation.lives import Life, Situation, Terms
from energycomm.simulation.meters import Band, Meter

OPERATOR = "17XSIMULATEUR01G"
SUPPLIER = "17XSIMULATEUR02E"
BALANCE_RESPONSIBLE = "17XSIMULATEUR03C"
CONTRACT = "90000001"
GRD = "0328"
SUBSCRIPTION = "500000001"
"""Invented parties: EIC codes of the French office that belong to nobody, a contract, a subscription to R151."""

NATURE: dict[Reason, str] = {
    "first-connection": "PMES",
    "move-in": "MES",
    "contract-change": "MCT",
    "master-data-change": "MDPRM",
    "customer-change": "MDACT",
    "meter-change": "CMAT",
    "move-out": "RES",
}
"""Reason of a step -> Nature_Evenement; a switch of supplier is CFNE when it enters and CFNS when it leaves."""


class TimeClass(NamedTuple):
    """A register of a grid: identifier, label, and place on the meter."""

    code: str
    label: str
    rank: int


TIME_CLASS: dict[Band, TimeClass] = {
    "all": TimeClass("BASE", "Base", 1),
    "peak": TimeClass("HP", "Heures Pleines", 2),
    "off-peak": TimeClass("HC", "Heures Creuses", 1),
    "off-peak-low": TimeClass("HCB", "Heures Creuses Saison Basse", 1),
    "peak-low": TimeClass("HPB", "Heures Pleines Saison Basse", 2),
    "off-peak-high": TimeClass("HCH", "Heures Creuses Saison Haute", 3),
    "peak-high": TimeClass("HPH", "Heures Pleines Saison Haute", 4),
}


class Calendar(NamedTuple):
    """A calendar of time classes."""

    code: str
    label: str


ONE_CLASS = Calendar("DI000001", "Sans différenciation temporelle")
TWO_CLASSES = Calendar("DI000002", "Avec différenciation temporelle")
FOUR_CLASSES = Calendar("DI000003", "Avec différenciation temporelle et saisonnière")
SUPPLIER_ONE = Calendar("FC010001", "OFFRE SIMULEE Base")
SUPPLIER_TWO = Calendar("FC010002", "OFFRE SIMULEE Heures pleines heures creuses")


def distributor_calendar(terms: Terms) -> Calendar:
    """The grid operator's calendar of the terms."""
    if terms.seasonal:
        return FOUR_CLASSES
    return TWO_CLASSES if terms.peak else ONE_CLASS


def supplier_calendar(terms: Terms) -> Calendar:
    """Our calendar of the terms."""
    return SUPPLIER_TWO if terms.peak else SUPPLIER_ONE


def tariff_of(terms: Terms) -> str:
    """Formule_Tarifaire_Acheminement: short or medium use, with or without seasons."""
    if terms.seasonal:
        return "BTINFMU4" if terms.peak else "BTINFCU4"
    return "BTINFMUDT" if terms.peak else "BTINFCUST"


def prm_of(number: int) -> str:
    """Identifier of the access point with a running number: 14 digits, scattered and unique."""
    return f"99{(number * 7_919 + 104_729) % 10**9:09d}{number % 1000:03d}"


def contract_reference(number: int, supply: int) -> str:
    """Ref_Situation_Contractuelle of a span of supply: 9 digits."""
    return f"{200_000_000 + number * 40 + supply}"


def contract_of(life: Life, situation: Situation) -> str:
    """The reference of the contract that a situation is of."""
    return contract_reference(life.number, situation.supply.number)


def meter_type(meter: Meter) -> str:
    """Type of a meter: electronic and read from afar, or not."""
    return "CCB" if meter.smart else "CEB"


def reading_id(number: int, running: int) -> str:
    """Id_Releve: 16 digits, unique over access point and reading."""
    return f"7{number:09d}{running:06d}"
