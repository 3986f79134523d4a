"""Erasures whose process is killed, stores that go back to an older backup, encrypted stores, and the other markets:
in the end the customer is nowhere, in no file of the database, its log or index, no archive and no log of ours."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from gzip import compress
from pathlib import Path

import pytest

from energycomm.backup import making
from energycomm.eis.archive import archive
from energycomm.eis.database import is_sqlite, opened, reading
from energycomm.eis.datakeys import unlock
from energycomm.eis.resealing import reseal, verify
from energycomm.erasure.erasing import again, carry_out, plan
from energycomm.erasure.erasing import place as place_order
from energycomm.erasure.evidence import proof_of
from energycomm.erasure.wiping import wipe_files
from energycomm.transport.keys import StorageKey
from tests.eis.rows import NOW
from tests.end_to_end.conftest import Place
from tests.erasure.left import AFTER, MOREL, MOREL_POINT, PRM, WHY, WORDS, ended, means, mine
from tests.erasure.searching import in_archives, in_values, on_disk, values
from tests.erasure.spellings import everything, spelt_in
from tests.pipeline.desk import Desk

NAME = b">Quinquengrogne<"
LEFT = [word for word in WORDS if word != "aldegonde"]
"""The first name is the neighbour's too."""

KILLED = """
import os, signal, sys
from energycomm.eis.database import connect
from energycomm.eis.erasures import numbered
from energycomm.eis.store import Store
from energycomm.erasure import erasing
from energycomm.erasure.erasing import Means, do
from energycomm.market.installed import installed_adapters
from energycomm.transport.keys import KeyRing

url, site, nth = sys.argv[1], sys.argv[2], int(sys.argv[3])
met = 0

def killing(real):
    def last(*given, **named):
        global met
        real(*given, **named)
        met += 1
        if met == nth:
            os.kill(os.getpid(), signal.SIGKILL)
    return last

setattr(erasing._Run, site, killing(getattr(erasing._Run, site)))
store = Store(connect(url))
means = Means(store, installed_adapters(), KeyRing(), None, int(sys.argv[4]), ("dora", "test", "here"))
with store.engine.connect() as connection:
    order = numbered(connection, 1).order
do(means, 1, order)
"""
"""Does the erasure 1, and is killed inside of a transaction: after what a function did, before it is committed."""

SITES = (("_replace", 1), ("_update", 1), ("_update", 4), ("count", 6), ("_rewrite", 1))


@pytest.mark.thorough
def test_a_run_that_is_killed_with_all_it_holds_is_gone_on_with(desk: Desk) -> None:
    """Inside of transactions, again and again; then a run that is left alone. What went is counted once."""
    packed = b64encode(compress(f"<a><PRM>{PRM}</PRM><Nom>Quinquengrogne</Nom></a>".encode())).decode()
    broken = f"<C15><PRM>{PRM}</PRM><Nom>Quinquengrogne</Nom><Doc>{packed}</Doc>".encode()
    with desk.store.transaction() as tx:
        number = archive(tx, "broken.xml", io.BytesIO(broken), "directory", NOW).envelope_id
        tx.driver.run("UPDATE envelope SET state = 'failed' WHERE id = ?", (number,))
    expected = plan(means(desk), mine(desk)).goes
    place_order(means(desk), mine(desk))
    url = desk.database.url.render_as_string(hide_password=False)
    for site, nth in SITES:
        command = [sys.executable, "-c", KILLED, url, site, str(nth), str(AFTER)]
        ended_by = subprocess.run(command, check=False, env=os.environ, timeout=120).returncode
        assert ended_by == -signal.SIGKILL, (site, nth)
    assert again(means(desk)).total() > 0
    with reading(desk.database) as connection:
        proof = proof_of(connection, 1)
    assert proof.done_at is not None
    (run,) = proof.runs
    assert run.counts == expected
    wipe_files(desk.store, AFTER)
    assert {word for _, word in in_values(desk.database, WORDS)} == {"aldegonde"}
    assert not any(spelt_in(everything(content), LEFT) for _, content in values(desk.database))
    assert on_disk(desk.database, LEFT) == []
    assert verify(desk.database).damaged_rows == 0


