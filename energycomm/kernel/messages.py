"""The incoming Kernel messages, and the head that all Kernel messages share.

The family is closed: `KINDS` in `energycomm.kernel.family` lists every kind, incoming and outgoing. Messages are
immutable. Optional fields that the market did not send are ``None``; nothing is defaulted that a rule could mistake
for a value the market gave.
"""

from typing import Annotated, ClassVar

from msgspec import Struct

from energycomm.kernel.declaration import Kept, field
from energycomm.kernel.parts import (
    MOST_PARTICULARS,
    Address,
    AnswerReason,
    Attachment,
    ChargeLine,
    FoundPoint,
    LateInterest,
    Particular,
    Party,
    Position,
    Power,
    Price,
    Register,
    Relation,
    SettlementPosition,
    Tax,
    Volume,
)
from energycomm.kernel.vocabulary import (
    Amount,
    ChargeType,
    CivilDay,
    Code,
    ConnectionStatus,
    ContractStatus,
    Currency,
    CustomerCategory,
    Direction,
    Energy,
    Function,
    Identifier,
    Instant,
    InvoicePart,
    MarketType,
    MeterAction,
    Months,
    Name,
    Number,
    Ordinal,
    PointType,
    Qualification,
    ReadingNature,
    Reason,
    RequestState,
    Role,
    SettlementVersion,
    ShortCode,
    Text,
    Unit,
    VolumeNature,
    WholeNumber,
)


class KernelMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", gc=False):
    """The fields of every Kernel message."""

    kept: ClassVar[Kept | None] = None
    """Where accepted messages of the kind are kept."""

    market: Annotated[
        str,
        field(
            "Market the message belongs to: FR, NL, BE.",
            "Marché auquel appartient le message : FR, NL, BE.",
            longest=2,
            pattern=r"^[A-Z]{2}$",
        ),
    ]
    energy: Annotated[Energy, field("Energy carrier.", "Énergie.")] = "electricity"
    market_type: Annotated[
        Code,
        field(
            "The market's own message type: C15, R151, Loss, ...", "Type de message du marché : C15, R151, Loss, ..."
        ),
    ]
    market_reason: Annotated[
        Code | None,
        field(
            "The market's own reason or event code, untranslated.", "Code de motif ou d'événement du marché, tel quel."
        ),
    ] = None
    reason: Annotated[
        Reason | None, field("Business reason in the Kernel's words.", "Motif métier, dans les mots du Kernel.")
    ] = None
    reference: Annotated[
        Text,
        field(
            "The market's reference of the transaction, as natural as it has one.",
            "Référence de la transaction chez le marché, la plus naturelle qu'il ait.",
        ),
    ]
    correlation: Annotated[
        Text | None,
        field(
            "Reference of the message, request or reading that this one answers or corrects.",
            "Référence du message, de la demande ou du relevé auquel celui-ci répond ou qu'il corrige.",
        ),
    ] = None
    function: Annotated[
        Function,
        field(
            "Whether the message is new, replaces or cancels another.",
            "Fonction du message : nouveau, remplacement ou annulation.",
        ),
    ] = "original"
    created: Annotated[
        Instant, field("When the market wrote the envelope.", "Date d'écriture de l'enveloppe par le marché.")
    ]
    effective: Annotated[
        Instant,
        field(
            "Business time: the instant from which the content holds.",
            "Date d'effet : instant à partir duquel le contenu est valable.",
        ),
    ]
    access_point: Annotated[
        Identifier | None,
        field(
            "Access point: PRM, EAN-GSRN, ...; absent where none is concerned.",
            "Point de livraison : PRM, EAN-GSRN, ... ; absent si aucun n'est concerné.",
        ),
    ] = None
    contract_reference: Annotated[
        Code | None,
        field(
            "Reference of the contract span on the access point (Ref_Situation_Contractuelle).",
            "Référence de la situation contractuelle du point (Ref_Situation_Contractuelle).",
        ),
    ] = None
    request_reference: Annotated[
        Code | None,
        field("Reference of the request that caused the message.", "Référence de la demande à l'origine du message."),
    ] = None
    sender: Annotated[
        Identifier | None, field("Party that sent the envelope: EIC, GLN.", "Émetteur de l'enveloppe : EIC, GLN.")
    ] = None
    receiver: Annotated[
        Identifier | None,
        field("Party the envelope is addressed to: EIC, GLN.", "Destinataire de l'enveloppe : EIC, GLN."),
    ] = None
    sender_role: Annotated[Role | None, field("Role of the sender.", "Rôle de l'émetteur.")] = None
    receiver_role: Annotated[Role | None, field("Role of the receiver.", "Rôle du destinataire.")] = None
    grid_operator: Annotated[
        Identifier | None, field("Grid operator of the access point.", "Gestionnaire de réseau du point.")
    ] = None
    schema_version: Annotated[
        MarketType | None, field("Version the market's header declares.", "Version déclarée par l'en-tête du marché.")
    ] = None
    particulars: Annotated[
        tuple[Particular, ...],
        field(
            "Values of the market that no other field has a place for.",
            "Valeurs du marché qu'aucun autre champ ne peut porter.",
            item="particular",
            longest=MOST_PARTICULARS,
        ),
    ] = ()


