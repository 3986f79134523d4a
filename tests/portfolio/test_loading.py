"""A supplier's first day: its points are loaded, and what the market sends of them is understood."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from energycomm.correction.editing import edit, editable
from energycomm.eis.bulk import driver_of
from energycomm.eis.comparison import compare
from energycomm.eis.database import reading, rehearsal
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.portfolio import Loaded, compare_portfolio, load_portfolio
from energycomm.pipeline.rereading import reread
from energycomm.portfolio.comparison import Comparison
from tests.portfolio.conftest import make_gateway
from tests.portfolio.tables import HEAD, csv_of, french
from tests.stored import clear_xml

Write = Callable[..., Path]


def load(gateway: Gateway, path: Path) -> Loaded:
    with path.open("rb") as source:
        return load_portfolio(gateway.store, gateway.inbound, source, path.name, 100)


def rows_of(gateway: Gateway, sql: str) -> list[tuple[object, ...]]:
    with reading(gateway.store.engine) as connection:
        return [tuple(row) for row in driver_of(connection).rows(sql)]


def states(gateway: Gateway) -> dict[str, int]:
    rows = rows_of(gateway, "SELECT state, count(*) FROM kernel_message GROUP BY state")
    return {str(state): int(str(number)) for state, number in rows}


def process(gateway: Gateway, *paths: Path) -> None:
    for _ in gateway.inbound.take(list(paths), "folder"):
        pass


def test_a_row_becomes_an_opening_balance_and_again_changes_nothing(gateway: Gateway, write: Write) -> None:
    """Start, terms, meter, reading and customer: five messages with their own source; the bytes are kept; the same
    row in another file is known by its content."""
    done = load(gateway, write(french()))
    assert (done.rows, done.new, done.refused, done.messages, done.bad) == (1, 1, 0, {"accepted": 5}, ())
    assert rows_of(gateway, "SELECT DISTINCT market_type FROM kernel_message") == [("OpeningBalance",)]
    assert rows_of(gateway, "SELECT at, ended_at, supplier FROM supply_period") == [
        (1_551_394_800_000_000, None, "17XFICTIFD235F9X")  # 2019-03-01 at midnight in Paris
    ]
    assert rows_of(gateway, "SELECT tariff, subscribed_power FROM contract") == [("BTINFCUST", "6")]
    assert rows_of(gateway, "SELECT serial FROM meter") == [("92518064058186",)]
    assert rows_of(gateway, "SELECT event FROM outbox") == []
    assert load(gateway, write(french())).repeated
    again = load(gateway, write(french(), french("99000000000018"), name="more.csv"))
    assert (again.repeated, again.new, again.unchanged) == (False, 1, 1)
    assert states(gateway) == {"accepted": 10}


def test_a_consultant_corrects_an_opening_as_any_message(small: Gateway, write: Write) -> None:
    """A refused message is explained, corrected by hand and replayed; then it is treated."""
    load(small, write(french(contract_tariff="BTXXX")))
    ((number,),) = rows_of(small, "SELECT id FROM kernel_message WHERE state = 'rejected'")
    assert reread(small.config, small.store, 1) == []
    xml = editable(small.store, small.markets, int(str(number))).replace("BTXXX", "BTINFMU4")
    edit(small.store, small.writer, int(str(number)), xml, by="anna", why="typed wrongly")
    assert rows_of(small, "SELECT tariff FROM contract") == [("BTINFMU4",)]
    assert states(small) == {"accepted": 4, "treated": 2}


def test_a_later_portfolio_takes_the_place_of_what_it_tells(gateway: Gateway, write: Write) -> None:
    """The terms are told anew, the customer is not: it stays."""
    load(gateway, write(french()))
    head = tuple(name for name in HEAD if not name.startswith(("customer", "meter", "reading", "index")))
    corrected = french(contract_tariff="BTINFMU4", supply_start="2020-03-01")
    done = load(gateway, write(corrected, name="corrected.csv", head=head))
    assert (done.new, done.messages) == (1, {"accepted": 2})
    assert states(gateway) == {"accepted": 5, "withdrawn": 2}
    assert rows_of(gateway, "SELECT tariff FROM contract") == [("BTINFMU4",)]
    assert rows_of(gateway, "SELECT at FROM supply_period") == [(1_583_017_200_000_000,)]
    assert rows_of(gateway, "SELECT name FROM customer") == [("VOORBEELD",)]


def test_any_order_of_the_rows_gives_the_same_store(tmp_path: Path, project_root: Path) -> None:
    """Good rows, bad rows, a point that has two rows: none of these two is taken."""
    rows = [french(f"990000000001{number:02}") for number in range(20)]
    rows += [french("99000000000200", contract_tariff="BTXXX"), french("99000000000201", supply_start="2019-33-01")]
    rows += [french("99000000000202"), french("99000000000202", contract_tariff="BTINFMU4")]
    stores = []
    for turn in range(3):
        random.Random(turn).shuffle(rows)
        gateway = next(make_gateway(f"sqlite:///{tmp_path / f'{turn}.db'}", project_root))
        path = tmp_path / "portfolio.csv"
        path.write_text(csv_of(HEAD, rows), "utf-8")
        done = load(gateway, path)
        assert (done.new, done.refused) == (21, 3)
        stores.append(
            [
                sorted(rows_of(gateway, sql), key=repr)
                for sql in (
                    "SELECT access_point, identity, outcome FROM ch_message",
                    "SELECT state, kind, effective, xml FROM kernel_message",
                    "SELECT error_code, comment FROM finding",
                    "SELECT code, path, value FROM incident",
                    "SELECT tariff, subscribed_power, at FROM contract",
                )
            ]
        )
    assert stores[0] == stores[1] == stores[2]


def test_a_dry_run_names_every_bad_row_and_writes_nothing(gateway: Gateway, write: Write) -> None:
    """Row, column, what was found and what was expected; mistakes of form and of rules alike."""
    file = write(
        french(),
        french("9900000000001"),
        french("99000000000018", supply_start="01/03/2019"),
        french("99000000000019", contract_subscribed_power="six", contract_tariff="BTXXX"),
        french("99000000000020", contract_tariff="BTXXX"),
        french("99000000000021", market="NL"),
        french("99000000000022", reading_at="2018-01-01"),
        french("99000000000023", reading_at=""),
        french("99000000000024", supply_supplier=""),
        french("99000000000025", reading_at="2026-01-02"),
        french("99000000000026", reading_at="2026-01-01T10:15:00+01:00"),
    )
    with rehearsal(gateway.store.engine):
        done = load(gateway, file)
        assert [(one.row, one.code, one.column, one.value) for one in done.bad if one.code != "FR-P01"] == [
            (4, "PORTFOLIO_VALUE", "supply.start", "01/03/2019"),
            (5, "PORTFOLIO_VALUE", "contract.subscribed_power", "six"),
            (6, "FR-C04", "tariff", "BTXXX"),
            (7, "PORTFOLIO_VALUE", "market", "NL"),
            (8, "PORTFOLIO_VALUE", "reading.at", "2018-01-01"),
            (9, "PORTFOLIO_VALUE", "reading.at", None),
            (10, "PORTFOLIO_VALUE", "supply.supplier", None),
            (11, "PORTFOLIO_VALUE", "reading.at", "2026-01-02"),
        ]
        # Several messages of the row bear it: it is told once.
        assert [(one.row, one.value) for one in done.bad if one.code == "FR-P01"] == [(3, "9900000000001")]
        assert all(one.expected and one.advice for one in done.bad)
        assert (done.rows, done.new, done.refused) == (11, 4, 7)
    for table in ("envelope", "ch_message", "kernel_message", "access_point", "incident"):
        assert rows_of(gateway, f"SELECT count(*) FROM {table}") == [(0,)]


def test_what_is_right_in_the_published_samples_is_accepted(gateway: Gateway, shared: Path, write: Write) -> None:
    """The first day of a supplier with the points of the samples: nothing waits, nothing is refused."""
    base = {"contract_tariff": "BTINFCUST", "as_of": "2024-01-01", "reading_at": "", "index_supplier_BASE": ""}
    base |= {"reading_digits": "", "meter_serial": ""}
    rows = [
        french("99660599682036", **base | {"supply_start": "2024-04-30", "contract_reference": "248912973"}),
        french("99147508449444", **base),
        french("99740456235087", **base),
        french("99510061232830", **base),
        french("99131010441308", **base | {"contract_power_unit": "kW", "contract_tariff": "HTACU5"}),
        french("99331145115979", **base),
        french("99103630318530", **base),
    ]
    done = load(gateway, write(*rows))
    assert done.bad == ()
    process(gateway, *sorted((shared / "markets" / "fr" / "samples").iterdir()))
    assert set(states(gateway)) == {"accepted"}


def supplied(market: str, supplier: str, starts: dict[str, str], as_of: str) -> list[dict[str, str]]:
    """The least rows of a portfolio: points with the first day of their supply."""
    return [
        {"market": market, "access_point": point, "as_of": as_of, "supply.start": day, "supply.supplier": supplier}
        for point, day in starts.items()
    ]


def unaccepted(gateway: Gateway) -> list[tuple[object, ...]]:
    """The messages that are not accepted, and what was not read."""
    return rows_of(
        gateway,
        "SELECT c.reference, k.kind, k.state FROM kernel_message k JOIN ch_message c ON c.id = k.ch_message_id "
        "WHERE k.state <> 'accepted' ORDER BY k.id",
    )


def test_what_is_right_in_the_dutch_samples_is_accepted(gateway: Gateway, shared: Path, write: Write) -> None:
    """Readings, mutations, notices and answers of both points of the samples; what we send ourselves is no message of
    the market, and the samples of requests say so."""
    starts = {"871999900000000011": "2025-12-01", "871999900000000028": "2024-07-01"}
    done = load(gateway, write(*supplied("NL", "8719999001012", starts, "2026-01-01"), head=HEAD[:5]))
    assert (done.bad, done.messages) == ((), {"accepted": 2})
    dutch = shared / "markets" / "nl"
    process(gateway, *sorted((dutch / "samples").iterdir()), *sorted((dutch / "found_2026" / "samples").iterdir()))
    assert unaccepted(gateway) == []
    requests = rows_of(gateway, "SELECT DISTINCT code FROM incident WHERE severity = 'error'")
    assert requests == [("TYPE_UNKNOWN",)]


def test_what_is_right_in_the_belgian_fixtures_is_accepted(small: Gateway, project_root: Path, write: Write) -> None:
    """Starts that the opening knows too, data, readings, series, ends. One start of the fixtures names no balance
    responsible party, as docs/markets/be.md says: it alone is rejected."""
    starts = {
        "541449000000001017": "2026-03-01",
        "541449000000001024": "2026-03-01",
        "541449000000001031": "2026-03-15",
        "541449000000001048": "2026-04-01",
        "541449000000001055": "2025-11-01",
    }
    done = load(small, write(*supplied("BE", "5419999000017", starts, "2026-06-01"), head=HEAD[:5]))
    assert (done.bad, done.messages) == ((), {"accepted": 5})
    folder = project_root / "fixtures" / "be"
    process(small, *(path for path in sorted(folder.iterdir()) if not path.name.startswith("mistakes_")))
    assert unaccepted(small) == [("TR-0002", "StartOfSupply", "rejected")]


def market_state(gateway: Gateway, point: str) -> list[tuple[object, ...]]:
    """State and codes of the market's messages of a point, opening balances apart."""
    return rows_of(
        gateway,
        "SELECT k.kind, k.state, f.error_code FROM kernel_message k JOIN access_point p ON p.id = k.access_point_id "
        f"LEFT JOIN finding f ON f.message_id = k.id AND f.\"current\" WHERE p.identifier = '{point}' "
        "AND k.market_type <> 'OpeningBalance' AND (k.state <> 'accepted' OR f.error_code IS NOT NULL) ORDER BY k.id",
    )


