"""The measures in the answers of the SGE become messages beside the answer."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from lxml import etree

from adapters.common.conformance.subject import read
from adapters.fr_enedis import adapter
from adapters.fr_enedis.sge.answers import LABEL
from adapters.fr_enedis.sge.writing import SOAP
from energycomm.kernel.check import explain
from energycomm.kernel.codec import encode
from energycomm.kernel.messages import MeasureSeries, MeteredVolume, MeterReading, RequestAnswer, RequestStatus
from energycomm.market.contract import Sniff, Transaction
from tests.adapters.french import codes, content, only
from tests.adapters.test_fr_sge_requests import market_schemas

INVOICED, V2, V3 = (f"answer-LUM-M000050{number}_20260301T080000Z.xml" for number in (1, 2, 3))


def answered(name: str, *edits: tuple[str, str]) -> Transaction:
    """What comes of an answer with edits."""
    [found] = read(adapter, content(name, *edits), name).transactions
    for message in found.messages:
        assert explain(encode(message)) == []
    return found


@pytest.mark.parametrize("name", [INVOICED, V2, V3])
def test_the_fixtures_are_valid_by_the_types_of_the_market(shared: Path, name: str) -> None:
    schemas = market_schemas(shared)
    body = etree.fromstring(content(name)).find(f"{{{SOAP}}}Body")
    assert body is not None
    schemas[str(etree.QName(body[0]).namespace)].assertValid(body[0])


def test_what_was_invoiced_is_one_volume_a_period_with_both_grids() -> None:
    volumes = only(answered(INVOICED), MeteredVolume)
    assert [(str(one.start.date() if one.start else ""), str(one.effective.date())) for one in volumes] == [
        ("2026-01-01", "2026-02-01"),
        ("2026-02-01", "2026-03-01"),
    ]
    assert [(one.grid, one.time_class, one.quantity) for one in volumes[1].volumes] == [
        ("distributor", "HPH", Decimal(60)),
        ("distributor", "HCH", Decimal(40)),
        ("supplier", "BASE", Decimal(100)),
    ]
    assert {(one.nature, one.market_type, one.access_point) for one in volumes} == {
        ("measured", "SGE", "99000000000101")
    }


def test_an_answer_of_version_2_has_no_header_and_keeps_its_measures() -> None:
    found = answered(V2)
    assert codes(found) == []
    assert only(found, RequestAnswer)[0].accepted
    days = only(found, MeteredVolume)
    assert [(str(one.start), one.volumes[0].quantity) for one in days] == [
        ("2026-02-10 00:00:00+01:00", Decimal(8120)),
        ("2026-02-11 00:00:00+01:00", Decimal(7990)),
    ]
    curve, *peaks = sorted(only(found, MeasureSeries), key=lambda one: one.product or "")
    assert (curve.product, str(curve.effective), str(curve.end)) == (
        "active",
        "2026-02-10 00:00:00+01:00",  # a Linky's stamps are the ends of half hours
        "2026-02-10 01:00:00+01:00",
    )
    reached = [(str(place.at), place.value) for one in peaks for place in one.positions]
    assert reached == [("2026-02-10 19:12:31+01:00", Decimal(2340)), ("2026-02-11 07:40:02+01:00", Decimal(2100))]


def test_energies_that_all_begin_a_month_are_of_months() -> None:
    months = (("2026-02-10T00", "2025-12-01T00"), ("2026-02-11T00", "2026-01-01T00"))
    volumes = only(answered(V2, *months), MeteredVolume)
    assert [str(one.effective) for one in volumes] == ["2026-01-01 00:00:00+01:00", "2026-02-01 00:00:00+01:00"]


def test_indexes_of_version_3_are_a_reading_as_those_of_r64() -> None:
    [reading] = only(answered(V3), MeterReading)
    assert (str(reading.effective), reading.calendar) == ("2026-02-12 00:00:00+01:00", "DI000003")
    assert [(one.grid, one.time_class, one.value, one.unit) for one in reading.registers] == [
        ("distributor", "HPH", 7001200, "Wh"),
        ("distributor", "HCH", 3001300, "Wh"),
        ("distributor", "HPB", 5001400, "Wh"),
        ("distributor", "HCB", 4001500, "Wh"),
    ]


def test_an_answer_without_measures_says_so() -> None:
    text = content(V3).decode()
    empty = text[: text.index("<contexte>")] + text[text.index("</contexte>") + len("</contexte>") :]
    [found] = read(adapter, empty.encode(), V3).transactions
    [answer] = only(found, RequestAnswer)
    assert [reason.code for reason in answer.reasons] == ["NO_MEASURES"]
    assert [status.state for status in only(found, RequestStatus)] == ["done"]
    assert only(answered(V3), RequestAnswer)[0].reasons == ()


def test_measures_that_cannot_be_read_do_not_touch_the_answer() -> None:
    found = answered(V3, ("<d>2026-02-12 00:00:00</d>", "<d>2026-02-31 00:00:00</d>"))
    assert [(note.code, note.value) for note in found.notes] == [("NOTE_MEASURES_UNREAD", "2026-02-31 00:00:00")]
    [answer] = only(found, RequestAnswer)
    assert (answer.accepted, answer.reasons, only(found, MeterReading)) == (True, (), [])


def test_a_bare_fault_is_ours_where_it_answers_a_call_of_ours() -> None:
    assert adapter.dispatch(Sniff(V3, "xml", "Envelope", SOAP, (SOAP,))) == LABEL
    assert adapter.dispatch(Sniff("fault.xml", "xml", "Envelope", SOAP, (SOAP,))) != LABEL
    assert adapter.dispatch(Sniff(V3, "xml", "Envelope", SOAP, (SOAP, "urn:nedu:edsn:data"))) != LABEL
