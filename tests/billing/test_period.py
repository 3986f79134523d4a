"""Billing periods: every consumption here is a difference that can be done by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from energycomm import cli
from energycomm.billing.period import BillingPeriod, billing_period
from energycomm.eis import tables
from energycomm.eis.database import connect
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.kernel.instants import micros
from energycomm.market.installed import installed_adapters
from tests.stores import make_store

PARIS = ZoneInfo("Europe/Paris")
PRM = "99000000000017"


def at(text: str) -> int:
    """A civil day's beginning in Paris."""
    return micros(datetime.fromisoformat(text).replace(tzinfo=PARIS))


class Book:
    """A store into which a test writes what accepted messages left."""

    def __init__(self, url: str, market: str = "FR") -> None:
        self.engine = connect(make_store(url))
        self.market, self.number = market, 0
        with Store(self.engine).transaction() as tx:
            point = {"id": 1, "market": market, "identifier": PRM, "last_at": 0, "state": b"", "messages": 0}
            tx.insert(tables.access_point, [point])

    def write(self, table: str, when: str, **columns: Any) -> int:
        self.number += 1
        message = {"id": self.number, "position": 1, "market": self.market, "market_type": "X", "kind": "MeterReading"}
        message |= {"effective": at(when), "state": columns.pop("state", "accepted"), "received_at": 0, "xml": ""}
        with Store(self.engine).transaction() as tx:
            tx.insert(tables.kernel_message, [{**message, "access_point_id": 1}])
            if table:
                row = {"access_point_id": 1, "at": at(when), "message_id": self.number, **columns}
                tx.insert(tables.DOMAIN[table], [row])
        return self.number

    def supply(self, when: str, end: str | None = None, reference: str = "C1") -> None:
        self.write("supply_period", when, reference=reference, ended_at=None if end is None else at(end))
        self.terms(when, "6", reference)

    def terms(self, when: str, power: str, reference: str = "C1", calendar: str = "DI000001") -> None:
        columns = {"tariff": "BTINFCU4", "subscribed_power": power, "power_unit": "kVA", "calendar": calendar}
        self.write("contract", when, reference=reference, powers="[]", **columns)

    def read(self, when: str, unit: str = "kWh", how: str = "periodic", nature: str = "read", **values: Any) -> int:
        """A reading: time class -> index, or what is said of its register."""
        registers = [
            {"grid": "distributor", "direction": "consumption", "time_class": name, "unit": unit}
            | (value if isinstance(value, dict) else {"value": value})
            for name, value in values.items()
        ]
        return self.registers(when, registers, qualification=how, nature=nature)

    def registers(self, when: str, registers: list[dict[str, Any]], **columns: Any) -> int:
        columns = {"source": "R15", "qualification": "periodic", "nature": "read", "status": "current"} | columns
        return self.write("reading", when, registers=json.dumps(registers), **columns)

    def energy(self, first: str, when: str, source: str = "R67", /, **quantities: Any) -> int:
        """Energies of a period: time class -> kWh, or what is said of its volume."""
        volumes = [
            {"grid": "distributor", "direction": "consumption", "time_class": name, "unit": "kWh"}
            | (value if isinstance(value, dict) else {"quantity": str(value)})
            for name, value in quantities.items()
        ]
        nature = "estimated" if source == "ESTIMATING" else "measured"
        columns = {"source": source, "start_at": at(first), "nature": nature, "status": "current"}
        return self.write("volume", when, volumes=json.dumps(volumes), **columns)

    def bill(self, first: str, last: str, contract: str = "C1") -> BillingPeriod:
        return billing_period(
            self.engine, contract, date.fromisoformat(first), date.fromisoformat(last), installed_adapters()
        )


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    book = Book(f"sqlite:///{tmp_path / 'eis.db'}")
    yield book
    book.engine.dispose()


def shown(found: BillingPeriod) -> tuple[dict[str, int | Decimal | None], list[str], bool]:
    return (
        {one.time_class: one.quantity for one in found.consumption},
        sorted({one.code for one in found.remarks}),
        found.ready,
    )


