"""A customer erased leaves nothing: not in a table, an index, raw bytes, an archive, nor the files of the database."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, structs

from energycomm.backup import backups, making
from energycomm.bulk.backfilling import BackfillQuestion, lacking
from energycomm.bulk.workers import Processes
from energycomm.correction.impact import question
from energycomm.eis import packing, tables
from energycomm.eis.auditchain import verify as verify_audit
from energycomm.eis.comparison import canonical
from energycomm.eis.database import opened
from energycomm.eis.erasures import FOREVER, Order, erasures
from energycomm.eis.resealing import verify
from energycomm.erasure import handing
from energycomm.erasure.erasing import again, carry_out, plan
from energycomm.erasure.ordering import order_of
from energycomm.erasure.persons import person_at, stays
from energycomm.erasure.places import BY_THEMSELVES, NOTHING, PLACES
from energycomm.erasure.wiping import wipe_files
from energycomm.errors import UserError
from energycomm.kernel.codec import encode
from energycomm.kernel.family import KINDS
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.personal import personal_fields, personal_kinds, personal_values, without_person
from energycomm.kernel.shape import Scalar, shape_of
from energycomm.market.installed import installed_adapters
from tests.eis.rows import put_kernel_message
from tests.end_to_end.conftest import Place
from tests.erasure.left import (
    AFTER,
    MINE,
    MOREL,
    MOREL_POINT,
    OTHER,
    PRM,
    WHY,
    WORDS,
    data,
    ended,
    means,
    mine,
    request,
)
from tests.erasure.searching import in_archives, in_values, inside, on_disk
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, end, head, reading, start


def test_every_table_is_looked_at_or_tells_of_nobody() -> None:
    """A new table has to be put into one of the lists."""
    listed = [*(place.table for place in PLACES), *BY_THEMSELVES, *NOTHING, *tables.DOMAIN]
    assert sorted(listed) == sorted(tables.metadata.tables)


def test_the_customer_goes_from_everywhere_and_the_neighbours_stay(desk: Desk) -> None:
    there = {word for _, word in in_values(desk.database, WORDS)}
    assert there == set(WORDS)
    assert "quinquengrogne" in on_disk(desk.database, WORDS)
    others = canonical(desk.database)
    looked = plan(means(desk), mine(desk))
    assert canonical(desk.database) == others
    assert set(looked.names) == {"Quinquengrogne", "Aldegonde"}
    assert looked.goes["kernel_message"] == 1
    number = carry_out(means(desk), mine(desk))
    wipe_files(desk.store, AFTER)
    # Marks of the log of changes are drawn by chance, and may have any digits.
    left = [one for one in in_values(desk.database, [*WORDS, "0311"]) if not one[0].endswith(".mark")]
    # The first name is the other customer's too.
    assert {place for place, word in left} <= {"kernel_message.xml", "customer.name", "customer.content"}
    assert {word for _, word in left} == {"aldegonde"}
    assert on_disk(desk.database, [word for word in WORDS if word != "aldegonde"]) == []
    meaning = canonical(desk.database)
    assert meaning["access_points"].keys() == others["access_points"].keys()
    changed = [key for key in others["messages"] if meaning["messages"].get(key) != others["messages"][key]]
    assert len(changed) <= 1
    assert [word for word in ("Suivant", "suivant@example.org", "Durand") if word not in str(meaning)] == []
    assert "Quinquengrogne" not in str(meaning)
    assert desk.rows("SELECT identifier FROM access_point ORDER BY 1") == [(PRM,), (OTHER,)]
    assert len(desk.rows("SELECT 1 FROM reading")) == 2
    assert verify(desk.database).damaged_rows == 0
    assert verify_audit(desk.database).flaw is None
    ((what, subject),) = desk.rows("SELECT what, subject FROM audit")
    assert (what, subject.startswith(f"erasure {number} access point {PRM} done")) == ("customer erase", True)
    ((before, counts),) = desk.rows("SELECT done_at, counts FROM erasure")
    assert again(means(desk, now=AFTER + 1)).total() == 0
    assert desk.rows("SELECT done_at, counts FROM erasure") == [(before, counts)]
    assert plan(means(desk), mine_again(desk)).goes == {}


@pytest.mark.thorough
def test_what_was_erased_is_not_derived_again(desk: Desk, tmp_path: Path, project_root: Path) -> None:
    """A late message makes the rows of the customer anew, and so does a backfill: one sign stands for the name."""
    asked = BackfillQuestion(**structs.asdict(question(project_root / "rules", desk.markets, 0)))

    def lacks(name: str) -> tuple[dict[Any, int], list[Any]]:
        with lacking(desk.database, desk.markets, asked, tmp_path / name, Processes(1)) as found:
            return dict(found.counts), found.faults

    assert lacks("before") == ({}, [])
    carry_out(means(desk), mine(desk))
    names = desk.rows("SELECT name FROM customer ORDER BY id")
    assert sorted(names) == [("***",), ("Aldegonde Durand",), ("Suivant",)]
    assert lacks("after") == ({}, [])
    desk.deliver([reading(PRM, day(-1), 900_000)], now=AFTER)
    assert sorted(desk.rows("SELECT name FROM customer")) == sorted(names)
    assert in_values(desk.database, ["*** ***"]) == []


def mine_again(desk: Desk) -> Order:
    with desk.store.transaction() as tx:
        return erasures(tx.connection)[0].order


def test_a_run_that_ends_anywhere_is_gone_on_with(desk: Desk) -> None:
    """At each place the run is ended once: the same words are found again, and the end is the same."""
    order, met, total = mine(desk), set[str](), 0
    while True:

        def watch(place: str) -> None:
            if place not in met:
                met.add(place)
                raise KeyboardInterrupt

        try:
            carry_out(means(desk, watch=watch), order)
        except KeyboardInterrupt:
            total += 1
        else:
            break
    assert total == len(met) > len(PLACES)
    assert {word for _, word in in_values(desk.database, [*WORDS, "0311"])} == {"aldegonde"}
    assert len(desk.rows("SELECT 1 FROM erasure")) == 1


def test_the_next_customer_is_never_meant(desk: Desk) -> None:
    """Also when nothing names the first one any more, and the next one is alone at the point."""
    carry_out(means(desk), mine(desk))
    with desk.store.transaction() as tx:
        assert [one.names for one in stays(tx, "FR", PRM)] == [(), ("Suivant",)]
        tx.driver.run("DELETE FROM customer WHERE name = ?", ("***",))
    assert again(means(desk)).total() == 0
    last = order_of(desk.store, installed_adapters(), "FR", PRM, None, now=AFTER, by="dora")
    with pytest.raises(UserError, match="supply goes on"):
        carry_out(means(desk), last)
    assert "Suivant" in str(canonical(desk.database))


def test_what_comes_later_of_who_was_erased_goes_too(desk: Desk) -> None:
    """A repetition is known and changes nothing; a message that is new is cleaned by the standing order."""
    carry_out(means(desk), mine(desk))
    same = data(PRM, 1, "Quinquengrogne", **MINE)
    earlier = structs.replace(same, messages=[structs.replace(same.messages[0], created=day(0))])
    desk.deliver([same])
    desk.deliver([earlier])  # written earlier: of anybody else it would take the place of the stored one
    assert len(desk.rows("SELECT 1 FROM ch_duplicate")) == 2
    assert {word for _, word in in_values(desk.database, WORDS)} == {"aldegonde"}
    desk.deliver([data(PRM, 20, "Quinquengrogne", email="aldegonde@example.org")])
    assert "quinquengrogne" in {word for _, word in in_values(desk.database, WORDS)}
    assert again(means(desk), since=AFTER).total() == 0  # nothing came since
    assert again(means(desk), since=1).total() > 0
    assert {word for _, word in in_values(desk.database, WORDS)} == {"aldegonde"}
    assert verify_audit(desk.database).checked == 2


def test_an_envelope_that_is_being_processed_is_waited_for(desk: Desk) -> None:
    """Its words are known until it is done."""
    secret = f"<a><p>{PRM}</p><n>Quinquengrogne</n></a>".encode()
    with desk.store.transaction() as tx:
        tx.driver.run("DELETE FROM raw_chunk WHERE sha256 = (SELECT sha256 FROM envelope WHERE id = 1)", ())
        ((sha256,),) = tx.driver.rows("SELECT sha256 FROM envelope WHERE id = 1")
        piece = {"sha256": bytes(sha256), "number": 0, "bytes": secret, "envelope_id": 1}
        tx.insert(tables.raw_chunk, [piece])
        tx.driver.run("UPDATE raw SET size = ? WHERE sha256 = ?", (len(secret), sha256))
        tx.driver.run("UPDATE envelope SET state = 'processing' WHERE id = 1", ())
    carry_out(means(desk), mine(desk))
    ((done, kept),) = desk.rows("SELECT done_at, kept FROM erasure")
    assert (done, json.loads(kept)) == (None, {"envelope 1": "it is processed"})
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET state = 'done'", ())
    assert again(means(desk))["envelopes"] == 1
    assert {word for _, word in in_values(desk.database, WORDS)} == {"aldegonde"}
    assert desk.rows("SELECT kept FROM erasure WHERE done_at IS NOT NULL") == [("{}",)]


def test_a_request_under_way_is_waited_for_and_evidence_is_kept_for_its_time(desk: Desk) -> None:
    request(desk, "sent")
    with pytest.raises(UserError, match=r"request \d+ is sent"):
        carry_out(means(desk), mine(desk))
    assert desk.rows("SELECT 1 FROM erasure") == []
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE outgoing SET state = 'done'", ())
    carry_out(means(desk, evidence_days=365), mine(desk))  # the supply ended 300 days ago
    left = {place for place, word in in_values(desk.database, WORDS[:1])}
    assert left == {"kernel_message.xml", "outgoing.content", "outgoing.last_error"}
    ((done, kept),) = desk.rows("SELECT done_at, kept FROM erasure")
    assert (done, json.loads(kept)) == (None, {"requests": day(465).date().isoformat()})
    assert again(means(desk, evidence_days=365)).total() == 0
    again(means(desk, evidence_days=365, now=micros(day(470))))
    assert {word for _, word in in_values(desk.database, WORDS)} == {"aldegonde"}
    assert desk.rows("SELECT kept FROM erasure WHERE done_at IS NOT NULL") == [("{}",)]


# --- every declared field ---


def canary(scalar: Scalar, number: int) -> Any:
    """A value of a field that is met nowhere by chance."""
    if scalar.name == "text":
        assert scalar.pattern is None
        return f"Canary{number:04}x"[: scalar.longest]
    if scalar.name == "word":
        return scalar.words[0]
    return {"day": date(1931, 1, 1), "truth": True, "integer": 7, "decimal": Decimal(7)}[scalar.name]


def filled(cls: type[Struct], numbers: Any, *, inside: bool = False) -> dict[str, Any]:
    """Values for all fields of a class; canaries in the texts of those that are personal."""
    shape, found = shape_of(cls), {}
    own = len(KernelMessage.__struct_fields__) if issubclass(cls, KernelMessage) else 0
    for one in shape.attributes:
        if one.field in cls.__struct_fields__[own:] and (inside or one.declared.personal or one.required):
            found[one.field] = canary(one.scalar, next(numbers)) if one.scalar.pattern is None else None
    for child in shape.children:
        if child.declared.personal is not None:
            found[child.field] = child.part(**filled(child.part, numbers, inside=True))
        elif child.field == "found":
            found[child.field] = (child.part(access_point=PRM, customer=f"Canary{next(numbers):04}x"),)
    return found


@pytest.mark.parametrize("kind", sorted(personal_kinds()))
def test_each_personal_field_of_each_kind_is_handed_over_and_erased(kind: str, tmp_path: Path) -> None:
    """What is declared as personal is in the export, and nowhere afterwards."""
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    cls = KINDS[kind]
    fields = filled(cls, iter(range(1000)))
    message = cls(**head(PRM, day(1), "C15", "MES", "canary"), **fields)
    planted = {str(one.value) for one in personal_values(message)}
    assert {one.field for one in personal_values(message)} >= {
        name for name in personal_fields(kind) if name.partition(".")[0] not in ("address", "forwarding_address")
    }
    canaries = sorted(word for word in planted if word.startswith("Canary"))
    assert canaries
    desk.deliver([start(PRM, day(0)), end(PRM, day(100))])
    with desk.store.transaction() as tx:
        put_kernel_message(tx, 1, micros(day(1)), kind=kind, xml=encode(message))
    order = Order(market="FR", access_point=PRM, since=0, until=FOREVER, ordered_at=1, by="d", reference="")
    with desk.store.reading() as reader:
        person = person_at(reader, installed_adapters(), "FR", PRM, 0, FOREVER)
    handing.hand_over(desk.store, person, tmp_path / "x.zip", AFTER)
    with zipfile.ZipFile(tmp_path / "x.zip") as file:
        told = file.read("customer.json").decode(), file.read("customer.html").decode()
    assert [word for word in planted for text in told if word not in text and word != "True"] == []
    carry_out(means(desk), order)
    assert in_values(desk.database, canaries) == []
    assert list(personal_values(without_person(message))) == [
        one for one in personal_values(without_person(message)) if one.value == "***"
    ]


# --- real files, archives, backups ---


def searched(here: Place, words: list[str]) -> tuple[list[Any], list[str]]:
    with opened(here.url) as engine:
        return in_values(engine, words), on_disk(engine, words)


@pytest.mark.thorough
def test_the_command_finds_hands_over_and_erases_in_real_files(french: Place) -> None:
    assert MOREL_POINT in french("customer", "find", "camille", "morel").out
    assert MOREL_POINT in french("customer", "find", "0600 000 101").out
    assert MOREL_POINT in french("customer", "find", "mor", "cami").out, "the beginnings of the words"
    assert MOREL_POINT in french("customer", "find", "00 000 101").out, "the end of the number"
    assert MOREL_POINT in french("customer", "find", "orel").out, "a part of a word"
    assert french("customer", "find", "nobody-at-all").out == ""
    ended(french)
    assert french("customer", "export", MOREL_POINT, "--to", "x.zip").code == 0
    assert french("customer", "export", MOREL_POINT, "--to", "x.zip").code != 0  # nothing is written over
    assert Path("x.zip").stat().st_mode & 0o077 == 0
    Path("x.zip").unlink()
    before = {row[0]: row[1] for row in french.rows("SELECT id, state FROM kernel_message")}
    shown = french("customer", "erase", MOREL_POINT)
    assert "Nothing was changed" in shown.out
    assert {word for _, word in searched(french, MOREL)[0]} == set(MOREL)
    done = french("customer", "erase", MOREL_POINT, *WHY, "--reference", "case-7", "--yes", "--wipe")
    assert (done.code, "case-7" in done.out) == (0, True)
    assert searched(french, MOREL) == ([], [])
    assert {row[0]: row[1] for row in french.rows("SELECT id, state FROM kernel_message")} == before
    assert french("eis", "verify").code == 0
    assert french("audit", "verify").code == 0
    number = french.rows("SELECT id FROM envelope WHERE name = 'FR_C15.zip'")[0][0]
    assert "not the bytes that arrived" in french("envelope", "extract", number, "--out", "e.bin").err
    french("process", "inbox")
    assert searched(french, MOREL)[0] == []
    assert french("customer", "find", "morel").out == ""
    # The same in another file makes no message: its bytes are cleaned by the standing order.
    repeated = french.folder / "again"
    repeated.mkdir()
    content = (french.folder / "inbox" / "FR_C15.zip").read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        (repeated / "c15_again.xml").write_bytes(file.read("c15_entries.xml").replace(b"<C15", b"<!-- again --><C15"))
    assert french("process", "again").code in (0, 1)
    assert {word for _, word in searched(french, MOREL)[0]} == set(MOREL)
    assert french("customer", "erasures", "--again", "--wipe").code == 0
    assert searched(french, MOREL) == ([], [])


def test_a_restore_of_an_older_backup_erases_again(french: Place, tmp_path: Path) -> None:
    """By what the newer backups of the same folder know; no name is in it."""
    ended(french)
    with opened(french.url) as engine:
        old = making.make(engine, tmp_path / "backups")
    assert french("customer", "erase", MOREL_POINT, *WHY, "--yes").code == 0
    with opened(french.url) as engine:
        new = making.make(engine, tmp_path / "backups")
    assert [one.access_point for one in new.manifest.erasures] == [MOREL_POINT]
    assert (
        "morel" not in (new.folder / "backup.json").read_text().lower()
        if (new.folder / "backup.json").exists()
        else True
    )
    if french.url.startswith("sqlite"):
        Path(french.url.removeprefix("sqlite:///")).unlink()
        answer = french("eis", "restore", old.folder)
        assert answer.code == 0, answer.err
    assert searched(french, MOREL)[0] == []
    assert backups.erased_since(tmp_path / "backups", old.manifest.store) == list(new.manifest.erasures)


@pytest.mark.parametrize("dictionary", [None, packing.TEXTS, packing.STATES, packing.PARTS])
def test_the_search_opens_what_is_packed_without_the_program(dictionary: int | None) -> None:
    """Else it would find nothing where everything is."""
    content = f"<name>{' '.join(MOREL)}</name>".encode() * 20
    packed = packing.pack(content, dictionary)
    assert content not in packed
    assert content in inside(packed)
    assert list(inside(b"plain")) == [b"plain"]


@pytest.mark.thorough
def test_archives_are_written_anew_and_come_back_without_the_customer(french: Place) -> None:
    ended(french)
    assert french("eis", "archive", "write", "2026-10").code == 0
    folder = french.folder / "archive"
    with opened(french.url) as engine:
        assert {word for _, word in in_archives(engine, folder, MOREL)} == set(MOREL)
    assert french("customer", "erase", MOREL_POINT, *WHY, "--yes", "--wipe").code == 0
    with opened(french.url) as engine:
        assert in_archives(engine, folder, MOREL) == []
    assert french("eis", "archive", "verify", "2026-10").code == 0
    assert french("eis", "archive", "restore", "2026-10").code == 0
    assert searched(french, MOREL) == ([], [])
    numbers = [row[0] for row in french.rows("SELECT id FROM envelope WHERE state = 'done'")]
    for number in numbers:
        assert french("envelope", "extract", number, "--out", french.folder / f"{number}.bin").code == 0
