"""What the program itself breaks on is put aside alone, with an incident that names it; its neighbours are stored."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from adapters.common import outcome
from energycomm.eis.database import Conflict
from energycomm.eis.store import Store, StoreTransaction
from energycomm.engine.parallel import ParallelEngine
from energycomm.engine.port import Judgement
from energycomm.kernel.history import History
from energycomm.kernel.messages import KernelMessage, MeterReading
from energycomm.kernel.verdicts import Verdict
from energycomm.market import dispatch as dispatching
from energycomm.pipeline import records
from energycomm.pipeline.batch import BatchWriter, Origin, Prepared, Tally
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.injection import inject
from energycomm.pipeline.progress import total
from energycomm.pipeline.records import OpenEnvelope
from energycomm.pipeline.replay import mark, replay
from energycomm.pipeline.submissions import read_handed
from energycomm.transport.keys import KeyRing
from energycomm.transport.limits import Limits
from tests.pipeline.desk import Desk, shipped_rules
from tests.pipeline.story import day, reading, start
from tests.zips import make_zip

PRM = "99000000000017"
FRENCH = Path(__file__).parents[2] / "fixtures/fr"


class Fault(Exception):
    """Something that nobody foresaw."""


class Breaking(BatchWriter):
    """Breaks on every batch with a CH message of a kind, as a driver or a constraint may, while it is told to."""

    on: Callable[[Any], bool] = staticmethod(lambda _: False)
    times = 1_000_000

    def store_parts(self, tx: StoreTransaction, parts: Sequence[tuple[Origin, Prepared]], now: int) -> list[Tally]:
        """Store, then break: what was stored has to be undone."""
        stored = super().store_parts(tx, parts, now)
        wanted = [
            one for _, batch in parts for one, why in zip(batch.transactions, batch.refusals, strict=True) if not why
        ]
        if self.times and any(map(self.on, wanted)):
            self.times -= 1
            raise Fault("a value that nobody foresaw")
        return stored


def gate(desk: Desk, writer: BatchWriter | None = None, batch_size: int = 500) -> Inbound:
    """The way in of a desk."""
    held = writer or desk.writer
    return Inbound(desk.store, held, KeyRing(()), Limits(), batch_size)


def take_one(way: Inbound, content: bytes, name: str) -> None:
    """Archive an envelope, then process it."""
    (archived,) = way.archive([(io.BytesIO(content), name)], "test")
    total(way.process(records.to_process(archived, name, "test")))


def breaking(desk: Desk, on: Callable[[Any], bool]) -> Breaking:
    """A writer that breaks on some CH messages."""
    writer = Breaking(desk.engine, desk.version, 30, desk.markets)
    writer.on = on
    return writer


def outcomes(desk: Desk) -> dict[str, int]:
    """CH messages by outcome."""
    return dict(desk.rows("SELECT outcome, count(*) FROM ch_message GROUP BY outcome"))


def is_of(point: str) -> Callable[[Any], bool]:
    """Whether a CH message is of an access point."""
    return lambda transaction: transaction.access_point == point


POINT = "99000000000202"
"""An access point of c15_entries.xml."""


@pytest.mark.parametrize("batch_size", [500, 3])
def test_a_message_that_cannot_be_stored_is_put_aside_alone_and_named(database_url: str, batch_size: int) -> None:
    """In a batch with its neighbours, or in one of three: the same is stored."""
    quiet = Desk(database_url.replace("eis.db", "quiet.db")) if "sqlite" in database_url else None
    desk = Desk(database_url)
    files = sorted(FRENCH.glob("c15_*.xml"))
    way = gate(desk, breaking(desk, is_of(POINT)), batch_size)
    done = total(way.take(files, "test"))
    ((aside,),) = desk.rows(f"SELECT count(*) FROM ch_message WHERE access_point = '{POINT}' AND outcome = 'put-aside'")
    assert aside == outcomes(desk)["put-aside"] > 0
    told = desk.rows("SELECT code, path, value, advice FROM incident WHERE code = 'CH_PUT_ASIDE'")
    assert len(told) == aside
    assert all(
        "Fault: a value that nobody foresaw" in value and "envelope retry" in advice for _, _, value, advice in told
    )
    assert {file for file, _ in done.tally.told if _.code == "CH_PUT_ASIDE"} <= {path.name for path in files}
    assert desk.rows("SELECT count(*) FROM envelope WHERE state <> 'done' AND duplicate_of IS NULL") == [(0,)]
    if quiet is not None:
        total(gate(quiet).take(files, "test"))
        others = (
            "SELECT count(*) FROM kernel_message k JOIN ch_message c ON c.id = k.ch_message_id "
            f"WHERE c.access_point <> '{POINT}'"
        )
        assert desk.rows(others) == quiet.rows(others)


def test_what_happens_once_is_no_fault_of_a_message(database_url: str) -> None:
    desk = Desk(database_url)
    writer = breaking(desk, is_of(POINT))
    writer.times = 1
    total(gate(desk, writer).take(sorted(FRENCH.glob("c15_*.xml")), "test"))
    assert "put-aside" not in outcomes(desk)
    assert desk.rows("SELECT count(*) FROM incident WHERE code IN ('CH_PUT_ASIDE', 'ENV_PUT_ASIDE')") == [(0,)]


def test_what_was_put_aside_is_judged_when_it_is_tried_again_and_nothing_else_is(database_url: str) -> None:
    desk = Desk(database_url)
    writer = breaking(desk, is_of(POINT))
    way = gate(desk, writer)
    total(way.take([FRENCH / "c15_entries.xml"], "test"))
    before, aside = outcomes(desk), outcomes(desk)["put-aside"]
    ((envelope, sha256),) = desk.rows("SELECT id, sha256 FROM envelope")
    assert records.try_again(desk.store, envelope) == aside
    again = OpenEnvelope(envelope, "c15_entries.xml", bytes(sha256))
    assert total(way.process(again)).done == 1  # it breaks as before
    assert outcomes(desk) == before
    assert desk.rows("SELECT count(*) FROM incident WHERE code = 'CH_PUT_ASIDE'") == [(aside,)]
    writer.on = lambda _: False
    assert records.try_again(desk.store, envelope) == aside
    assert total(way.process(again)).done == 1
    assert outcomes(desk) == {"digested": before["digested"] + aside}
    assert desk.rows("SELECT count(*) FROM ch_duplicate") == [(0,)]
    assert records.try_again(desk.store, envelope) is None
    whole = Desk(database_url.replace("eis.db", "whole.db")) if "sqlite" in database_url else None
    if whole is not None:
        total(gate(whole).take([FRENCH / "c15_entries.xml"], "test"))
        assert sorted(desk.states().items()) == sorted(whole.states().items())


def test_the_same_content_sent_again_is_judged_where_the_first_was_put_aside(database_url: str) -> None:
    """It is no duplicate of what was never judged."""
    desk = Desk(database_url)
    writer = breaking(desk, is_of(POINT))
    total(gate(desk, writer).take([FRENCH / "c15_entries.xml"], "test"))
    aside = outcomes(desk)["put-aside"]
    writer.on = lambda _: False
    content = (FRENCH / "c15_entries.xml").read_bytes() + b"\n"
    take_one(gate(desk, writer), content, "again.xml")
    assert "put-aside" not in outcomes(desk)
    ((seconds,),) = desk.rows("SELECT count(*) FROM ch_duplicate")
    assert seconds == outcomes(desk)["digested"] >= aside


class Judging(ParallelEngine):
    """The shipped rules; judging a reading breaks while `broken` is set, outside of any rule."""

    broken = True

    def judge(self, message: KernelMessage, history: History) -> Verdict:
        """Break on a reading."""
        if self.broken and isinstance(message, MeterReading):
            raise Fault("what a rule never sees")
        return super().judge(message, history)

    def validate(self, message: KernelMessage, history: History) -> Judgement:
        """As ever."""
        return super().validate(message, history)


@pytest.mark.parametrize("late", [False, True])
def test_a_message_that_breaks_the_fold_is_left_out_of_it(database_url: str, late: bool) -> None:
    """Whether it comes in order or late: it gets the state engine_error, and the messages around it their verdicts."""
    engine = Judging(shipped_rules())
    desk = Desk(database_url, engine)
    told = [start(PRM, day(0)), reading(PRM, day(31), 1_000_000)]
    for one in reversed(told) if late else told:
        desk.deliver([one])
    states = {key.split()[0]: state for key, state in desk.states().items()}
    assert (states["StartOfSupply"], states["MeterReading"]) == ("accepted", "engine_error")
    ((why,),) = desk.rows("SELECT why FROM state_change WHERE after = 'engine_error' ORDER BY id DESC LIMIT 1")
    assert "Fault: what a rule never sees" in why
    engine.broken = False
    ((number,),) = desk.rows("SELECT id FROM kernel_message WHERE kind = 'MeterReading'")
    with desk.store.transaction() as tx:
        mark(tx, [number], "anna", "the program was mended")
    assert replay(desk.store, desk.writer, "FR", [PRM]).treated == 1


def test_a_digester_that_breaks_on_one_piece_loses_no_other(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The piece is put aside, and judged when the digester is mended."""
    desk = Desk(database_url)
    real = outcome.business_order

    def order(message: KernelMessage) -> Any:
        if message.access_point == POINT:
            raise Fault("a piece that nobody foresaw")
        return real(message)

    monkeypatch.setattr(outcome, "business_order", order)
    total(gate(desk).take([FRENCH / "c15_entries.xml"], "test"))
    found = outcomes(desk)
    assert found["digested"] > 0
    assert found["put-aside"] > 0
    codes = {code for (code,) in desk.rows("SELECT code FROM incident WHERE severity = 'error'")}
    assert codes == {"DIGEST_FAILED"}
    monkeypatch.undo()
    ((envelope, sha256),) = desk.rows("SELECT id, sha256 FROM envelope")
    assert records.try_again(desk.store, envelope) == found["put-aside"]
    total(gate(desk).process(OpenEnvelope(envelope, "c15_entries.xml", bytes(sha256))))
    assert outcomes(desk) == {"digested": found["digested"] + found["put-aside"]}