def test_consumption_is_the_difference_of_the_border_readings_by_time_class(database_url: str) -> None:
    book = Book(database_url)
    book.supply("2026-01-01")
    book.read("2026-01-01", HP=1000, HC=500)
    book.read("2026-01-15", HP=1040, HC=520)
    book.read("2026-02-01", HP=1100, HC=540)
    book.read("2026-03-01", HP=1240, HC=541)
    january, february = book.bill("2026-01-01", "2026-01-31"), book.bill("2026-02-01", "2026-02-28")
    assert shown(january) == ({"HP": 100, "HC": 40}, [], True)
    assert shown(february) == ({"HP": 140, "HC": 1}, [], True)
    assert shown(book.bill("2026-01-01", "2026-02-28")) == ({"HP": 240, "HC": 41}, [], True)
    assert {one.unit for one in january.consumption} == {"kWh"}
    assert (january.start.isoformat(), january.end.isoformat()) == (
        "2025-12-31T23:00:00+00:00",
        "2026-01-31T23:00:00+00:00",
    )
    assert [(str(one.subscribed_power), one.power_unit, one.tariff) for one in january.terms] == [
        ("6", "kVA", "BTINFCU4")
    ]
    # The access point names its contract where it has one.
    assert book.bill("2026-01-01", "2026-01-31", PRM) == january
    book.engine.dispose()


def test_watt_hours_are_cut_off_so_that_periods_add_up(book: Book) -> None:
    """The Wh beyond a whole kWh are dropped before indexes are subtracted: 1 040 - 1 000, 1 100 - 1 040."""
    book.supply("2026-01-01")
    book.read("2026-01-01", "Wh", BASE=1_000_999)
    book.read("2026-01-10", "Wh", BASE=1_040_998)
    book.read("2026-01-20", BASE=1100)
    book.read("2026-01-20", "Wh", BASE=1_100_900)  # the same instant, said more finely: no contradiction
    assert shown(book.bill("2026-01-01", "2026-01-09")) == ({"BASE": 40}, [], True)
    assert shown(book.bill("2026-01-10", "2026-01-19")) == ({"BASE": 60}, [], True)
    assert shown(book.bill("2026-01-01", "2026-01-19")) == ({"BASE": 100}, [], True)


def test_a_border_without_a_reading_is_interpolated_or_missing_and_cannot_be_billed(book: Book) -> None:
    """1 000 and 1 310 kWh, 31 days apart: on the 11th day 1 100. After the last reading nothing is known."""
    book.supply("2026-01-01")
    book.read("2026-01-01", BASE=1000)
    book.read("2026-02-01", BASE=1310)
    between = book.bill("2026-01-11", "2026-01-31")
    assert shown(between) == ({"BASE": 210}, ["READING_BETWEEN"], False)
    (register,) = between.consumption
    assert register.start is not None
    assert (register.start.index, register.start.origin, register.start.message) == (1100, "interpolated", None)
    assert register.estimated
    assert shown(book.bill("2026-01-01", "2026-02-10")) == ({"BASE": None}, ["READING_MISSING"], False)
    assert shown(book.bill("2026-03-01", "2026-03-31")) == ({}, ["READINGS_NONE"], False)


def test_a_meter_that_was_changed_counts_from_its_first_index(book: Book) -> None:
    """The old one 1 100 to 1 150, the new one 5 to 105: 50 and 100."""
    book.supply("2026-01-01")
    book.write("meter", "2026-01-01", action="present", serial="OLD")
    book.read("2026-01-01", BASE=1100)
    book.read("2026-01-20", how="before-event", BASE=1150)
    book.write("meter", "2026-01-20", action="installed", serial="NEW")
    book.read("2026-02-01", BASE=105)
    assert shown(book.bill("2026-01-01", "2026-01-31")) == ({"BASE": None}, ["METER_CHANGE_OPEN"], False)
    book.read("2026-01-20", how="after-event", BASE=5)
    found = book.bill("2026-01-01", "2026-01-31")
    assert shown(found) == ({"BASE": 150}, [], True)
    assert [(one.before, one.after) for one in found.meter_changes] == [("OLD", "NEW")]
    assert found.consumption[0].meters == 2
    # The day of the change as a border: the old meter ends there, the new one begins.
    assert shown(book.bill("2026-01-01", "2026-01-19"))[0] == {"BASE": 50}
    assert shown(book.bill("2026-01-20", "2026-01-31"))[0] == {"BASE": 100}


