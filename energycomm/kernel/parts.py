"""The parts that Kernel messages are made of: registers, addresses, charge lines, positions."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, TypeAlias

from msgspec import Struct

from energycomm.kernel.declaration import field
from energycomm.kernel.vocabulary import (
    Amount,
    CivilDay,
    Code,
    Direction,
    Energy,
    Grid,
    Identifier,
    Index,
    Instant,
    Number,
    Ordinal,
    PowerNature,
    Quality,
    RelationNature,
    Sha256,
    ShortCode,
    Text,
    Unit,
    WholeNumber,
)


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A piece of a Kernel message that means nothing by itself."""


ParticularValue: TypeAlias = str | Decimal | int | date | datetime | bool
"""What a particular may hold."""

MOST_PARTICULARS = 1_000
"""Particulars that a message can hold: more than any one message of a market that is known says."""
PARTICULAR_TYPES: tuple[str, ...] = ("text", "number", "day", "instant", "truth")
"""The types of particulars; a particular holds its value in the field of this name."""


class Particular(Part, frozen=True, kw_only=True):
    """A value under the market's own name, of one of five types."""

    name: Annotated[
        str,
        field(
            "The market's name, or path, of the element that holds the value.",
            "Nom, ou chemin, de l'élément du marché qui porte la valeur.",
            longest=120,
            pattern=r"^[^=\s]+$",
        ),
    ]
    text: Annotated[Text | None, field("The value, where it is a text.", "Valeur, si c'est un texte.")] = None
    number: Annotated[Number | None, field("The value, where it is a number.", "Valeur, si c'est un nombre.")] = None
    day: Annotated[CivilDay | None, field("The value, where it is a civil day.", "Valeur, si c'est un jour.")] = None
    instant: Annotated[Instant | None, field("The value, where it is an instant.", "Valeur, si c'est un instant.")] = (
        None
    )
    truth: Annotated[bool | None, field("The value, where it is yes or no.", "Valeur, si c'est oui ou non.")] = None

    def __post_init__(self) -> None:
        held = (self.text, self.number, self.day, self.instant, self.truth)  # one by one: there are many particulars
        if held.count(None) != len(held) - 1:
            raise ValueError(f"particular {self.name} holds one of {', '.join(PARTICULAR_TYPES)}")

    @property
    def type(self) -> str:
        """Which of the five types it is of."""
        return next(name for name in PARTICULAR_TYPES if getattr(self, name) is not None)

    @property
    def value(self) -> ParticularValue:
        """What it holds."""
        found: ParticularValue = getattr(self, self.type)
        return found


def particulars_of(values: Mapping[str, ParticularValue | None]) -> tuple[Particular, ...]:
    """The particulars of a message, by name.

    Args:
      values: name -> value; what is None is left out.
    """
    return tuple(
        (_remembered if type(value) is str or type(value) is bool else _particular)(name, value)
        for name, value in sorted(values.items())
        if value is not None
    )


_TYPE_OF = {str: "text", Decimal: "number", int: "number", date: "day", datetime: "instant", bool: "truth"}


def _particular(name: str, value: ParticularValue) -> Particular:
    return Particular(name=name, **{_TYPE_OF.get(type(value), "text"): Decimal(value) if type(value) is int else value})  # type: ignore


_remembered = lru_cache(maxsize=4096, typed=True)(_particular)
"""The points of a file share most of them. Equal numbers and instants may be written otherwise: they are made anew."""


class Register(Part, frozen=True, kw_only=True):
    """One register of a meter at one instant: an index, never a consumption."""

    grid: Annotated[Grid, field("Whose time classes the register follows.", "Grille de classes temporelles du cadran.")]
    time_class: Annotated[
        Code,
        field(
            "Time class of the register: BASE, HP, HC, HPH, L, N, T, ...",
            "Classe temporelle du cadran : BASE, HP, HC, HPH, L, N, T, ...",
        ),
    ]
    value: Annotated[Index, field("The index, in `unit`.", "Index, en `unit`.", unit="unit")]
    unit: Annotated[
        Unit,
        field(
            "Unit of the index as the market gave it: Wh, kWh, m3.",
            "Unité de l'index donnée par le marché : Wh, kWh, m3.",
        ),
    ]
    direction: Annotated[
        Direction, field("Energy taken from the grid or fed into it.", "Sens de l'énergie : soutirage ou injection.")
    ] = "consumption"
    rank: Annotated[
        WholeNumber | None,
        field("Position of the register on the meter, from 1.", "Rang du cadran sur le compteur, à partir de 1."),
    ] = None
    digits: Annotated[WholeNumber | None, field("Number of digits of the register.", "Nombre de roues du cadran.")] = (
        None
    )
    rollover: Annotated[
        bool | None,
        field("The index passed through zero since the previous one.", "Passage par zéro depuis l'index précédent."),
    ] = None
    coefficient: Annotated[
        Number | None, field("Factor from index to energy.", "Coefficient de l'index à l'énergie.")
    ] = None
    previous_value: Annotated[
        Index | None,
        field(
            "The index before, as the market repeats it.", "Index précédent, tel que le marché le répète.", unit="unit"
        ),
    ] = None
    doubtful: Annotated[
        bool | None, field("The market's own plausibility mark.", "Indice de plausibilité propre au marché.")
    ] = None
    meter: Annotated[
        Code | None,
        field(
            "Serial number of the meter that holds the register.", "Numéro de série du compteur qui porte le cadran."
        ),
    ] = None
    product: Annotated[
        Code | None,
        field(
            "What is counted where it is no active energy: reactive-inductive, reactive-capacitive, ...",
            "Grandeur comptée, si ce n'est pas l'énergie active : reactive-inductive, reactive-capacitive, ...",
        ),
    ] = None


