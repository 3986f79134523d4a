"""The same content under another header: which arrival is kept does not depend on the order of arrival."""

from __future__ import annotations

import atexit
import itertools
import shutil
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest
from msgspec import structs

from energycomm.config import Config
from energycomm.eis import migrations
from energycomm.eis.comparison import canonical, differences
from energycomm.eis.database import opened
from energycomm.eis.store import Store
from energycomm.kernel.codec import decode
from energycomm.kernel.messages import ContractTerms, GridInvoice, KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Transaction
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, head, reading, start, transaction
from tests.stored import clear_xml

PRM = "99000000000017"


def written(original: Transaction, hours: float, **header: object) -> Transaction:
    """The same content in a file that was written so many hours later."""
    later = timedelta(hours=hours)
    messages = tuple(structs.replace(one, created=one.created + later, **header) for one in original.messages)
    return structs.replace(original, messages=messages)


def kept(desk: Desk) -> list[KernelMessage]:
    """What the store holds, in the order of the instants."""
    rows = desk.rows("SELECT effective, kind, xml FROM kernel_message")
    found = [decode(xml) for _, _, xml in sorted((at, kind, clear_xml(xml)) for at, kind, xml in rows)]
    assert all(isinstance(one, KernelMessage) for one in found)
    return found  # type: ignore[return-value]


@cache
def empty() -> Path:
    """An empty store, made once."""
    path = Path(tempfile.mkdtemp()) / "empty.db"
    atexit.register(shutil.rmtree, path.parent)
    Desk(f"sqlite:///{path}").database.dispose()
    return path


def every_order(database_url: str, tmp_path: Path, told: Sequence[Transaction]) -> list[Desk]:
    """A desk for each order, one message a batch; the last one has them all in one batch."""
    desks = []
    for number, order in enumerate(itertools.permutations(told)):
        shutil.copy(empty(), tmp_path / f"{number}.db")
        desk = Desk(f"sqlite:///{tmp_path / f'{number}.db'}")
        for one in order:
            desk.deliver([one])
        desks.append(desk)
    whole = Desk(database_url)
    whole.deliver(list(reversed(told)))
    return [*desks, whole]


def assert_equal(desks: Sequence[Desk]) -> None:
    meanings = [canonical(desk.database, carriers=False) for desk in desks]
    for other in meanings[1:]:
        assert differences(meanings[0], other) == []


def test_what_was_written_first_is_kept(database_url: str, tmp_path: Path) -> None:
    """Earliest `created`, whatever came first; receiver and version of that very arrival come with it."""
    first = start(PRM, day(0))
    told = [written(first, 24, receiver="17XLATER"), written(first, -2, schema_version="3"), first]
    desks = every_order(database_url, tmp_path, told)
    assert_equal(desks)
    for desk in desks:
        assert {one.created for one in kept(desk)} == {first.messages[0].created - timedelta(hours=2)}
        assert {one.schema_version for one in kept(desk)} == {"3"}
        assert desk.rows("SELECT count(*) FROM ch_message") == [(1,)]
        assert desk.rows("SELECT count(*) FROM ch_duplicate") == [(2,)]


def test_of_arrivals_of_one_time_the_choice_is_the_same(database_url: str, tmp_path: Path) -> None:
    one = start(PRM, day(0))
    told = [one, written(one, 0, receiver="17XA"), written(one, 0, receiver="17XB", schema_version="2")]
    assert_equal(every_order(database_url, tmp_path, told))


@pytest.mark.thorough
def test_the_order_of_messages_of_one_instant_is_that_in_which_they_were_first_written(
    database_url: str, tmp_path: Path
) -> None:
    """`created` decides which of two tariffs of one instant holds: with the first writing of the one that is told
    again, the other holds."""
    terms = next(one for one in start(PRM, day(0)).messages if isinstance(one, ContractTerms))
    early = transaction([structs.replace(terms, tariff="BTINFMU4", reference="early")])
    late = written(transaction([structs.replace(terms, reference="late")]), 5)
    told = [start(PRM, day(-1)), written(early, 9), early, late]
    desks = every_order(database_url, tmp_path, told)
    assert_equal(desks)
    holds = "SELECT tariff FROM contract WHERE message_id = (SELECT k.id FROM kernel_message k JOIN ch_message c "
    holds += "ON c.id = k.ch_message_id WHERE c.reference = 'early')"
    assert desks[0].rows(holds) == [("BTINFMU4",)]


