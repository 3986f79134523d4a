"""The outgoing Kernel messages: what a supplier asks of, or tells, the market."""

from typing import Annotated, Literal

from energycomm.kernel.declaration import field
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import Address, AnswerReason, Attachment, OrderedPoint, Part, Register
from energycomm.kernel.vocabulary import (
    Amount,
    ChargeType,
    CivilDay,
    Code,
    CustomerCategory,
    Direction,
    Identifier,
    Months,
    Name,
    PointType,
    ReadingNature,
    SettlementVersion,
    Text,
)


class Request(KernelMessage, frozen=True, kw_only=True):
    """The fields of every outgoing message."""

    requested_date: Annotated[
        CivilDay | None,
        field(
            "Civil day from which the request shall take effect.", "Jour à partir duquel la demande doit prendre effet."
        ),
    ] = None
    requester_login: Annotated[
        Text | None,
        field(
            "Account at the market in whose name the request is made.",
            "Compte chez le marché au nom duquel la demande est faite.",
        ),
    ] = None
    contract: Annotated[
        Code | None, field("Our contract with the grid operator.", "Notre contrat avec le gestionnaire de réseau.")
    ] = None
    attachments: Annotated[
        tuple[Attachment, ...], field("Files that belong to it.", "Fichiers joints.", item="attachment", longest=50)
    ] = ()


class CustomerRequest(Request, frozen=True, kw_only=True):
    """A request that names the customer who shall be supplied."""

    category: Annotated[
        CustomerCategory | None, field("Residential or professional.", "Catégorie : résidentiel ou professionnel.")
    ] = None
    surname: Annotated[
        Name | None, field("Family name of the customer.", "Nom de famille du client.", personal="name")
    ] = None
    first_name: Annotated[Name | None, field("First name or initials.", "Prénom ou initiales.", personal="name")] = None
    name_prefix: Annotated[
        Name | None,
        field("Words before the family name: van, de.", "Particule du nom de famille : van, de.", personal="trait"),
    ] = None
    birth_date: Annotated[CivilDay | None, field("Day of birth.", "Date de naissance.", personal="trait")] = None
    address: Annotated[
        Address | None, field("Where the customer gets mail.", "Adresse postale du client.", personal="contact")
    ] = None
    phone: Annotated[Text | None, field("Telephone number.", "Numéro de téléphone.", personal="contact")] = None
    email: Annotated[Text | None, field("E-mail address.", "Adresse électronique.", personal="contact")] = None
    company: Annotated[Text | None, field("Company name.", "Raison sociale.", personal="name")] = None
    company_id: Annotated[
        Code | None,
        field("Register number of the company.", "Numéro d'immatriculation de l'entreprise.", personal="contact"),
    ] = None
    birth_key: Annotated[
        Code | None,
        field(
            "Day and month of birth where the market uses it as a key.",
            "Jour et mois de naissance, si le marché s'en sert de clé.",
            personal="trait",
        ),
    ] = None
    iban_key: Annotated[
        Code | None,
        field(
            "Last digits of the bank account where the market uses them.",
            "Derniers chiffres du compte bancaire, si le marché s'en sert.",
            personal="trait",
        ),
    ] = None
    balance_responsible: Annotated[
        Code | None, field("Balance responsible party from the start on.", "Responsable d'équilibre à partir du début.")
    ] = None
    supplier: Annotated[Identifier | None, field("The supplier that asks.", "Fournisseur demandeur.")] = None
    tariff: Annotated[Code | None, field("Requested tariff formula.", "Formule tarifaire demandée.")] = None
    subscribed_power: Annotated[
        Amount | None, field("Requested subscribed power, in kVA.", "Puissance souscrite demandée, en kVA.", unit="kVA")
    ] = None
    consent: Annotated[bool | None, field("The customer agreed.", "Accord du client.")] = None


class SupplierSwitchRequest(CustomerRequest, frozen=True, kw_only=True, tag=True):
    """Supply the same customer at the access point from a day on, in place of another supplier."""


class MoveInRequest(CustomerRequest, frozen=True, kw_only=True, tag=True):
    """Supply a customer who moves in."""


class CombinedSwitchRequest(CustomerRequest, frozen=True, kw_only=True, tag=True):
    """Customer and supplier change together."""


class MoveOutRequest(Request, frozen=True, kw_only=True, tag=True):
    """The customer moves out: end our supply."""

    forwarding_address: Annotated[
        Address | None, field("Where the customer moves to.", "Nouvelle adresse du client.", personal="contact")
    ] = None