class Volume(Part, frozen=True, kw_only=True):
    """The energy of one time class over a period."""

    grid: Annotated[Grid, field("Whose time classes the volume follows.", "Grille de classes temporelles du volume.")]
    time_class: Annotated[Code, field("Time class of the volume.", "Classe temporelle du volume.")]
    quantity: Annotated[
        Number,
        field(
            "The energy, in `unit`; negative in a regularisation.",
            "Énergie, en `unit` ; négative dans une régularisation.",
            unit="unit",
        ),
    ]
    unit: Annotated[Unit, field("Unit of the quantity: Wh, kWh, m3.", "Unité de la quantité : Wh, kWh, m3.")]
    direction: Annotated[
        Direction, field("Energy taken from the grid or fed into it.", "Sens de l'énergie : soutirage ou injection.")
    ] = "consumption"
    purpose: Annotated[
        Code | None,
        field(
            "Share in collective self-consumption: autoproduced, alloproduced, autoconsumed, surplus.",
            "Part d'autoconsommation collective : autoproduite, alloproduite, autoconsommée, surplus.",
        ),
    ] = None
    product: Annotated[
        Code | None,
        field(
            "What was measured where it is no active energy: reactive-inductive, maximum-power, ...",
            "Grandeur mesurée, si ce n'est pas l'énergie active : reactive-inductive, maximum-power, ...",
        ),
    ] = None


class Position(Part, frozen=True, kw_only=True):
    """One value of an interval series."""

    position: Annotated[Ordinal, field("Number of the interval, from 1.", "Numéro de l'intervalle, à partir de 1.")]
    value: Annotated[
        Number | None,
        field(
            "Value of the interval, in the unit of the series.", "Valeur de l'intervalle, dans l'unité de la courbe."
        ),
    ] = None
    quality: Annotated[
        Quality | None, field("How the value was obtained.", "Qualité de la valeur : façon dont elle a été obtenue.")
    ] = None
    doubtful: Annotated[
        bool | None, field("The market's own plausibility mark.", "Indice de plausibilité propre au marché.")
    ] = None
    mark: Annotated[
        Code | None,
        field(
            "The market's own codes of the value, where they say more than its quality.",
            "Codes propres au marché pour la valeur, s'ils disent plus que sa qualité.",
        ),
    ] = None
    at: Annotated[
        Instant | None,
        field(
            "Instant of the value within its interval: that of a highest power.",
            "Instant de la valeur dans son intervalle : celui d'une puissance maximale.",
        ),
    ] = None


