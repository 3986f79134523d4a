"""The jobs of the gateway that are made to fail at each of their points."""

from __future__ import annotations

import hashlib
import zipfile
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from energycomm import cli
from energycomm.backoffice.notification import take_up, tell_all
from energycomm.backoffice.targets import open_target
from energycomm.commands.channel import _open
from energycomm.config import load
from energycomm.eis import archive, migrations
from energycomm.eis.database import connect, opened
from energycomm.eis.store import Store
from energycomm.kernel.instants import now_micros
from energycomm.pipeline.delivery import deliver
from energycomm.pipeline.opening import open_store
from tests.faults.stores import Facts, facts

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"

SETTINGS = """
batch_size = 4
[notify]
folder = "told"
[[channels]]
name = "drop"
market = "FR"
direction = "in"
kind = "folder"
path = "in"
settle = 0
attempts = 2
first_wait = 0.01
longest_wait = 0.02
[[channels]]
name = "gate"
market = "NL"
direction = "out"
kind = "folder"
path = "out"
attempts = 2
first_wait = 0.01
longest_wait = 0.02
"""


class Job(NamedTuple):
    """A job.

    Attributes:
      name: what it is called.
      before: makes the store and the files that it begins with, in the working folder.
      run: does it; the exit code.
      code: the exit code of a run in peace.
      again: the next run after a fault.
      facts: what the store and the folder hold at the end.
    """

    name: str
    before: Callable[[], None]
    run: Callable[[], int]
    code: int
    again: Callable[[], object]
    facts: Callable[[str, Path], Facts]


def command(*words: str) -> int:
    """Run a command of the gateway."""
    return cli.main(list(words))


def _upgraded() -> None:
    Path("energycomm.toml").write_text(SETTINGS)
    for name in ("in", "out", "told", "good"):
        Path(name).mkdir(exist_ok=True)
    assert command("eis", "upgrade") == 0


def _put(folder: str, *names: str) -> None:
    for name in names:
        source = FIXTURES / name
        Path(folder, source.name).write_bytes(source.read_bytes())


# --- process ---


def _inbox() -> None:
    """Good files of three markets, a zip, one that is refused, one that comes twice under two names."""
    _upgraded()
    _put("good", "fr/c15_mistakes.xml", "fr/r15_periodic.xml", "nl/gains.xml", "be/start_by_move.xml")
    with zipfile.ZipFile("good/two.zip", "w") as packed:
        for name in ("be/readings_march.xml", "nl/readings.xml"):
            packed.writestr(Path(name).name, (FIXTURES / name).read_bytes())
    Path("good/refused.xml").write_bytes(b"<unknown/>")
    Path("good/again.xml").write_bytes((FIXTURES / "nl/gains.xml").read_bytes())


def _process() -> int:
    return command("process", "good", "--json")


# --- a folder channel ---


def _dropped() -> None:
    _upgraded()
    _put("in", "fr/r15_periodic.xml", "nl/gains.xml")
    Path("in/refused.xml").write_bytes(b"<unknown/>")
    Path("in/twin.xml").write_bytes((FIXTURES / "nl/gains.xml").read_bytes())


def _poll() -> int:
    return command("channel", "poll", "drop", "--once", "--json")


def _polled_facts(url: str, place: Path) -> Facts:
    """No file waits, is held or was lost: each lies with the settled ones, under whichever outcome."""
    left = [path.name for folder in (place / "in", place / "in" / "processing") for path in _files(folder)]
    settled = Counter(
        hashlib.sha256(path.read_bytes()).hexdigest()
        for outcome in ("done", "failed", "duplicate")
        for path in _files(place / "in" / outcome)
        if not path.name.endswith(".reason.txt")
    )
    return facts(url) | {"left in the channel": left, "settled": dict(settled)}


def _files(folder: Path) -> list[Path]:
    """Its files; hidden ones are what a run that was killed had not finished, and nobody reads them."""
    return [path for path in folder.glob("*") if path.is_file() and not path.name.startswith(".")]


# --- notifications ---


def _processed() -> None:
    _upgraded()
    _put("good", "nl/gains.xml", "be/start_by_move.xml")
    assert command("process", "good", "--json") == 0


def _tell() -> int:
    config = load()
    target = open_target(config)
    assert target is not None
    with open_store(config) as store:
        take_up(store)  # whoever begins to lead takes up what its predecessor may have left
        told = tell_all(store, target)
    return 1 if told.trouble or told.dead else 0


def _tell_again() -> None:
    """What was put off is due by now."""
    with open_store(load()) as store, store.transaction() as tx:
        tx.driver.run("UPDATE outbox SET next_at = NULL WHERE state = 'pending'")
    _tell()


def _told_facts(url: str, place: Path) -> Facts:
    """Every notification lies there once under its key, whole."""
    found = {path.name: path.read_text() for path in _files(place / "told")}
    return facts(url) | {"told": found}


# --- requests ---


