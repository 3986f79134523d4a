"""The SOAP requests of the SGE: written as Enedis' own schemas want them, or not at all."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from adapters.fr_enedis import adapter
from adapters.fr_enedis.sge.services import BY_NAME, SERVICES, Service
from adapters.fr_enedis.sge.writing import SOAP
from energycomm.kernel.check import explain
from energycomm.kernel.codec import encode
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import Address, OrderedPoint
from energycomm.kernel.requests import OrderedMeasure
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage

REFERENCE = "0d4c2b1e-6f3a-4c5d-9e8f-7a6b5c4d3e2f"
NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

OTHERS = (OrderedPoint(access_point="99000000000102"), OrderedPoint(access_point="99000000000103"))

FULL: dict[str, dict[str, Any]] = {
    "RecherchePoint": {
        "access_point": None,
        "address": Address(
            street="RUE DE LA MER", number="1", addition="BAT B", postal_code="84160", municipality_code="84042"
        ),
        "meter": "02197600040404",
        "customer": "DUPONT & FILS",
        "category": "professional",
        "widened": True,
    },
    "RechercheServicesSouscritsMesures": {},
    "RechercheServicesAccesDonnees": {},
    "ConsultationDonneesTechniquesContractuelles": {"consent": True},
    "CommandeInformationsTechniquesEtContractuelles": {"consent": True, "points": OTHERS},
    "ConsultationMesures": {"measure": "invoicing", "consent": True},
    "CommandeHistoriqueDonneesMesuresFacturantes": {
        "points": OTHERS,
        "measure": "invoicing",
        "start": date(2025, 1, 1),
        "end": date(2026, 1, 1),
    },
    "ConsultationMesuresDetaillees": {
        "measure": "maximum-power",
        "start": date(2025, 4, 1),
        "end": date(2025, 4, 7),
        "resolution": "P1D",
        "consent": True,
    },
    "CommandeHistoriqueDonneesMesuresFines": {
        "points": OTHERS,
        "measure": "curve",
        "start": date(2025, 4, 1),
        "end": date(2025, 5, 1),
        "corrected": True,
        "direction": "production",
    },
    "CommandeTransmissionHistoriqueMesures": {
        "customer": "DUPONT",
        "title": "Mme",
        "first_name": "ANNE",
        "measure": "curve",
        "start": date(2024, 4, 1),
        "end": date(2025, 5, 1),
        "resolution": "PT10M",
        "consent": True,
    },
    "CommandeCollectePublicationMesures": {
        "measure": "curve",
        "start": date(2026, 1, 10),
        "end": date(2026, 12, 31),
        "step": "PT30M",
        "rhythm": "P1D",
        "consent": True,
        "company": "FONDERIE FICTIVE",
    },
    "CommandeTransmissionDonneesInfraJ": {
        "measure": "index",
        "further": (OrderedMeasure(measure="curve"),),
        "consent": True,
        "customer": "DUPONT",
    },
    "CommandeArretServiceSouscritMesures": {"service": "47761068"},
    "CommandeAccesDonneesMesures": {
        "action": "open",
        "measure": "energy",
        "start": date(2026, 1, 10),
        "end": date(2026, 12, 31),
        "consent": True,
        "customer": "DUPONT",
    },
    "CommandeServicesAccesDonnees": {
        "action": "open",
        "measure": "index",
        "end": date(2026, 12, 31),
        "consent": True,
        "customer": "DUPONT",
        "rhythm": "P1D",
        "corrected": False,
        "further": (OrderedMeasure(measure="curve"), OrderedMeasure(measure="maximum-power")),
    },
    "CommandeRenouvellementServicesAccesDonnees": {
        "action": "renew",
        "service": "666",
        "end": date(2027, 12, 31),
        "consent": True,
        "company": "FONDERIE FICTIVE",
        "direction": "production",
    },
    "CommandeModificationOptionsServicesAccesDonnees": {
        "action": "change",
        "service": "666",
        "rhythm": "P1M",
        "corrected": True,
        "withdraw": True,
    },
    "CommandeArretServicesAccesDonnees": {"action": "end", "service": "666"},
}
"""Service -> fields of a message that uses all it can."""

each_service = pytest.mark.parametrize("name", BY_NAME)


def message(name: str, **fields: Any) -> KernelMessage:
    """A message for a service."""
    head: dict[str, Any] = {
        "market": "FR",
        "market_type": name,
        "reference": "LUM-1",
        "created": NOW,
        "effective": NOW,
        "access_point": "99000000000101",
        "requester_login": "eau.douce@lumine.example",
        "contract": "90000101",
    }
    return KINDS[BY_NAME[name].kind](**{**head, **FULL[name], **fields})


def built(name: str, **fields: Any) -> OutgoingMessage:
    """The request for a service."""
    found = adapter.build(message(name, **fields), REFERENCE)
    assert isinstance(found, OutgoingMessage), found
    return found


def refused(name: str, **fields: Any) -> Refusal:
    """Why there is no request."""
    found = adapter.build(message(name, **fields), REFERENCE)
    assert isinstance(found, Refusal)
    return found


@cache
def market_schemas(shared: Path) -> dict[str, etree.XMLSchema]:
    """Namespace -> the market's own schema, of all that its WSDL files use."""
    found: dict[str, etree.XMLSchema] = {}
    for path in sorted((shared / "markets/fr/sge_ws/wsdl").rglob("*.xsd")):
        namespace = re.search(r'targetNamespace="([^"]+)"', path.read_text("utf-8"))
        if namespace is not None and namespace[1] not in found:
            found[namespace[1]] = etree.XMLSchema(file=str(path))
    return found