ENTERED = french(
    "99000000000101",
    as_of="2026-02-15",
    supply_start="2026-01-05",
    supply_supplier="17XLUMINEFICT01X",
    meter_serial="02197600010101",
    reading_at="",
    reading_digits="",
    index_supplier_BASE="",
)
"""What fixtures/fr/c15_entries.xml says of the point, as its supplier knows it later."""


@pytest.mark.parametrize("order", [("opening", "market"), ("market", "opening")])
def test_the_market_tells_the_same_start(
    gateway: Gateway, write: Write, project_root: Path, order: tuple[str, str]
) -> None:
    """The entry of a contract and the opening balance are one supply, whichever comes first, also where the opening
    does not know the contract's reference."""
    for one in order:
        if one == "opening":
            assert load(gateway, write(ENTERED)).bad == ()
        else:
            process(gateway, project_root / "fixtures" / "fr" / "c15_entries.xml")
    assert market_state(gateway, "99000000000101") == []
    counted = (
        "SELECT count(*) FROM supply_period s JOIN access_point p ON p.id = s.access_point_id "
        "WHERE p.identifier = '99000000000101'"
    )
    assert rows_of(gateway, counted) == [(1,)]
    assert {row[0] for row in rows_of(gateway, "SELECT state FROM kernel_message")} == {"accepted"}


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"supply_start": "2025-12-05"}, "CO-S10"),
        ({"contract_reference": "700000999", "supply_start": "2026-01-05"}, "CO-S11"),
        ({"supply_start": "2026-01-15"}, "CO-S11"),
        ({"contract_tariff": "BTINFMU4"}, "CO-C11"),
        ({"contract_subscribed_power": "9"}, "CO-C12"),
        ({"meter_serial": "13451014311879"}, "CO-C13"),
    ],
)
def test_market_and_opening_contradict_each_other(
    small: Gateway, write: Write, project_root: Path, changed: dict[str, str], code: str
) -> None:
    """Start, contract, tariff, power, meter: the later of the two in business time bears the finding, with both
    values."""
    load(small, write({**ENTERED, **french(ENTERED["access_point"], **{**_under(ENTERED), **changed})}))
    process(small, project_root / "fixtures" / "fr" / "c15_entries.xml")
    found = rows_of(
        small,
        "SELECT f.comment, f.comment_fr FROM finding f JOIN kernel_message k ON k.id = f.message_id "
        f"WHERE f.\"current\" AND f.error_code = '{code}'",
    )
    assert len(found) == 1
    assert "opening balance" in str(found[0][0])
    assert "état d'ouverture" in str(found[0][1])


