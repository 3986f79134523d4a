"""The words of disputes, in two languages."""

from __future__ import annotations

import re

LANGUAGES = ("en", "fr")

CHECKS: dict[str, str] = {
    "count": "the invoice announces another number of charges than there are",
    "net": "the total without tax is not the sum of the charges",
    "gross": "the total with tax is not the total without tax plus the tax",
    "tax-sum": "the tax of the invoice is not that of its lines",
    "recapitulation": "a sum of the recapitulation is not that of its lines",
    "amount": "the amount of a line is not its quantity times its price",
    "price": "the price is not that of the list of the days charged",
    "quantity": "the quantity is not that of the days charged",
    "tariff": "the tariff is not that of the contract",
    "power": "the power is not that of the contract",
    "supply": "days are charged on which we did not supply",
    "consumption": "the energy is not that between the readings",
    "tax": "the tax rate was not in force on the days charged",
    "twice": "the same days or the same energy are charged again",
}
"""Check -> what it found."""

FRENCH: dict[str, str] = {
    "the invoice announces another number of charges than there are": (
        "la facture annonce un autre nombre de valorisations qu'il n'y en a"
    ),
    "the total without tax is not the sum of the charges": "le total hors taxes n'est pas la somme des valorisations",
    "the total with tax is not the total without tax plus the tax": (
        "le total toutes taxes comprises n'est pas le total hors taxes plus la TVA"
    ),
    "the amount of a line is not its quantity times its price": (
        "le montant d'une ligne n'est pas sa quantité multipliée par son prix"
    ),
    "the tax of the invoice is not that of its lines": "la TVA de la facture n'est pas celle de ses lignes",
    "a sum of the recapitulation is not that of its lines": (
        "une somme du récapitulatif n'est pas celle de ses lignes"
    ),
    "the price is not that of the list of the days charged": (
        "le prix n'est pas celui de la grille des jours facturés"
    ),
    "the quantity is not that of the days charged": "la quantité n'est pas celle des jours facturés",
    "the tariff is not that of the contract": "la formule tarifaire n'est pas celle du contrat",
    "the power is not that of the contract": "la puissance n'est pas celle du contrat",
    "days are charged on which we did not supply": "des jours sont facturés où nous ne fournissions pas",
    "the energy is not that between the readings": "l'énergie n'est pas celle qui sépare les relevés",
    "the tax rate was not in force on the days charged": "le taux de TVA n'était pas en vigueur aux jours facturés",
    "the same days or the same energy are charged again": "les mêmes jours ou la même énergie sont facturés de nouveau",
}
"""Words of a finding -> French ones."""

COLUMNS: dict[str, str] = {
    "invoice": "facture",
    "check": "contrôle",
    "access point": "point",
    "charge": "valorisation",
    "line": "ligne",
    "first day": "premier jour",
    "last day": "dernier jour",
    "charged": "facturé",
    "expected": "attendu",
    "euros": "euros",
    "why": "motif",
    "label": "libellé",
    "source": "source",
    "invoice date": "date de la facture",
    "currency": "devise",
}
"""Columns of the disputes -> French ones."""

_COUNTED = {
    "day": {"en": ("day", "days"), "fr": ("jour", "jours")},
    "charge": {"en": ("charge", "charges"), "fr": ("valorisation", "valorisations")},
}
_NUMBER = re.compile(r"([0-9]+) (day|charge)s?")


def value_in(text: str, language: str) -> str:
    """A value of a finding in a language: 1 day, 2 days; 1 jour, 2 jours.

    Args:
      text: as `InvoiceFinding` has it.
      language: en or fr.
    """
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    one, many = _COUNTED[found[2]][language]
    number = int(found[1])
    return f"{number} {one if number == 1 or (language == 'fr' and not number) else many}"