def test_another_meter_that_no_message_told_of_is_noticed(book: Book) -> None:
    book.supply("2026-01-01")
    book.read("2026-01-01", BASE={"value": 10, "meter": "A"})
    book.read("2026-02-01", BASE={"value": 90, "meter": "B"})
    assert shown(book.bill("2026-01-01", "2026-01-31")) == ({"BASE": None}, ["METER_CHANGE_OPEN"], False)


def test_a_register_that_passed_through_zero_goes_on_and_one_that_fell_does_not(book: Book) -> None:
    """999 900 of six digits to 100 are 200 kWh."""
    book.supply("2026-01-01")
    book.read("2026-01-01", BASE={"value": 999_900, "digits": 6})
    book.read("2026-02-01", BASE={"value": 100, "digits": 6, "rollover": True})
    book.read("2026-03-01", BASE={"value": 50, "digits": 6})
    assert shown(book.bill("2026-01-01", "2026-01-31")) == ({"BASE": 200}, [], True)
    assert shown(book.bill("2026-02-01", "2026-02-28")) == ({"BASE": None}, ["INDEX_FELL"], False)


def test_changes_of_terms_are_told_and_registers_begin_and_end_with_them(book: Book) -> None:
    """BASE to the 11th, HP and HC from then on: 10, 20 and 30 kWh."""
    book.supply("2026-01-01")
    book.read("2026-01-01", BASE=100)
    book.read("2026-01-11", how="before-event", BASE=110)
    book.terms("2026-01-11", "9", calendar="DI000003")
    book.read("2026-01-11", how="after-event", HP=0, HC=0)
    book.read("2026-02-01", HP=20, HC=30)
    found = book.bill("2026-01-01", "2026-01-31")
    assert shown(found) == ({"BASE": 10, "HP": 20, "HC": 30}, [], True)
    assert [(f"{one.since:%m-%d}", str(one.subscribed_power)) for one in found.terms] == [
        ("12-31", "6"),
        ("01-10", "9"),
    ]


def test_the_same_classes_of_another_calendar_are_other_registers(book: Book) -> None:
    """On the 11th the supplier's hours change, the distributor's do not: 50 and 20 kWh, then 30 and 60; by the
    distributor's 80 and 80 all the month. A reading without a calendar, and an opening, have that of their time."""

    def read(
        when: str, how: str, calendar: str | None, own: tuple[int, int], grid: tuple[int, int], **more: str
    ) -> None:
        told = zip(("supplier", "distributor"), (own, grid), strict=True)
        book.registers(
            when,
            [
                {"grid": one, "direction": "consumption", "time_class": name, "unit": "kWh", "value": value}
                for one, values in told
                for name, value in zip(("HP", "HC"), values, strict=True)
            ],
            qualification=how,
            calendar="DI000002" if calendar else None,
            supplier_calendar=calendar,
            **more,
        )

    book.supply("2026-01-01")
    read("2026-01-01", "periodic", "HP/HC", (1000, 500), (4000, 3000), source="OpeningBalance")
    read("2026-01-11", "before-event", "FC000001", (1050, 520), (4050, 3020))
    read("2026-01-11", "after-event", "FC000002", (700, 900), (4050, 3020))
    read("2026-02-01", "periodic", None, (730, 960), (4080, 3080))
    found = book.bill("2026-01-01", "2026-01-31")
    assert {(one.grid, one.calendar, one.time_class): one.quantity for one in found.consumption} == {
        ("supplier", "FC000001", "HP"): 50,
        ("supplier", "FC000001", "HC"): 20,
        ("supplier", "FC000002", "HP"): 30,
        ("supplier", "FC000002", "HC"): 60,
        ("distributor", "DI000002", "HP"): 80,
        ("distributor", "DI000002", "HC"): 80,
    }
    assert found.ready
    assert found.remarks == ()


