"""What people find in the store: lists page by page, one message with its whole chain, a timeline, counts."""

from __future__ import annotations

import io

import msgspec
import pytest
from sqlalchemy import Engine

from energycomm.eis import tables
from energycomm.eis.archive import archive
from energycomm.eis.envelopes import list_envelopes, show_envelope
from energycomm.eis.messages import MessageFilter, list_messages, show_message
from energycomm.eis.statistics import statistics
from energycomm.eis.store import Store
from energycomm.eis.timeline import timelines
from energycomm.kernel.instants import instant, micros
from tests.eis.rows import DAY, NOW, put, put_ch_messages, put_kernel_message, reject

PRM = "30001234567890"


@pytest.fixture
def filled(store: Store) -> dict[str, int]:
    """A start and a reading of one CH message, a rejected reading, a quarantined exit, and a refused CH message."""
    with store.transaction() as tx:
        first, second, refused = put_ch_messages(tx, [b"1" * 16, b"2" * 16, b"3" * 16])
        tx.connection.execute(
            tables.ch_message.update()
            .where(tables.ch_message.c.id == refused)
            .values(access_point=PRM, outcome="refused")
        )
        point = tx.access_points("FR", [PRM])[PRM].id
        other = tx.access_points("FR", ["9"])["9"].id
        ids = {
            "start": put_kernel_message(tx, point, 10 * DAY, ch_message_id=first, position=1),
            "reading": put_kernel_message(tx, point, 10 * DAY, ch_message_id=first, position=2, kind="MeterReading"),
            "rejected": put_kernel_message(
                tx, point, 20 * DAY, ch_message_id=second, kind="MeterReading", state="rejected", received_at=NOW + DAY
            ),
            "waiting": put_kernel_message(
                tx,
                other,
                5 * DAY,
                kind="EndOfSupply",
                state="quarantined",
                waits_for="start of supply",
                waits_until=NOW,
            ),
        }
        version = tx.rules_version("ab" * 32, "parallel", "{}", NOW)
        accepted = {"message_id": ids["start"], "before": "received", "after": "accepted", "at": NOW, "by": "kernel"}
        put(tx, tables.state_change, {**accepted, "rules_version_id": version})
        reject(tx, ids["rejected"], "FR-R03", "FR-R01", "FR-R03")
        reject(tx, ids["rejected"], "FR-D01", current=False)
        period = {"access_point_id": point, "at": 10 * DAY, "message_id": ids["start"], "ended_at": 30 * DAY}
        put(tx, tables.supply_period, {**period, "end_message_id": ids["reading"], "reference": "R1"})
        row = {"access_point_id": point, "at": 10 * DAY, "message_id": ids["reading"]}
        put(tx, tables.reading, {**row, "registers": '[{"value":"1"}]'})
        put(tx, tables.series, {**row, "positions": "[1,2,3]", "end_at": 11 * DAY})
        put(tx, tables.outbox, {"message_id": ids["start"], "event": "supply-started", "state": "pending"})
        put(tx, tables.incident, {"envelope_id": 1, "ch_message_id": refused, "code": "XSD", "severity": "error"})
        put(tx, tables.ch_duplicate, {"envelope_id": 1, "member_id": 1, "position": 9, "first_id": first})
    return ids


def found(engine: Engine, **wanted: object) -> list[int]:
    return [message.id for message in list_messages(engine, MessageFilter(**wanted)).messages]  # type: ignore[arg-type]


def test_instants_go_to_the_database_and_back() -> None:
    for number in (0, -1, NOW + 1, -DAY * 40_000):
        assert micros(instant(number)) == number


def test_messages_are_found_by_what_people_know_of_them(engine: Engine, filled: dict[str, int]) -> None:
    start, read, rejected, waiting = filled.values()
    assert found(engine) == [rejected, waiting, read, start]
    assert found(engine, access_point=PRM) == [rejected, read, start]
    assert found(engine, access_point="nowhere") == []
    assert found(engine, codes=("FR-R03",)) == [rejected]
    assert found(engine, codes=("FR-D01",)) == []
    assert found(engine, state="quarantined") == [waiting]
    assert found(engine, kind="MeterReading", access_point=PRM) == [rejected, read]
    assert found(engine, type="C15", market="FR", state="rejected") == [rejected]
    assert found(engine, type="R151") == []
    assert found(engine, market="NL") == []
    assert found(engine, envelope=1) == [rejected, read, start]
    assert found(engine, since=instant(NOW + 1)) == [rejected]
    assert found(engine, until=instant(NOW + 1)) == [waiting, read, start]


