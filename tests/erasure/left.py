"""A customer whose supply ended, the next one at the same point, another one elsewhere: what is erased, and by whom."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from energycomm.eis import tables
from energycomm.eis.database import opened
from energycomm.eis.erasures import Order
from energycomm.eis.store import Store
from energycomm.erasure.erasing import Means
from energycomm.erasure.ordering import order_of
from energycomm.kernel.codec import encode
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import CustomerData
from energycomm.kernel.parts import Address
from energycomm.kernel.requests import MoveInRequest
from energycomm.market.installed import installed_adapters
from energycomm.transport.keys import KeyRing
from tests.eis.rows import NOW, put, put_kernel_message
from tests.end_to_end.conftest import Place
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, end, head, reading, start, transaction

PRM, OTHER = "99000000000017", "99000000000025"
WORDS = ["quinquengrogne", "aldegonde", "0799111222", "aldegonde@example.org", "impasse du canari"]
AFTER = micros(day(400))


def data(prm: str, number: int, surname: str, **fields: Any) -> Any:
    """The customer of a point from a day on."""
    common = head(prm, day(number), "C15", "MES", f"C15:{prm}:{number}") | {"contract_reference": "123456789"}
    return transaction([CustomerData(**common, category="residential", surname=surname, **fields)])


MINE: dict[str, Any] = {
    "first_name": "Aldegonde",
    "phone": "0799111222",
    "email": "aldegonde@example.org",
    "birth_key": "0311",
    "address": Address(street="Impasse du Canari", postal_code="01990"),
}


@pytest.fixture
def desk(database_url: str) -> Desk:
    """See `filled`."""
    return filled(database_url)


def filled(url: str) -> Desk:
    """A customer whose supply ended, the next one at the same point, and another at another point; free texts about the
    first one in every table that holds some."""
    desk = Desk(url)
    first = [
        start(PRM, day(0)),
        data(PRM, 1, "Quinquengrogne", **MINE),
        reading(PRM, day(31), 1_100_000),
        end(PRM, day(100)),
    ]
    later = [start(PRM, day(110), "222222222"), data(PRM, 111, "Suivant", email="suivant@example.org")]
    other = [start(OTHER, day(0)), data(OTHER, 1, "Durand", first_name="Aldegonde"), reading(OTHER, day(31), 900_000)]
    desk.deliver([*first, *other], now=micros(day(112)))
    desk.deliver(later, now=micros(day(113)))
    text = "Mme Quinquengrogne, 07 99 11 12 22, aldegonde@example.org"
    with desk.store.transaction() as tx:
        (point,) = [row[0] for row in tx.driver.rows("SELECT id FROM access_point WHERE identifier = ?", (PRM,))]
        numbers = "SELECT id FROM kernel_message WHERE access_point_id = ? AND kind = ? ORDER BY id"
        (mine,) = tx.driver.rows(numbers + " LIMIT 1", (point, "CustomerData"))[0]
        judged = {"message_id": mine, "before": "received", "after": "rejected", "at": NOW, "by": "kernel"}
        (change,) = put(tx, tables.state_change, {**judged, "why": text})
        finding = {"change_id": change, "current": False, "error_code": "X", "rule": "r", "severity": "error"}
        finding |= {"error_class": "c", "field": "birth_key", "value": "0311", "comment": f"0311 {text}"}
        put(tx, tables.finding, {"message_id": mine, **finding, "comment_fr": text})
        opinion = {"message_id": mine, "model": "m", "rules": "r", "codes": "", "probability": 1, "abstained": False}
        tx.insert(tables.prediction, [{**opinion, "comment": text, "at": NOW}])
        (ticket,) = put(tx, tables.ticket, ticket_row(text))
        tx.insert(tables.ticket_message, [{"ticket_id": ticket, "message_id": mine}])
        put(tx, tables.note, {"ticket_id": ticket, "at": NOW, "by": "anna", "text": text})
        put(tx, tables.note, {"at": NOW, "by": "anna", "text": f"of nobody: {text.removeprefix('Mme ')}"})
        campaign = {
            "script": "edit",
            "digest": "d",
            "parameters": json.dumps({"email": MINE["email"]}),
            "state": "done",
        }
        (number,) = put(
            tx, tables.campaign, {**campaign, "by": "anna", "why": text, "created_at": NOW, "selected": 1, "freed": 0}
        )
        corrected = encode(data(PRM, 1, "Quinquengrogne", **MINE).messages[0])
        item = {"campaign_id": number, "message_id": mine, "access_point_id": point, "action": "modify"}
        put(
            tx,
            tables.campaign_item,
            {**item, "state": "done", "content": corrected, "note": text, "before": "rejected"},
        )
        image = {"message_id": mine, "name": "Aldegonde Quinquengrogne", "content": json.dumps({"phone": "0799111222"})}
        before = {"table_name": "customer", "row_id": 7, "access_point_id": point, "at": NOW, "why": text}
        put(tx, tables.before_image, {**before, "image": json.dumps(image)})
        view = {"person": "anna", "list": "messages", "name": "v", "query": "q=aldegonde%40example.org"}
        tx.insert(tables.saved_view, [{**view, "created_at": NOW}])
        answer = {"hash": b"h" * 32, "content": b"c" * 32, "at": NOW, "status": 200, "answer": text}
        tx.insert(tables.idempotency, [answer])
        put(tx, tables.incident, {"code": "X", "severity": "error", "value": MINE["email"], "at": NOW})
        tx.driver.run("UPDATE outbox SET last_error = ? WHERE message_id = ?", (text, mine))
        content = zipped({"request.xml": f"<r><prm>{PRM}</prm><n>Quinquengrogne</n></r>".encode()})
        put(tx, tables.outgoing, outgoing_row(mine, point, content, text))
        tx.driver.run("UPDATE envelope SET state = 'done'", ())
    return desk


def ticket_row(text: str) -> dict[str, Any]:
    row = {"title": text, "error_class": "c", "codes": "X", "market": "FR", "evidence": json.dumps([text])}
    return {**row, "state": "open", "by": "anna", "created_at": NOW}


def outgoing_row(message: int, point: int, content: bytes, text: str) -> dict[str, Any]:
    row = {"message_id": message, "access_point_id": point, "market": "FR", "kind": "MoveInRequest", "type": "F100"}
    row |= {"reference": "R1", "content": content, "content_type": "application/zip", "state": "done"}
    return {**row, "created_at": NOW, "answer_by": NOW, "attempts": 1, "last_error": text, "submitted_by": "anna"}


def zipped(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return buffer.getvalue()


def means(desk: Desk, **more: Any) -> Means:
    settings: dict[str, Any] = {"evidence_days": None, "now": AFTER, "by": ("dora", "test", "here")}
    settings = {"keys": KeyRing(), **settings, **more}
    return Means(desk.store, installed_adapters(), **settings)


def mine(desk: Desk) -> Order:
    told: dict[str, Any] = {"now": AFTER, "by": "dora", "reference": "case 1", "reason": "objected"}
    return order_of(desk.store, installed_adapters(), "FR", PRM, micros(day(50)), **told)


def request(desk: Desk, state: str) -> None:
    """A request that names the customer."""
    asked = MoveInRequest(
        **head(PRM, day(0), "F100", None, "R2"), surname="Quinquengrogne", birth_date=date(1970, 3, 11)
    )
    with desk.store.transaction() as tx:
        (point,) = [row[0] for row in tx.driver.rows("SELECT id FROM access_point WHERE identifier = ?", (PRM,))]
        number = put_kernel_message(tx, point, micros(day(0)), kind="MoveInRequest", xml=encode(asked))
        content = f"<r><prm>{PRM}</prm><n>Quinquengrogne</n></r>".encode()
        put(
            tx,
            tables.outgoing,
            {**outgoing_row(number, point, content, "Quinquengrogne"), "reference": "R2", "state": state},
        )


MOREL = ["morel", "camille", "0600000101"]
MOREL_POINT = "99000000000101"
WHY = ("--reason", "no-longer-needed")


@pytest.fixture
def french(place: Callable[..., Place], database_url: str, project_root: Path) -> Place:
    """A store of real files, some of them zipped: one customer whose supply ended, among others."""
    here = place(database_url)
    inbox = here.folder / "inbox"
    inbox.mkdir()
    names = ("c15_entries.xml", "c15_exit.xml")
    parts = {name: (project_root / "fixtures" / "fr" / name).read_bytes() for name in names}
    (inbox / "FR_C15.zip").write_bytes(zipped(parts))
    for name in ("c15_contract_change.xml",):
        (inbox / name).write_bytes((project_root / "fixtures" / "fr" / name).read_bytes())
    assert here.process(inbox).code in (0, 1)
    return here


def ended(here: Place) -> None:
    """The supply of the customer is over, whatever the files say."""
    with opened(here.url) as engine, Store(engine).transaction() as tx:
        tx.driver.run("UPDATE supply_period SET ended_at = ? WHERE ended_at IS NULL", (AFTER,))
        for table in ("envelope", "kernel_message"):
            tx.driver.run(f"UPDATE {table} SET received_at = ?", (NOW,))
