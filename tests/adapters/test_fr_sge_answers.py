"""What the SGE answers, and how it meets the request that was sent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lxml import etree

from adapters.common.conformance.subject import read
from adapters.fr_enedis import adapter
from adapters.fr_enedis.sge.answers import LABEL
from adapters.fr_enedis.sge.writing import SOAP
from energycomm.kernel.check import explain
from energycomm.kernel.codec import encode
from energycomm.kernel.instants import EPOCH
from energycomm.kernel.messages import ErrorReport, RequestAnswer, RequestStatus
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Sniff
from tests.adapters.french import content, digest, kinds, only
from tests.adapters.subjects import FIXTURES
from tests.adapters.test_fr_sge_requests import market_schemas

NAMED = "answer-LUM-M0000404_20260223T080005Z.xml"


def test_an_accepted_order_names_its_affaire_and_our_reference() -> None:
    [transaction] = digest("sge_order_accepted.xml").transactions
    assert kinds(transaction) == ["RequestAnswer"]
    [answer] = only(transaction, RequestAnswer)
    assert (answer.accepted, answer.code, answer.request, answer.correlation) == (
        True,
        "SGT200",
        "A0000105",
        "LUM-A0000105",
    )
    assert answer.access_point == "99000000000101"


def test_the_milestones_of_the_affaire_bear_the_reference_and_the_affaire_of_the_answer() -> None:
    [answered] = digest("sge_order_accepted.xml").transactions
    [answer] = only(answered, RequestAnswer)
    milestones = [
        only(transaction, RequestStatus)[0]
        for transaction in digest("x12_day_2.xml").transactions
        if transaction.messages
    ]
    followed = [status for status in milestones if status.request == answer.request]
    assert [status.state for status in followed] == ["sent", "done"]
    assert {status.correlation for status in followed} == {answer.correlation}


def test_an_affaire_of_another_party_is_no_answer_to_us() -> None:
    for transaction in digest("x13.xml").transactions:
        assert only(transaction, RequestStatus)[0].correlation is None


def test_a_search_is_done_with_its_answer_and_lists_the_points() -> None:
    [transaction] = digest("sge_points_found.xml").transactions
    assert kinds(transaction) == ["RequestStatus", "RequestAnswer"]
    [status] = only(transaction, RequestStatus)
    assert (status.state, status.correlation) == ("done", "LUM-S0000001")
    [answer] = only(transaction, RequestAnswer)
    assert [(point.access_point, point.city, point.meter) for point in answer.found] == [
        ("99000000000101", "01990 SAINT-FICTIF", "02197600010101"),
        ("99000000000102", "01990 SAINT-FICTIF", None),
    ]


def test_an_answer_bears_what_no_field_has_a_place_for() -> None:
    [ordered] = only(digest("sge_order_accepted.xml").transactions[0], RequestAnswer)
    assert {one.name: one.value for one in ordered.particulars} == {"serviceSouscritId": "47760105"}
    [found] = only(digest("sge_points_found.xml").transactions[0], RequestAnswer)
    borne = {one.name: one.value for one in found.particulars}
    assert borne["points/point/etatContractuel/@code"] == "SERVC"
    assert borne["points/point[2]/etatContractuel/@code"] == "RESIL"
    assert borne["points/point[2]/adresseInstallationNormalisee/ligne4"] == "1 RUE DES ESSAIS"
    words = ("</infoDemandeur>", "</infoDemandeur><commentaire>Voir le contrat.</commentaire>")
    [refused] = only(digest("sge_order_refused.xml", words).transactions[0], RequestAnswer)
    assert [one.value for one in refused.particulars] == ["Voir le contrat."]


def test_the_data_of_a_point_are_borne_by_the_answer_as_far_as_a_message_holds_them() -> None:
    opening, closing = (
        "<req:commanderCollectePublicationMesuresResponse>",
        "</req:commanderCollectePublicationMesuresResponse>",
    )
    asked = "consulterDonneesTechniquesContractuellesResponse"
    whole = content("sge_order_accepted.xml").decode()
    head, foot = whole[: whole.index(opening)], whole[whole.index(closing) + len(closing) :]
    meters = "".join(f"<compteur><matricule>{number}</matricule></compteur>" for number in range(1001))
    power = "<puissanceSouscriteMax><valeur>9</valeur><unite>kVA</unite></puissanceSouscriteMax>"
    for inside, borne, noted in ((power, 2, []), (meters, 1000, ["NOTE_PARTICULARS"])):
        data = f"{head}<req:{asked}><point>{inside}</point></req:{asked}>{foot}".encode()
        [transaction] = read(adapter, data, NAMED).transactions
        [answer] = only(transaction, RequestAnswer)
        assert [len(answer.particulars), [note.code for note in transaction.notes]] == [borne, noted]
        assert explain(encode(answer)) == []


def test_a_fault_of_business_is_a_refusal_of_the_request() -> None:
    [transaction] = digest("sge_order_refused.xml").transactions
    [answer] = only(transaction, RequestAnswer)
    assert (answer.accepted, answer.code, answer.correlation) == (False, "SGT566", "LUM-A0000307")
    assert answer.text == "Ce service nécessite l'accord du client."


@pytest.mark.parametrize("code", ["SGT401", "SGT4G2", "SGT4K2", "SGT4L8", "SGT570"])
def test_codes_of_business_refuse_and_others_report_a_failure(code: str) -> None:
    [transaction] = digest("sge_order_refused.xml", ("SGT566", code)).transactions
    assert kinds(transaction) == ["RequestAnswer"]
    [failed] = digest("sge_order_refused.xml", ("SGT566", "SGT500")).transactions
    [report] = only(failed, ErrorReport)
    assert (report.code, report.correlation) == ("SGT500", "LUM-A0000307")


def test_a_fault_without_details_is_a_failure_with_the_words_of_soap() -> None:
    whole = content("sge_order_refused.xml").decode()
    bare = re.sub(r"<detail>.*</detail>", "", whole, flags=re.DOTALL).encode()
    found = read(adapter, bare, "answer-LUM-1_20260105T080000Z.xml", LABEL)
    [report] = only(found.transactions[0], ErrorReport)
    assert (report.code, report.text, report.correlation) == ("Server", "Erreur fonctionnelle", "LUM-1")


def test_an_acquittement_that_refuses_is_a_refusal() -> None:
    [transaction] = digest("sge_order_accepted.xml", ("SGT200", "SGT4K2")).transactions
    [answer] = only(transaction, RequestAnswer)
    assert (answer.accepted, answer.code) == (False, "SGT4K2")


def test_where_no_reference_is_repeated_the_name_of_the_file_tells_the_call_and_the_time() -> None:
    data = (FIXTURES / "fr" / NAMED).read_bytes()
    [transaction] = read(adapter, data, NAMED).transactions
    [answer] = only(transaction, RequestAnswer)
    assert (answer.request, answer.correlation) == ("60000404", "LUM-M0000404")
    assert answer.effective.isoformat() == "2026-02-23T08:00:05+00:00"
    other = read(adapter, data, NAMED.replace("404", "405")).transactions[0]
    assert other.identity != transaction.identity, "the same words in answer to another call are another answer"


def test_an_answer_without_a_time_is_read_the_same_at_any_time() -> None:
    """What it becomes depends on its bytes and name alone: it is noted, and no clock is asked."""
    [transaction] = read(adapter, content(NAMED), "answer-1b4e28ba.xml").transactions
    assert [note.code for note in transaction.notes] == ["NOTE_TIME_UNKNOWN"]
    assert {message.effective for message in transaction.messages} == {EPOCH}
    assert transaction == read(adapter, content(NAMED), "answer-1b4e28ba.xml").transactions[0]


def test_soap_envelopes_of_others_are_not_ours() -> None:
    refused = adapter.dispatch(Sniff("a.xml", "xml", "Envelope", SOAP, ("urn:nedu:edsn:data",)))
    assert isinstance(refused, Refusal)
    assert refused.code == "TYPE_NOT_OURS"
    assert adapter.dispatch(Sniff("a.xml", "xml", "Envelope", SOAP, ("http://www.enedis.fr/sge/b2b/x",))) == LABEL


@pytest.mark.parametrize("name", ["sge_order_accepted.xml", "sge_points_found.xml", "sge_order_refused.xml", NAMED])
def test_the_fixtures_are_valid_by_the_types_of_the_market(shared: Path, name: str) -> None:
    schemas = market_schemas(shared)
    root = etree.fromstring((FIXTURES / "fr" / name).read_bytes())
    checked = 0
    for element in root.iter(etree.Element):
        namespace = etree.QName(element).namespace
        if namespace in schemas:
            schemas[str(namespace)].assertValid(element)
            checked += 1
    assert checked >= 1