def test_a_calendar_that_changed_without_closing_indexes_is_not_billed(book: Book) -> None:
    """1 000 under one calendar, 1 100 under another: the hours are others, their difference is no consumption."""
    book.supply("2026-01-01")
    for when, calendar, index in (("2026-01-01", "DI000002", 1000), ("2026-02-01", "DI000004", 1100)):
        book.registers(when, [_base(index) | {"time_class": "HP"}], calendar=calendar)
    found = book.bill("2026-01-01", "2026-01-31")
    assert [one.quantity for one in found.consumption] == [None, None]
    assert {one.code for one in found.remarks} == {"READING_MISSING"}
    assert {word for one in found.remarks for word in ("DI000002", "DI000004") if word in one.words_fr} == {
        "DI000002",
        "DI000004",
    }


def test_terms_that_a_change_does_not_state_stay_as_they_were(book: Book) -> None:
    """6 kVA; on the 11th only the tariff changes."""
    book.supply("2026-01-01")
    book.write("contract", "2026-01-11", reference="C1", powers="[]", tariff="BTINFMUDT")
    book.read("2026-01-01", BASE=100)
    book.read("2026-02-01", BASE=140)
    for first, expected in (
        ("2026-01-01", [("BTINFCU4", "6", "kVA", "DI000001"), ("BTINFMUDT", "6", "kVA", "DI000001")]),
        ("2026-01-11", [("BTINFMUDT", "6", "kVA", "DI000001")]),
    ):
        terms = book.bill(first, "2026-01-31").terms
        assert [(one.tariff, str(one.subscribed_power), one.power_unit, one.calendar) for one in terms] == expected


def test_terms_of_another_contract_of_the_point_are_none_of_this_one(book: Book) -> None:
    """One that no supply period names is of the span in which it falls: an opening may have another reference."""
    book.supply("2026-01-01", "2026-01-11", "C1")
    book.supply("2026-01-11", None, "C2")
    book.terms("2026-01-11", "3", "C1")
    book.terms("2026-01-21", "9", "ADOPTED")
    found = book.bill("2026-01-11", "2026-01-31", "C2")
    assert [(f"{one.since:%m-%d}", str(one.subscribed_power)) for one in found.terms] == [
        ("01-10", "6"),
        ("01-20", "9"),
    ]


def test_what_is_estimated_doubted_contradictory_or_held_is_told(book: Book) -> None:
    book.supply("2026-01-01")
    book.read("2026-01-01", nature="estimated", BASE=100)
    book.read("2026-02-01", BASE={"value": 140, "doubtful": True})
    held = book.write("", "2026-01-15", state="rejected")
    found = book.bill("2026-01-01", "2026-01-31")
    assert shown(found) == ({"BASE": 40}, ["MESSAGES_HELD", "READING_DOUBTFUL", "READING_ESTIMATED"], True)
    assert found.consumption[0].estimated
    assert any(str(held) in one.words for one in found.remarks)
    book.read("2026-02-01", BASE=141)
    assert "READINGS_CONTRADICT" in shown(book.bill("2026-01-01", "2026-01-31"))[1]
    assert not book.bill("2026-01-01", "2026-01-31").ready


def test_a_supply_that_covers_a_part_of_the_days_is_billed_for_these(book: Book) -> None:
    book.supply("2026-01-11", "2026-01-21")
    book.read("2026-01-11", BASE=100)
    book.read("2026-01-21", BASE=130)
    found = book.bill("2026-01-01", "2026-01-31")
    assert shown(found) == ({"BASE": 30}, ["SUPPLY_PARTIAL"], True)
    assert (found.first, found.last) == (date(2026, 1, 11), date(2026, 1, 20))