def _under(row: dict[str, str]) -> dict[str, str]:
    """A row as the arguments of `french`."""
    own = {name: value for name, value in row.items() if name != "access_point"}
    return {name.replace(".", "_"): value for name, value in own.items()}


def test_an_index_below_that_of_the_opening(small: Gateway, write: Write, shared: Path) -> None:
    """The rule is that of every reading; its comment says in both languages where the index before came from, and
    gives both: the sample's 15 276 kWh and the opening's."""
    opening = french("99147508449444", as_of="2024-01-01", reading_at="2024-01-01", index_supplier_BASE="99999")
    load(small, write(opening))
    process(small, shared / "markets" / "fr" / "samples" / "r15.xml")
    found = rows_of(
        small,
        "SELECT f.comment, f.comment_fr FROM finding f JOIN kernel_message k ON k.id = f.message_id "
        "WHERE f.\"current\" AND k.market_type = 'R15' AND k.kind = 'MeterReading' AND f.severity = 'error'",
    )
    assert len(found) == 1
    english, french_words = (str(words) for words in found[0])
    assert "comes from the opening balance" in english
    assert "vient de l'état d'ouverture" in french_words
    assert "15276" in english.replace(" ", "")
    assert "99999" in english.replace(" ", "")


def test_the_store_of_the_same_rows_is_the_same(tmp_path: Path, project_root: Path, write: Write) -> None:
    """`eis compare` finds no difference between two stores, and it finds one where a row differs."""
    engines = []
    for number, tariff in enumerate(("BTINFCUST", "BTINFCUST", "BTINFMU4")):
        gateway = next(make_gateway(f"sqlite:///{tmp_path / f'{number}.db'}", project_root))
        load(gateway, write(french(contract_tariff=tariff)))
        engines.append(gateway.store.engine)
    assert list(compare(engines[0], engines[1])) == []
    assert list(compare(engines[0], engines[2])) != []


