"""The back office is told: at least once, in order for each message, signed, and never twice under two keys."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from energycomm.backoffice.notification import Failure, Notification, list_outbox, retry, take_up, tell_all
from energycomm.backoffice.targets import FolderTarget
from energycomm.backoffice.webhook import Webhook
from energycomm.daemon.sending import Notifying
from energycomm.eis import tables
from energycomm.eis.datakeys import unlock
from energycomm.kernel.instants import now_micros
from energycomm.pipeline import retention
from energycomm.pipeline.rows import notification_row
from energycomm.transport.credentials import Secret
from energycomm.transport.keys import StorageKey
from tests.daemon.conftest import Office

SECRET = "a secret of the test"


class BackOffice:
    """An endpoint that answers as it is told, 204 otherwise."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.seen: list[tuple[dict[str, str], bytes]] = []
        book = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                book.seen.append((dict(self.headers), body))
                self.send_response(book.answers.pop(0) if book.answers else 204)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/events"

    def keys(self) -> list[str]:
        return [headers["Idempotency-Key"] for headers, _ in self.seen]


@pytest.fixture
def back_office() -> Iterator[BackOffice]:
    made = BackOffice()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def webhook(back_office: BackOffice) -> Webhook:
    return Webhook(back_office.url, Secret("secret", variable="S", environ={"S": SECRET}), timeout=5)


def messages(office: Office, *events: tuple[int, str]) -> list[int]:
    """Store Kernel messages and the notifications (message number, event) about them; their outbox ids."""
    now = now_micros()
    with office.store.transaction() as tx:
        ids: dict[int, int] = {}
        for number, _ in events:
            if number not in ids:
                (ids[number],) = tx.reserve(tables.kernel_message, 1)
                row: dict[str, Any] = {"id": ids[number], "position": 1, "market": "FR", "market_type": "C15"}
                row |= {"kind": "SupplyStart", "effective": now, "state": "accepted", "received_at": now}
                row |= {"xml": "<SupplyStart/>", "version": 1}
                tx.insert(tables.kernel_message, [row])
        rows = [notification_row(ids[n], event, now + i) for i, (n, event) in enumerate(events)]
        tx.insert(tables.outbox, rows)
    return [row[0] for row in office.rows("SELECT id FROM outbox ORDER BY at")]


def states(office: Office) -> list[str]:
    return [row[0] for row in office.rows("SELECT state FROM outbox ORDER BY at")]


def due_now(office: Office) -> None:
    with office.store.transaction() as tx:
        tx.driver.run("UPDATE outbox SET next_at = NULL WHERE state IN ('pending', 'sending')")


def test_a_notification_is_signed_and_carries_its_key(office: Office, back_office: BackOffice) -> None:
    (number,) = messages(office, (1, "supply-started"))
    assert tell_all(office.store, webhook(back_office)).sent == 1
    ((headers, body),) = back_office.seen
    stamp, _, digest = headers["EnergyComm-Signature"].partition(",v1=")
    signed = stamp.removeprefix("t=").encode() + b"." + body
    assert digest == hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["Idempotency-Key"] == f"energycomm-{number}"
    told = json.loads(body)
    assert (told["event"], told["message"]["market"], told["message"]["kernel"]) == (
        "supply-started",
        "FR",
        "<SupplyStart/>",
    )
    assert states(office) == ["sent"]


def test_what_fails_is_told_again_with_the_same_bytes_and_key(office: Office, back_office: BackOffice) -> None:
    messages(office, (1, "supply-started"))
    back_office.answers = [500, 503]
    for _ in range(3):
        tell_all(office.store, webhook(back_office))
        due_now(office)
    assert len({body for _, body in back_office.seen}) == 1
    assert len(set(back_office.keys())) == 1
    assert len(back_office.seen) == 3
    assert states(office) == ["sent"]


def test_what_is_refused_as_it_is_is_dead_with_its_reason_and_can_be_told_again(
    office: Office, back_office: BackOffice
) -> None:
    messages(office, (1, "a"), (2, "b"))
    back_office.answers = [422]
    told = tell_all(office.store, webhook(back_office))
    assert (told.dead, told.sent) == (1, 1)
    assert "422" in str(list_outbox(office.store, "dead")[0].last_error)
    assert retry(office.store) == 1
    assert tell_all(office.store, webhook(back_office)).sent == 1
    assert sorted(set(states(office))) == ["sent"]


def test_the_reason_that_is_kept_holds_no_secret(office: Office) -> None:
    """What a library says of an address is stored without its token."""
    messages(office, (1, "a"))

    class Failing:
        def tell(self, notification: Notification) -> Failure:
            return Failure("target", "ConnectError: https://u:Qx7pass@erp.example/in?token=Qx7token refused")

    tell_all(office.store, Failing())
    ((reason,),) = office.rows("SELECT last_error FROM outbox")
    assert reason == "ConnectError: https://***@erp.example/in?token=*** refused"