def test_an_encrypted_store_loses_the_customer_in_clear_and_sealed(desk: Desk) -> None:
    """What was plain before the encryption goes with the wipe; the values are looked at opened."""
    unlock(desk.database, {"k": StorageKey("k", b"k" * 32)}, "k")
    reseal(desk.database)
    assert {word for _, word in in_values(desk.database, WORDS)} == set(WORDS)
    carry_out(means(desk), mine(desk))
    wipe_files(desk.store, AFTER)
    assert {word for _, word in in_values(desk.database, WORDS)} == {"aldegonde"}
    assert on_disk(desk.database, LEFT) == []
    assert verify(desk.database).damaged_rows == 0
    with reading(desk.database) as connection:
        (run,) = proof_of(connection, 1).runs
    assert run.counts["kernel_message"] == 1


@pytest.mark.thorough
def test_an_older_backup_comes_back_without_who_was_erased_since(
    french: Place, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On both databases: by what the newer backup knows; and by --again of a store that came back by other means."""
    ended(french)
    folder = tmp_path / "backups"
    with opened(french.url) as engine:
        old = making.make(engine, folder)
        on_postgres = not is_sqlite(engine)
    assert french("customer", "erase", MOREL_POINT, *WHY, "--yes", "--wipe").code == 0
    with opened(french.url) as engine:
        making.make(engine, folder)
    server, name = (request.getfixturevalue("postgres"), "") if on_postgres else (None, "")
    if server is not None:
        name = server.create_database("template0")
        url = server.url(name)
    else:
        url = f"sqlite:///{tmp_path / 'restored.db'}"
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    try:
        back = french("eis", "restore", old.folder)
        assert back.code == 0, back.err
        with opened(url) as engine:
            assert in_values(engine, MOREL) == []
        assert french("customer", "erasures", "--again", "--backups", folder, "--wipe").code == 0
        with opened(url) as engine:
            assert in_values(engine, MOREL) == []
            assert on_disk(engine, MOREL) == []
        (one,) = french("customer", "erasures", "--json").json
        assert one["order"]["access_point"] == MOREL_POINT
    finally:
        if server is not None:
            server.drop_database(name)


def test_no_file_of_the_house_has_the_name_afterwards(french: Place) -> None:
    """Database, write-ahead log and indexes, archives, what the commands said and logged, the evidence."""
    ended(french)
    assert french("eis", "archive", "write", "2026-10").code == 0
    told = [french("customer", "erase", MOREL_POINT, *WHY, "--yes", "--wipe")]
    told += [french("customer", "erasures"), french("customer", "evidence", 1), french("audit", "list")]
    said = " ".join(f"{one.out} {one.err}" for one in told).lower()
    assert [word for word in MOREL if word in said] == []
    with opened(french.url) as engine:
        assert in_values(engine, MOREL) == []
        assert on_disk(engine, MOREL) == []
        assert in_archives(engine, french.folder / "archive", MOREL) == []
    inbox = {path for path in french.folder.rglob("*") if path.is_file()} - set((french.folder / "inbox").iterdir())
    holding = [path for path in inbox if any(word.encode() in path.read_bytes().lower() for word in MOREL)]
    assert holding == []


@pytest.mark.parametrize(
    ("market", "file", "point", "words"),
    [
        ("nl", "master_data.xml", "871999910000000010", ["quinquengrogne"]),
        ("be", "start_by_move.xml", "541449000000001031", ["quinquengrogne", "+3220000000", "anna@example.be"]),
    ],
)
def test_a_customer_of_another_market_is_erased_from_its_own_documents(
    place: Callable[..., Place],
    database_url: str,
    project_root: Path,
    market: str,
    file: str,
    point: str,
    words: list[str],
) -> None:
    """Also where the store did not take the message over: what was refused or waits names a customer as well."""
    here = place(database_url)
    inbox = here.folder / "inbox"
    inbox.mkdir()
    # The rules know a Voorbeeld of their own examples.
    content = (project_root / "fixtures" / market / file).read_bytes()
    (inbox / file).write_bytes(content.replace(b">Voorbeeld<", NAME).replace(b">VOORBEELD<", NAME.upper()))
    here.process(inbox)
    ended(here)
    with opened(here.url) as engine:
        assert {word for _, word in in_values(engine, words)} == set(words)
    assert point in here("customer", "find", "quinqueng").out
    done = here("customer", "erase", point, *WHY, "--yes", "--wipe")
    assert done.code == 0, done.err
    with opened(here.url) as engine:
        assert in_values(engine, words) == []
        assert on_disk(engine, words) == []
    kept = {one["what"]: one for one in here("customer", "evidence", 1).json["runs"][0]["kept"]}
    assert {"nl": "rijksbelastingen", "be": "Code de la TVA"}[market] in kept["grid invoices"]["national"]
    assert here("eis", "verify").code == 0