def compared(gateway: Gateway, path: Path) -> Comparison:
    with path.open("rb") as source:
        at = datetime(2026, 6, 1, tzinfo=UTC)
        found = compare_portfolio(gateway.store, gateway.inbound, source, path.name, at, 100)
    assert isinstance(found, Comparison)
    return found


def test_a_portfolio_is_compared_with_the_store(gateway: Gateway, write: Write) -> None:
    """Points of one side alone, terms that differ with both values; what the file does not say is not compared."""
    rows = [french(f"990000000003{number:02}") for number in range(5)]
    file = write(*rows)
    load(gateway, file)
    found = compared(gateway, file)
    assert (found.there, found.here, found.equal, found.lines) == (5, 5, 5, ())
    others = [*rows[:3], {**rows[3], "contract.tariff": "BTINFMU4", "customer.surname": ""}, french("99000000000399")]
    found = compared(gateway, write(*others, name="others.csv"))
    assert (found.there, found.here, found.equal) == (5, 5, 3)
    assert [(one.access_point, one.what, one.column, one.there, one.here) for one in found.lines] == [
        ("99000000000303", "differs", "contract.tariff", "BTINFMU4", "BTINFCUST"),
        ("99000000000304", "only-here", "", None, None),
        ("99000000000399", "only-there", "", None, None),
    ]


