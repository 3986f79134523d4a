"""X12 and X13: milestones of requests, repeated in every daily snapshot."""

from __future__ import annotations

from datetime import date

import pytest

from energycomm.kernel.messages import RequestStatus
from tests.adapters.french import codes, digest, only

CLOSING = '<affaireEtat code="CPRE"><libelle>Close, prestation réalisée</libelle></affaireEtat>'


def test_a_milestone_is_a_request_status() -> None:
    found = digest("x12_day_2.xml")
    last = found.transactions[3]
    [status] = only(last, RequestStatus)
    assert (last.reference, last.type, status.request, status.milestone) == ("A0000101:4", "X12", "A0000101", 4)
    assert (status.state, status.state_code, status.status_code) == ("done", "CPRE", "TERMN")
    assert (status.object_code, status.medium, status.requester_reference) == ("CFN", "PTL", "LUM-A0000101")
    assert status.effective.isoformat() == "2026-01-05T07:27:23.385000+01:00"
    assert (status.effect_date, status.initiated_by_us) == (date(2026, 1, 5), True)


def test_a_milestone_repeated_in_a_later_snapshot_is_the_same() -> None:
    """Even though the affaire's status went from COURS to TERMN, and from empty to COURS."""
    first = {transaction.reference: transaction for transaction in digest("x12_day_1.xml").transactions}
    second = {transaction.reference: transaction for transaction in digest("x12_day_2.xml").transactions}
    repeated = first.keys() & second.keys()
    assert repeated == {"A0000101:1", "A0000101:2", "A0000101:3", "A0000202:1", "A0000105:1"}
    for reference in repeated:
        assert first[reference].identity == second[reference].identity


def test_the_label_of_a_group_is_borne_and_makes_no_other_milestone() -> None:
    own = "<referenceDemandeur>LUM-A0000101</referenceDemandeur>"
    labelled = digest("x12_day_1.xml", (own, f"{own}<referenceRegroupement>Lot 7</referenceRegroupement>")).transactions
    [status] = only(labelled[0], RequestStatus)
    assert ("referenceRegroupement", "Lot 7") in [(one.name, one.value) for one in status.particulars]
    assert [one.identity for one in labelled] == [one.identity for one in digest("x12_day_1.xml").transactions]


def test_states_follow_the_codes_of_the_milestones() -> None:
    states = [only(transaction, RequestStatus)[0].state for transaction in digest("x12_day_1.xml").transactions]
    assert states == ["sent", "acknowledged", "in-course", "sent", "sent", "sent", "refused"]


@pytest.mark.parametrize(
    "status", ['<statut code="COURS"/>', "<statut/>", "<statut></statut>", "", '<statut code=""/>']
)
def test_an_attribute_only_empty_or_missing_status_is_tolerated(status: str) -> None:
    found = digest("x12_day_1.xml", ('<statut code="COURS"/>', status))
    assert found.codes() == set()
    assert only(found.transactions[2], RequestStatus)[0].status_code is None


def test_a_cancelled_affaire_ends_in_a_status_of_its_own() -> None:
    plain = digest("x12_day_1.xml").transactions
    found = digest("x12_day_1.xml", ('<statut code="COURS"/>', '<statut code="ANNUL"/>')).transactions
    [status] = only(found[2], RequestStatus)
    assert (found[2].reference, status.state, status.status_code) == ("A0000101:3:ANNUL", "cancelled", "ANNUL")
    assert [later.identity for later in found[:2]] == [earlier.identity for earlier in plain[:2]]
    assert found[2].identity != plain[2].identity


def test_an_unknown_state_is_carried_and_noted() -> None:
    found = digest("x12_day_1.xml", ('code="INPL"', 'code="XYZ"'))
    [status] = only(found.transactions[2], RequestStatus)
    assert (status.state, status.state_code) == ("in-course", "XYZ")
    assert codes(found.transactions[2]) == ["NOTE_CODE_UNKNOWN"]


def test_requests_of_others_are_told_from_ours() -> None:
    found = digest("x13.xml")
    [status] = only(found.transactions[1], RequestStatus)
    assert found.head is not None
    assert (found.head.type, status.market_type, status.initiated_by_us) == ("X13", "X13", False)
    assert (status.medium, status.requester_reference) == (None, None)


def test_one_broken_milestone_harms_no_other() -> None:
    found = digest("x12_day_1.xml", ("<num>2</num>", "<num>two</num>"))
    assert [bool(transaction.messages) for transaction in found.transactions[:4]] == [True, False, True, True]
    assert codes(found.transactions[1]) == ["SYN_VALUE"]
    assert found.transactions[1].refusals[0].path == "/jalon/num"


def test_a_broken_affaire_is_one_refusal() -> None:
    found = digest("x12_day_1.xml", ("<donneesPoint>", "<donneesPoint><id>1</id>"))
    assert codes(found.transactions[0]) == ["SYN_UNEXPECTED"]
    assert found.transactions[1].reference == "A0000202:1"


def test_a_counter_that_is_wrong_is_noted_on_the_last_milestone() -> None:
    found = digest("x12_day_1.xml", ("<nbAffaires>4<", "<nbAffaires>5<"))
    assert [codes(transaction) for transaction in found.transactions[-2:]] == [[], ["NOTE_COUNT"]]