@pytest.mark.parametrize("wanted", [{}, {"until": instant(NOW + 2 * DAY)}, {"state": "accepted"}])
def test_pages_show_every_message_once(store: Store, engine: Engine, wanted: dict[str, object]) -> None:
    """Also when all arrived at the same instant."""
    with store.transaction() as tx:
        point = tx.access_points("FR", [PRM])[PRM].id
        ids = [put_kernel_message(tx, point, at, received_at=NOW + at % 3) for at in range(10)]
    seen: list[int] = []
    cursor = None
    while True:
        page = list_messages(engine, MessageFilter(**wanted), limit=4, cursor=cursor)  # type: ignore[arg-type]
        seen += [message.id for message in page.messages]
        cursor = page.next
        if cursor is None:
            break
    assert sorted(seen) == ids
    assert len(page.messages) == 2


def test_a_cursor_that_is_not_ours_is_refused(engine: Engine) -> None:
    with pytest.raises(ValueError, match="no cursor"):
        list_messages(engine, cursor="x' or 1=1")
    with pytest.raises(ValueError, match="no cursor"):
        list_envelopes(engine, cursor="-1")


def test_a_message_is_shown_with_its_whole_chain(engine: Engine, filled: dict[str, int]) -> None:
    shown = show_message(engine, filled["start"])
    assert shown is not None
    assert shown.origin is not None
    assert (shown.origin.envelope, shown.origin.member, shown.origin.position) == ("a.zip", "a.zip/m.xml", 1)
    assert shown.origin.identity == (b"1" * 16).hex()
    assert [message.id for message in shown.siblings] == [filled["start"], filled["reading"]]
    assert [(c.before, c.after, c.by, c.rules) for c in shown.changes] == [
        ("received", "accepted", "kernel", "ab" * 32)
    ]
    assert [(e.table, e.content["reference"]) for e in shown.effects] == [("supply_period", "R1")]
    assert shown.effects[0].content["ended_at"] == instant(30 * DAY)
    assert [n.event for n in shown.notifications] == ["supply-started"]
    assert shown.findings == ()


def test_findings_of_earlier_verdicts_are_shown_as_such(engine: Engine, filled: dict[str, int]) -> None:
    shown = show_message(engine, filled["rejected"])
    assert shown is not None
    assert shown.summary.codes == ("FR-R03", "FR-R01")
    assert [(f.error_code, f.current) for f in shown.findings] == [
        ("FR-R03", True),
        ("FR-R01", True),
        ("FR-R03", True),
        ("FR-D01", False),
    ]


def test_a_message_that_ended_a_period_shows_it_among_its_effects(engine: Engine, filled: dict[str, int]) -> None:
    shown = show_message(engine, filled["reading"])
    assert shown is not None
    assert [(e.table, e.content.get("positions")) for e in shown.effects] == [
        ("supply_period", None),
        ("reading", None),
        ("series", 3),
    ]
    assert shown.effects[1].content["registers"] == [{"value": "1"}]


def test_a_message_without_ch_message_is_shown_too(engine: Engine, filled: dict[str, int]) -> None:
    shown = show_message(engine, filled["waiting"])
    assert shown is not None
    assert shown.origin is None
    assert shown.waits_until == instant(NOW)
    assert show_message(engine, 10**9) is None


