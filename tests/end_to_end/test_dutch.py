"""The Netherlands as an operator meets them: the shipped messages processed, and requests followed to their end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from energycomm.billing.period import BillingPeriod, billing_period
from energycomm.config import load
from energycomm.kernel.codec import encode_json
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.opening import open_store
from energycomm.pipeline.progress import total
from tests.adapters.dutch import FOURTH, GRID, POINT, THIRD, fixture, request
from tests.adapters.subjects import FIXTURES
from tests.end_to_end.conftest import Place

Places = Callable[..., Place]


@pytest.fixture
def dutch(project_root: Path) -> Path:
    """The shipped Dutch fixtures."""
    return project_root / "fixtures" / "nl"


def test_the_shipped_messages_are_accepted_but_for_those_that_are_wrong_on_purpose(
    place: Places, dutch: Path, database_url: str
) -> None:
    here = place(database_url)
    answer = here.process(dutch)
    assert answer.json["kernel_messages"].keys() == {"accepted", "rejected"}
    rejected = here.rows(
        "SELECT k.kind, f.error_code FROM kernel_message k JOIN finding f ON f.message_id = k.id "
        "WHERE k.state = 'rejected' AND f.severity = 'error' ORDER BY 1, 2"
    )
    assert rejected == [("AccessPointData", "NL-P05"), ("MeasureSeries", "NL-V12")]


def test_the_result_of_a_repeated_query_is_known_as_a_duplicate(place: Places, dutch: Path) -> None:
    here = place()
    here.process(dutch / "gains.xml", dutch / "gains_of_moves.xml", dutch / "p4_day.xml")
    readings = here.rows("SELECT count(*) FROM reading")
    here.process(dutch / "p4_day_again.xml")
    assert here.rows("SELECT count(*) FROM ch_duplicate") == [(4,)]
    assert here.rows("SELECT count(*) FROM reading") == readings


def test_a_dutch_month_is_billed_from_the_files_of_the_market(place: Places, dutch: Path) -> None:
    """By the readings of 1 February and 1 March: 10 190 - 10 099 and 9 821 - 9 731 kWh. What was fed in has no index on
    1 March, so the month is not ready. Gas to 10 March: 4 125 - 3 990 m3."""
    here = place()
    here.process(*sorted(dutch.glob("*.xml")))
    config = load()
    with open_store(config) as store:
        markets = Gateway(config, store).markets

        def bill(point: str, last: date) -> BillingPeriod:
            return billing_period(store.engine, point, date(2026, 2, 1), last, markets)

        power, gas = bill("871999910000000010", date(2026, 2, 28)), bill("871999910000000027", date(2026, 3, 9))
    taken = {one.time_class: one.quantity for one in power.consumption if one.direction == "consumption"}
    assert taken == {"L": 91, "N": 90}
    blocking = [one for one in power.remarks if one.blocks]
    assert [(one.code, "production" in one.words_fr) for one in blocking] == [("READING_BETWEEN", True)] * 2
    assert {one.power_unit for one in power.terms} == {"kW"}
    assert [(one.quantity, one.unit) for one in gas.consumption] == [(135, "m3")]


def test_any_order_of_the_messages_ends_in_the_same_store(place: Places, dutch: Path) -> None:
    files = sorted(dutch.glob("*.xml"))
    meanings = []
    for number, order in enumerate((files, files[::-1], files[7:] + files[:7])):
        here = place(name=f"place{number}")
        config = load()
        with open_store(config) as store:
            total(Gateway(config, store).inbound.take(order, "test"))
        meanings.append(here.meaning())
    assert meanings[0] == meanings[1] == meanings[2]


def submitted(here: Place, kind: str, **changes: Any) -> tuple[int, Any]:
    """Hand a request in on the command line."""
    file = here.folder / "request.json"
    file.write_bytes(encode_json(request(kind, access_point=THIRD, **changes)))
    answer = here("request", "submit", file, "--json")
    return answer.code, json.loads(answer.out)


def state(here: Place) -> list[tuple[Any, ...]]:
    """Kind, state and code of every request, in order."""
    return here.rows("SELECT kind, state, answer_code FROM outgoing ORDER BY id")


def answered(here: Place, name: str, reference: str) -> None:
    """The market answers with a fixture, naming our reference."""
    file = here.folder / name
    file.write_bytes(fixture(name).replace(b"lum-mvi-0001", reference.encode()))
    here.process(file)


def test_a_move_in_is_followed_from_its_answer_to_its_gain(place: Places) -> None:
    here = place()
    submitted(here, "MoveInRequest")
    ((reference,),) = here.rows("SELECT reference FROM outgoing")
    answered(here, "move_in_taken.xml", reference)
    assert state(here) == [("MoveInRequest", "acknowledged", None)]
    assert here.rows("SELECT market_reference FROM outgoing") == [("70020003",)]
    answered(here, "gains_of_moves.xml", reference)
    assert state(here) == [("MoveInRequest", "done", None)]


def told(here: Place, name: str, changes: Mapping[str, str]) -> None:
    """The market tells a fixture with other values."""
    content = fixture(name).decode()
    for old, value in changes.items():
        assert old in content
        content = content.replace(old, value)
    file = here.folder / f"told_{len(list(here.folder.iterdir()))}.xml"
    file.write_text(content, "utf-8")
    here.process(file)


def asked(here: Place, kind: str, **changes: Any) -> str:
    """The reference of a request."""
    submitted(here, kind, **changes)
    ((reference,),) = here.rows("SELECT reference FROM outgoing")
    return str(reference)


REFERENCE = "<ExternalReference>lum-mvi-0001</ExternalReference>"
MOVED_OUT = {"<MutationReason>MOVEIN": "<MutationReason>MOVEOUT"}
"""A loss as the end that we ask for."""


@pytest.mark.parametrize(
    ("late_answer", "changes", "ended"),
    [
        (False, {**MOVED_OUT, "70030001": "70030003"}, "done"),
        (True, {**MOVED_OUT, "70030001": "70030003"}, "done"),
        (False, MOVED_OUT, "acknowledged"),  # of another dossier
    ],
)
def test_a_loss_without_our_reference_ends_the_request_that_its_dossier_names(
    place: Places, late_answer: bool, changes: dict[str, str], ended: str
) -> None:
    here = place()
    here.process(FIXTURES / "nl" / "gains_of_moves.xml")
    reference = asked(
        here, "MoveOutRequest", requested_date=date(2026, 3, 10), created=datetime(2026, 3, 9, tzinfo=UTC)
    )
    answer = {"lum-mvo-0001": reference, FOURTH: THIRD}
    if not late_answer:
        told(here, "move_out_taken.xml", answer)
        assert state(here) == [("MoveOutRequest", "acknowledged", None)]
    told(here, "losses.xml", changes)
    assert ("EndOfSupply", "accepted") in here.rows("SELECT kind, state FROM kernel_message")
    if late_answer:
        told(here, "move_out_taken.xml", answer)
    assert state(here) == [("MoveOutRequest", ended, None)]


def test_a_change_of_name_without_our_reference_ends_the_request_that_its_dossier_names(place: Places) -> None:
    here = place()
    here.process(FIXTURES / "nl" / "gains_of_moves.xml")
    reference = asked(here, "MasterDataUpdate", created=datetime(2026, 2, 20, tzinfo=UTC))
    told(here, "name_change_taken.xml", {"lum-nam-0001": reference, POINT: THIRD})
    content = fixture("mutations_of_one_day.xml").decode()
    second = content[content.index("<Portaal_Mutation>", content.index("</Portaal_Mutation>")) :]
    changes = {second[: second.index("</Portaal_Mutation>") + len("</Portaal_Mutation>")]: ""}
    changes |= {"<ExternalReference>lum-nam-0001</ExternalReference>": "", THIRD: FOURTH}
    for dossier, ended in (("70050003", "acknowledged"), ("70050002", "done")):
        told(here, "mutations_of_one_day.xml", changes | {"70050002": dossier, POINT: THIRD})
        assert state(here) == [("MasterDataUpdate", ended, None)]


@pytest.mark.parametrize(
    ("changes", "ended"),
    [
        ({REFERENCE: ""}, "done"),
        ({REFERENCE: "", "2026-02-15": "2026-02-16"}, "acknowledged"),  # another day than we asked for
    ],
)
def test_a_gain_ends_the_request_of_a_batch_that_asked_for_it(
    place: Places, changes: dict[str, str], ended: str
) -> None:
    """The answer to a batch tells no dossier: what ends is what we asked for of the point, for that day."""
    here = place()
    reference = asked(here, "MoveInRequest", requested_date=date(2026, 2, 15))
    told(here, "move_in_batch_taken.xml", {"5f1d2c3a-1111-4000-8000-000000000806": reference})
    assert state(here) == [("MoveInRequest", "acknowledged", None)]
    told(here, "gains_of_moves.xml", changes)
    assert state(here) == [("MoveInRequest", ended, None)]


@pytest.mark.parametrize("backwards", [False, True])
def test_data_told_ahead_of_a_supply_hold_and_begin_none(place: Places, backwards: bool) -> None:
    """A week before the day of the gain, whichever of the two lists comes first."""
    here = place()
    written = {"2026-02-01T06:10:00+01:00": "2026-01-25T06:10:00+01:00"}
    first, second = ("gains.xml", "points_won.xml")[:: -1 if backwards else 1]
    told(here, first, written if first == "points_won.xml" else {})
    told(here, second, written if second == "points_won.xml" else {})
    assert here.rows("SELECT DISTINCT state FROM kernel_message") == [("accepted",)]
    assert here.rows("SELECT DISTINCT count(*) FROM finding") == [(0,)]
    tables = ("point_data", "supply_period")
    sql = "SELECT s.at FROM {} s JOIN access_point p ON p.id = s.access_point_id WHERE p.identifier = '{}'"
    days = [here.rows(sql.format(table, POINT)) for table in tables]
    assert days == [[(1_769_295_600_000_000,)], [(1_769_900_400_000_000,)]]  # 25 January, 1 February


def test_a_second_request_for_the_point_would_cross_and_is_not_sent(place: Places) -> None:
    here = place()
    submitted(here, "MoveInRequest")
    submitted(here, "SupplierSwitchRequest")
    assert len(state(here)) == 1
    assert here.rows("SELECT DISTINCT error_code FROM finding") == [("NL-S53",)]


def test_a_request_that_crossed_another_party_s_is_refused_with_227(place: Places) -> None:
    here = place()
    submitted(here, "MoveInRequest")
    ((reference,),) = here.rows("SELECT reference FROM outgoing")
    file = here.folder / f"answer_{reference}_20260210T130002Z.xml"
    content = fixture("move_in_crossing.xml")
    start, end = content.index(b"<CorrelationID>"), content.index(b"</CorrelationID>") + len(b"</CorrelationID>")
    file.write_bytes(content[:start] + content[end:])
    here.process(file)
    assert state(here) == [("MoveInRequest", "refused", "227")]
    submitted(here, "MoveInRequest")
    assert [row[1] for row in state(here)] == ["refused", "built"]


def test_a_mandate_that_ended_refuses_the_query(place: Places) -> None:
    here = place()
    submitted(here, "MeteredDataRequest", receiver=GRID, consent=True)
    ((reference,),) = here.rows("SELECT reference FROM outgoing")
    file = here.folder / "p4_day.xml"
    file.write_bytes(fixture("p4_day.xml").replace(b"lum-day-0003", reference.encode()))
    here.process(file)
    assert state(here) == [("MeteredDataRequest", "refused", "040")]
    assert ("mandate-ended",) in here.rows("SELECT event FROM outbox")