def test_of_a_message_that_was_changed_nobody_is_told_and_the_others_are(
    office: Office, back_office: BackOffice
) -> None:
    """Encrypted at rest; the text of another message was put in its place. It is told when the row was restored."""
    unlock(office.store.engine, {"k": StorageKey("k", b"k" * 32)}, "k")
    messages(office, (1, "a"), (2, "b"), (3, "c"))
    one, two = (row[0] for row in office.rows("SELECT id FROM kernel_message ORDER BY id LIMIT 2"))
    before = office.rows(f"SELECT xml FROM kernel_message WHERE id = {one}")[0][0]
    with office.store.transaction() as tx:
        tx.driver.run(
            "UPDATE kernel_message SET xml = (SELECT xml FROM kernel_message WHERE id = ?) WHERE id = ?", (two, one)
        )
    assert tell_all(office.store, webhook(back_office)).sent == 2
    assert f"STORE_ROW_DAMAGED: row {one} of kernel_message" in str(list_outbox(office.store, "dead")[0].last_error)
    with office.store.transaction() as tx:
        tx.driver.run("UPDATE kernel_message SET xml = ? WHERE id = ?", (before, one))
    retry(office.store)
    assert tell_all(office.store, webhook(back_office)).sent == 1
    assert {json.loads(body)["message"]["kernel"] for _, body in back_office.seen} == {"<SupplyStart/>"}


@pytest.mark.thorough
def test_while_nobody_listens_everything_waits_and_nothing_dies(office: Office, back_office: BackOffice) -> None:
    messages(office, (1, "a"), (2, "b"), (3, "c"))
    back_office.answers = [404] * 60
    for _ in range(50):
        told = tell_all(office.store, webhook(back_office), attempts=3)
        assert (told.sent, told.dead) == (0, 0)
        assert told.trouble is not None
        due_now(office)
    back_office.answers = []
    assert tell_all(office.store, webhook(back_office)).sent == 3


def test_nothing_overtakes_an_earlier_notification_of_its_message(office: Office, back_office: BackOffice) -> None:
    first, other, second = messages(office, (1, "accepted"), (2, "accepted"), (1, "acceptance-withdrawn"))
    back_office.answers = [204, 500]
    for _ in range(4):
        tell_all(office.store, webhook(back_office))
        due_now(office)
    keys = back_office.keys()
    assert keys.index(f"energycomm-{first}") < keys.index(f"energycomm-{second}")
    assert set(keys) == {f"energycomm-{number}" for number in (first, other, second)}


class Dying:
    """A target at which the process dies: it was told, and nobody knows."""

    def tell(self, notification: Notification) -> Failure | None:
        raise KeyboardInterrupt


def test_what_may_have_been_told_counts_as_told_and_is_told_again(office: Office, tmp_path: Path) -> None:
    """A message withdrawn meanwhile must not vanish: the back office may know of it."""
    messages(office, (1, "accepted"))
    with pytest.raises(KeyboardInterrupt):
        tell_all(office.store, Dying())
    assert states(office) == ["sending"]
    with office.store.transaction() as tx:
        ((message_id,),) = tx.driver.rows("SELECT message_id FROM outbox")
        assert tx.withdraw_notifications([message_id], now_micros()) == 0
    assert tell_all(office.store, FolderTarget(tmp_path)).sent == 0  # its time is not over yet
    assert take_up(office.store) == 1
    assert tell_all(office.store, FolderTarget(tmp_path)).sent == 1
    assert len(list(tmp_path.glob("energycomm-*.json"))) == 1


def test_retention_removes_what_is_old_and_says_so(office: Office, tmp_path: Path) -> None:
    messages(office, (1, "a"), (2, "b"))
    tell_all(office.store, FolderTarget(tmp_path), limit=1)
    later = now_micros() + 31 * retention.DAY
    assert retention.purge(office.store, "notifications", 30, later, "test") == (1, 0)
    assert states(office) == ["pending"]
    assert office.rows('SELECT what, days, "rows", "by" FROM purge') == [("notifications", 30, 1, "test")]
    assert retention.purge(office.store, "notifications", 30, later, "test") == (0, 0)
    assert office.rows("SELECT count(*) FROM purge") == [(1,)]


def test_retention_of_raw_bytes_keeps_what_tells_a_duplicate(office: Office, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_bytes(b"some content")
    inbound = office.gateway.inbound
    with source.open("rb") as file:
        inbound.archive([(file, "a.txt")], "test")
    later = now_micros() + 400 * retention.DAY
    assert retention.purge(office.store, "raw", 365, later, "test") == (0, 0)  # not processed: kept
    with office.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET state = 'done'")
    assert retention.purge(office.store, "raw", 365, later, "test") == (1, 12)
    assert office.rows("SELECT count(*) FROM raw_chunk") == [(0,)]
    with source.open("rb") as file:
        assert inbound.archive([(file, "a.txt")], "test")[0].duplicate_of is not None


def test_a_folder_that_cannot_be_written_to_alarms_before_there_is_something_to_tell(
    office: Office, tmp_path: Path
) -> None:
    duty = Notifying(office.desk, FolderTarget(tmp_path / "told"))
    duty.work()
    assert office.notes.alarms() == [("OUTBOX_FAILING", True)]
    (tmp_path / "told").mkdir()
    duty.work()
    assert office.notes.alarms() == [("OUTBOX_FAILING", True), ("OUTBOX_FAILING", False)]
    assert [*(tmp_path / "told").iterdir()] == []
