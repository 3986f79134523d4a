"""What is encrypted at rest opens in its own row only, under any data key of the store, and looks like nothing."""

from __future__ import annotations

import ast
import base64
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from energycomm.eis import packing, tables
from energycomm.eis.archive import archive, open_raw
from energycomm.eis.database import connect, writing
from energycomm.eis.datakeys import current_data_key, data_keys, switch_off, switch_on, unlock, wrap_anew
from energycomm.eis.effects import change_rows
from energycomm.eis.messages import show_message
from energycomm.eis.packing import unpack
from energycomm.eis.sealing import SEALED_COLUMNS, Sealed, Vault
from energycomm.eis.store import Store
from energycomm.errors import DamagedRow, UserError
from energycomm.transport.keys import StorageKey
from tests.eis.rows import DAY, NOW, put, put_kernel_message

NAME = "Distinctive Customer 8c1f"
XML = f'<k:CustomerData xmlns:k="urn:x" name="{NAME}"/>'
OLD, NEW = StorageKey("old", b"o" * 32), StorageKey("new", b"n" * 32)
RING = {"old": OLD, "new": NEW}

COLUMN, PIECE = (
    next(column for column in SEALED_COLUMNS if column.table == table) for table in ("kernel_message", "raw_chunk")
)


READS = {
    "kernel_message": r"\bxml\b",
    "raw_chunk": r"\bbytes\b",
    "outgoing": r"\bcontent\b",
    "campaign_item": r"\bcontent\b",
    "before_image": r"\bimage\b",
    "second_factor": r"\bsecret\b",
    "web_session": r"\bcontent\b",
    "name_key": r"\bsecret\b",
}


def statements(path: Path) -> list[str]:
    """The texts in a source file that are SQL, those of an f-string in one piece."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(part.value) for part in node.values if isinstance(part, ast.Constant)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return [words for words in found if re.search(r"\b(SELECT|INSERT|UPDATE)\b", words)]


@pytest.mark.thorough
def test_no_statement_reads_or_writes_a_sealed_column_past_the_vault(project_root: Path) -> None:
    """Whoever selects such a column opens it in the same file; only the driver's `insert` and `update` write one."""
    assert set(READS) == {column.table for column in SEALED_COLUMNS}
    seen = 0
    for path in sorted(
        one for part in ("energycomm", "assistant", "adapters") for one in (project_root / part).rglob("*.py")
    ):
        source = path.read_text("utf-8")
        for words in statements(path):
            for table, column in READS.items():
                if not re.search(rf"\b{table}\b", words) or not re.search(column, words):
                    continue
                seen += 1
                assert re.search(r"\bSELECT\b", words), f"{path}: {words}: use insert or update of the driver"
                assert re.search(r"vault\.(text|content|value)\(", source), f"{path}: {words}: open it with the vault"
    assert seen >= 10


@pytest.fixture
def vault(engine: Engine) -> Vault:
    return unlock(engine, RING, "old")


@pytest.fixture
def point(store: Store) -> int:
    with store.transaction() as tx:
        return tx.access_points("FR", ["1"])["1"].id


def test_the_columns_that_hold_what_arrived_and_what_it_says_are_sealed() -> None:
    """Each is named by the table that declares it; every one has a single value a row."""
    assert {(column.table, column.column) for column in SEALED_COLUMNS} == {
        ("raw_chunk", "bytes"),
        ("kernel_message", "xml"),
        ("outgoing", "content"),
        ("campaign_item", "content"),
        ("before_image", "image"),
        ("second_factor", "secret"),
        ("web_session", "content"),
        ("name_key", "secret"),
    }


def everything(engine: Engine) -> str:
    """Every value of every sealed table, as the database holds it, but for what is only packed: anybody reads that."""
    with engine.connect() as connection:
        rows = [connection.execute(tables.metadata.tables[c.table].select()).all() for c in SEALED_COLUMNS]
    return " ".join(unpacked(value) for r in rows for row in r for value in row)


def unpacked(value: Any) -> str:
    """A stored value as whoever has the database alone can read it."""
    if isinstance(value, str) and value.startswith("ec:2:"):
        return unpack(base64.b64decode(value[5:])).decode()
    if isinstance(value, bytes):
        return (unpack(value[4:]) if value.startswith(b"\x89EC\x02") else value).decode("latin-1")
    return str(value)