def _submit_and_send() -> int:
    code = command("request", "submit", str(FIXTURES / "requests/nl.json"), "--key", "one", "--json")
    config = load()
    (setting,) = [one for one in config.channels if one.name == "gate"]
    with open_store(config) as store:
        channel = _open(config, setting)

        def answered(tx: object, content: bytes, name: str, way: str, request: int) -> None:
            archive.archive(tx, name, BytesIO(content), way, now_micros(), request)  # type: ignore[arg-type]

        counts = deliver(store, {"NL": channel}, answered)  # type: ignore[dict-item]
        channel.close()
    return code or (0 if counts["sent"] else 1)


def _send_again() -> None:
    with open_store(load()) as store, store.transaction() as tx:
        tx.driver.run("UPDATE outgoing SET next_at = NULL WHERE state = 'built'")
    _submit_and_send()


def _sent_facts(url: str, place: Path) -> Facts:
    """One file lies there, with the bytes that the store says were built; references are of their run."""
    found = facts(url)
    with opened(url) as engine, engine.connect() as connection:
        built = [bytes(row[0]) for row in connection.exec_driver_sql("SELECT content FROM outgoing")]
    files = [path.read_bytes() for path in _files(place / "out")]
    return found | {"sent": len(files), "as built": sorted(files) == sorted(built)}


# --- replay and campaign ---


def _stuck() -> None:
    _upgraded()
    _put("good", "fr/c15_mistakes.xml", "fr/r15_periodic.xml", "be/mistakes_readings.xml")
    assert command("process", "good", "--json") in (1, 2)


def _replay() -> int:
    with open_store(load()) as store:
        sql = "SELECT id FROM kernel_message WHERE state IN ('rejected', 'to_replay') ORDER BY id"
        with store.engine.connect() as connection:
            numbers = [str(row[0]) for row in connection.exec_driver_sql(sql)]
    return command("correct", "replay", *numbers, "--json")


CAMPAIGN = ("correct", "script", "run", "create-missing-start", "--yes", "--why", "test", "--key", "k", "--json")


def _campaign() -> int:
    return command(*CAMPAIGN)


def _campaign_again() -> None:
    """Under its key again, and what was cut off goes on."""
    command(*CAMPAIGN)
    with open_store(load()) as store, store.engine.connect() as connection:
        cut = [row[0] for row in connection.exec_driver_sql("SELECT id FROM campaign WHERE state <> 'done'")]
    for number in cut:
        assert command("correct", "resume", str(number), "--json") == 0


# --- an upgrade ---

OLD = "0005"
"""A revision whose stores lack a good deal of today's tables."""

_COLUMNS = "id, position, market, market_type, kind, effective, state, received_at, xml, version"
_FILL = (
    *(
        f"INSERT INTO kernel_message ({_COLUMNS}) VALUES ({n}, 1, 'FR', 'C15', 'MeterData', {n}, '{state}', 7, 'x', 1)"
        for n, state in enumerate(("accepted", "rejected", "rejected", "quarantined"), 1)
    ),
    "INSERT INTO state_change (id, message_id, after, at, by) VALUES (1, 2, 'rejected', 7, 'x')",
    'INSERT INTO finding (id, message_id, change_id, "current", error_code, rule, severity, error_class, field, '
    "comment, comment_fr) VALUES (1, 2, 1, true, 'FR-R03', 'r', 'error', 'dno', 'f', 'c', 'c')",
)


def _old_store() -> None:
    Path("energycomm.toml").write_text(SETTINGS)
    head, migrations.HEAD = migrations.HEAD, OLD
    engine = connect(load().database_url)
    try:
        migrations.upgrade(engine)
        with Store(engine).transaction() as tx:
            for statement in _FILL:
                tx.connection.exec_driver_sql(statement)
    finally:
        engine.dispose()
        migrations.HEAD = head


def _upgrade() -> int:
    return command("eis", "upgrade")


def _upgraded_facts(url: str, place: Path) -> Facts:
    """The tables themselves too: every object of the schema, and what was counted."""
    found = facts_of_old(url)
    with opened(url) as engine, engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            sql = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
        else:
            sql = (
                "SELECT table_name, column_name, data_type FROM information_schema.columns "
                "WHERE table_schema = 'public' ORDER BY 1, 2"
            )
        found["facts"]["schema"] = [[str(value) for value in row] for row in connection.exec_driver_sql(sql)]
        for table in ("message_tally", "code_tally"):
            if engine.dialect.has_table(connection, table):
                rows = connection.exec_driver_sql(f"SELECT * FROM {table}")  # a name from above
                found["facts"][table] = sorted(str(tuple(row)) for row in rows)
    return found


def facts_of_old(url: str) -> Facts:
    """The rows were put in by hand and mean nothing: they are counted and checked."""
    return {"facts": facts(url)["facts"]}


def _plain_facts(url: str, place: Path) -> Facts:
    return facts(url)


JOBS = (
    Job("process", _inbox, _process, 2, _process, _plain_facts),
    Job("folder channel", _dropped, _poll, 2, _poll, _polled_facts),
    Job("notifications", _processed, _tell, 0, _tell_again, _told_facts),
    Job("request", _upgraded, _submit_and_send, 0, _send_again, _sent_facts),
    Job("replay", _stuck, _replay, 0, _replay, _plain_facts),
    Job("campaign", _stuck, _campaign, 0, _campaign_again, _plain_facts),
    Job("upgrade", _old_store, _upgrade, 0, _upgrade, _upgraded_facts),
)