def check(shared: Path, service: Service, content: bytes) -> None:
    """Both the header and the body's element are valid by the market's schemas."""
    schemas = market_schemas(shared)
    root = etree.fromstring(content)
    body = root.find(f"{{{SOAP}}}Body")
    assert body is not None
    assert etree.QName(body[0]).namespace == service.namespace
    schemas[service.namespace].assertValid(body[0])
    header = root.find(f"{{{SOAP}}}Header")
    assert (header is None) == (service.header == "none")
    if header is not None:
        assert etree.QName(header[0]).localname == service.header
        schemas[str(etree.QName(header[0]).namespace)].assertValid(header[0])


@each_service
def test_every_request_is_valid_by_the_types_of_its_own_service(shared: Path, name: str) -> None:
    assert explain(encode(message(name))) == []
    check(shared, BY_NAME[name], built(name).content)


@each_service
def test_every_request_has_the_elements_of_the_published_one(shared: Path, name: str) -> None:
    """A published request of the service has no element that ours could not have, but for those of other people."""
    samples = []
    for path in sorted((shared / "markets/fr/sge_ws/requests").glob("*.xml")):
        [sample] = etree.parse(str(path)).getroot().iterfind(f"{{{SOAP}}}Body/*")
        if etree.QName(sample).namespace == BY_NAME[name].namespace:
            samples.append(sample)
    contents = (built(name).content, built(name, **_other(name)).content)
    ours = {element for content in contents for element in _elements(etree.fromstring(content))}
    optional = {"civilite", "prenom"} if "title" not in FULL[name] else set()
    assert {element for sample in samples for element in _elements(sample)} - ours <= optional


def _elements(root: etree._Element) -> set[str]:
    return {etree.QName(element).localname for element in root.iter(etree.Element)}


def _other(name: str) -> dict[str, Any]:
    """The other of two ways that a service may be asked."""
    if name == "CommandeModificationOptionsServicesAccesDonnees":
        return {"withdraw": False}
    if "company" in FULL[name]:
        return {"company": None, "customer": "DUPONT"}
    if "customer" in FULL[name] and name != "RecherchePoint":
        return {"customer": None, "company": "FONDERIE FICTIVE"}
    return {}


@each_service
def test_the_same_message_and_reference_give_the_same_bytes(name: str) -> None:
    assert built(name) == built(name)
    assert built(name).reference == REFERENCE
    assert built(name).type == name


@each_service
def test_our_reference_stands_in_every_request_that_has_a_place_for_it(name: str) -> None:
    assert (REFERENCE.encode() in built(name).content) == (name != "ConsultationMesuresDetaillees")


def test_of_several_services_the_one_named_is_asked_else_the_first_that_serves_the_message() -> None:
    period = {"start": date(2025, 1, 1), "end": date(2026, 1, 1)}
    asked = {
        ("RechercheServicesSouscritsMesures", "SGE"): {},
        ("RecherchePoint", "SGE"): FULL["RecherchePoint"],
        ("ConsultationMesures", "SGE"): {"measure": "invoicing"},
        ("CommandeHistoriqueDonneesMesuresFacturantes", "SGE"): {"measure": "invoicing", **period},
        ("ConsultationMesuresDetaillees", "SGE"): {"measure": "curve", **period},
        ("CommandeArretServicesAccesDonnees", "SGE"): {"action": "end", "service": "666"},
    }
    for (name, market_type), fields in asked.items():
        assert built(name, **{"market_type": market_type, **fields}).type == name


@pytest.mark.parametrize(
    ("name", "fields", "code", "path"),
    [
        ("RecherchePoint", {"address": None, "meter": None, "customer": None}, "BUILD_MISSING", "address"),
        ("CommandeCollectePublicationMesures", {"consent": None}, "BUILD_MISSING", "consent"),
        ("CommandeCollectePublicationMesures", {"company": None, "customer": None}, "BUILD_MISSING", "customer"),
        ("CommandeCollectePublicationMesures", {"measure": "maximum-power"}, "BUILD_VALUE", "measure"),
        ("CommandeArretServiceSouscritMesures", {"access_point": "990000000101"}, "BUILD_VALUE", "access_point"),
        ("CommandeArretServiceSouscritMesures", {"requester_login": "lumine"}, "BUILD_VALUE", "requester_login"),
        ("CommandeArretServiceSouscritMesures", {"contract": None}, "BUILD_MISSING", "contract"),
        ("ConsultationMesuresDetaillees", {"start": None}, "BUILD_MISSING", "start"),
        ("ConsultationMesuresDetaillees", {"resolution": "PT30M"}, "BUILD_VALUE", "resolution"),
        ("CommandeModificationOptionsServicesAccesDonnees", {"rhythm": None}, "BUILD_MISSING", "rhythm"),
        ("CommandeArretServicesAccesDonnees", {"market_type": "RecherchePoint"}, "BUILD_SERVICE", "market_type"),
    ],
)
def test_what_a_service_needs_and_does_not_get_is_a_refusal_with_the_field(
    name: str, fields: dict[str, Any], code: str, path: str
) -> None:
    found = refused(name, **fields)
    assert (found.code, found.path) == (code, path)


