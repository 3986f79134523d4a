"""The documents of the Belgian market as templates: every element and code is written out, none comes from the table
that the adapter reads by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

from energycomm.simulation.people import with_check_digit

MARKET, SUPPLIER, BALANCE = "5419999000017", "5419999000024", "5419999000048"
GRID, OTHER, AREA = "5419999000031", "5419999000055", "541449000000990014"

TYPES = {
    "StartOfAccess": ("BE_NotifyStartOfAccess", "E05"),
    "StopOfAccess": ("BE_NotifyStopOfAccess", "406"),
    "ChangeOfAccess": ("BE_NotifyChangeOfAccess", "E03"),
    "MasterData": ("BE_NotifyMasterData", "E07"),
    "MeterReadings": ("BE_NotifyMeterReadings", "E65"),
    "MeteredSeries": ("BE_NotifyMeteredDataTimeSeries", "E66"),
    "GridFeeInvoice": ("BE_NotifyGridFeeInvoice", "E70"),
    "GridFee": ("BE_NotifyGridFee", "E70"),
    "Response": ("BE_ResponseRequest", "414"),
    "ErrorReport": ("BE_ErrorReport", "294"),
}
"""Label -> root element, document type of ebIX list 260_000042."""

_DOCUMENT = """\
<?xml version="1.0" encoding="UTF-8"?>
<{root} xmlns="un:unece:260:data:EEM-{root}:v1">
  <HeaderEnergyDocument>
    <Identification>{name}</Identification>
    <DocumentType listAgencyIdentifier="260">{type}</DocumentType>
    <Creation>{created}</Creation>
    <SenderEnergyParty>
      <Identification schemeAgencyIdentifier="9">{sender}</Identification>
    </SenderEnergyParty>
    <RecipientEnergyParty>
      <Identification schemeAgencyIdentifier="9">{receiver}</Identification>
    </RecipientEnergyParty>
  </HeaderEnergyDocument>
  <ProcessEnergyContext>
    <EnergyBusinessProcess listAgencyIdentifier="260">{reason}</EnergyBusinessProcess>
    <EnergyBusinessProcessRole listAgencyIdentifier="260">{role}</EnergyBusinessProcessRole>
    <EnergyIndustryClassification listAgencyIdentifier="260">{energy}</EnergyIndustryClassification>
  </ProcessEnergyContext>
{pieces}</{root}>
"""


def _event(root: str, more: str) -> str:
    """The template of an event at a point."""
    return f"""  <{root}>
    <Identification>{{reference}}</Identification>
    <Function listAgencyIdentifier="260">9</Function>
    {{request}}
    <StartOfOccurrence>{{at}}</StartOfOccurrence>
    <MeteringPointDomainLocation>
      <Identification schemeAgencyIdentifier="9">{{point}}</Identification>
    </MeteringPointDomainLocation>
{more}  </{root}>
"""


START = _event(
    "PayloadMPEvent",
    """\
    <BalanceSupplierInvolvedEnergyParty>
      <Identification schemeAgencyIdentifier="9">{supplier}</Identification>
    </BalanceSupplierInvolvedEnergyParty>
    <BalanceResponsibleInvolvedEnergyParty>
      <Identification schemeAgencyIdentifier="9">{balance}</Identification>
    </BalanceResponsibleInvolvedEnergyParty>
    <GridAccessProviderInvolvedEnergyParty>
      <Identification schemeAgencyIdentifier="9">{grid}</Identification>
    </GridAccessProviderInvolvedEnergyParty>
{data}""",
)

STOP = _event(
    "PayloadMPEvent",
    """\
    <GridAccessAgreement>
      <Identification>{contract}</Identification>
      <AgreementStatus listAgencyIdentifier="260">E14</AgreementStatus>
      <EndDate>{day}</EndDate>
    </GridAccessAgreement>
    {next}