class EndOfSupplyRequest(Request, frozen=True, kw_only=True, tag=True):
    """End our supply for another cause than a move."""

    cause: Annotated[Code | None, field("The market's code of the cause.", "Code du motif, selon le marché.")] = None


class EndOfSupplyNotice(CustomerRequest, frozen=True, kw_only=True, tag=True):
    """Announce that our supply will end, with the customer who has to find another supplier. It ends nothing yet."""


class CancellationRequest(Request, frozen=True, kw_only=True, tag=True):
    """Withdraw a request that was sent (`correlation`)."""

    cancelled_kind: Annotated[
        Code | None, field("Kind of the request that is withdrawn.", "Genre de la demande retirée.")
    ] = None


class ContractChangeRequest(Request, frozen=True, kw_only=True, tag=True):
    """Change the terms of the grid contract."""

    tariff: Annotated[Code | None, field("Requested tariff formula.", "Formule tarifaire demandée.")] = None
    subscribed_power: Annotated[
        Amount | None, field("Requested subscribed power, in kVA.", "Puissance souscrite demandée, en kVA.", unit="kVA")
    ] = None
    calendar: Annotated[
        Code | None, field("Requested supplier's calendar of time classes.", "Calendrier fournisseur demandé.")
    ] = None


class MasterDataRequest(Request, frozen=True, kw_only=True, tag=True):
    """Ask for technical and contractual data of an access point, or of several."""

    points: Annotated[
        tuple[OrderedPoint, ...],
        field("Further access points of the order.", "Autres points de la commande.", item="point", longest=10_000),
    ] = ()
    consent: Annotated[bool | None, field("The customer agreed.", "Accord du client.")] = None


class MasterDataUpdate(CustomerRequest, frozen=True, kw_only=True, tag=True):
    """Tell the market changed master data of our customer or point."""

    switchable: Annotated[
        bool | None, field("The point may change supplier.", "Le point peut changer de fournisseur.")
    ] = None


class ContractDataRequest(Request, frozen=True, kw_only=True, tag=True):
    """Ask for end and notice of the running contract."""

    surname: Annotated[
        Name | None, field("Family name of the customer.", "Nom de famille du client.", personal="name")
    ] = None
    birth_key: Annotated[
        Code | None, field("Day and month of birth.", "Jour et mois de naissance.", personal="trait")
    ] = None
    iban_key: Annotated[
        Code | None,
        field("Last digits of the bank account.", "Derniers chiffres du compte bancaire.", personal="trait"),
    ] = None
    company_id: Annotated[
        Code | None,
        field("Register number of the company.", "Numéro d'immatriculation de l'entreprise.", personal="contact"),
    ] = None


class SearchRequest(Request, frozen=True, kw_only=True, tag=True):
    """Find an access point by address, meter or customer."""

    address: Annotated[Address | None, field("Address of the installation.", "Adresse de l'installation.")] = None
    meter: Annotated[Code | None, field("Serial number of the meter.", "Numéro de série du compteur.")] = None
    customer: Annotated[Text | None, field("Name of the customer.", "Nom du client.", personal="name")] = None
    category: Annotated[
        CustomerCategory | None, field("Residential or professional.", "Catégorie : résidentiel ou professionnel.")
    ] = None
    widened: Annotated[
        bool | None, field("Search outside our own perimeter too.", "Recherche aussi hors de notre périmètre.")
    ] = None


MeasureKind = Literal["index", "energy", "curve", "maximum-power", "invoicing"]


class OrderedMeasure(Part, frozen=True, kw_only=True):
    """One more kind of measures that an order is about."""

    measure: Annotated[MeasureKind, field("The measures.", "Mesures.")]


class ConsentedRequest(Request, frozen=True, kw_only=True):
    """A request that says whether the customer agreed, and who did."""

    consent: Annotated[bool | None, field("The customer agreed.", "Accord du client.")] = None
    customer: Annotated[
        Text | None, field("Name of the customer who agreed.", "Nom du client qui a donné son accord.", personal="name")
    ] = None
    title: Annotated[
        Code | None, field("Form of address of that customer.", "Civilité de ce client.", personal="trait")
    ] = None
    first_name: Annotated[
        Name | None, field("First name of that customer.", "Prénom de ce client.", personal="name")
    ] = None
    company: Annotated[
        Text | None, field("Company that agreed.", "Entreprise qui a donné son accord.", personal="name")
    ] = None