def test_gas_is_a_volume_and_reactive_energy_stays_what_it_is(tmp_path: Path) -> None:
    book = Book(f"sqlite:///{tmp_path / 'nl.db'}", "NL")
    book.supply("2026-01-01")
    for day, index in (("2026-01-01", 1000), ("2026-02-01", 1125)):
        book.read(day, "m3", T=index)
        book.read(day, "kVArh", R={"value": index, "product": "reactive-inductive"})
    found = book.bill("2026-01-01", "2026-01-31")
    assert [(one.time_class, one.quantity, one.unit) for one in found.consumption] == [("T", 125, "m3")]
    assert [(one.time_class, one.quantity, one.unit) for one in found.beside] == [("R", 125, "kVArh")]
    assert shown(found)[1:] == (["VOLUME_NOT_ENERGY"], True)
    book.engine.dispose()


def test_only_active_energy_is_billed_whatever_a_flow_calls_it(book: Book) -> None:
    """1 000 to 1 090 kWh. The reactive register has no last index, which hinders no bill; nor has the time counter."""
    active = {"grid": "distributor", "direction": "consumption", "time_class": "HPH", "unit": "kWh"}
    book.supply("2026-01-01")
    reactive = active | {"unit": "kVArh", "product": "reactive-inductive", "value": 7}
    book.registers("2026-01-01", [active | {"value": 1000}, reactive, active | {"unit": "h", "value": 12}])
    book.registers("2026-02-01", [active | {"value": 1090, "product": "active-energy"}], source="R64")
    found = book.bill("2026-01-01", "2026-01-31")
    assert shown(found) == ({"HPH": 90}, [], True)
    assert found.consumption[0].sources == ("R15", "R64")
    assert sorted((one.unit, one.quantity) for one in found.beside) == [("h", None), ("kVArh", None)]


def test_one_index_that_several_sources_tell_counts_once(book: Book) -> None:
    """R15, an answer of the SGE and R151 tell 1 000 and 1 050 kWh; energies of the same days add nothing."""
    book.supply("2026-01-01")
    for day, index in (("2026-01-01", 1000), ("2026-02-01", 1050)):
        for source in ("R15", "SGE", "R151"):
            book.registers(day, [_base(index)], source=source)
    book.registers("2026-01-20", [_base(9999)], source="R151", status="replaced")
    for source in ("R17", "SGE", "R67"):
        book.energy("2026-01-01", "2026-02-01", source, BASE=50)
    found = book.bill("2026-01-01", "2026-01-31")
    assert shown(found) == ({"BASE": 50}, [], True)
    assert found.beside == ()


def test_an_opening_balance_is_a_border_and_the_market_comes_before_it(book: Book) -> None:
    """The opening tells 1 000, the first periodic reading 1 070; then the market tells 1 000 itself."""
    book.supply("2026-01-01")
    book.registers("2026-01-01", [_base(1000)], source="OpeningBalance")
    book.registers("2026-02-01", [_base(1070)])
    found = book.bill("2026-01-01", "2026-01-31")
    assert (shown(found), found.consumption[0].sources) == (({"BASE": 70}, [], True), ("OpeningBalance", "R15"))
    market = book.registers("2026-01-01", [_base(1000)])
    start = book.bill("2026-01-01", "2026-01-31").consumption[0].start
    assert start is not None
    assert start.message == market
    book.registers("2026-01-01", [_base(1003)], source="OpeningBalance")
    assert shown(book.bill("2026-01-01", "2026-01-31")) == ({"BASE": 70}, ["READINGS_CONTRADICT"], False)


def _base(index: int) -> dict[str, Any]:
    return {"grid": "distributor", "direction": "consumption", "time_class": "BASE", "unit": "kWh", "value": index}


def test_a_total_beside_its_time_classes_is_not_added_to_them(book: Book) -> None:
    """60 and 40 kWh; the register of all hours counted the same 100."""
    book.supply("2026-01-01")
    book.read("2026-01-01", HP=600, HC=400)
    book.read("2026-02-01", HP=660, HC=440)
    book.registers("2026-01-01", [_base(1000)], source="R64")
    book.registers("2026-02-01", [_base(1100)], source="R64")
    found = book.bill("2026-01-01", "2026-01-31")
    assert shown(found) == ({"HP": 60, "HC": 40}, [], True)
    assert [(one.time_class, one.quantity) for one in found.beside] == [("BASE", 100)]


