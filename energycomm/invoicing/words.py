"""The words of disputes."""

from __future__ import annotations

import re

from energycomm.texts import wordings
from energycomm.texts.catalogues import translate_plural

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

_NUMBER = re.compile(r"([0-9]+) (day|charge)s?")


def value_in(text: str, language: str) -> str:
    """A value of a finding in a language: 1 day, 2 days; 1 jour, 2 jours.

    Args:
      text: as `InvoiceFinding` has it.
      language: en, fr or nl.
    """
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    number, forms = int(found[1]), _COUNTED[found[2]]
    return translate_plural(*forms, number, language).format(n=number)


_COUNTED = {"day": wordings("{n} day", "{n} days"), "charge": wordings("{n} charge", "{n} charges")}