def test_indexes_of_the_same_day_and_requests_are_compared(gateway: Gateway, write: Write) -> None:
    """15 276 000 Wh is 15 276 kWh; an index of another day is no other index of that day; a request that we do not
    know, and one in another state."""
    more = {"reading.unit": "kWh", "request.reference": "AFF0000001", "request.state": "in-course"}
    more |= {"request.2.reference": ""}
    head, base = (*HEAD, *more), french(index_supplier_BASE="15276") | more
    assert load(gateway, write(base, head=head)).bad == ()

    def differences(**changed: str) -> list[tuple[object, ...]]:
        other = {**base, **{name.replace("__", "."): value for name, value in changed.items()}}
        found = compared(gateway, write(other, name="other.csv", head=head))
        return [(one.column, one.there, one.here) for one in found.lines]

    assert differences() == []
    assert differences(reading__unit="Wh", index__supplier__BASE="15276000") == []
    assert differences(index__supplier__BASE="15277") == [("index.supplier.BASE", "15277 kWh", "15276 kWh")]
    assert differences(index__supplier__BASE="15300", reading__at="2025-12-31") == []
    assert differences(request__state="done") == [("request.state", "done", "in-course")]
    assert differences(request__2__reference="AFF0000002") == [("request.2.reference", "AFF0000002", None)]


def test_a_point_stands_once_in_a_list(small: Gateway, project_root: Path, tmp_path: Path) -> None:
    """The second row of a point comes far behind the first, in another batch; neither is taken over, others are."""
    head, *rows = (project_root / "fixtures" / "nl" / "gains.xml").read_text("utf-8").split("<Portaal_MeteringPoint>")
    last, tail = rows[-1].split("</Portaal_MeteringPoint>")
    rows = ["<Portaal_MeteringPoint>" + row for row in (rows[0], last + "</Portaal_MeteringPoint>")]
    path = tmp_path / "gains.xml"
    path.write_text(head + "".join((*rows, rows[0].replace("70020001", "70020099"))) + tail, "utf-8")
    batched = Inbound(small.store, small.inbound.writer, small.inbound.keys, small.inbound.limits, 1)
    with path.open("rb") as source:
        done = load_portfolio(small.store, batched, source, path.name, 100)
    assert (done.rows, done.new, done.refused) == (3, 1, 2)
    assert [(one.row, one.code, one.access_point) for one in done.bad] == [
        (1, "PORTFOLIO_POINT", "871999910000000010"),  # the first point of the file and the third
        (3, "PORTFOLIO_POINT", "871999910000000010"),
    ]
    assert compared(small, path).unreadable == 2