class MeteredDataRequest(ConsentedRequest, frozen=True, kw_only=True, tag=True):
    """Ask for measures of a period, of an access point or of several."""

    points: Annotated[
        tuple[OrderedPoint, ...],
        field("Further access points of the order.", "Autres points de la commande.", item="point", longest=10_000),
    ] = ()
    measure: Annotated[MeasureKind, field("What to deliver.", "Mesures à fournir.")]
    product: Annotated[
        Code | None,
        field(
            "Which curve: active, reactive-inductive, reactive-capacitive, voltage, all.",
            "Courbe voulue : active, reactive-inductive, reactive-capacitive, voltage, all.",
        ),
    ] = None
    start: Annotated[CivilDay | None, field("First day.", "Premier jour.")] = None
    end: Annotated[
        CivilDay | None, field("Last day, as the market counts it.", "Dernier jour, tel que le marché le compte.")
    ] = None
    resolution: Annotated[Code | None, field("Day, interval or month.", "Jour, intervalle ou mois.")] = None
    direction: Annotated[
        Direction | None, field("Taken from the grid or fed into it.", "Sens : soutirage ou injection.")
    ] = None
    corrected: Annotated[
        bool | None, field("Corrected curve instead of the raw one.", "Courbe corrigée au lieu de la courbe brute.")
    ] = None
    external_reference: Annotated[
        Text | None, field("Our own reference of the query.", "Notre référence de la requête.")
    ] = None


class MeteringServiceOrder(ConsentedRequest, frozen=True, kw_only=True, tag=True):
    """Order the collection or recurring publication of measures."""

    measure: Annotated[MeasureKind, field("What to collect or publish.", "Mesures à collecter ou à publier.")]
    further: Annotated[
        tuple[OrderedMeasure, ...],
        field("Further measures of the order.", "Autres mesures de la commande.", item="measure_of_order", longest=10),
    ] = ()
    recurrent: Annotated[
        bool | None,
        field(
            "Publish again and again, or collect only; by default as the rhythm says.",
            "Publication récurrente, ou collecte seule ; par défaut selon le rythme.",
        ),
    ] = None
    start: Annotated[CivilDay | None, field("First day of the service.", "Premier jour du service.")] = None
    end: Annotated[CivilDay | None, field("Last day of the service.", "Dernier jour du service.")] = None
    step: Annotated[
        Code | None, field("Step of the measures, ISO 8601 duration.", "Pas des mesures, durée ISO 8601.")
    ] = None
    rhythm: Annotated[
        Code | None, field("Rhythm of the publication, ISO 8601 duration.", "Rythme de la publication, durée ISO 8601.")
    ] = None
    direction: Annotated[
        Direction | None, field("Taken from the grid or fed into it.", "Sens : soutirage ou injection.")
    ] = None
    corrected: Annotated[
        bool | None, field("Corrected curve instead of the raw one.", "Courbe corrigée au lieu de la courbe brute.")
    ] = None


class MeteringServiceStop(Request, frozen=True, kw_only=True, tag=True):
    """Stop a service of collection or publication."""

    service: Annotated[Code, field("The market's reference of the service.", "Référence du service chez le marché.")]


class DataAccessOrder(ConsentedRequest, frozen=True, kw_only=True, tag=True):
    """Open, renew, change or end access to a customer's data, with consent."""

    action: Annotated[
        Literal["open", "renew", "change", "end"], field("What to do with the access.", "Opération sur l'accès.")
    ]
    start: Annotated[CivilDay | None, field("First day of the access.", "Premier jour de l'accès.")] = None
    end: Annotated[CivilDay | None, field("Last day of the access.", "Dernier jour de l'accès.")] = None
    measure: Annotated[MeasureKind | None, field("What may be read.", "Mesures accessibles.")] = None
    further: Annotated[
        tuple[OrderedMeasure, ...],
        field("Further measures of the order.", "Autres mesures de la commande.", item="measure_of_order", longest=10),
    ] = ()
    service: Annotated[
        Code | None, field("The market's reference of the access.", "Référence de l'accès chez le marché.")
    ] = None
    direction: Annotated[
        Direction | None, field("Taken from the grid or fed into it.", "Sens : soutirage ou injection.")
    ] = None
    rhythm: Annotated[
        Code | None, field("Rhythm of the publication, ISO 8601 duration.", "Rythme de la publication, durée ISO 8601.")
    ] = None
    corrected: Annotated[
        bool | None, field("Corrected curve instead of the raw one.", "Courbe corrigée au lieu de la courbe brute.")
    ] = None
    withdraw: Annotated[
        bool | None,
        field(
            "A change takes the publication away instead of adding it.",
            "La modification retire la publication au lieu de l'ajouter.",
        ),
    ] = None


