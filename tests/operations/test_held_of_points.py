"""What the store holds of access points and says of grid invoices: meters, readings, periods, contracts, due dates."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import SecretStr
from sqlalchemy import delete, insert, select

from assistant.chat.working import kept, worked_answer
from assistant.operations.family import Plan
from assistant.operations.house import House
from assistant.operations.worked import Worked
from energycomm.config import Config
from energycomm.eis import tables
from energycomm.errors import UserError
from energycomm.kernel.instants import micros
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start

ROOT = Path(__file__).resolve().parents[2]
PRM = "99000000000017"
OLD, NEW = "1SAG100000001", "1SAG200000001"
INVOICE = "GF-2026-000123"
NOW = datetime(2026, 10, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """The shipped rules and documentation, and no store."""
    settings: dict[str, Any] = {"database": SecretStr(f"sqlite:///{tmp_path_factory.mktemp('house') / 'none.db'}")}
    return House(Config(rules=ROOT / "rules", **settings), docs=ROOT / "docs", now=lambda: NOW)


@pytest.fixture
def living(database_url: str) -> House:
    """A point that is supplied, two readings, a meter in place of another, and a grid invoice in two files."""
    desk = Desk(database_url)
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_200_000), reading(PRM, day(60), 1_300_000)])
    with desk.database.begin() as connection:
        point = connection.execute(select(tables.access_point.c.id)).scalar_one()
        message = connection.execute(select(tables.kernel_message.c.id).limit(1)).scalar_one()
        of_point = {"access_point_id": point, "message_id": message}
        swap = micros(day(40))
        meters = [(901, micros(day(0)), OLD, "present"), (902, swap, OLD, "removed"), (903, swap, NEW, "installed")]
        connection.execute(delete(tables.DOMAIN["meter"]))
        connection.execute(
            insert(tables.DOMAIN["meter"]),
            [
                {**of_point, "id": id_, "at": at, "serial": serial, "action": action}
                for id_, at, serial, action in meters
            ],
        )
        head = {"market": "BE", "at": swap, "message_id": message, "invoice": INVOICE, "currency": "EUR"}
        connection.execute(
            insert(tables.DOMAIN["grid_invoice"]),
            [
                {**head, "id": 1, "part": "general", "total": "48.30", "tax": "10.14", "gross": "58.44",
                 "due": "2026-06-09", "charges": 1},
                {**head, "id": 2, "part": "recapitulation", "total": "48.30", "tax": None, "gross": None, "due": None,
                 "charges": None},
            ],
        )  # fmt: skip
    settings: dict[str, Any] = {"database": SecretStr(database_url)}
    return House(Config(**settings), docs=ROOT / "docs", store=desk.store, now=lambda: NOW)


def only(house: House, question: str) -> Worked:
    reply = house.reply(question)
    assert reply is not None, f"{question}: {house.plan(question)}"
    (answer,) = reply.answers
    return answer


def column(answer: Worked, name: str) -> set[str]:
    assert answer.table is not None
    return {row[answer.table.columns.index(name)] for row in answer.table.rows}


METERS = [
    (f"Which meter is at {PRM} now?", {NEW}),
    (f"Quel compteur est installé au point {PRM} ?", {NEW}),
    (f"Welke meter hangt er op aansluiting {PRM}?", {NEW}),
    (f"Which meters have been at {PRM} so far?", {OLD, NEW}),
    (f"Quels compteurs a eus le point {PRM} jusqu'ici ?", {OLD, NEW}),
    (f"Welke meters hebben er tot nu toe op {PRM} gezeten?", {OLD, NEW}),
]


def test_the_meters_of_a_point_are_those_in_place_or_all_that_were(living: House) -> None:
    for question, serials in METERS:
        answer = only(living, question)
        assert column(answer, "serial") == serials
        assert answer.sentence.startswith(str(len(serials)))
        assert not {OLD, NEW} & set(answer.sentence.split())


POINTS = [
    f"Which access point does meter {NEW} belong to?",
    f"À quel point appartient le compteur {NEW} ?",
    f"Bij welk aansluitpunt hoort meter {NEW}?",
]


def test_the_access_point_of_a_meter_is_told(living: House) -> None:
    for question in POINTS:
        assert column(only(living, question), "access_point") == {PRM}


def test_a_serial_number_is_shown_and_not_logged(living: House) -> None:
    answer = worked_answer(living, f"Which access point does meter {NEW} belong to?")
    assert answer is not None
    logged = kept(answer, lambda words: words.replace(f"meter {NEW}", "[meter]"))
    assert NEW not in logged.text
    assert NEW in repr(answer.worked)
    assert NEW not in repr(logged.worked)


HELD = [
    (f"How many readings do we store for {PRM}?", 2),
    (f"Combien de relevés gardons-nous pour le point {PRM} ?", 2),
    (f"Hoeveel meterstanden bewaren we voor {PRM}?", 2),
    (f"What is the date of the latest reading that we store for {PRM}?", f"{day(60):%Y-%m-%d}"),
    (f"Quel est le plus ancien relevé du point {PRM} ?", f"{day(31):%Y-%m-%d}"),
    (f"Datum van de laatste meterstand die we bewaren voor {PRM}?", f"{day(60):%Y-%m-%d}"),
    ("How many supply periods are running?", 1),
    ("Combien de périodes de fourniture sont terminées ?", 0),
    ("Hoeveel leveringsperiodes lopen er nu?", 1),
    ("Of the supply periods that are still running, when did the oldest one begin?", f"{day(0):%Y-%m-%d}"),
    (f"How many consumption periods do we have of {PRM}?", 0),
]


def test_what_is_held_is_counted_and_dated_by_its_own_day(living: House) -> None:
    for question, value in HELD:
        found = only(living, question).values[0]
        assert found == value


def test_readings_that_arrived_are_messages(house: House) -> None:
    for question in (f"How many readings came in for {PRM}?", f"When was the last reading of {PRM} received?"):
        (plan,) = house.plan(question)["plans"]
        assert (plan["thing"], plan["kinds"]) == ("message", ("MeterReading",))


SAID = [
    (f"I need the total without tax of grid invoice {INVOICE}.", "48.30"),
    (f"Quel est le montant TTC de la facture {INVOICE} ?", "58.44"),
    (f"Wat is de vervaldatum van netfactuur {INVOICE}?", "2026-06-09"),
    (f"What is the VAT on grid invoice {INVOICE}?", "10.14"),
    (f"How many lines does grid invoice {INVOICE} have?", "1"),
    ("Which grid invoices are due in June 2026?", INVOICE),
    ("Combien de factures de réseau arrivent à échéance en juin 2026 ?", 1),
    ("Welke netfacturen vervallen voor 1 juli 2026?", INVOICE),
]


def test_what_a_grid_invoice_says_is_told_with_its_page(living: House) -> None:
    for question, value in SAID:
        answer = only(living, question)
        assert answer.values == (value,)
        assert answer.proofs[0].link.startswith("/invoices")


@pytest.mark.parametrize(
    "question",
    [
        f"Have we paid grid invoice {INVOICE}?",
        f"What colour is meter {OLD}?",
        f"Who is the customer of meter {OLD}?",
        f"Which readings of {PRM} were estimated?",
        f"What was the value of the latest reading of {PRM}?",
        f"When was the supply period of {PRM} ended?",
        f"Did meter {OLD} leave {PRM}?",
        "How many messages did our competitor receive this year?",
        "Combien de messages nos concurrents ont-ils reçus ?",
        "Hoeveel berichten kreeg onze concurrent?",
    ],
)
def test_what_is_not_held_or_restricts_is_not_left_out(house: House, question: str) -> None:
    assert house.plan(question)["plans"] == []


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Until what day will message 121 wait before it is given up?", "until"),
        ("Until when will number 121 be kept in quarantine before we give up on it?", "until"),
        ("Jusqu'à quel jour le message 121 attend-il ?", "until"),
        ("Tot welke dag wacht bericht 121?", "until"),
        ("I need every rule that message 121 broke, the warnings too.", "codes"),
        ("Quelles règles le message 121 a-t-il enfreintes, avertissements compris ?", "codes"),
        ("Welke regels heeft bericht 121 overtreden, waarschuwingen inbegrepen?", "codes"),
    ],
)
def test_the_last_day_of_a_message_and_all_its_findings_are_asked_for(house: House, question: str, about: str) -> None:
    assert house.plan(question)["plans"] == [{"do": "why_message", "message": 121, "about": about}]


@pytest.mark.parametrize(
    "question",
    [
        "The numbers of the messages in quarantine, please.",
        "Les numéros des messages en quarantaine ?",
        "Nummers van de berichten die in quarantaine staan graag.",
    ],
)
def test_numbers_of_messages_are_their_list(house: House, question: str) -> None:
    listed = {"do": "stored", "thing": "message", "how": "list", "states": ("quarantined",)}
    assert house.plan(question)["plans"] == [listed]


def test_a_model_is_held_to_the_types_of_what_is_held(living: House) -> None:
    found = living.called("stored", {"thing": "meter", "how": "list", "states": ["present"], "access_point": PRM})
    assert found is not None
    assert column(found, "serial") == {NEW}
    for wrong in ({"thing": "meter", "states": ["blue"]}, {"thing": "reading", "value": "total"},
                  {"thing": "grid_invoice", "value": "colour"}, {"thing": "customer"}):  # fmt: skip
        with pytest.raises(UserError):
            living.called("stored", wrong)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ({"thing": "grid_invoice", "access_point": PRM}, "access point"),
        (
            {"thing": "grid_invoice", "how": "list", "access_point": PRM, "day_of": "due", "since": "2026-05-01"},
            "access point",
        ),
        ({"thing": "invoice", "access_point": PRM}, "access point"),
        ({"thing": "ticket", "access_point": PRM}, "access point"),
        ({"thing": "invoice", "since": "2026-05-01"}, "day"),
        ({"thing": "envelope", "lacking": "warning"}, "findings"),
        ({"thing": "grid_invoice", "value": "total"}, "total"),
        ({"thing": "meter", "invoice": INVOICE}, "invoice"),
        ({"thing": "meter", "states": ["running"]}, "state"),
        ({"thing": "reading", "day_of": "due"}, "day"),
    ],
)
def test_what_restricts_no_such_thing_is_refused_and_never_left_out(
    living: House, call: dict[str, Any], told: str
) -> None:
    """A model's call is answered as it is meant, or not at all."""
    plan = msgspec.convert({"do": "stored", **call}, Plan)
    with pytest.raises(UserError, match=told):
        living.work_out(plan, "en")