@pytest.mark.parametrize(
    ("name", "other", "point"),
    [
        ("fr/c12_situation.xml", "", "99000000000505"),
        ("be/start_by_switch.xml", "541449000000001024", "541449000000001017"),
    ],
)
def test_a_bad_point_of_a_list_is_named_by_its_place_among_the_points(
    small: Gateway, project_root: Path, tmp_path: Path, name: str, other: str, point: str
) -> None:
    """The two points of a French and of a Belgian list are one: the first and the second are named."""
    path = tmp_path / Path(name).name
    content = (project_root / "fixtures" / name).read_text("utf-8")
    path.write_text(content.replace(other, point) if other else content, "utf-8")
    done = load(small, path)
    assert [(one.row, one.access_point) for one in done.bad if one.code == "PORTFOLIO_POINT"] == [
        (1, point),
        (2, point),
    ]


def test_an_unreadable_row_without_a_point_is_named_by_its_number(small: Gateway, write: Write) -> None:
    file = write(french(), {**french(), "access_point": ""})
    (line,) = [one for one in compared(small, file).lines if one.what == "unreadable"]
    assert (line.access_point, line.column) == ("", "row 3, access_point")


def test_a_list_of_the_market_is_loaded_and_compared(gateway: Gateway, project_root: Path) -> None:
    """The gains of a Dutch supplier: loaded, they are its points; no difference remains."""
    file = project_root / "fixtures" / "nl" / "gains.xml"
    before = compared(gateway, file)
    assert (before.there, before.here, before.only_there) == (2, 0, 2)
    assert load(gateway, file).messages == {"accepted": 4}
    after = compared(gateway, file)
    assert (after.there, after.here, after.equal, after.lines) == (2, 2, 2, ())
    process(gateway, file)
    assert set(states(gateway)) == {"accepted"}
    assert rows_of(gateway, "SELECT count(*) FROM supply_period") == [(2,)]


def test_a_list_that_tells_since_when_we_supply_a_point_is_its_start(
    gateway: Gateway, project_root: Path, tmp_path: Path
) -> None:
    """The register names the first day of the supplier; the picture is of a later day."""
    fixture = project_root / "fixtures" / "nl" / "metering_point_new.xml"
    assert load(gateway, fixture).messages == {"accepted": 5}  # start, data, terms, customer, meter; no question
    ((at,),) = rows_of(gateway, "SELECT at FROM supply_period")
    assert at == 1_769_900_400_000_000  # 2026-02-01 at midnight in Amsterdam
    assert compared(gateway, fixture).lines == ()
    later = tmp_path / "later.xml"
    since = "</ID>\n          <ValidFromDate>2026-02-0"
    assert since in fixture.read_text("utf-8")
    later.write_text(fixture.read_text("utf-8").replace(f"{since}1", f"{since}3"), "utf-8")
    (line,) = [one for one in compared(gateway, later).lines if one.column == "supply.start"]
    assert (line.there, line.here) == ("2026-02-03", "2026-02-01")


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_every_list_of_a_point_can_be_loaded_after_the_others(
    small: Gateway, project_root: Path, order: tuple[int, ...]
) -> None:
    """A gain tells since when we supply a point. Answers and mutations tell that we do: what they do not say, the
    balance responsible party and the first day, stays as the gain told it, in any order."""
    names = ("gains.xml", "master_data.xml", "metering_point_new.xml", "mutations.xml")
    for number in order:
        assert load(small, project_root / "fixtures" / "nl" / names[number]).refused == 0
    kinds = "SELECT k.state, count(*) FROM kernel_message k JOIN access_point p ON p.id = k.access_point_id "
    rows = rows_of(small, f"{kinds}WHERE p.identifier = '871999910000000010' GROUP BY k.state")
    assert {row[0] for row in rows} <= {"accepted", "withdrawn"}
    (found,) = rows_of(
        small,
        "SELECT s.at, s.ended_at FROM supply_period s JOIN access_point p ON p.id = s.access_point_id "
        "WHERE p.identifier = '871999910000000010'",
    )
    assert found == (1_769_900_400_000_000, None)  # 2026-02-01 at midnight in Amsterdam
    starts = rows_of(small, "SELECT xml FROM kernel_message WHERE state = 'accepted' AND kind = 'StartOfSupply'")
    assert any("871999910000000010" in xml and "8719999100302" in xml for xml in (clear_xml(row[0]) for row in starts))