""",
)

NEXT = """\
<NewBalanceSupplierInvolvedEnergyParty>
      <Identification schemeAgencyIdentifier="9">5419999000055</Identification>
    </NewBalanceSupplierInvolvedEnergyParty>"""

MASTER_DATA = _event("PayloadMasterDataMPEvent", "{data}")

CHANGE = _event(
    "PayloadMPEvent",
    """\
    <GridAccessAgreement>
      <Identification>{contract}</Identification>
      {terms}
    </GridAccessAgreement>
""",
)

TERMS = """\
    <GridAccessAgreement>
      <Identification>{contract}</Identification>
      <AgreementType listAgencyIdentifier="260">E03</AgreementType>
      <AgreementStatus listAgencyIdentifier="260">E13</AgreementStatus>
      <StartDate>{first}</StartDate>
      <TariffCode>LS_TH</TariffCode>
      <ContractedCapacity>
        <Quantity>{power}</Quantity>
        <UnitType listAgencyIdentifier="260">KVA</UnitType>
      </ContractedCapacity>
      <MeterTimeFrame>HILO</MeterTimeFrame>
    </GridAccessAgreement>
"""

POINT = """\
    <MeteringPointCharacteristic>
      <MarketSegment>LV</MarketSegment>
      <TypeOfMeteringPoint listAgencyIdentifier="260">E17</TypeOfMeteringPoint>
      <PhysicalStatus listAgencyIdentifier="260">E22</PhysicalStatus>
      <MeteringMethod listAgencyIdentifier="260">{method}</MeteringMethod>
      <SettlementRegime>SMR1</SettlementRegime>
      <StandardLoadProfile listAgencyIdentifier="260">S21</StandardLoadProfile>
      <NumberOfPhases>1</NumberOfPhases>
      <VoltageLevel listAgencyIdentifier="260">E06</VoltageLevel>
      <ConnectionCapacity>40</ConnectionCapacity>
      <RemotelyReadable>{remote}</RemotelyReadable>
      <ReadingFrequency>12</ReadingFrequency>
      <ReadingMonth>05</ReadingMonth>
      <Switchable>true</Switchable>
      <MeteringGridArea schemeAgencyIdentifier="9">541449000000990014</MeteringGridArea>
    </MeteringPointCharacteristic>
"""

PERSON = """\
    <ConsumerInvolvedCustomerParty>
      <CustomerCategory listAgencyIdentifier="260">E01</CustomerCategory>
      <FamilyName>{surname}</FamilyName>
      <GivenName>{first_name}</GivenName>
    </ConsumerInvolvedCustomerParty>
"""

COMPANY = """\
    <ConsumerInvolvedCustomerParty>
      <CustomerCategory listAgencyIdentifier="260">E02</CustomerCategory>
      <CompanyName>{company}</CompanyName>
      <EnterpriseNumber>0123456749</EnterpriseNumber>
    </ConsumerInvolvedCustomerParty>
"""

METER = """\
    <MeterFacility>
      <Identification>{serial}</Identification>
      <MeterStatus listAgencyIdentifier="260">{status}</MeterStatus>
      <MeterType>{type}</MeterType>
      <NumberOfRegisters>2</NumberOfRegisters>
      <NumberOfDigits>6</NumberOfDigits>
    </MeterFacility>
