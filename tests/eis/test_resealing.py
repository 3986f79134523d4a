"""What is stored comes under the current data key while others work, whatever stops a run; none is left behind."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from energycomm.eis import resealing, tables
from energycomm.eis.archive import archive, open_raw
from energycomm.eis.bulk import driver_of
from energycomm.eis.comparison import canonical
from energycomm.eis.database import connect, is_sqlite, writing
from energycomm.eis.datakeys import switch_off, switch_on, unlock
from energycomm.eis.resealing import reseal, verify, wipe
from energycomm.eis.sealing import SEALED_COLUMNS
from energycomm.eis.store import Store
from energycomm.transport.keys import StorageKey
from tests.eis.rows import NOW, put_kernel_message

RING = {"k": StorageKey("k", b"k" * 32)}
MARK = "Distinctive4711"


def xml_of(number: int) -> str:
    """Kernel XML of a message, too long and too mixed to be met by chance."""
    return f"<k:CustomerData name='{MARK}' n='{number}'/>"


def fill(store: Store, messages: int, envelopes: int = 3) -> None:
    with store.transaction() as tx:
        point = tx.access_points("FR", ["1"])["1"].id
        for n in range(messages):
            put_kernel_message(tx, point, n, xml=xml_of(n))
        for n in range(envelopes):
            archive(tx, f"{n}.xml", io.BytesIO(f"raw {MARK} {n}".encode() * 100), "directory", NOW)


def as_before(engine: Engine) -> None:
    """Write every message as earlier versions kept it: as it is."""
    with writing(engine) as connection:
        driver = driver_of(connection)
        for number, xml in driver.rows("SELECT id, xml FROM kernel_message"):
            clear = driver.vault.text("kernel_message", number, xml)
            driver.run("UPDATE kernel_message SET xml = ? WHERE id = ?", (clear, number))


def check_content(store: Store, messages: int) -> None:
    """Every message is what was stored."""
    with store.transaction() as tx:
        point = tx.access_points("FR", ["1"])["1"].id
        assert [row.xml for row in tx.messages_from(point, 0)] == [xml_of(n) for n in range(messages)]
        kept = [bytes(row[0]) for row in tx.driver.rows("SELECT sha256 FROM raw")]
    assert all(MARK.encode() in open_raw(store.engine, sha256).read() for sha256 in kept)


def test_a_plain_store_is_encrypted_and_a_second_run_has_nothing_to_do(engine: Engine, store: Store) -> None:
    fill(store, 450)
    meaning = canonical(engine)
    unlock(engine, RING, "k")
    assert verify(engine).rows["kernel_message"] == {"plain": 450}
    seen: list[tuple[str, int]] = []
    assert reseal(engine, lambda table, rows: seen.append((table, rows))).rows == {
        "raw_chunk": 3,
        "kernel_message": 450,
    }
    assert [rows for table, rows in seen if table == "kernel_message"] == [200, 200, 50]
    assert reseal(engine).rows == {}
    found = verify(engine)
    assert found.rows["kernel_message"] == {"1": 450}
    assert found.rows["raw_chunk"] == {"1": 3}
    assert found.damaged_rows == 0
    assert canonical(engine) == meaning
    check_content(store, 450)


def test_a_store_goes_back_to_plain(engine: Engine, store: Store) -> None:
    unlock(engine, RING, "k")
    fill(store, 30)
    unlock(engine, RING)
    switch_off(engine)
    assert reseal(engine).rows == {"raw_chunk": 3, "kernel_message": 30}
    assert verify(engine).rows["kernel_message"] == {"plain": 30}
    keyless = connect(engine.url.render_as_string(hide_password=False))
    check_content(Store(keyless), 30)
    keyless.dispose()


def test_what_was_stored_before_is_compressed_whenever_a_run_ends(engine: Engine, store: Store) -> None:
    """Rows of both forms are read alike; a run that ends early is gone on with, and the next finds nothing to do."""
    fill(store, 450)
    meaning = canonical(engine)
    as_before(engine)
    with writing(engine) as connection:
        connection.execute(text("UPDATE kernel_message SET xml = '' WHERE id = 7"))
    with store.transaction() as tx:
        put_kernel_message(tx, tx.access_points("FR", ["1"])["1"].id, 450, xml=xml_of(450))

    def stop_early(_table: str, _rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reseal(engine, stop_early)
    with store.transaction() as tx:
        assert len({row.xml for row in tx.messages_from(1, 0)}) == 451
    assert reseal(engine).rows == {"kernel_message": 250}
    assert reseal(engine).rows == {}
    with engine.connect() as connection:
        forms = connection.execute(text("SELECT DISTINCT substr(xml, 1, 5) FROM kernel_message")).scalars().all()
    assert forms == ["ec:2:"]
    with store.transaction() as tx:
        assert tx.messages([7])[0].xml == ""
        tx.driver.update(tables.kernel_message, ("xml",), [(7, xml_of(6))])
        tx.driver.delete(tables.kernel_message, [451])
    assert canonical(engine) == meaning


def test_a_damaged_row_stays_as_it_is_and_the_others_are_encrypted(engine: Engine, store: Store) -> None:
    unlock(engine, RING, "k")
    fill(store, 5)
    with writing(engine) as connection:
        connection.execute(text("UPDATE kernel_message SET xml = 'ec:1:1:AAAA' WHERE id = 3"))
    switch_on(engine, "k", anew=True)
    done = reseal(engine)
    assert done.rows == {"raw_chunk": 3, "kernel_message": 4}
    assert (done.damaged_rows, done.damaged) == (1, ["row 3 of kernel_message"])
    found = verify(engine)
    assert found.damaged_rows == 1
    assert "row 3 of kernel_message" in found.damaged[0]
    assert found.rows["kernel_message"] == {"1": 1, "2": 4}


@pytest.mark.thorough
def test_what_others_write_meanwhile_is_encrypted_too(engine: Engine, store: Store) -> None:
    """A writer goes on through the switch and the run; afterwards nothing is in plain and nothing is lost."""
    fill(store, 300)
    elsewhere = connect(engine.url.render_as_string(hide_password=False))
    unlock(elsewhere, RING)
    unlock(engine, RING)
    stop = threading.Event()
    written = [300]

    def write() -> None:
        other = Store(elsewhere)
        while not stop.is_set():
            with other.transaction() as tx:
                point = tx.access_points("FR", ["1"])["1"].id
                put_kernel_message(tx, point, written[0], xml=xml_of(written[0]))
                tx.driver.run("UPDATE kernel_message SET state = 'treated' WHERE id = ?", (random.randint(1, 300),))
            written[0] += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        time.sleep(0.1)
        for _ in range(3):
            switch_on(engine, "k", anew=True)
            reseal(engine)
    finally:
        stop.set()
        writer.join()
        elsewhere.dispose()
    assert verify(engine).rows["kernel_message"] == {"3": written[0]}
    check_content(store, written[0])


def test_a_writer_that_began_before_the_switch_is_waited_for(engine: Engine, store: Store) -> None:
    """What it wrote in plain is there when the switch returns, so a run that follows finds it."""
    unlock(engine, RING)
    began, order = threading.Event(), []

    def write() -> None:
        with store.transaction() as tx:
            point = tx.access_points("FR", ["1"])["1"].id
            put_kernel_message(tx, point, 1, xml=xml_of(0))
            began.set()
            time.sleep(0.5)
            order.append("written")

    writer = threading.Thread(target=write)
    writer.start()
    began.wait()
    switch_on(engine, "k")
    order.append("switched")
    writer.join()
    assert order == ["written", "switched"]
    assert reseal(engine).rows == {"kernel_message": 1}


RUN = """
import sys
from energycomm.eis import resealing
from energycomm.eis.database import connect
from energycomm.eis.datakeys import unlock
from energycomm.transport.keys import StorageKey
resealing.TEXTS = resealing.PIECES = 2
engine = connect(sys.argv[1])
unlock(engine, {"k": StorageKey("k", b"k" * 32)}, "k")
print("begun", flush=True)
resealing.reseal(engine, lambda table, rows: print(table, flush=True))
"""


@pytest.mark.thorough
def test_a_run_that_is_killed_is_gone_on_with(engine: Engine, store: Store) -> None:
    """`kill -9` at four points: each time some rows are under the old key and some under the new, and all are read."""
    unlock(engine, RING, "k")
    fill(store, 400)
    switch_on(engine, "k", anew=True)
    reached = []
    for steps in (1, 5, 30, 60):
        run = subprocess.Popen(
            [sys.executable, "-c", RUN, engine.url.render_as_string(hide_password=False)],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(Path(resealing.__file__).parents[2])},
        )
        assert run.stdout is not None
        for _ in range(steps):
            assert run.stdout.readline()
        run.send_signal(signal.SIGKILL)
        run.wait()
        run.stdout.close()
        counts = verify(engine)
        assert counts.damaged_rows == 0
        assert sum(counts.rows["kernel_message"].values()) == 400
        reached.append(counts.rows["kernel_message"].get("2", 0))
        check_content(store, 400)
    assert reached == sorted(reached)
    assert 0 < reached[-1] < 400
    done = reseal(engine)
    assert done.rows["kernel_message"] == 400 - reached[-1]
    assert verify(engine).rows == {
        c.table: {"2": 400} if c.table == "kernel_message" else {} for c in SEALED_COLUMNS
    } | {"raw_chunk": {"2": 3}}
    check_content(store, 400)


@pytest.mark.thorough
@settings(deadline=None, max_examples=25)
@given(steps=st.lists(st.sampled_from(["write", "new key", "off", "some", "all"]), max_size=12))
def test_any_order_of_keys_and_runs_reads_back(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    """Rows in plain and under any number of data keys, runs that end early: all is read, and a whole run ends it."""
    engine = connect(f"sqlite:///{tmp_path_factory.mktemp('any') / 'eis.db'}")
    tables.metadata.create_all(engine)
    store = Store(engine)
    unlock(engine, RING)
    written = 0

    def stop_early(_table: str, _rows: int) -> None:
        raise KeyboardInterrupt

    for step in [*steps, "write", "new key", "all"]:
        if step == "write":
            with store.transaction() as tx:
                point = tx.access_points("FR", ["1"])["1"].id
                for _ in range(3):
                    put_kernel_message(tx, point, written, xml=xml_of(written))
                    written += 1
        elif step == "new key":
            switch_on(engine, "k", anew=True)
        elif step == "off":
            switch_off(engine)
        elif step == "all":
            reseal(engine)
        else:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(resealing, "TEXTS", 2)
                with contextlib.suppress(KeyboardInterrupt):
                    reseal(engine, stop_early)
        if written:
            check_content(store, written)
    counts = verify(engine).rows["kernel_message"]
    assert list(counts.values()) == [written]
    assert "plain" not in counts
    engine.dispose()


def test_the_files_hold_nothing_of_before(engine: Engine, store: Store) -> None:
    """A search of the bytes on the disk: found while in plain, gone when it is encrypted and wiped."""
    fill(store, 300, envelopes=1)
    big = os.urandom(300_000)
    as_before(engine)
    with store.transaction() as tx:
        archive(tx, "big.bin", io.BytesIO(big), "directory", NOW)
    searched = (MARK.encode(), b"<k:CustomerData", big[100:132])
    assert [found > 0 for found in on_disk(engine, searched)] == [True, True, True]
    unlock(engine, RING, "k")
    reseal(engine)
    wipe(engine)
    assert on_disk(engine, searched) == [0, 0, 0]
    with store.transaction() as tx:
        point = tx.access_points("FR", ["1"])["1"].id
        assert len(tx.messages_from(point, 0)) == 300
    assert open_raw(engine, hashlib.sha256(big).digest()).read() == big


def on_disk(engine: Engine, searched: tuple[bytes, ...]) -> list[int]:
    """How often each of some bytes is found in the files of a database."""
    if is_sqlite(engine):
        path = Path(str(engine.url.database))
        files = [path, path.with_name(path.name + "-wal")]
    else:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("CHECKPOINT"))
            data = connection.execute(text("SHOW data_directory")).scalar()
            name = connection.execute(text("SELECT oid FROM pg_database WHERE datname = current_database()")).scalar()
        files = [path for path in (Path(str(data)) / "base" / str(name)).iterdir() if path.is_file()]
    contents = [path.read_bytes() for path in files if path.exists()]
    return [sum(content.count(one) for content in contents) for one in searched]