def test_an_order_of_a_file_names_every_point() -> None:
    """Named by no service, several points are ordered as a file: it alone takes them."""
    for name in (
        "CommandeHistoriqueDonneesMesuresFines",
        "CommandeHistoriqueDonneesMesuresFacturantes",
        "CommandeInformationsTechniquesEtContractuelles",
    ):
        order = built(name, market_type="SGE")
        assert order.type == name
        named = [element.text for element in etree.fromstring(order.content).iter("pointId")]
        assert named == ["99000000000101", "99000000000102", "99000000000103"]


@pytest.mark.parametrize(
    ("name", "fields", "path"),
    [
        ("ConsultationMesuresDetaillees", {"points": OTHERS}, "points"),
        ("ConsultationMesures", {"points": OTHERS}, "points"),
        ("CommandeCollectePublicationMesures", {"further": (OrderedMeasure(measure="index"),)}, "further"),
        ("CommandeAccesDonneesMesures", {"further": (OrderedMeasure(measure="index"),)}, "further"),
        ("CommandeTransmissionDonneesInfraJ", {"further": (OrderedMeasure(measure="energy"),)}, "measure"),
        ("CommandeCollectePublicationMesures", {"recurrent": False}, "rhythm"),
        ("ConsultationMesuresDetaillees", {"measure": "index", "product": "voltage"}, "product"),
        ("ConsultationMesuresDetaillees", {"measure": "curve", "product": "heat"}, "product"),
        ("CommandeTransmissionHistoriqueMesures", {"title": None}, "title"),
        ("CommandeTransmissionHistoriqueMesures", {"title": "Dr"}, "title"),
    ],
)
def test_what_a_service_does_not_take_is_refused_and_not_left_out(name: str, fields: dict[str, Any], path: str) -> None:
    found = refused(name, **fields)
    assert (found.code in ("BUILD_VALUE", "BUILD_MISSING"), found.path) == (True, path)


def test_two_kinds_of_measures_go_in_one_order() -> None:
    def texts(tag: str, **fields: Any) -> list[str | None]:
        return [element.text for element in etree.fromstring(built(**fields).content).iter(tag)]

    access = {"name": "CommandeServicesAccesDonnees", "market_type": "SGE"}
    assert built(**access).type == "CommandeServicesAccesDonnees"
    assert texts("typeDonnees", **access) == ["IDX", "CDC", "PMAX"]
    within = {"name": "CommandeTransmissionDonneesInfraJ", "market_type": "SGE"}
    assert built(**within).type == "CommandeTransmissionDonneesInfraJ"
    assert (texts("cdc", **within), texts("idx", **within)) == (["true"], ["true"])


@pytest.mark.parametrize(
    ("product", "code"), [(None, "PA"), ("reactive-inductive", "PRI"), ("reactive-capacitive", "PRC"), ("all", "TOUT")]
)
def test_a_reactive_curve_can_be_asked_for(product: str | None, code: str, shared: Path) -> None:
    request = built("ConsultationMesuresDetaillees", measure="curve", product=product, resolution=None)
    check(shared, BY_NAME["ConsultationMesuresDetaillees"], request.content)
    assert [element.text for element in etree.fromstring(request.content).iter("grandeurPhysique")] == [code]


def test_what_is_only_collected_has_no_recurrent_transmission(shared: Path) -> None:
    request = built("CommandeCollectePublicationMesures", recurrent=False, rhythm=None)
    check(shared, BY_NAME["CommandeCollectePublicationMesures"], request.content)
    [told] = etree.fromstring(request.content).iter("transmissionRecurrente")
    assert told.text == "false"


def test_a_kind_that_no_service_serves_is_refused() -> None:
    other = KINDS["MoveInRequest"](market="FR", market_type="SGE", reference="r", created=NOW, effective=NOW)
    found = adapter.build(other, REFERENCE)
    assert isinstance(found, Refusal)
    assert found.code == "BUILD_KIND"
    assert "MoveInRequest" not in adapter.builds
    assert {service.kind for service in SERVICES} == adapter.builds


@given(text=st.text(min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_any_text_is_written_as_it_is_or_refused(text: str) -> None:
    found = adapter.build(message("RecherchePoint", customer=text), REFERENCE)
    if isinstance(found, Refusal):
        assert (found.code, found.path) == ("BUILD_VALUE", "customer")
    else:
        names = etree.fromstring(found.content).findall(".//nomClientFinalOuDenominationSociale")
        assert [name.text for name in names] == [text]