def test_a_timeline_tells_what_happened_in_order(engine: Engine, filled: dict[str, int]) -> None:
    (line,) = timelines(engine, PRM)
    assert [(entry.at and micros(entry.at), entry.what) for entry in line.entries] == [
        (10 * DAY, "message"),
        (10 * DAY, "message"),
        (10 * DAY, "supply_period"),
        (10 * DAY, "reading"),
        (10 * DAY, "series"),
        (20 * DAY, "message"),
        (NOW, "refused"),
    ]
    assert line.entries[5].content["codes"] == ["FR-R03", "FR-R01"]
    assert line.entries[5].content["state"] == "rejected"
    assert line.entries[6].content["codes"] == ["XSD"]
    assert line.complete
    (part,) = timelines(engine, PRM, since=instant(15 * DAY), until=instant(25 * DAY))
    assert [entry.message_id for entry in part.entries] == [filled["rejected"]]
    (latest,) = timelines(engine, PRM, limit=1)
    assert [e.message_id for e in latest.entries if e.what == "message"] == [filled["rejected"]]
    assert not latest.complete
    assert timelines(engine, "nowhere") == []
    assert timelines(engine, PRM, market="NL") == []


def test_an_envelope_is_shown_with_what_became_of_its_messages(
    store: Store, engine: Engine, filled: dict[str, int]
) -> None:
    with store.transaction() as tx:
        again = archive(tx, "b.zip", io.BytesIO(b"a.zip"), "directory", NOW).envelope_id
    shown = show_envelope(engine, 1)
    assert shown is not None
    assert shown.outcomes == {"digested": 2, "refused": 1, "duplicate": 1}
    assert shown.states == {"accepted": 2, "rejected": 1}
    assert [i.code for i in shown.incidents] == ["XSD"]
    assert [m.path for m in shown.members] == ["a.zip/m.xml"]
    assert shown.duplicates == (again,)
    assert shown.summary.size == 5
    assert show_envelope(engine, 10**9) is None
    assert [e.id for e in list_envelopes(engine).envelopes] == [again, 1]
    assert [e.id for e in list_envelopes(engine, state="duplicate").envelopes] == [again]
    page = list_envelopes(engine, limit=1)
    assert page.next is not None
    assert [e.id for e in list_envelopes(engine, limit=1, cursor=page.next).envelopes] == [1]


def test_statistics_count_everything(engine: Engine, filled: dict[str, int]) -> None:
    counted = statistics(engine)
    assert [(m.type, m.state, m.messages) for m in counted.messages] == [
        ("C15", "accepted", 2),
        ("C15", "quarantined", 1),
        ("C15", "rejected", 1),
    ]
    assert [(c.code, c.messages, c.comment) for c in counted.codes] == [
        ("FR-R01", 1, "too low"),
        ("FR-R03", 1, "too low"),
    ]
    assert counted.envelopes == {"archived": 1}
    assert counted.notifications == {"pending": 1}
    assert counted.incidents == {"XSD": 1}
    assert counted.oldest_waiting is not None
    assert counted.oldest_waiting.message_id == filled["waiting"]
    assert {size.table: size.rows for size in counted.tables}["kernel_message"] == 4
    assert counted.bytes > 0


def test_statistics_of_an_empty_store_are_empty(engine: Engine) -> None:
    counted = statistics(engine)
    assert (counted.messages, counted.codes, counted.oldest_waiting) == ((), (), None)


def test_what_bears_no_time_has_none_for_people_and_programs(store: Store) -> None:
    """An answer without a header is kept at the beginning of 1970, which is shown to nobody."""
    with store.transaction() as tx:
        point = tx.access_points("FR", ["8"])["8"].id
        number = put_kernel_message(tx, point, 0, kind="RequestAnswer")
    shown = show_message(store.engine, number)
    assert shown is not None
    assert shown.summary.effective is None
    (line,) = timelines(store.engine, "8")
    assert [entry.at for entry in line.entries] == [None]
    assert b"1970" not in msgspec.json.encode((shown, line))


def test_warnings_are_counted_apart_from_errors(store: Store) -> None:
    with store.transaction() as tx:
        point = tx.access_points("FR", ["8"])["8"].id
        refused, accepted = (put_kernel_message(tx, point, at * DAY) for at in (1, 2))
        reject(tx, refused, "FR-R03")
        found = {"message_id": accepted, "error_code": "FR-R14", "severity": "warning", "current": True}
        put(tx, tables.finding, found | {"change_id": 1, "comment": "doubtful"})
    counted = statistics(store.engine)
    assert [(one.code, one.severity, one.messages) for one in counted.codes] == [("FR-R03", "error", 1)]
    assert [(one.code, one.severity, one.messages) for one in counted.warnings] == [("FR-R14", "warning", 1)]