class ChargeLine(Part, frozen=True, kw_only=True):
    """One line of a grid charge."""

    code: Annotated[
        Code,
        field(
            "The grid operator's code of what is charged.",
            "Code de la prestation facturée, selon le gestionnaire de réseau.",
        ),
    ]
    label: Annotated[Text | None, field("The grid operator's words for it.", "Libellé du gestionnaire de réseau.")] = (
        None
    )
    nature: Annotated[Code | None, field("Group of the line.", "Groupe de la ligne.")] = None
    start: Annotated[CivilDay | None, field("First day charged.", "Premier jour facturé.")] = None
    end: Annotated[CivilDay | None, field("Last day charged, inclusive.", "Dernier jour facturé, inclus.")] = None
    quantity: Annotated[
        Number | None, field("Quantity charged, in `unit`.", "Quantité facturée, en `unit`.", unit="unit")
    ] = None
    unit: Annotated[Code | None, field("Unit of the quantity.", "Unité de la quantité.")] = None
    price: Annotated[Number | None, field("Price of one unit, without tax.", "Prix unitaire, hors taxes.")] = None
    amount: Annotated[
        Amount,
        field(
            "Amount of the line without tax; negative when credited.",
            "Montant de la ligne hors taxes ; négatif pour un avoir.",
        ),
    ]
    tax: Annotated[
        Code | None,
        field(
            "Tax rate in percent, or the market's word where no tax applies.",
            "Taux de taxe en pour cent, ou mot du marché si aucune taxe ne s'applique.",
        ),
    ] = None
    tax_date: Annotated[
        CivilDay | None, field("Day whose tax rate applies.", "Jour dont le taux de taxe s'applique.")
    ] = None
    subscribed_power: Annotated[
        Number | None,
        field("Subscribed power the line was computed with.", "Puissance souscrite du calcul de la ligne."),
    ] = None
    tariff: Annotated[
        Code | None, field("Tariff formula the line was computed with.", "Formule tarifaire du calcul de la ligne.")
    ] = None
    side: Annotated[
        Code | None, field("The market's code of debit or credit.", "Code de débit ou de crédit, selon le marché.")
    ] = None
    count: Annotated[
        WholeNumber | None,
        field("Lines that a sum stands for.", "Nombre de lignes que la somme regroupe."),
    ] = None
    billing_type: Annotated[
        Code | None,
        field("Billing type of the lines that a sum stands for.", "Type de facturation des lignes regroupées."),
    ] = None


class LateInterest(Part, frozen=True, kw_only=True):
    """Interest on an invoice that was paid late."""

    invoice: Annotated[Code, field("The invoice that was paid late.", "Facture payée en retard.")]
    invoice_date: Annotated[CivilDay | None, field("Its date.", "Date de cette facture.")] = None
    due: Annotated[CivilDay | None, field("Day it was to be paid.", "Échéance de cette facture.")] = None
    paid: Annotated[CivilDay | None, field("Day it was paid.", "Jour du paiement.")] = None
    until: Annotated[CivilDay | None, field("Day up to which interest runs.", "Jour du calcul des intérêts.")] = None
    base: Annotated[Amount | None, field("Amount that bears interest.", "Montant portant intérêt.")] = None
    days: Annotated[WholeNumber | None, field("Days of delay.", "Jours de retard.", unit="d")] = None
    rate: Annotated[Number | None, field("Yearly rate in percent.", "Taux annuel en pour cent.", unit="%")] = None
    amount: Annotated[Amount, field("The interest without tax.", "Montant des intérêts hors taxes.")]
    tax: Annotated[
        Code | None,
        field(
            "Tax rate in percent, or the market's word where no tax applies.",
            "Taux de taxe en pour cent, ou mot du marché si aucune taxe ne s'applique.",
        ),
    ] = None


class Power(Part, frozen=True, kw_only=True):
    """A power of one time class or period: what is subscribed, a limit, what was reached."""

    time_class: Annotated[
        Code, field("Time class or period: HPH, P1, ...", "Classe temporelle ou période : HPH, P1, ...")
    ]
    value: Annotated[Amount, field("The power, in `unit`.", "Puissance, dans `unit`.", unit="unit")]
    unit: Annotated[ShortCode, field("Unit of the power: kW, kVA.", "Unité de la puissance : kW, kVA.")]
    nature: Annotated[PowerNature, field("Kind of the power.", "Nature de la puissance.")] = "subscribed"


class Tax(Part, frozen=True, kw_only=True):
    """One tax of an invoice, by rate and base."""

    code: Annotated[Code | None, field("The market's code of the tax.", "Code de la taxe, selon le marché.")] = None
    label: Annotated[Text | None, field("The market's words for it.", "Libellé de la taxe.")] = None
    rate: Annotated[Number | None, field("Rate in percent.", "Taux en pour cent.", unit="%")] = None
    base: Annotated[Amount | None, field("Amount that is taxed.", "Assiette : montant taxé.")] = None
    amount: Annotated[Amount | None, field("The tax.", "Montant de la taxe.")] = None


class OrderedPoint(Part, frozen=True, kw_only=True):
    """One more access point that an order is about."""

    access_point: Annotated[Identifier, field("Identifier of the access point.", "Identifiant du point de livraison.")]


class AnswerReason(Part, frozen=True, kw_only=True):
    """One reason of an answer."""

    code: Annotated[Code, field("The market's code of the reason.", "Code du motif, selon le marché.")]
    text: Annotated[Text | None, field("The market's words.", "Texte du marché.")] = None


class Attachment(Part, frozen=True, kw_only=True):
    """A file that belongs to a message; its bytes are elsewhere."""

    name: Annotated[Text, field("Name of the file.", "Nom du fichier.")]
    media_type: Annotated[Code | None, field("Media type: application/pdf, ...", "Type : application/pdf, ...")] = None
    reference: Annotated[Text | None, field("Where the market keeps it.", "Référence du fichier chez le marché.")] = (
        None
    )
    size: Annotated[WholeNumber | None, field("Bytes.", "Taille en octets.")] = None
    digest: Annotated[Sha256 | None, field("SHA-256 of the bytes.", "Empreinte SHA-256.")] = None