"""

READING = """\
  <PayloadMeterReading>
    <Identification>{reference}</Identification>
    <Function listAgencyIdentifier="260">9</Function>
    {request}
    <MeteringPointDomainLocation>
      <Identification schemeAgencyIdentifier="9">{point}</Identification>
    </MeteringPointDomainLocation>
    <ReadingTime>{at}</ReadingTime>
    <MeterReadingOrigin listAgencyIdentifier="260">E28</MeterReadingOrigin>
    <MeterReadingMoment>P</MeterReadingMoment>
    <GridAccessAgreement>
      <Identification>{contract}</Identification>
    </GridAccessAgreement>
    <MeterFacility>
      <Identification>{serial}</Identification>
    </MeterFacility>
    <PreviousReadingTime>{previous}</PreviousReadingTime>
{registers}{volumes}  </PayloadMeterReading>
"""

ANSWERED_READING = """\
  <PayloadMeterReading>
    <Identification>{reference}</Identification>
    {request}
    <MeteringPointDomainLocation>
      <Identification schemeAgencyIdentifier="9">{point}</Identification>
    </MeteringPointDomainLocation>
    <ReadingTime>{at}</ReadingTime>
    <MeterReadingOrigin listAgencyIdentifier="260">E28</MeterReadingOrigin>
{registers}  </PayloadMeterReading>
"""

REGISTER = """\
    <RegisterReading>
      <MeterTimeFrame listAgencyIdentifier="260">{frame}</MeterTimeFrame>
      <TypeOfMeteringPoint listAgencyIdentifier="260">E17</TypeOfMeteringPoint>
      <MeterReading>{value}</MeterReading>
      <UnitType listAgencyIdentifier="260">KWH</UnitType>
      <NumberOfDigits>6</NumberOfDigits>
    </RegisterReading>
"""

VOLUME = """\
    <EnergyVolume>
      <MeterTimeFrame listAgencyIdentifier="260">{frame}</MeterTimeFrame>
      <TypeOfMeteringPoint listAgencyIdentifier="260">E17</TypeOfMeteringPoint>
      <EnergyQuantity>{value}</EnergyQuantity>
      <UnitType listAgencyIdentifier="260">KWH</UnitType>
    </EnergyVolume>
"""

SERIES = """\
  <PayloadEnergyTimeSeries>
    <Identification>{reference}</Identification>
    <Function listAgencyIdentifier="260">9</Function>
    {request}
    <ObservationTimeSeriesPeriod>
      <ResolutionDuration>PT1H</ResolutionDuration>
      <Start>{start}</Start>
      <End>{end}</End>
    </ObservationTimeSeriesPeriod>
    <IncludedProductCharacteristic>
      <Identification>8716867000030</Identification>
      <UnitType listAgencyIdentifier="260">KWH</UnitType>
    </IncludedProductCharacteristic>
    <DetailMeasurementMeteringPointCharacteristic>
      <TypeOfMeteringPoint listAgencyIdentifier="260">E17</TypeOfMeteringPoint>
    </DetailMeasurementMeteringPointCharacteristic>
    <MeteringPointDomainLocation>
      <Identification schemeAgencyIdentifier="9">{point}</Identification>
    </MeteringPointDomainLocation>
{hours}  </PayloadEnergyTimeSeries>
"""

HOUR = """\
    <IntervalEnergyObservation>
      <Position>{number}</Position>
      <EnergyQuantity>{value}</EnergyQuantity>
      <QuantityQuality listAgencyIdentifier="260">E01</QuantityQuality>
    </IntervalEnergyObservation>
"""

CHARGE = """\
  <PayloadGridFee>
    <Identification>{reference}</Identification>
    <Function listAgencyIdentifier="260">9</Function>
    <MeteringPointDomainLocation>
      <Identification schemeAgencyIdentifier="9">{point}</Identification>
    </MeteringPointDomainLocation>
    <InvoiceTime>{at}</InvoiceTime>
    <InvoiceNumber>GF-{day}</InvoiceNumber>
    <InvoiceDate>{day}</InvoiceDate>
    <ChargeIdentification>{reference}</ChargeIdentification>
    <BillingType>PERIODIC</BillingType>
    <Currency>EUR</Currency>
    <TotalExcludingTax>{total}</TotalExcludingTax>
{lines}  </PayloadGridFee>
"""

CHARGE_LINE = """\
    <ChargeLine>
      <ChargeCode>{code}</ChargeCode>
      <Description>{text}</Description>
      <PeriodStart>{previous}</PeriodStart>
      <PeriodEnd>{day}</PeriodEnd>
      <Quantity>{quantity}</Quantity>
      <UnitType listAgencyIdentifier="260">{unit}</UnitType>
      <UnitPrice>{price}</UnitPrice>
      <Amount>{amount}</Amount>
      <TaxRate>21</TaxRate>
    </ChargeLine>
