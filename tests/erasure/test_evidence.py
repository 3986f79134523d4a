"""Evidence of an erasure: who, when, why, what went, what stays and by which law; and never who it was."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import msgspec
import pytest
from msgspec import structs

from energycomm.eis.database import reading
from energycomm.eis.erasures import REASONS, evidence
from energycomm.erasure.erasing import again, carry_out, plan
from energycomm.erasure.evidence import Proof, proof_of
from energycomm.erasure.places import PLACES
from energycomm.errors import UserError
from energycomm.kernel.instants import micros
from tests.end_to_end.conftest import Place
from tests.erasure.left import AFTER, MOREL_POINT, WHY, WORDS, data, ended, means, mine, request
from tests.erasure.left import PRM as POINT
from tests.pipeline.desk import Desk
from tests.pipeline.story import day


def proved(desk: Desk) -> Proof:
    with reading(desk.database) as connection:
        return proof_of(connection, 1)


def test_the_evidence_says_who_when_why_what_went_and_what_stays_by_which_law(desk: Desk) -> None:
    carry_out(means(desk), mine(desk))
    found = proved(desk)
    (run,) = found.runs
    assert (run.by, run.via, run.done, found.reason) == ("dora", "test", True, "objected")
    assert found.law == REASONS["objected"]
    assert "17(1)(c)" in str(found.law)
    assert run.counts == found.counts
    assert run.counts["kernel_message"] == 1
    assert run.counts["note"] == 2
    laws = {one.what: f"{one.law}; {one.national}" for one in run.kept}
    assert "L123-22" in laws["grid invoices"]
    assert all(laws.values())
    # Anybody can compute the hash from what the evidence shows of the order.
    shown = json.loads(msgspec.json.encode(found))["order"]
    digest = hashlib.sha256(json.dumps(shown, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    assert digest == run.order_sha256 == found.order_sha256
    text = msgspec.json.encode(found).decode().lower()
    assert [word for word in WORDS if word in text] == []
    assert again(means(desk, now=AFTER + 1)).total() == 0
    assert len(proved(desk).runs) == 1, "a run that found nothing is no evidence"


@pytest.mark.thorough
def test_runs_that_were_cut_off_are_told_by_the_one_that_ends(desk: Desk) -> None:
    """What each of them took out is counted in the transaction that took it, so nothing is told twice or not at all."""
    met = set[str]()

    def watch(place: str) -> None:
        if place not in met:
            met.add(place)
            raise KeyboardInterrupt

    while True:
        try:
            carry_out(means(desk, watch=watch), mine(desk))
            break
        except KeyboardInterrupt:
            continue
    assert len(met) > len(PLACES)
    (run,) = proved(desk).runs
    assert run.counts == proved(desk).counts
    assert (run.counts["note"], run.counts["kernel_message"], run.counts["prediction"]) == (2, 1, 1)


def test_what_comes_later_is_a_further_row_of_evidence(desk: Desk) -> None:
    carry_out(means(desk), mine(desk))
    desk.deliver([data(POINT, 20, "Quinquengrogne", email="aldegonde@example.org")])
    taken = again(means(desk, by=("energycomm", "standing order", "")))
    first, second = proved(desk).runs
    assert (first.by, second.by) == ("dora", "energycomm")
    assert Counter(second.counts) == taken
    assert Counter(first.counts) + Counter(second.counts) == Counter(proved(desk).counts)
    assert first.order_sha256 == second.order_sha256


def test_a_reference_that_names_the_customer_is_refused_before_anything_changes(desk: Desk) -> None:
    """It is kept for good."""
    named = structs.replace(mine(desk), reference="case of Mrs Quinquengrogne")
    assert "the reference names the customer" in plan(means(desk), named).hindered[0]
    with pytest.raises(UserError, match="reference names the customer"):
        carry_out(means(desk), named)
    assert desk.rows("SELECT 1 FROM erasure") == []
    with reading(desk.database) as connection:
        assert evidence(connection, 1) == []


def test_evidence_that_is_kept_for_its_time_has_a_day_and_a_law(desk: Desk) -> None:
    """A request of the customer's is evidence for a year after the supply; the day and the law are told."""
    request(desk, "done")
    carry_out(means(desk, evidence_days=365), mine(desk))
    (run,) = proved(desk).runs
    (kept,) = [one for one in run.kept if one.until]
    assert not run.done
    assert (kept.what, kept.until) == ("requests", day(465).date().isoformat())  # the supply ended on day 100
    assert "17(3)(e)" in kept.law
    assert "article 2224" in str(kept.national)
    again(means(desk, evidence_days=365, now=micros(day(470))))
    assert [one.done for one in proved(desk).runs] == [False, True]


def test_the_command_prints_it_and_an_erasure_needs_a_reason(french: Place) -> None:
    ended(french)
    refused = french("customer", "erase", MOREL_POINT, "--yes")
    assert (refused.code, "--reason: no-longer-needed, consent-withdrawn" in refused.err) == (3, True)
    odd = french("customer", "erase", MOREL_POINT, "--yes", "--reason", "because")
    assert (odd.code, "'because' is no reason" in odd.err) == (3, True)
    assert french.rows("SELECT 1 FROM erasure") == []
    assert "L123-22" in french("customer", "erase", MOREL_POINT).out
    assert french("customer", "erase", MOREL_POINT, *WHY, "--yes").code == 0
    found = french("customer", "evidence", 1).json
    assert (found["reason"], found["access_point"], len(found["runs"])) == ("no-longer-needed", MOREL_POINT, 1)
    assert "morel" not in json.dumps(found).lower()
    assert french("customer", "evidence", 9).code == 3