def test_an_envelope_that_breaks_the_program_stops_neither_this_run_nor_the_next(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is put aside with its name; its bytes are there, and it can be tried again."""
    desk = Desk(database_url)
    real = dispatching.dispatch

    def dispatch(adapters: Any, sniff: Any, market: Any) -> Any:
        if sniff.name == "r15_periodic.xml":
            raise Fault("a name that nobody foresaw")
        return real(adapters, sniff, market)

    monkeypatch.setattr("energycomm.pipeline.inbound.dispatch", dispatch)
    way = gate(desk)
    done = total(way.take([FRENCH / "r15_periodic.xml", FRENCH / "c15_entries.xml"], "test"))
    assert dict(desk.rows("SELECT name, state FROM envelope")) == {
        "r15_periodic.xml": "failed",
        "c15_entries.xml": "done",
    }
    assert [place for place, refusal in done.tally.told if refusal.code == "ENV_PUT_ASIDE"] == ["r15_periodic.xml"]
    assert total(gate(desk).resume()).resumed == 0
    monkeypatch.undo()
    ((envelope, sha256),) = desk.rows("SELECT id, sha256 FROM envelope WHERE state = 'failed'")
    assert records.try_again(desk.store, envelope) == 0
    assert total(gate(desk).process(OpenEnvelope(envelope, "r15_periodic.xml", bytes(sha256)))).done == 1
    assert desk.rows("SELECT count(*) FROM ch_message c WHERE c.type = 'R15' AND outcome = 'digested'") != [(0,)]


@pytest.mark.parametrize("batch_size", [500, 3])
def test_a_member_that_cannot_be_stored_at_all_is_put_aside_whole(
    database_url: str, monkeypatch: pytest.MonkeyPatch, batch_size: int
) -> None:
    """Its envelope failed, whether the member was read to its end by then or not; the one beside it is done."""
    desk = Desk(database_url)
    real = records.save_member

    def save_member(book: records.Book, envelope_id: int, record: records.MemberRecord, *rest: Any, **more: Any) -> Any:
        if record.path == "c15_entries.xml":
            raise Fault("a row that nobody foresaw")
        return real(book, envelope_id, record, *rest, **more)

    monkeypatch.setattr(records, "save_member", save_member)
    done = total(gate(desk, batch_size=batch_size).take([FRENCH / "c15_entries.xml", FRENCH / "c15_exit.xml"], "test"))
    assert (done.done, done.failed, done.unreadable) == (1, 1, 1)
    assert desk.rows("SELECT name, state FROM envelope ORDER BY name") == [
        ("c15_entries.xml", "failed"),
        ("c15_exit.xml", "done"),
    ]
    assert desk.rows("SELECT path, state FROM member ORDER BY path") == [
        ("c15_entries.xml", "refused"),
        ("c15_exit.xml", "done"),
    ]
    assert desk.rows("SELECT code, path FROM incident WHERE severity = 'error'") == [
        ("ENV_PUT_ASIDE", "c15_entries.xml")
    ]


def test_an_envelope_that_somebody_stops_going_through_is_no_attempt_and_goes_on_where_it_was(
    database_url: str,
) -> None:
    desk = Desk(database_url)
    way = gate(desk, batch_size=2)
    way.archive([(io.BytesIO((FRENCH / "c15_entries.xml").read_bytes()), "c15_entries.xml")], "test")
    steps = way.resume()
    next(steps)
    steps.close()
    assert desk.rows("SELECT e.state, attempts, m.state, committed FROM envelope e JOIN member m ON true") == [
        ("processing", 0, "processing", 2)
    ]
    assert total(way.resume()).done == 1
    whole = len(etree.parse(str(FRENCH / "c15_entries.xml")).findall(".//PRM"))
    assert outcomes(desk) == {"digested": whole}


def test_runs_that_end_in_the_middle_of_an_envelope_give_it_up_in_the_end(database_url: str) -> None:
    """Whatever kills the process there, the others are not kept from being processed."""
    desk = Desk(database_url)
    way = gate(desk)
    for name in ("c15_entries.xml", "r15_periodic.xml"):
        way.archive([(io.BytesIO((FRENCH / name).read_bytes()), name)], "test")
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET attempts = 10 WHERE name = 'c15_entries.xml'")
    assert total(way.resume()).resumed == 2
    assert dict(desk.rows("SELECT name, state FROM envelope")) == {
        "r15_periodic.xml": "done",
        "c15_entries.xml": "failed",
    }


def test_a_line_group_without_its_point_is_judged_and_names_no_point(database_url: str) -> None:
    """Enedis' own schema lets it be left out."""
    desk = Desk(database_url)
    tree = etree.parse(str(FRENCH / "FL_1_2.xml"))
    for element in tree.findall(".//{*}Donnees_PRM"):
        element.getparent().remove(element)  # type: ignore[union-attr]
    take_one(gate(desk), etree.tostring(tree), "without.xml")
    states = desk.rows("SELECT state, access_point_id FROM kernel_message")
    assert states
    assert {state for state, _ in states} <= {"accepted", "rejected"}
    assert {point for _, point in states} == {None}
    assert desk.rows("SELECT count(*) FROM grid_charge WHERE access_point_id IS NOT NULL") == [(0,)]


def test_both_databases_refuse_a_reference_to_nothing(database_url: str) -> None:
    desk = Desk(database_url)
    with pytest.raises(Exception, match=r"(?i)foreign key"), desk.store.transaction() as tx:
        tx.driver.run("INSERT INTO ticket_message (ticket_id, message_id) VALUES (?, ?)", (7, 7))


def test_members_of_a_zip_share_their_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readable ones, unknown ones and repeated ones."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    content = (FRENCH / "r15_periodic.xml").read_bytes()
    entries = [(f"{number}.txt", f"nothing {number}".encode()) for number in range(1500)]
    entries += [(f"{number}.xml", content) for number in range(3)]
    counted: list[int] = []
    real = Store.transaction

    @contextmanager
    def counting(self: Store) -> Iterator[StoreTransaction]:
        counted.append(1)
        with real(self) as tx:
            yield tx

    monkeypatch.setattr(Store, "transaction", counting)
    way = gate(desk)
    take_one(way, make_zip(*entries), "many.zip")
    assert len(counted) < 15
    assert desk.rows("SELECT state, count(*) FROM member GROUP BY state ORDER BY state") == [
        ("done", 1),
        ("duplicate", 2),
        ("refused", 1500),
    ]
    assert desk.rows("SELECT count(*) FROM incident WHERE member_id IS NOT NULL") == [(1500,)]


def test_an_injected_message_that_cannot_be_stored_is_put_aside_alone(database_url: str) -> None:
    desk = Desk(database_url)
    one = '{"kind": "CalorificValue", "market": "BE", "station": "%s", "month": "2026-03", "value": "11.5"}'
    document = f"[{one % 541449000000000001}, {one % 541449000000000002}]".encode()
    writer = breaking(desk, lambda transaction: transaction.messages[0].station.endswith("2"))
    handed = read_handed(document, 10)
    assert isinstance(handed, list)
    inject(desk.store, writer, handed, document, "hand.json", "anna")
    assert outcomes(desk) == {"digested": 1, "put-aside": 1}


class Busy(BatchWriter):
    """Another worker is in the way of some CH messages, for as long as it is told to."""

    on: Callable[[Any], bool] = staticmethod(lambda _: False)

    def store_parts(self, tx: StoreTransaction, parts: Sequence[tuple[Origin, Prepared]], now: int) -> list[Tally]:
        """Meet the other one."""
        if any(self.on(one) for _, batch in parts for one in batch.transactions):
            raise Conflict("another worker stores the same")
        return super().store_parts(tx, parts, now)


def test_what_another_process_is_in_the_way_of_is_left_and_not_told_done(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Envelopes that shared its transaction are not done either: the next run takes all of them up."""
    monkeypatch.setattr("energycomm.eis.store.time.sleep", lambda _: None)
    desk = Desk(database_url)
    writer = Busy(desk.engine, desk.version, 30, desk.markets)
    writer.on = is_of(POINT)
    files = [FRENCH / "r15_periodic.xml", FRENCH / "c15_entries.xml", FRENCH / "r151_daily.xml"]
    way = gate(desk, writer)
    assert total(way.take(files, "test")).left == 3
    assert dict(desk.rows("SELECT state, count(*) FROM envelope GROUP BY state")) == {"archived": 3}
    assert total(gate(desk).resume()).resumed == 3
    assert dict(desk.rows("SELECT state, count(*) FROM envelope GROUP BY state")) == {"done": 3}
    whole = outcomes(desk)
    assert whole["digested"] > 3
    assert total(gate(desk).take(files, "test")).duplicates == 3
    assert outcomes(desk) == whole


def test_an_envelope_that_a_worker_could_not_end_is_not_told_done_with_the_next(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("energycomm.eis.store.time.sleep", lambda _: None)
    desk = Desk(database_url)
    writer = Busy(desk.engine, desk.version, 30, desk.markets)
    writer.on = is_of(POINT)
    way = gate(desk, writer)
    with pytest.raises(Conflict):
        take_one(way, (FRENCH / "c15_entries.xml").read_bytes(), "c15_entries.xml")
    take_one(way, (FRENCH / "r15_periodic.xml").read_bytes(), "r15_periodic.xml")
    assert dict(desk.rows("SELECT name, state FROM envelope")) == {
        "c15_entries.xml": "archived",
        "r15_periodic.xml": "done",
    }