class MeterReadingSubmission(Request, frozen=True, kw_only=True, tag=True):
    """Tell the market a reading."""

    nature: Annotated[
        ReadingNature, field("How the indexes were obtained.", "Nature des index : façon dont ils ont été obtenus.")
    ]
    meter: Annotated[Code | None, field("Serial number of the meter.", "Numéro de série du compteur.")] = None
    dispute: Annotated[
        bool | None, field("The reading disputes an established one.", "Le relevé conteste un relevé établi.")
    ] = None
    registers: Annotated[tuple[Register, ...], field("The indexes.", "Index.", item="register", longest=1_000)] = ()


class AggregatedDataRequest(Request, frozen=True, kw_only=True, tag=True):
    """Ask for sums over the points of a grid area."""

    start: Annotated[CivilDay, field("First day.", "Premier jour.")]
    end: Annotated[CivilDay, field("Last day, inclusive.", "Dernier jour inclus.")]
    grid_area: Annotated[Code | None, field("Grid area; absent for all.", "Zone de réseau ; absente pour toutes.")] = (
        None
    )
    point_type: Annotated[PointType | None, field("What the points measure.", "Type des points.")] = None
    settlement: Annotated[Code | None, field("Settlement method or group.", "Mode ou groupe de règlement.")] = None
    version: Annotated[SettlementVersion | None, field("Run of the settlement.", "Version du règlement.")] = None
    supplier: Annotated[Identifier | None, field("Supplier of the points.", "Fournisseur des points.")] = None
    balance_responsible: Annotated[Code | None, field("Balance responsible party.", "Responsable d'équilibre.")] = None


class SettlementRequest(Request, frozen=True, kw_only=True, tag=True):
    """Ask for the amounts of wholesale services."""

    start: Annotated[CivilDay, field("First day.", "Premier jour.")]
    end: Annotated[CivilDay, field("Last day, inclusive.", "Dernier jour inclus.")]
    resolution_months: Annotated[
        Months | None, field("Amounts by months of the calendar.", "Montants par mois calendaires.", unit="months")
    ] = None
    grid_area: Annotated[Code | None, field("Grid area; absent for all.", "Zone de réseau ; absente pour toutes.")] = (
        None
    )
    charge_type: Annotated[ChargeType | None, field("Kind of charge.", "Type de composante tarifaire.")] = None
    charge_owner: Annotated[Identifier | None, field("Party that charges.", "Acteur qui facture.")] = None
    charge_code: Annotated[Code | None, field("The owner's code of the charge.", "Code de la composante.")] = None
    version: Annotated[SettlementVersion | None, field("Run of the settlement.", "Version du règlement.")] = None
    supplier: Annotated[Identifier | None, field("Supplier that is settled.", "Fournisseur réglé.")] = None


class ReceivedRequestAnswer(Request, frozen=True, kw_only=True, tag=True):
    """Confirm or refuse what another party asked of us (`correlation`)."""

    accepted: Annotated[bool, field("We do what was asked.", "Demande acceptée.")]
    requester: Annotated[Identifier | None, field("Party that asked.", "Acteur demandeur.")] = None
    reasons: Annotated[
        tuple[AnswerReason, ...], field("Why it is refused.", "Motifs du refus.", item="reason", longest=50)
    ] = ()


OUTGOING: tuple[type[KernelMessage], ...] = (
    SupplierSwitchRequest,
    MoveInRequest,
    CombinedSwitchRequest,
    MoveOutRequest,
    EndOfSupplyRequest,
    EndOfSupplyNotice,
    CancellationRequest,
    ContractChangeRequest,
    MasterDataRequest,
    MasterDataUpdate,
    ContractDataRequest,
    SearchRequest,
    MeteredDataRequest,
    MeteringServiceOrder,
    MeteringServiceStop,
    DataAccessOrder,
    MeterReadingSubmission,
    AggregatedDataRequest,
    SettlementRequest,
    ReceivedRequestAnswer,
)
"""Every outgoing kind."""