def test_the_kept_message_is_that_of_the_file_it_is_said_to_come_from(tmp_path: Path) -> None:
    """Whoever asks for the bytes of a message gets those that its Kernel XML was made of."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([start(PRM, day(0))])
    desk.deliver([reading(PRM, day(31), 1_000_000), written(start(PRM, day(0)), -1)])
    place = "SELECT m.path, c.position FROM {} c JOIN member m ON m.id = c.member_id WHERE {}"
    assert desk.rows(place.format("ch_message", "c.type = 'C15'")) == [("2.xml", 2)]
    assert desk.rows(place.format("ch_duplicate", "true")) == [("1.xml", 1)]


def test_a_message_that_is_refused_for_its_header_does_not_hide_the_same_under_a_good_one(
    database_url: str, tmp_path: Path
) -> None:
    """Digested in any order, with one incident for each way of being refused."""
    good = start(PRM, day(0))
    bad = [
        structs.replace(good, messages=(), refusals=(Refusal(code=code, path="header"),))
        for code in ("VERSION_UNKNOWN", "HEADER_INVALID")
    ]
    desks = every_order(database_url, tmp_path, [*bad, good])
    assert_equal(desks)
    for desk in desks:
        assert desk.rows("SELECT outcome, count(*) FROM ch_message GROUP BY outcome ORDER BY outcome") == [
            ("digested", 1),
            ("refused", 2),
        ]
        assert set(desk.states().values()) == {"accepted"}


def test_what_was_noticed_of_any_arrival_is_kept_once(database_url: str, tmp_path: Path) -> None:
    one = start(PRM, day(0))
    test, number = Refusal(code="NOTE_TEST"), Refusal(code="NOTE_COUNT", value="2")
    told = [structs.replace(one, notes=(test,)), structs.replace(one, notes=(number, test)), one]
    desks = every_order(database_url, tmp_path, told)
    assert_equal(desks)
    for desk in desks:
        assert desk.rows("SELECT code FROM incident ORDER BY code") == [("NOTE_COUNT",), ("NOTE_TEST",)]


@pytest.mark.thorough
def test_the_instant_of_a_message_may_come_from_its_header(database_url: str, tmp_path: Path) -> None:
    """An answer without a time takes that of its file: the earlier one, and its access point is judged by it."""
    one = reading(PRM, day(31), 1_000_000)
    moved = written(one, -48)
    moved = structs.replace(moved, messages=tuple(structs.replace(m, effective=day(29)) for m in moved.messages))
    told = [start(PRM, day(0)), one, moved, reading(PRM, day(30), 1_100_000)]
    desks = every_order(database_url, tmp_path, told)
    assert_equal(desks)
    for desk in desks:
        assert "rejected" not in " ".join(desk.states().values())


def test_what_concerns_no_access_point_is_judged_again_too(database_url: str, tmp_path: Path) -> None:
    """A grid invoice whose instant is that of its header: its row is that of the kept arrival."""
    told = head(PRM, day(40), "F15", "CYCL", "F1") | {"access_point": None}
    invoice = transaction([GridInvoice(**told, invoice="F1", invoice_date=day(40).date(), currency="EUR")])
    earlier = written(invoice, -24)
    earlier = structs.replace(earlier, messages=tuple(structs.replace(m, effective=day(39)) for m in earlier.messages))
    desks = every_order(database_url, tmp_path, [invoice, earlier])
    assert_equal(desks)
    for desk in desks:
        instants = desk.rows(
            "SELECT i.at = k.effective, k.state FROM grid_invoice i JOIN kernel_message k ON k.id = i.message_id"
        )
        assert [(bool(same), state) for same, state in instants] == [(True, "accepted")]


@pytest.mark.thorough
@pytest.mark.parametrize("backwards", [False, True])
def test_repeated_milestones_of_two_snapshots_read_alike(tmp_path: Path, project_root: Path, backwards: bool) -> None:
    """X12 repeats every earlier milestone: each keeps the time of the first snapshot that told it."""
    files = sorted((project_root / "fixtures" / "fr").glob("x12_day_*.xml"), reverse=backwards)
    url = f"sqlite:///{tmp_path}/eis.db"
    with opened(url) as engine:
        migrations.upgrade(engine)
        inbound = Gateway(Config.model_validate({"database": url}), Store(engine)).inbound
        for path in files:
            total(inbound.take([path], "test"))
        found = canonical(engine)["messages"].values()
    days = sorted(str(one["xml"]).split(' created="')[1][:10] for one in found)
    # Seven milestones stand in the first snapshot; three of the eight in the second are new.
    assert [days.count(one) for one in sorted(set(days))] == [7, 3]


def test_notifications_that_nobody_was_told_yet_do_not_depend_on_the_order(database_url: str, tmp_path: Path) -> None:
    """Every event that is to be told of a message, in its order."""
    told = [start(PRM, day(0)), reading(PRM, day(60), 1_200_000), reading(PRM, day(31), 1_300_000)]
    desks = every_order(database_url, tmp_path, told)
    assert_equal(desks)
    notifications = canonical(desks[0].database)["notifications"]
    assert ["index-to-claim", "message-rejected"] in notifications.values()