def fill(store: Store, point: int) -> int:
    """A value in every sealed column."""
    with store.transaction() as tx:
        archive(tx, "a.xml", io.BytesIO(XML.encode()), "directory", NOW)
        tx.insert(tables.name_key, [{"one": 1, "secret": NAME.encode()}])
        message = put_kernel_message(tx, point, DAY, xml=XML)
        put(tx, tables.outgoing, {"message_id": message, "content": XML.encode(), "reference": str(message)})
        (campaign,) = put(tx, tables.campaign, {"state": "planned"})
        put(tx, tables.campaign_item, {"campaign_id": campaign, "message_id": message, "content": XML})
        put(
            tx,
            tables.customer,
            {"access_point_id": point, "at": DAY, "message_id": message, "name": NAME, "content": "{}"},
        )
        change_rows(tx, tables.customer, ("name",), [(1, "other")], "test", NOW)
        put(tx, tables.account, {"id": 1, "name": "anna", "roles": "", "created_at": NOW, "created_by": "test"})
        tx.insert(tables.second_factor, [{"account_id": 1, "secret": NAME.encode(), "made_at": NOW, "last_step": 0}])
        session = {"hash": bytes(32), "person": "anna", "content": NAME, "created_at": NOW, "expires_at": NOW}
        tx.insert(tables.web_session, [session])
    return message


def test_nothing_of_a_sealed_value_is_in_its_table(vault: Vault, engine: Engine, store: Store, point: int) -> None:
    fill(store, point)
    held = everything(engine)
    assert NAME not in held
    assert "urn:x" not in held


def test_a_store_without_a_key_is_plain(engine: Engine, store: Store, point: int) -> None:
    """The search of the test before finds what is there."""
    unlock(engine, RING)
    fill(store, point)
    assert everything(engine).count(NAME) == len(SEALED_COLUMNS)
    assert data_keys(engine) == []


def test_every_reader_gives_the_clear_value(vault: Vault, engine: Engine, store: Store, point: int) -> None:
    message = fill(store, point)
    shown = show_message(engine, message)
    assert shown is not None
    assert shown.xml == XML
    with store.transaction() as tx:
        (folded,) = tx.messages_from(point, 0)
        assert folded.xml == XML
        (image,) = tx.driver.rows("SELECT id, image FROM before_image")
        assert json.loads(vault.text("before_image", *image))["name"] == NAME
        (sha256,) = tx.driver.rows("SELECT sha256 FROM raw")[0]
    assert open_raw(engine, bytes(sha256)).read() == XML.encode()


def test_a_change_of_a_sealed_column_is_sealed_too(vault: Vault, engine: Engine, store: Store, point: int) -> None:
    with store.transaction() as tx:
        message = put_kernel_message(tx, point, DAY)
    with store.transaction() as tx:
        tx.driver.update(tables.kernel_message, ("effective", "xml"), [(message, 2 * DAY, XML)])
        tx.driver.update(tables.kernel_message, ("state",), [(message, "treated")])
    assert NAME not in everything(engine)
    with store.transaction() as tx:
        (row,) = tx.messages_from(point, 0)
    assert (row.effective, row.xml, row.state) == (2 * DAY, XML, "treated")


def test_values_of_three_data_keys_and_plain_ones_stand_side_by_side(engine: Engine, store: Store, point: int) -> None:
    unlock(engine, RING)
    numbers: list[int | None] = []
    for turn in range(4):
        if turn:
            switch_on(engine, "old", anew=True)
        numbers.append(current_data_key(engine))
        with store.transaction() as tx:
            put_kernel_message(tx, point, turn * DAY, xml=f"<x n='{turn}'/>")
    assert numbers == [None, 1, 2, 3]
    # Another process knows none of the keys that were made meanwhile.
    elsewhere = connect(engine.url.render_as_string(hide_password=False))
    unlock(elsewhere, RING)
    with Store(elsewhere).transaction() as tx:
        assert [row.xml for row in tx.messages_from(point, 0)] == [f"<x n='{turn}'/>" for turn in range(4)]
    elsewhere.dispose()


def test_another_process_writes_under_a_new_data_key_from_its_next_transaction(
    vault: Vault, engine: Engine, store: Store, point: int
) -> None:
    """It was open before the key was made, and learns of it by itself."""
    elsewhere = connect(engine.url.render_as_string(hide_password=False))
    unlock(elsewhere, RING, "old")
    assert switch_on(engine, "old", anew=True) == 2
    with Store(elsewhere).transaction() as tx:
        put_kernel_message(tx, point, DAY, xml=XML)
        ((stored,),) = tx.driver.rows("SELECT xml FROM kernel_message")
    assert stored.startswith("ec:3:2:")
    elsewhere.dispose()


def test_a_store_whose_key_is_missing_is_refused_by_its_label(vault: Vault, engine: Engine) -> None:
    with pytest.raises(UserError, match="encrypted under the key 'old', which is not in the key ring") as refused:
        unlock(engine, {"new": NEW})
    assert refused.value.exit_code == 4