class StartOfSupply(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Our supply of the access point begins: it enters our perimeter (gain)."""

    supplier: Annotated[
        Identifier | None, field("Supplier from the effective instant on.", "Fournisseur à partir de la date d'effet.")
    ] = None
    balance_responsible: Annotated[Code | None, field("Balance responsible party.", "Responsable d'équilibre.")] = None
    contract_start: Annotated[
        CivilDay | None,
        field(
            "First day of the contract span as the market states it.",
            "Premier jour de la situation contractuelle selon le marché.",
        ),
    ] = None


class EndOfSupply(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Our supply of the access point ends: it leaves our perimeter (loss). The effective instant is the first without
    us."""

    contract_end: Annotated[
        Instant | None, field("End of the contract as the market states it.", "Fin du contrat selon le marché.")
    ] = None
    contract_status: Annotated[
        ContractStatus | None, field("Contract status that came with the end.", "État du contrat reçu avec la fin.")
    ] = None
    new_supplier: Annotated[
        Code | None,
        field("The next supplier, if the market names it.", "Fournisseur suivant, si le marché le dit."),
    ] = None


class ContractTerms(KernelMessage, frozen=True, kw_only=True, tag=True):
    """The terms of the grid contract from the effective instant on."""

    kept: ClassVar[Kept | None] = Kept("contract", "contrat", "contracts", head={"reference": "contract_reference"})

    contract_status: Annotated[
        ContractStatus | None, field("Status of the contract.", "État du contrat.", kept="status")
    ] = None
    contract_start: Annotated[
        CivilDay | None, field("First day of the contract span.", "Premier jour de la situation contractuelle.")
    ] = None
    sequence: Annotated[
        WholeNumber | None,
        field(
            "Number of this version of the terms within the span.",
            "Numéro de cette version des conditions dans la situation contractuelle.",
            kept="sequence",
            known_as="contract_sequence",
        ),
    ] = None
    sequence_start: Annotated[
        CivilDay | None,
        field("First day of this version of the terms.", "Premier jour de cette version des conditions."),
    ] = None
    tariff: Annotated[
        Code | None,
        field("Tariff formula of the grid.", "Formule tarifaire d'acheminement.", kept="tariff", known_as="tariff"),
    ] = None
    subscribed_power: Annotated[
        Amount | None,
        field(
            "Subscribed power, in `power_unit`.",
            "Puissance souscrite, en `power_unit`.",
            unit="power_unit",
            kept="subscribed_power",
            known_as="subscribed_power",
        ),
    ] = None
    power_unit: Annotated[
        ShortCode | None,
        field(
            "Unit of the subscribed power.",
            "Unité de la puissance souscrite.",
            kept="power_unit",
            known_as="power_unit",
        ),
    ] = None
    calendar: Annotated[
        Code | None,
        field(
            "Distributor's calendar of time classes.",
            "Calendrier distributeur des classes temporelles.",
            kept="calendar",
            known_as="calendar",
        ),
    ] = None
    supplier_calendar: Annotated[
        Code | None, field("Supplier's calendar of time classes.", "Calendrier fournisseur des classes temporelles.")
    ] = None
    off_peak: Annotated[Text | None, field("Off-peak hours in words.", "Heures creuses, en toutes lettres.")] = None
    contract_kind: Annotated[
        Code | None,
        field("The market's kind of contract (GRD-F, CU, ...).", "Genre de contrat du marché (GRD-F, CU, ...)."),
    ] = None
    powers: Annotated[
        tuple[Power, ...],
        field(
            "Powers and limits by time class or period.",
            "Puissances et limites par classe temporelle ou période.",
            kept="powers",
            item="power",
            longest=100,
        ),
    ] = ()


class AccessPointData(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Technical and administrative data of the access point."""

    kept: ClassVar[Kept | None] = Kept("point_data", "données du point", "point-data", whole=True)

    segment: Annotated[
        Identifier | None,
        field(
            "Market segment of the point: C1 to C5, KVB, GVB.",
            "Segment de marché du point : C1 à C5, KVB, GVB.",
            kept="segment",
            known_as="segment",
        ),
    ] = None
    contract_status: Annotated[
        ContractStatus | None, field("Contract status that came along.", "État du contrat reçu en même temps.")
    ] = None
    connection_status: Annotated[
        ConnectionStatus | None,
        field(
            "Whether the point is fed.",
            "État de l'alimentation du point.",
            kept="connection_status",
            known_as="connection_status",
        ),
    ] = None
    connection_since: Annotated[
        CivilDay | None, field("First day of that connection status.", "Premier jour de cet état d'alimentation.")
    ] = None
    phases: Annotated[WholeNumber | None, field("Number of phases, 1 or 3.", "Nombre de phases, 1 ou 3.")] = None
    voltage: Annotated[
        Code | None,
        field(
            "Delivery voltage or domain, the market's word.",
            "Tension de livraison ou domaine de tension, selon le marché.",
        ),
    ] = None
    connection_power: Annotated[
        Number | None, field("Power of the connection in kVA.", "Puissance de raccordement en kVA.", unit="kVA")
    ] = None
    service_level: Annotated[
        ShortCode | None,
        field(
            "Level of smart-meter services that is open: 0, 1, 2.",
            "Niveau d'ouverture aux services du compteur communicant : 0, 1, 2.",
            kept="service_level",
            known_as="service_level",
        ),
    ] = None
    remote_readable: Annotated[bool | None, field("The meter can be read from afar.", "Compteur télérelevable.")] = None
    reading_day: Annotated[
        WholeNumber | None, field("Day of the month of the periodic reading.", "Jour du mois du relevé périodique.")
    ] = None
    reading_period: Annotated[
        WholeNumber | None,
        field("Months between two periodic readings.", "Mois entre deux relevés périodiques.", kept="reading_period"),
    ] = None
    self_producer: Annotated[
        bool | None, field("The customer produces on site.", "Autoproducteur : le client produit sur place.")
    ] = None
    self_consumption: Annotated[
        Code | None,
        field("Collective self-consumption: 0 none, 1 or 2.", "Autoconsommation collective : 0 aucune, 1 ou 2."),
    ] = None
    direction: Annotated[Direction | None, field("Direction of the point.", "Sens du point.")] = None
    profile: Annotated[Code | None, field("Load profile.", "Profil de charge.")] = None
    metering_method: Annotated[
        Code | None, field("Metering method, the market's word.", "Mode de comptage, selon le marché.")
    ] = None
    allocation_method: Annotated[
        Code | None, field("Allocation method, the market's word.", "Mode d'affectation, selon le marché.")
    ] = None
    capacity_code: Annotated[Code | None, field("Code of the capacity tariff.", "Code du tarif de capacité.")] = None
    invoice_month: Annotated[
        Code | None,
        field(
            "Month of the yearly invoice as the market wrote it.",
            "Mois de la facture annuelle, tel que le marché l'écrit.",
        ),
    ] = None
    switchable: Annotated[
        bool | None, field("The point may change supplier.", "Le point peut changer de fournisseur.")
    ] = None
    told_ahead: Annotated[
        bool | None,
        field(
            "Told to whom the point comes, maybe ahead of the supply: the data hold before it begins.",
            "Annoncé à qui reçoit le point, peut-être avant la fourniture : les données valent avant son début.",
        ),
    ] = None
    grid_area: Annotated[Code | None, field("Grid area.", "Zone de réseau.")] = None
    annual_peak: Annotated[
        Number | None,
        field(
            "Standard annual consumption in peak hours, kWh or m3.",
            "Consommation annuelle type en heures pleines, kWh ou m3.",
        ),
    ] = None
    annual_off_peak: Annotated[
        Number | None,
        field(
            "Standard annual consumption off peak, kWh or m3.",
            "Consommation annuelle type en heures creuses, kWh ou m3.",
        ),
    ] = None
    supplier: Annotated[
        Identifier | None,
        field("Supplier of the point as the market states it.", "Fournisseur du point selon le marché."),
    ] = None
    balance_responsible: Annotated[Code | None, field("Balance responsible party.", "Responsable d'équilibre.")] = None
    metering_responsible: Annotated[Code | None, field("Metering responsible party.", "Responsable de comptage.")] = (
        None
    )
    address: Annotated[Address | None, field("Address of the installation.", "Adresse de l'installation.")] = None


class CustomerData(KernelMessage, frozen=True, kw_only=True, tag=True):
    """The customer behind the access point."""

    kept: ClassVar[Kept | None] = Kept("customer", "client", "customers", whole=True)

    category: Annotated[
        CustomerCategory | None,
        field("Residential or professional.", "Catégorie : résidentiel ou professionnel.", kept="category"),
    ] = None
    title: Annotated[Code | None, field("Form of address.", "Civilité.", personal="trait")] = None
    surname: Annotated[Name | None, field("Family name.", "Nom de famille.", personal="name")] = None
    first_name: Annotated[Name | None, field("First name or initials.", "Prénom ou initiales.", personal="name")] = None
    name_prefix: Annotated[
        Name | None,
        field("Words before the family name: van, de.", "Particule du nom de famille : van, de.", personal="trait"),
    ] = None
    company: Annotated[Text | None, field("Company name.", "Raison sociale.", personal="name")] = None
    company_id: Annotated[
        Code | None,
        field("Register number of the company.", "Numéro d'immatriculation de l'entreprise.", personal="contact"),
    ] = None
    activity: Annotated[
        Code | None, field("Activity code of the company.", "Code d'activité de l'entreprise.", personal="trait")
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
            "Last digits of the bank account where the market uses them as a key.",
            "Derniers chiffres du compte bancaire, si le marché s'en sert de clé.",
            personal="trait",
        ),
    ] = None
    main_residence: Annotated[
        bool | None,
        field(
            "The point is the customer's main residence.",
            "Le point est la résidence principale du client.",
            personal="trait",
        ),
    ] = None
    phone: Annotated[Text | None, field("Telephone number.", "Numéro de téléphone.", personal="contact")] = None
    email: Annotated[Text | None, field("E-mail address.", "Adresse électronique.", personal="contact")] = None
    external_reference: Annotated[
        Text | None,
        field(
            "Reference the supplier gave the customer.",
            "Référence donnée au client par le fournisseur.",
            personal="contact",
        ),
    ] = None
    address: Annotated[Address | None, field("Postal address.", "Adresse postale.", personal="contact")] = None


class MeterData(KernelMessage, frozen=True, kw_only=True, tag=True):
    """One meter of the access point."""

    kept: ClassVar[Kept | None] = Kept("meter", "compteur", "meters")

    action: Annotated[MeterAction, field("What happened to the meter.", "Opération sur le compteur.", kept="action")]
    meter: Annotated[Code | None, field("Serial number.", "Numéro de série.", kept="serial", known_as="meter")] = None
    meter_type: Annotated[
        Code | None, field("The market's type of meter.", "Type de compteur du marché.", kept="type")
    ] = None
    manufacturer: Annotated[Text | None, field("Manufacturer.", "Fabricant.")] = None
    model: Annotated[Text | None, field("Model.", "Modèle.")] = None
    rating: Annotated[Code | None, field("Current rating.", "Calibre.")] = None
    registers: Annotated[WholeNumber | None, field("Number of registers.", "Nombre de cadrans.")] = None
    digits: Annotated[
        WholeNumber | None,
        field(
            "Digits of the registers where one number holds for all.",
            "Nombre de roues des cadrans, s'il vaut pour tous.",
        ),
    ] = None
    curve_step: Annotated[
        WholeNumber | None,
        field(
            "Minutes between two values of the load curve.",
            "Minutes entre deux valeurs de la courbe de charge.",
            unit="min",
        ),
    ] = None
    purpose: Annotated[
        Code | None,
        field("What the meter measures, as the market's code.", "Grandeur mesurée par le compteur, selon le marché."),
    ] = None
    operation: Annotated[
        Code | None,
        field(
            "The market's code of the work on the meter.", "Code de l'intervention sur le compteur, selon le marché."
        ),
    ] = None
    index_given: Annotated[
        bool | None,
        field(
            "The market gives an index with it: the last one of a removed meter, the first one of an installed one.",
            "Index donné en même temps : le dernier d'un compteur déposé, le premier d'un compteur posé.",
        ),
    ] = None


class MeterReading(KernelMessage, frozen=True, kw_only=True, tag=True):
    """The registers of one access point at one instant (`effective`)."""

    kept: ClassVar[Kept | None] = Kept("reading", "relevé", "readings", head={"source": "market_type"})

    reading_reference: Annotated[
        Text | None,
        field("The market's identifier of the reading.", "Identifiant du relevé chez le marché.", kept="reference"),
    ] = None
    qualification: Annotated[
        Qualification,
        field(
            "Taken before or after an event, or in the periodic round.",
            "Qualification : avant ou après un événement, ou relevé périodique.",
            kept="qualification",
        ),
    ]
    nature: Annotated[
        ReadingNature,
        field("How the indexes were obtained.", "Nature des index : façon dont ils ont été obtenus.", kept="nature"),
    ]
    calendar: Annotated[
        Code | None,
        field(
            "Distributor's calendar of time classes.",
            "Calendrier distributeur des classes temporelles.",
            kept="calendar",
        ),
    ] = None
    supplier_calendar: Annotated[
        Code | None,
        field(
            "Supplier's calendar of time classes.",
            "Calendrier fournisseur des classes temporelles.",
            kept="supplier_calendar",
        ),
    ] = None
    meter: Annotated[Code | None, field("Serial number of the meter.", "Numéro de série du compteur.")] = None
    previous_reference: Annotated[
        Text | None, field("Identifier of the previous reading.", "Identifiant du relevé précédent.")
    ] = None
    previous_date: Annotated[Instant | None, field("Instant of the previous reading.", "Date du relevé précédent.")] = (
        None
    )
    previous_nature: Annotated[
        ReadingNature | None, field("How the previous indexes were obtained.", "Nature des index précédents.")
    ] = None
    correction_reason: Annotated[
        Code | None,
        field("Why the reading was corrected, the market's code.", "Motif de correction du relevé, code du marché."),
    ] = None
    sequence: Annotated[
        WholeNumber | None,
        field(
            "Version of the contract terms the reading belongs to.",
            "Version des conditions du contrat dont relève le relevé.",
        ),
    ] = None
    service_level: Annotated[
        ShortCode | None,
        field(
            "Level of smart-meter services that is open.", "Niveau d'ouverture aux services du compteur communicant."
        ),
    ] = None
    meter_type: Annotated[Code | None, field("The market's type of meter.", "Type de compteur du marché.")] = None
    maximum_power: Annotated[
        WholeNumber | None,
        field("Highest power of the day in VA.", "Puissance maximale du jour en VA.", unit="VA", kept="maximum_power"),
    ] = None
    next_reading: Annotated[
        CivilDay | None, field("Day the next periodic reading is due.", "Jour prévu du prochain relevé périodique.")
    ] = None
    stream: Annotated[
        Code | None,
        field(
            "Series of readings that several sources tell one after the other: one holds of what two of them tell.",
            "Série de relevés que plusieurs sources donnent l'une après l'autre : un seul est valable par index.",
        ),
    ] = None
    registers: Annotated[
        tuple[Register, ...], field("The indexes.", "Index.", kept="registers", item="register", longest=1_000)
    ] = ()


class MeteredVolume(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Energies of a period. The effective instant is the end of the period."""

    kept: ClassVar[Kept | None] = Kept("volume", "volume", "volumes", head={"source": "market_type"})

    start: Annotated[Instant | None, field("Start of the period.", "Début de la période.", kept="start_at")] = None
    nature: Annotated[
        VolumeNature,
        field(
            "How the energies were obtained.", "Nature des énergies : façon dont elles ont été obtenues.", kept="nature"
        ),
    ]
    reading_reference: Annotated[
        Text | None, field("Reading at the end of the period.", "Relevé de la fin de la période.")
    ] = None
    calendar: Annotated[
        Code | None,
        field("Distributor's calendar of time classes.", "Calendrier distributeur des classes temporelles."),
    ] = None
    correction_reason: Annotated[
        Code | None, field("Why the energies were corrected.", "Motif de correction des énergies.")
    ] = None
    volumes: Annotated[
        tuple[Volume, ...], field("The energies.", "Énergies.", kept="volumes", item="volume", longest=1_000)
    ] = ()


class MeasureSeries(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Values at regular intervals. The effective instant is the start of the first interval."""

    kept: ClassVar[Kept | None] = Kept("series", "courbe", "series", head={"source": "market_type"})

    end: Annotated[Instant, field("End of the last interval.", "Fin du dernier intervalle.", kept="end_at")]
    resolution: Annotated[
        Ordinal | None,
        field(
            "Length of an interval in minutes; absent if it is a step of the calendar.",
            "Pas : durée d'un intervalle en minutes ; absent si le calendrier le fixe.",
            unit="min",
            kept="resolution",
        ),
    ] = None
    resolution_months: Annotated[
        Months | None,
        field(
            "Length of an interval in months of the calendar: 1, 12.",
            "Pas calendaire : durée d'un intervalle en mois, 1 ou 12.",
            unit="months",
            kept="resolution_months",
        ),
    ] = None
    unit: Annotated[
        Unit, field("Unit of the values: W, kW, Wh, kWh, m3.", "Unité des valeurs : W, kW, Wh, kWh, m3.", kept="unit")
    ]
    product: Annotated[
        Code | None,
        field(
            "What is measured: active energy, reactive energy, power.",
            "Grandeur mesurée : énergie active, énergie réactive, puissance.",
            kept="product",
        ),
    ] = None
    direction: Annotated[
        Direction | None,
        field("Taken from the grid or fed into it.", "Sens : soutirage ou injection.", kept="direction"),
    ] = None
    register: Annotated[
        Code | None, field("Register of the meter (OBIS).", "Cadran du compteur (OBIS).", kept="register")
    ] = None
    point_type: Annotated[
        PointType | None, field("What the point measures.", "Type du point mesuré.", kept="point_type")
    ] = None
    registered: Annotated[
        Instant | None,
        field("When the market registered the values.", "Date d'enregistrement chez le marché.", kept="registered_at"),
    ] = None
    stream: Annotated[
        Code | None,
        field(
            "Curve that several sources tell one after the other: one holds of what two of them tell.",
            "Série que plusieurs sources donnent l'une après l'autre : une seule valeur est valable par pas.",
        ),
    ] = None
    positions: Annotated[
        tuple[Position, ...],
        field("The values.", "Valeurs.", unit="unit", kept="positions", item="position", longest=110_000),
    ] = ()


class AggregatedSeries(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Sums over many access points of a grid area."""

    kept: ClassVar[Kept | None] = Kept(
        "aggregated_series",
        "courbe agrégée",
        "aggregated-series",
        searched=("market", "at", "id"),
        head={"market": "market", "source": "market_type", "reason": "reason"},
    )

    end: Annotated[Instant, field("End of the last interval.", "Fin du dernier intervalle.", kept="end_at")]
    resolution: Annotated[
        Ordinal | None,
        field(
            "Length of an interval in minutes; absent if it is a step of the calendar.",
            "Pas : durée d'un intervalle en minutes ; absent si le calendrier le fixe.",
            unit="min",
            kept="resolution",
        ),
    ] = None
    resolution_months: Annotated[
        Months | None,
        field(
            "Length of an interval in months of the calendar: 1, 12.",
            "Pas calendaire : durée d'un intervalle en mois, 1 ou 12.",
            unit="months",
            kept="resolution_months",
        ),
    ] = None
    unit: Annotated[Unit, field("Unit of the values.", "Unité des valeurs.", kept="unit")]
    grid_area: Annotated[Code, field("Grid area that is summed.", "Zone de réseau agrégée.", kept="grid_area")]
    settlement: Annotated[
        Code | None, field("Settlement method or group.", "Mode ou groupe de règlement.", kept="settlement")
    ] = None
    version: Annotated[
        SettlementVersion | None, field("Run of the settlement.", "Version du règlement.", kept="version")
    ] = None
    point_type: Annotated[
        PointType | None, field("What the summed points measure.", "Type des points agrégés.", kept="point_type")
    ] = None
    product: Annotated[Code | None, field("What is measured.", "Grandeur mesurée.", kept="product")] = None
    supplier: Annotated[
        Identifier | None,
        field("Supplier whose points are summed.", "Fournisseur des points agrégés.", kept="supplier"),
    ] = None
    balance_responsible: Annotated[
        Code | None,
        field("Balance responsible party.", "Responsable d'équilibre.", kept="balance_responsible"),
    ] = None
    positions: Annotated[
        tuple[Position, ...],
        field("The values.", "Valeurs.", unit="unit", kept="positions", item="position", longest=110_000),
    ] = ()


class GridInvoice(KernelMessage, frozen=True, kw_only=True, tag=True):
    """The head and totals of a grid invoice."""

    kept: ClassVar[Kept | None] = Kept(
        "grid_invoice", "facture de réseau", searched=("invoice",), head={"market": "market"}
    )

    invoice: Annotated[Code, field("Number of the invoice.", "Numéro de la facture.", kept="invoice")]
    invoice_type: Annotated[
        Code | None, field("The market's type of invoice.", "Type de facture du marché.", kept="type")
    ] = None
    part: Annotated[
        InvoicePart,
        field(
            "Which file of the invoice the message is of.",
            "Fichier de la facture dont provient le message.",
            kept="part",
        ),
    ] = "general"
    invoice_date: Annotated[CivilDay, field("Date of the invoice.", "Date de la facture.")]
    due_date: Annotated[
        CivilDay | None, field("Day the invoice is to be paid.", "Échéance de la facture.", kept="due")
    ] = None
    currency: Annotated[Currency, field("Currency, ISO 4217.", "Devise, ISO 4217.", kept="currency")]
    frequency: Annotated[
        Code | None,
        field("The market's code of the invoicing rhythm.", "Code de la périodicité de facturation, selon le marché."),
    ] = None
    total_excluding_tax: Annotated[
        Amount | None, field("Total without tax.", "Total hors taxes.", unit="currency", kept="total")
    ] = None
    total_contributions: Annotated[
        Amount | None,
        field("Total of the contributions without tax.", "Total des contributions hors taxes.", unit="currency"),
    ] = None
    total_tax: Annotated[Amount | None, field("Total of the tax.", "Total des taxes.", unit="currency", kept="tax")] = (
        None
    )
    total_including_tax: Annotated[
        Amount | None, field("Total with tax.", "Total toutes taxes comprises.", unit="currency", kept="gross")
    ] = None
    charges: Annotated[
        WholeNumber | None,
        field(
            "Number of line groups the invoice announces.",
            "Nombre de groupes de lignes annoncés par la facture.",
            kept="charges",
        ),
    ] = None
    taxes: Annotated[
        tuple[Tax, ...],
        field("Taxes by rate and base.", "Taxes par taux et assiette.", kept="taxes", item="tax", longest=100),
    ] = ()
    contributions: Annotated[
        tuple[Tax, ...],
        field(
            "Contributions by rate and base.", "Contributions par taux et assiette.", item="contribution", longest=100
        ),
    ] = ()
    sums: Annotated[
        tuple[ChargeLine, ...],
        field("Sums of lines.", "Sommes de lignes du récapitulatif.", item="sum", longest=10_000),
    ] = ()
    interests: Annotated[
        tuple[LateInterest, ...],
        field("Interest on invoices paid late.", "Intérêts de retard.", item="interest", longest=10_000),
    ] = ()


class GridCharge(KernelMessage, frozen=True, kw_only=True, tag=True):
    """One line group of a grid invoice: what one access point is charged by one event or period."""

    kept: ClassVar[Kept | None] = Kept("grid_charge", "ligne de facture de réseau", "charges")

    invoice: Annotated[Code, field("Number of the invoice.", "Numéro de la facture.", kept="invoice")]
    invoice_date: Annotated[CivilDay | None, field("Date of the invoice.", "Date de la facture.")] = None
    charge_reference: Annotated[
        Code,
        field("The market's number of the line group.", "Numéro du groupe de lignes chez le marché.", kept="reference"),
    ]
    billing_type: Annotated[
        Code | None,
        field(
            "The market's billing type: cyclic, event, ...",
            "Type de facturation du marché : cyclique, événementielle, ...",
            kept="billing_type",
        ),
    ] = None
    currency: Annotated[Currency, field("Currency, ISO 4217.", "Devise, ISO 4217.", kept="currency")]
    total_excluding_tax: Annotated[
        Amount, field("Total of the lines without tax.", "Total des lignes hors taxes.", unit="currency", kept="total")
    ]
    total_including_tax: Annotated[
        Amount | None,
        field(
            "Total of the lines with tax.", "Total des lignes toutes taxes comprises.", unit="currency", kept="gross"
        ),
    ] = None
    fixed_start: Annotated[
        CivilDay | None, field("First day of the fixed part.", "Premier jour de la part fixe.", kept="fixed_start")
    ] = None
    fixed_end: Annotated[
        CivilDay | None, field("Last day of the fixed part.", "Dernier jour de la part fixe.", kept="fixed_end")
    ] = None
    variable_start: Annotated[
        CivilDay | None,
        field("First day of the variable part.", "Premier jour de la part variable.", kept="variable_start"),
    ] = None
    variable_end: Annotated[
        CivilDay | None,
        field("Last day of the variable part.", "Dernier jour de la part variable.", kept="variable_end"),
    ] = None
    segment: Annotated[
        Identifier | None, field("The market's customer segment.", "Segment du marché.", kept="segment")
    ] = None
    tariff: Annotated[Code | None, field("Tariff formula.", "Formule tarifaire.", kept="tariff")] = None
    powers: Annotated[
        tuple[Power, ...],
        field(
            "Subscribed powers by time class.",
            "Puissances souscrites par classe temporelle.",
            kept="powers",
            item="power",
            longest=50,
        ),
    ] = ()
    weighted_power: Annotated[Amount | None, field("Weighted subscribed power.", "Puissance souscrite pondérée.")] = (
        None
    )
    correction_origin: Annotated[
        Code | None, field("Who caused the correction, the market's code.", "Origine de la correction, code du marché.")
    ] = None
    original_invoice: Annotated[
        Code | None, field("Invoice that is corrected.", "Facture corrigée.", kept="original_invoice")
    ] = None
    meter_type: Annotated[Code | None, field("The market's type of meter.", "Type de compteur du marché.")] = None
    lines: Annotated[
        tuple[ChargeLine, ...], field("The lines.", "Lignes.", kept="lines", item="line", longest=10_000)
    ] = ()
    taxes: Annotated[
        tuple[Tax, ...],
        field("Taxes by rate and base.", "Taxes par taux et assiette.", kept="taxes", item="tax", longest=100),
    ] = ()
    interests: Annotated[
        tuple[LateInterest, ...],
        field("Interest on invoices paid late.", "Intérêts de retard.", item="interest", longest=10_000),
    ] = ()


class RequestStatus(KernelMessage, frozen=True, kw_only=True, tag=True):
    """One milestone of a request's life, as the market reports it."""

    kept: ClassVar[Kept | None] = Kept("request", "demande")

    request: Annotated[
        Code,
        field(
            "The market's reference of the request (affaire).",
            "Référence de la demande chez le marché (affaire).",
            kept="reference",
        ),
    ]
    milestone: Annotated[
        WholeNumber | None,
        field("Number of the milestone, from 1.", "Numéro du jalon, à partir de 1.", kept="milestone"),
    ] = None
    state: Annotated[
        RequestState,
        field("State of the request after the milestone.", "État de la demande après le jalon.", kept="state"),
    ]
    state_code: Annotated[
        Code | None, field("The market's code of the milestone.", "Code du jalon, selon le marché.", kept="state_code")
    ] = None
    status_code: Annotated[
        Code | None,
        field(
            "The market's code of the whole request's status.", "Code de statut de la demande entière, selon le marché."
        ),
    ] = None
    object_code: Annotated[
        Code | None,
        field(
            "The market's code of the requested object.",
            "Code de l'objet de la demande, selon le marché.",
            kept="object_code",
        ),
    ] = None
    effect_date: Annotated[
        CivilDay | None, field("Day on which the request takes effect.", "Jour de prise d'effet de la demande.")
    ] = None
    initiated_by_us: Annotated[
        bool | None,
        field(
            "We made the request; else another party did.",
            "Demande faite par nous ; sinon par un autre acteur.",
            kept="initiated_by_us",
        ),
    ] = None
    requester_reference: Annotated[
        Text | None, field("The requester's own reference.", "Référence propre au demandeur.")
    ] = None
    medium: Annotated[
        Code | None,
        field(
            "How the request reached the grid operator.",
            "Moyen par lequel la demande est parvenue au gestionnaire de réseau.",
        ),
    ] = None
    attachments: Annotated[
        tuple[Attachment, ...], field("Files that belong to it.", "Fichiers joints.", item="attachment", longest=50)
    ] = ()


class RequestAnswer(KernelMessage, frozen=True, kw_only=True, tag=True):
    """The market's answer to one of our requests."""

    accepted: Annotated[bool, field("The market accepted the request.", "Demande acceptée par le marché.")]
    code: Annotated[
        Code | None, field("The market's answer or rejection code.", "Code de réponse ou de rejet du marché.")
    ] = None
    text: Annotated[Text | None, field("The market's words.", "Texte du marché.")] = None
    request: Annotated[
        Code | None,
        field("The market's reference of the request it opened.", "Référence de la demande ouverte par le marché."),
    ] = None
    contract_end: Annotated[
        CivilDay | None,
        field(
            "Last day of the requested contract; absent if open-ended.",
            "Dernier jour du contrat demandé ; absent s'il est sans terme.",
        ),
    ] = None
    notice: Annotated[
        WholeNumber | None,
        field(
            "Notice of that contract, as the market counts it.", "Préavis de ce contrat, tel que le marché le compte."
        ),
    ] = None
    found: Annotated[
        tuple[FoundPoint, ...],
        field(
            "Access points found by a search.",
            "Points de livraison trouvés par une recherche.",
            item="found_point",
            longest=1_000,
        ),
    ] = ()
    reasons: Annotated[
        tuple[AnswerReason, ...],
        field("Every reason of the answer.", "Tous les motifs de la réponse.", item="reason", longest=50),
    ] = ()
    attachments: Annotated[
        tuple[Attachment, ...], field("Files that belong to it.", "Fichiers joints.", item="attachment", longest=50)
    ] = ()


class ErrorReport(KernelMessage, frozen=True, kw_only=True, tag=True):
    """The market could not read or process something we sent."""

    code: Annotated[Code, field("The market's error code.", "Code d'erreur du marché.")]
    text: Annotated[Text | None, field("The market's words.", "Texte du marché.")] = None


class CalorificValue(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Calorific value of gas at a receiving station in one month."""

    kept: ClassVar[Kept | None] = Kept(
        "calorific_value", "pouvoir calorifique", searched=("station", "month"), head={"market": "market"}
    )

    station: Annotated[
        Code,
        field(
            "EAN-GSRN of the aggregated receiving station.",
            "EAN-GSRN de la station de réception agrégée.",
            kept="station",
        ),
    ]
    station_name: Annotated[Text | None, field("Name of the station.", "Nom de la station.", kept="name")] = None
    month: Annotated[
        str, field("Month, YYYY-MM.", "Mois, AAAA-MM.", kept="month", longest=7, pattern=r"^[0-9]{4}-[0-9]{2}$")
    ]
    value: Annotated[
        Amount | None,
        field(
            "Gross calorific value in kWh/m3(n); absent when not published.",
            "Pouvoir calorifique supérieur en kWh/m3(n) ; absent s'il n'est pas publié.",
            unit="kWh/m3(n)",
            kept="value",
        ),
    ] = None


class SettlementAmounts(KernelMessage, frozen=True, kw_only=True, tag=True):
    """What a wholesale service or charge comes to, interval by interval. The effective instant is the start of the
    first interval."""

    kept: ClassVar[Kept | None] = Kept(
        "settlement",
        "règlement",
        "settlements",
        searched=("market", "at", "id"),
        head={"market": "market", "source": "market_type", "reason": "reason", "reference": "reference"},
    )

    end: Annotated[Instant, field("End of the last interval.", "Fin du dernier intervalle.", kept="end_at")]
    resolution: Annotated[
        Ordinal | None,
        field(
            "Length of an interval in minutes; absent if it is a step of the calendar.",
            "Pas : durée d'un intervalle en minutes ; absent si le calendrier le fixe.",
            unit="min",
            kept="resolution",
        ),
    ] = None
    resolution_months: Annotated[
        Months | None,
        field(
            "Length of an interval in months of the calendar: 1, 12.",
            "Pas calendaire : durée d'un intervalle en mois, 1 ou 12.",
            unit="months",
            kept="resolution_months",
        ),
    ] = None
    unit: Annotated[Unit | None, field("Unit of the quantities.", "Unité des quantités.", kept="unit")] = None
    currency: Annotated[Currency, field("Currency, ISO 4217.", "Devise, ISO 4217.", kept="currency")]
    charge_type: Annotated[
        ChargeType | None, field("Kind of charge.", "Type de composante tarifaire.", kept="charge_type")
    ] = None
    charge_owner: Annotated[
        Identifier | None, field("Party that charges.", "Acteur qui facture.", kept="charge_owner")
    ] = None
    charge_code: Annotated[
        Code | None, field("The owner's code of the charge.", "Code de la composante.", kept="charge_code")
    ] = None
    grid_area: Annotated[Code | None, field("Grid area.", "Zone de réseau.", kept="grid_area")] = None
    supplier: Annotated[
        Identifier | None, field("Supplier that is settled.", "Fournisseur réglé.", kept="supplier")
    ] = None
    version: Annotated[
        SettlementVersion | None, field("Run of the settlement.", "Version du règlement.", kept="version")
    ] = None
    point_type: Annotated[
        PointType | None, field("What the settled points measure.", "Type des points réglés.", kept="point_type")
    ] = None
    settlement: Annotated[
        Code | None, field("Settlement method or group.", "Mode ou groupe de règlement.", kept="settlement")
    ] = None
    total: Annotated[
        Amount | None, field("Amount of all intervals.", "Montant total.", unit="currency", kept="total")
    ] = None
    positions: Annotated[
        tuple[SettlementPosition, ...],
        field("The intervals.", "Intervalles.", kept="positions", item="position", longest=110_000),
    ] = ()


class PriceList(KernelMessage, frozen=True, kw_only=True, tag=True):
    """The prices of a charge, interval by interval. The effective instant is the start of the first interval."""

    kept: ClassVar[Kept | None] = Kept(
        "price_list",
        "liste de prix",
        "price-lists",
        searched=("market", "at", "id"),
        head={"market": "market", "source": "market_type"},
    )

    end: Annotated[Instant | None, field("End of the last interval.", "Fin du dernier intervalle.", kept="end_at")] = (
        None
    )
    resolution: Annotated[
        Ordinal | None,
        field(
            "Length of an interval in minutes; absent if it is a step of the calendar.",
            "Pas : durée d'un intervalle en minutes ; absent si le calendrier le fixe.",
            unit="min",
            kept="resolution",
        ),
    ] = None
    resolution_months: Annotated[
        Months | None,
        field(
            "Length of an interval in months of the calendar: 1, 12.",
            "Pas calendaire : durée d'un intervalle en mois, 1 ou 12.",
            unit="months",
            kept="resolution_months",
        ),
    ] = None
    charge_type: Annotated[ChargeType, field("Kind of charge.", "Type de composante.", kept="charge_type")]
    charge_owner: Annotated[Identifier, field("Party that charges.", "Acteur qui facture.", kept="charge_owner")]
    charge_code: Annotated[Code, field("The owner's code of the charge.", "Code de la composante.", kept="charge_code")]
    name: Annotated[Text | None, field("Name of the charge.", "Nom de la composante.", kept="name")] = None
    unit: Annotated[Unit | None, field("Unit that the price is of.", "Unité du prix.", kept="unit")] = None
    currency: Annotated[Currency, field("Currency, ISO 4217.", "Devise, ISO 4217.", kept="currency")]
    taxed: Annotated[
        bool | None, field("The charge is subject to value added tax.", "Soumis à la TVA.", kept="taxed")
    ] = None
    passed_on: Annotated[
        bool | None, field("It is invoiced openly to the customer.", "Refacturé tel quel au client.", kept="passed_on")
    ] = None
    prices: Annotated[
        tuple[Price, ...], field("The prices.", "Prix.", kept="prices", item="price", longest=110_000)
    ] = ()


class ReceivedRequest(KernelMessage, frozen=True, kw_only=True, tag=True):
    """What another party asks of us, and we owe an answer to. One that cancels or replaces another names it
    (`correlation`)."""

    kept: ClassVar[Kept | None] = Kept(
        "received_request",
        "demande reçue",
        "received-requests",
        head={"reference": "reference", "source": "market_type", "function": "function", "correlation": "correlation"},
    )

    object_code: Annotated[
        Code | None, field("The market's code of the requested object.", "Code de l'objet demandé.", kept="object_code")
    ] = None
    requester: Annotated[Identifier | None, field("Party that asks.", "Acteur demandeur.", kept="requester")] = None
    requested_date: Annotated[
        CivilDay | None,
        field("Day from which it shall take effect.", "Date d'effet souhaitée.", kept="requested_date"),
    ] = None
    answer_by: Annotated[
        Instant | None, field("Until when we owe the answer.", "Échéance de la réponse.", kept="answer_by_at")
    ] = None
    text: Annotated[Text | None, field("The party's words.", "Texte du demandeur.", kept="text")] = None
    reasons: Annotated[
        tuple[AnswerReason, ...],
        field("Why it is asked.", "Motifs de la demande.", kept="reasons", item="reason", longest=50),
    ] = ()
    attachments: Annotated[
        tuple[Attachment, ...],
        field("Files that belong to it.", "Fichiers joints.", kept="attachments", item="attachment", longest=50),
    ] = ()


class PointParties(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Who is responsible for what at an access point from the effective instant on."""

    kept: ClassVar[Kept | None] = Kept("point_parties", "acteurs du point", "parties", head={"source": "market_type"})

    parties: Annotated[
        tuple[Party, ...], field("The parties.", "Acteurs du point.", kept="parties", item="party", longest=100)
    ] = ()


class PointRelations(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Which other access points belong to one from the effective instant on."""

    kept: ClassVar[Kept | None] = Kept("point_relations", "liens du point", "relations", head={"source": "market_type"})

    relations: Annotated[
        tuple[Relation, ...],
        field("The relations.", "Liens du point.", kept="relations", item="relation", longest=1_000),
    ] = ()


INCOMING: tuple[type[KernelMessage], ...] = (
    StartOfSupply,
    EndOfSupply,
    ContractTerms,
    AccessPointData,
    CustomerData,
    MeterData,
    MeterReading,
    MeteredVolume,
    MeasureSeries,
    AggregatedSeries,
    GridInvoice,
    GridCharge,
    RequestStatus,
    RequestAnswer,
    ErrorReport,
    CalorificValue,
    SettlementAmounts,
    PriceList,
    ReceivedRequest,
    PointParties,
    PointRelations,
)
"""Every incoming kind."""