"""

INVOICE = """\
  <PayloadInvoice>
    <Identification>{reference}</Identification>
    <Function listAgencyIdentifier="260">9</Function>
    <InvoiceNumber>{reference}</InvoiceNumber>
    <InvoiceType>PERIODIC</InvoiceType>
    <InvoiceDate>{day}</InvoiceDate>
    <DueDate>{due}</DueDate>
    <Currency>EUR</Currency>
    <InvoicingFrequency>MONTHLY</InvoicingFrequency>
    <TotalExcludingTax>100.00</TotalExcludingTax>
    <TotalTax>21.00</TotalTax>
    <TotalIncludingTax>121.00</TotalIncludingTax>
    <NumberOfCharges>12</NumberOfCharges>
  </PayloadInvoice>
"""

ANSWER = """\
  <PayloadResponseEvent>
    <Identification>{reference}</Identification>
    <OriginalBusinessDocument>{original}</OriginalBusinessDocument>
    <StatusType listAgencyIdentifier="260">{status}</StatusType>
    {reason}
    <StartOfOccurrence>{at}</StartOfOccurrence>
    {request}
    {place}
  </PayloadResponseEvent>
"""

REASON = """\
<ResponseReasonType listAgencyIdentifier="260">{code}</ResponseReasonType>
    <ResponseReasonText>{text}</ResponseReasonText>"""

PLACE = """\
<MeteringPointDomainLocation>
      <Identification schemeAgencyIdentifier="9">{point}</Identification>
    </MeteringPointDomainLocation>"""

ERROR = """\
  <PayloadErrorEvent>
    <Identification>{reference}</Identification>
    <OriginalBusinessDocument>{original}</OriginalBusinessDocument>
    <ErrorCode listAgencyIdentifier="260">E14</ErrorCode>
    <ErrorText>Not processed</ErrorText>
    <MeteringPointDomainLocation>
      <Identification schemeAgencyIdentifier="9">{point}</Identification>
    </MeteringPointDomainLocation>
  </PayloadErrorEvent>