def test_volumes_stand_in_where_no_index_tells_the_period(book: Book) -> None:
    """30 + 12.5 and 20 + 7.5 kWh of R17; the answer of the SGE tells the same 70 once more, without time classes."""
    book.supply("2026-01-01")
    book.energy("2026-01-01", "2026-01-15", "R17", HP=30, HC=20, Q={"quantity": "9", "product": "reactive-inductive"})
    book.energy("2026-01-15", "2026-02-01", "R17", HP="12.5", HC="7.5")
    book.energy("2026-01-01", "2026-02-01", "SGE", BASE=70, HP={"quantity": "3", "purpose": "autoproduced"})
    found = book.bill("2026-01-01", "2026-01-31")
    assert shown(found) == ({"HP": Decimal("42.5"), "HC": Decimal("27.5")}, ["FROM_VOLUMES"], True)
    assert {one.sources for one in found.consumption} == {("R17",)}
    assert shown(book.bill("2026-01-01", "2026-01-20")) == ({}, ["READINGS_NONE", "VOLUMES_MISSING"], False)
    book.energy("2026-01-01", "2026-02-01", "R67", BASE=90)
    assert shown(book.bill("2026-01-01", "2026-01-31"))[1:] == (["FROM_VOLUMES", "VOLUMES_CONTRADICT"], False)


def test_a_volume_may_be_estimated_and_regularised_and_must_leave_no_hole(book: Book) -> None:
    """40 estimated kWh, corrected by -5; then nothing tells the fourteenth of February."""
    book.supply("2026-01-01")
    book.energy("2026-01-01", "2026-02-01", "ESTIMATING", BASE=40)
    book.write(
        "volume",
        "2026-02-01",
        source="ESTIMATING",
        start_at=at("2026-01-01"),
        nature="regularised",
        status="current",
        volumes=json.dumps([_base(0) | {"quantity": "-5"}]),
    )
    assert shown(book.bill("2026-01-01", "2026-01-31")) == ({"BASE": 35}, ["FROM_VOLUMES", "VOLUME_ESTIMATED"], True)
    book.energy("2026-02-01", "2026-02-14", BASE=1)
    book.energy("2026-02-15", "2026-03-01", BASE=1)
    assert shown(book.bill("2026-02-01", "2026-02-28"))[1] == ["READINGS_NONE", "VOLUMES_MISSING"]


def test_what_cannot_be_named_is_refused_with_what_there_is(book: Book) -> None:
    book.supply("2026-01-01", "2026-01-11", "C1")
    book.supply("2026-01-11", None, "C2")
    for words, asked in (
        ("no contract C9", ("2026-01-01", "2026-01-31", "C9")),
        ("was not supplied from 2026-02-01", ("2026-02-01", "2026-02-28", "C1")),
        ("Several contracts", ("2026-01-01", "2026-01-31", PRM)),
        ("is before the first", ("2026-01-31", "2026-01-01", "C1")),
    ):
        with pytest.raises(UserError, match=words) as refused:
            book.bill(*asked)
        assert refused.value.advice


def test_the_command_prints_it_and_tells_whether_it_is_ready(
    book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ENERGYCOMM_DATABASE", f"sqlite:///{tmp_path / 'eis.db'}")
    book.supply("2026-01-01")
    book.read("2026-01-01", BASE=100)
    book.read("2026-02-01", BASE=140)
    days = ["--from", "2026-01-01", "--to", "2026-01-31"]
    assert cli.main(["billing", "C1", *days, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ready"], told["consumption"][0]["quantity"], told["consumption"][0]["unit"]) == (True, 40, "kWh")
    assert cli.main(["billing", "C1", *days[:3], "2026-02-10"]) == 1
    assert "READING_MISSING" in capsys.readouterr().out
    assert cli.main(["billing", "C1", *days[:3], "soon"]) == 3