class SettlementPosition(Part, frozen=True, kw_only=True):
    """One interval of a settlement: how much, at which price, for which amount."""

    position: Annotated[Ordinal, field("Number of the interval, from 1.", "Rang de l'intervalle, à partir de 1.")]
    quantity: Annotated[Number | None, field("Quantity that is settled.", "Quantité réglée.")] = None
    price: Annotated[Number | None, field("Price of one unit.", "Prix unitaire.")] = None
    amount: Annotated[Number | None, field("Amount of the interval.", "Montant de l'intervalle.")] = None
    quality: Annotated[Quality | None, field("How the quantity was obtained.", "Qualité de la quantité.")] = None


class Price(Part, frozen=True, kw_only=True):
    """The price of one interval of a price list."""

    position: Annotated[Ordinal, field("Number of the interval, from 1.", "Rang de l'intervalle, à partir de 1.")]
    price: Annotated[Number, field("Price of one unit.", "Prix unitaire.")]


class Party(Part, frozen=True, kw_only=True):
    """A party of an access point in one role."""

    role: Annotated[Code, field("Role of the party: supplier, grid-operator, ...", "Rôle de l'acteur.")]
    party: Annotated[Identifier, field("The party: EIC, GLN.", "Acteur : EIC, GLN.")]
    name: Annotated[Text | None, field("Its name.", "Nom de l'acteur.")] = None
    start: Annotated[CivilDay | None, field("First day in the role.", "Premier jour dans ce rôle.")] = None
    end: Annotated[CivilDay | None, field("Last day in the role, inclusive.", "Dernier jour dans ce rôle.")] = None


class Relation(Part, frozen=True, kw_only=True):
    """How another access point belongs to one."""

    access_point: Annotated[Identifier, field("The other access point.", "Autre point de livraison.")]
    nature: Annotated[RelationNature, field("Kind of the relation.", "Nature du lien.")]
    code: Annotated[Code | None, field("The market's code of the relation.", "Code du lien, selon le marché.")] = None
    start: Annotated[CivilDay | None, field("First day of the relation.", "Premier jour du lien.")] = None
    end: Annotated[CivilDay | None, field("Last day of the relation, inclusive.", "Dernier jour du lien.")] = None


class Address(Part, frozen=True, kw_only=True):
    """A postal address."""

    street: Annotated[Text | None, field("Street with number.", "Voie avec numéro.", personal="contact")] = None
    number: Annotated[
        Text | None,
        field(
            "House number where the market keeps it apart.",
            "Numéro dans la voie, si le marché le sépare.",
            personal="trait",
        ),
    ] = None
    addition: Annotated[
        Text | None,
        field("Building, floor, flat, place.", "Bâtiment, étage, appartement, lieu-dit.", personal="contact"),
    ] = None
    postal_code: Annotated[Text | None, field("Postal code.", "Code postal.", personal="trait")] = None
    municipality_code: Annotated[
        Text | None, field("Code of the municipality.", "Code de la commune.", personal="trait")
    ] = None
    city: Annotated[Text | None, field("Name of the municipality.", "Nom de la commune.", personal="trait")] = None
    country: Annotated[Text | None, field("Country.", "Pays.", personal="trait")] = None


class FoundPoint(Part, frozen=True, kw_only=True):
    """One access point of an answer to a search."""

    access_point: Annotated[Code, field("Identifier of the access point.", "Identifiant du point de livraison.")]
    city: Annotated[Text | None, field("Municipality.", "Commune.")] = None
    customer: Annotated[
        Text | None,
        field("Customer's name as the market shows it.", "Nom du client tel que le marché le montre.", personal="name"),
    ] = None
    meter: Annotated[Code | None, field("Serial number of the meter.", "Numéro de série du compteur.")] = None
    energy: Annotated[Energy | None, field("Energy carrier.", "Énergie.")] = None
    segment: Annotated[Code | None, field("Market segment of the point.", "Segment de marché du point.")] = None
    grid_operator: Annotated[Code | None, field("Grid operator of the point.", "Gestionnaire de réseau du point.")] = (
        None
    )
    address: Annotated[Address | None, field("Address of the installation.", "Adresse de l'installation.")] = None
    particulars: Annotated[
        tuple[Particular, ...],
        field(
            "Values of the market that no other field has a place for.",
            "Valeurs du marché qu'aucun autre champ ne peut porter.",
            item="particular",
            longest=MOST_PARTICULARS,
        ),
    ] = ()
