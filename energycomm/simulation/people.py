"""Invented customers, addresses and numbers: common given names, street names that every town has, no real person."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

FIRST = (
    "Alice",
    "Bruno",
    "Chloé",
    "Denis",
    "Élise",
    "Farid",
    "Gaëlle",
    "Hugo",
    "Inès",
    "Jules",
    "Karim",
    "Léa",
    "Marc",
    "Nora",
)
FAMILY = ("Exemple", "Modèle", "Essai", "Fictif", "Témoin", "Simulé", "Épreuve", "Maquette", "Spécimen", "Démo")
TRADES = ("Boulangerie", "Pharmacie", "Garage", "Librairie", "Fromagerie", "Menuiserie", "Auto-école", "Fleuriste")
STREETS = (
    "rue de la Gare",
    "rue des Écoles",
    "avenue du Stade",
    "place du Marché",
    "chemin du Moulin",
    "rue de l'Église",
)
TOWNS = (("Exempleville", "99001", "99101"), ("Modèle-sur-Essai", "99002", "99102"), ("Saint-Fictif", "99003", "99103"))


@dataclass(frozen=True, slots=True)
class Customer:
    """The holder of a contract: a person, or a company when `company` is set."""

    title: str
    first_name: str
    surname: str
    company: str | None
    company_id: str | None
    phone: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where an access point is."""

    number: int
    street: str
    town: str
    postal_code: str
    municipality: str


def _with_check_digit(digits: str) -> str:
    """A register number: digits, and the check digit of Luhn."""
    doubled = (int(digit) * (2 - n % 2) for n, digit in enumerate(reversed(digits)))
    return f"{digits}{-sum(d - 9 if d > 9 else d for d in doubled) % 10}"


def with_check_digit(digits: str) -> str:
    """A number of GS1: its digits and the check digit."""
    total = sum(int(digit) * (3 - n % 2 * 2) for n, digit in enumerate(reversed(digits)))
    return f"{digits}{-total % 10}"


def draw_customer(rng: Random) -> Customer:
    """A customer; one in eight is a company."""
    surname = rng.choice(FAMILY)
    company = company_id = None
    if rng.random() < 0.125:
        company = f"{rng.choice(TRADES)} {surname}"
        company_id = _with_check_digit(f"{rng.randrange(10**12, 10**13)}")
    return Customer(
        title=rng.choice(("M", "Mme")),
        first_name=rng.choice(FIRST),
        surname=surname.upper(),
        company=company,
        company_id=company_id,
        phone=f"06{rng.randrange(10**8):08d}",
    )


def draw_place(rng: Random) -> Place:
    """An address in one of the invented towns."""
    town, postal, municipality = rng.choice(TOWNS)
    return Place(rng.randint(1, 180), rng.choice(STREETS), town, postal, municipality)