"""

CALORIFIC = "{month},ARS EXEMPLE,{station},11.4187\n"

INDEXES = """\
UNH+{{number}}+MSCONS:D:96A:UN:E2BE01'
BGM+E65::260+{reference}+9'
DTM+137:{{created}}:203'
DTM+735:?+0000:406'
NAD+FR+5419999000031::9'
NAD+DO+5419999000024::9'
UNS+D'
NAD+XX'
LOC+90+{point}::9'
RFF+MG:{serial}'
DTM+597:{at}:203'
LIN+1++1.8.1'
MEA+AAZ++KWH'
QTY+220:{day}'
LIN+2++1.8.2'
MEA+AAZ++KWH'
QTY+220:{night}'
UNT+18+{{number}}'
"""
"""One message of an interchange; its number and time are put in when the interchange is written."""

HOURS = """\
UNH+{{number}}+UTILTS:D:02B:UN:E5BE01'
BGM+E66::260+{reference}+9'
DTM+137:{{created}}:203'
DTM+735:?+0000:406'
MKS+23+E01::260'
NAD+MR+5419999000024::9'
NAD+MS+5419999000031::9'
IDE+24+{reference}'
LOC+172+{point}::9'
RFF+CT:{contract}'
DTM+324:{start}{end}:719'
DTM+354:60:806'
STS+7++E23::260'
MEA+AAZ++KWH'
PIA+5+8716867000030'
CCI+++E02::260'
CAV+E17::260'
{hours}UNT+{segments}+{{number}}'
"""
"""The hours of a day; `hours` are filled `INTERVAL`, two segments each."""

INTERVAL = "SEQ++{number}'\nQTY+136:{value}'\n"

INVOICED = """\
UNH+{{number}}+INVOIC:D:96A:UN:E2BE01'
BGM+380+{reference}+9'
DTM+137:{day}:102'
DTM+13:{due}:102'
NAD+MS+5419999000031::9'
NAD+MR+5419999000024::9'
CUX+2:EUR:4'
LIN+1++E210'
IMD+F++:::Distribution, proportional term'
LOC+172+{point}::9'
RFF+CT:{contract}'
DTM+155:{previous}:102'
DTM+156:{day}:102'
QTY+47:{kwh}:KWH'
MOA+203:{energy}'
PRI+CAL:0.10'
TAX+7+VAT+++:::6'
LIN+2++E220'
IMD+F++:::Metering'
DTM+155:{previous}:102'
DTM+156:{day}:102'
QTY+47:1:MON'
MOA+203:1.50'
PRI+CAL:1.50'
TAX+7+VAT+++:::6'
UNS+S'
MOA+79:{net}'
MOA+176:{tax}'
MOA+77:{gross}'
TAX+7+VAT+++:::6'
MOA+125:{net}'
MOA+124:{tax}'
UNT+33+{{number}}'
"""
"""An invoice of one point: its head, and what the point is charged."""


def filled(template: str, **values: Any) -> str:
    """A template with its values; a line that is left empty is dropped."""
    texts = {
        name: value if isinstance(value, str) and value.lstrip().startswith("<") else escape(str(value), quote=False)
        for name, value in values.items()
    }
    return "".join(line for line in template.format(**{"request": "", **texts}).splitlines(True) if line.strip())


def document(
    label: str,
    pieces: Sequence[str],
    *,
    name: str,
    created: str,
    reason: str,
    role: str = "DDM",
    sender: str = MARKET,
    receiver: str = SUPPLIER,
    energy: str = "23",
) -> bytes:
    """A document.

    Args:
      label: one of `TYPES`.
      pieces: its payloads, written.
      name: its identification.
      created: when it is written.
      reason: code of the business process.
      role: code of the sender's role; the grid operator's by default.
      sender, receiver: parties.
      energy: 23 is electricity, 27 gas.
    """
    root, kind = TYPES[label]
    return _DOCUMENT.format(
        root=root,
        type=kind,
        name=name,
        created=created,
        sender=sender,
        receiver=receiver,
        reason=reason,
        role=role,
        energy=energy,
        pieces="".join(pieces),
    ).encode()


def interchange(messages: Sequence[str], *, name: str, created: datetime) -> bytes:
    """An interchange of the older generation, from the grid operator to us.

    Args:
      messages: filled templates `INDEXES`, `HOURS` or `INVOICED`.
      name: reference of the interchange.
      created: in UTC.
    """
    stamp = f"{created:%Y%m%d%H%M}"
    whole = [f"UNA:+.? '\nUNB+UNOC:3+{GRID}:14+{SUPPLIER}:14+{created:%y%m%d}:{created:%H%M}+{name}'\n"]
    whole += [each.format(number=number, created=stamp) for number, each in enumerate(messages, 1)]
    return "".join([*whole, f"UNZ+{len(messages)}+{name}'\n"]).encode("latin-1")


def calorific_file(lines: Sequence[str]) -> bytes:
    """A monthly file of calorific values."""
    return "".join(["GCVMonth,ARSName,ARSEanGSRN,GCVValue\n", *lines]).encode()


def access_point(number: int) -> str:
    """EAN-GSRN of the simulation's n-th access point."""
    return with_check_digit(f"54144900{number:09d}")


REASONS: Mapping[str, str] = {
    "first-connection": "E02",
    "supplier-switch": "E03",
    "move-in": "E65",
    "move-out": "E66",
    "master-data-change": "E32",
}
"""Why a life takes a step -> code of ebIX list 260_000006."""