def test_another_key_of_the_same_name_is_refused(vault: Vault, engine: Engine) -> None:
    with pytest.raises(UserError, match="data key 1 was wrapped with another key of that name"):
        unlock(engine, {"old": StorageKey("old", b"x" * 32)})


def test_a_store_that_was_opened_without_keys_names_the_key_it_needs(
    vault: Vault, engine: Engine, store: Store, point: int
) -> None:
    message = fill(store, point)
    keyless = connect(engine.url.render_as_string(hide_password=False))
    with pytest.raises(UserError, match="'old'"):
        show_message(keyless, message)
    keyless.dispose()


def test_wrapping_anew_changes_no_row_and_makes_the_old_key_needless(
    vault: Vault, engine: Engine, store: Store, point: int
) -> None:
    message = fill(store, point)
    before = everything(engine)
    assert wrap_anew(engine, "new") == 1
    assert wrap_anew(engine, "new") == 0
    assert everything(engine) == before
    unlock(engine, {"new": NEW}, "new")
    shown = show_message(engine, message)
    assert shown is not None
    assert shown.xml == XML
    assert [key.label for key in data_keys(engine)] == ["new"]


def test_where_a_key_is_wanted_nothing_is_written_in_plain(
    vault: Vault, engine: Engine, store: Store, point: int
) -> None:
    """Somebody switched encryption off behind the back of a process whose configuration wants it."""
    switch_off(engine)
    with pytest.raises(UserError, match="encryption was switched off"), store.transaction() as tx:
        put_kernel_message(tx, point, DAY, xml=XML)
    assert NAME not in everything(engine)


@pytest.mark.parametrize(
    "change", ["swapped", "cut", "flipped", "key", "form", "former form", "no packing", "no base64", "moved"]
)
def test_a_row_that_was_changed_is_named_and_harms_no_other(
    vault: Vault, engine: Engine, store: Store, point: int, change: str
) -> None:
    with store.transaction() as tx:
        one, two, three = (put_kernel_message(tx, point, n * DAY, xml=f"<x n='{n}'/>") for n in range(3))
        rows: dict[int, str] = dict(tx.driver.rows("SELECT id, xml FROM kernel_message"))
    sealed = rows[two]
    flipped = sealed[:-6] + ("A" if sealed[-6] != "A" else "B") + sealed[-5:]
    other = {
        "swapped": rows[three],
        "cut": sealed[:-8],
        "flipped": flipped,
        "key": sealed.replace("ec:3:1:", "ec:3:7:"),
        "form": sealed.replace("ec:3:", "ec:9:"),
        "former form": sealed.replace("ec:3:", "ec:1:"),
        "no packing": "ec:2:////",
        "no base64": "ec:3:1:*",
        "moved": rows[one],
    }[change]
    with writing(engine) as connection:
        connection.execute(text("UPDATE kernel_message SET xml = :xml WHERE id = :id"), {"xml": other, "id": two})
    with pytest.raises(DamagedRow, match=f"STORE_ROW_DAMAGED: row {two} of kernel_message") as damaged:
        show_message(engine, two)
    assert (damaged.value.table, damaged.value.row) == ("kernel_message", str(two))
    for number, content in ((one, "<x n='0'/>"), (three, "<x n='2'/>")):
        shown = show_message(engine, number)
        assert shown is not None
        assert shown.xml == content


def test_pieces_of_raw_bytes_cannot_change_places(vault: Vault, engine: Engine, store: Store) -> None:
    content = b"a" * (1 << 20) + b"b" * (1 << 20)
    with store.transaction() as tx:
        sha256 = archive(tx, "a.bin", io.BytesIO(content), "directory", NOW).sha256
    assert open_raw(engine, sha256).read() == content
    with writing(engine) as connection:
        for before, after in ((0, 9), (1, 0), (9, 1)):
            move = text('UPDATE raw_chunk SET "number" = :after WHERE "number" = :before')
            connection.execute(move, {"before": before, "after": after})
    with pytest.raises(DamagedRow, match=f"row {sha256.hex()}/0 of raw_chunk"):
        open_raw(engine, sha256).read()


@pytest.mark.parametrize("switched_on", [False, True])
@pytest.mark.parametrize(
    "content",
    [b"\x89EC\x01" + bytes(40), b"\x89EC\x02" + bytes(9), b"\x89EC\x00", b"\x89EC", b"\x89ECxyz", b"ec:1:1:", b"\x89"],
)
def test_bytes_that_look_sealed_come_back_as_they_came(
    engine: Engine, store: Store, content: bytes, switched_on: bool
) -> None:
    """A market may send anything."""
    unlock(engine, RING, "old" if switched_on else None)
    with store.transaction() as tx:
        sha256 = archive(tx, "a.bin", io.BytesIO(content), "directory", NOW).sha256
    assert open_raw(engine, sha256).read() == content


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """A vault with two data keys."""
    engine = connect(f"sqlite:///{tmp_path_factory.mktemp('vault') / 'eis.db'}")
    tables.metadata.create_all(engine)
    vault = unlock(engine, RING, "old")
    switch_on(engine, "new", anew=True)
    yield vault
    engine.dispose()


@settings(deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs"])), st.binary(), st.integers(1, 2**62), st.sampled_from([None, 1, 2])
)
def test_any_value_comes_back_from_its_own_row_only(
    memory: Vault, words: str, content: bytes, row: int, number: int | None
) -> None:
    values: list[tuple[Sealed, tuple[Any, ...], tuple[Any, ...], Any]] = [
        (COLUMN, (row,), (row + 1,), words),
        (COLUMN, (row,), (row + 1,), "ec:" + words),
        (PIECE, (bytes(32), row % 2**31), (bytes(32), (row + 1) % 2**31), content),
        (PIECE, (bytes(32), row % 2**31), (b"1" * 32, row % 2**31), b"\x89EC" + content),
    ]
    for column, here, there, value in values:
        stored = memory.sealed(column, here, value, number)
        assert memory.value(column, here, stored) == value
        if number is not None:
            with pytest.raises(DamagedRow):
                memory.value(column, there, stored)


def test_the_forms_are_those_that_are_documented(memory: Vault, engine: Engine) -> None:
    """Opened by the libraries alone, from the descriptions in the modules."""
    number, content = 5, b"what arrived " * 20
    key = bytes(range(32))
    memory._ciphers[number] = AESGCM(key)
    stored = memory.sealed(PIECE, (b"\xab" * 32, 3), content, number)
    assert stored[:8] == b"\x89EC\x03\x00\x00\x00\x05"
    bound_to = b"energycomm 3 5 raw_chunk.bytes " + b"ab" * 32 + b"/3"
    packed = AESGCM(key).decrypt(stored[8:20], stored[20:], bound_to)
    assert packed[0] == 1
    frame = zstandard.ZstdDecompressor(format=zstandard.FORMAT_ZSTD1_MAGICLESS)
    assert frame.decompress(packed[1:]) == content
    assert len(stored) == len(packed) + 36
    assert memory.sealed(PIECE, (b"\xab" * 32, 3), b"ab", None) == b"\x89EC\x02\x00ab"
    packed = base64.b64decode(memory.sealed(COLUMN, (1,), XML * 3, None).removeprefix("ec:2:"))
    assert packed[0] == 2
    dictionary = Path(packing.__file__).with_name("dictionaries") / "1.zstd"
    known = zstandard.ZstdCompressionDict(dictionary.read_bytes())
    frame = zstandard.ZstdDecompressor(known, format=zstandard.FORMAT_ZSTD1_MAGICLESS)
    assert frame.decompress(packed[1:]).decode() == XML * 3


def test_what_earlier_versions_stored_is_read(memory: Vault) -> None:
    """Values as the version before wrote them, in plain and under a data key; made by the library alone."""
    number, key, nonce = 5, bytes(range(32)), bytes(12)
    memory._ciphers[number] = AESGCM(key)
    sealed = nonce + AESGCM(key).encrypt(nonce, b"clear", b"energycomm 1 5 kernel_message.xml 7")
    assert memory.text("kernel_message", 7, f"ec:1:5:{base64.b64encode(sealed).decode()}") == "clear"
    assert [memory.text("kernel_message", 7, one) for one in ("<m/>", "ec:0:ec:1:", "")] == ["<m/>", "ec:1:", ""]
    keys = (b"\xab" * 32, 3)
    sealed = nonce + AESGCM(key).encrypt(nonce, b"clear", b"energycomm 1 5 raw_chunk.bytes " + b"ab" * 32 + b"/3")
    assert memory.content("raw_chunk", keys, b"\x89EC\x01\x00\x00\x00\x05" + sealed) == b"clear"
    before = (b"<m/>", b"\x89EC\x00\x89EC", b"")
    assert [memory.content("raw_chunk", keys, one) for one in before] == [b"<m/>", b"\x89EC", b""]


def test_the_same_value_is_sealed_differently_each_time(memory: Vault) -> None:
    assert len({memory.sealed(COLUMN, (1,), XML, 1) for _ in range(100)}) == 100


def test_keys_are_shown_nowhere(memory: Vault, tmp_path: Path) -> None:
    shown = f"{memory!r} {memory} {OLD!r} {OLD} {vars(memory)}"
    assert "ooo" not in shown
    assert (b"o" * 32).hex() not in shown
    with pytest.raises(TypeError):
        __import__("pickle").dumps(OLD)
