"""A store is encrypted at rest by the command line, the whole path works on it, and its keys are shown nowhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from energycomm.errors import ExitCode
from tests.end_to_end.conftest import Answer, Place

Places = Callable[..., Place]


class Keeper:
    """A working place whose store has keys."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.labels: list[str] = []
        self.output = ""

    def __call__(self, *words: object) -> Answer:
        answer = self.place(*words)
        self.output += answer.out + answer.err
        return answer

    def new_key(self, label: str) -> None:
        """Make a key with the command and set it as the store's."""
        assert self("keys", "generate", f"{label}.key").code == 0
        self.labels.append(label)
        self.set(label)

    def set(self, current: str | None, *, without: str = "") -> None:
        """Write the configuration."""
        lines = [] if current is None else [f'storage_key = "{current}"']
        for label in self.labels:
            if label != without:
                lines += ["[[keys]]", f'label = "{label}"', 'scheme = "aes-256-gcm"', f'key_file = "{label}.key"']
        (self.place.folder / "energycomm.toml").write_text("\n".join(lines))

    def secrets(self) -> list[str]:
        """The keys that were made."""
        return [(self.place.folder / f"{label}.key").read_text().strip() for label in self.labels]


@pytest.fixture
def keeper(place: Places, database_url: str) -> Keeper:
    return Keeper(place(database_url))


@pytest.fixture
def inbox(project_root: Path) -> Path:
    return project_root / "fixtures" / "fr"


@pytest.mark.thorough
def test_the_path_on_an_encrypted_store_ends_as_on_a_plain_one(
    place: Places, keeper: Keeper, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every message of the French fixtures; `eis compare` of both stores says equal, in both directions."""
    plain = place(name="plain")
    wanted = plain.process(inbox)
    url = plain.url
    here = keeper.place
    monkeypatch.chdir(here.folder)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", here.url)
    keeper.new_key("first")
    found = here.process(inbox)
    assert found.code == wanted.code
    assert found.json["kernel_messages"] == wanted.json["kernel_messages"]
    assert found.json["error_codes"] == wanted.json["error_codes"]
    sealed = here.rows("SELECT count(*) FROM kernel_message WHERE substr(xml, 1, 7) = 'ec:3:1:'")
    assert sealed == here.rows("SELECT count(*) FROM kernel_message") != [(0,)]
    assert "have the same content" in keeper("eis", "compare", url).out
    number = here.rows("SELECT min(id) FROM kernel_message WHERE state = 'rejected'")[0][0]
    assert keeper("message", "show", number, "--json").json["xml"].startswith("<")
    assert here.process(inbox).json["envelopes"]["duplicate"] == found.json["envelopes"]["taken_in"]
    for number, name in here.rows("SELECT id, name FROM envelope WHERE state = 'done'"):
        assert keeper("envelope", "extract", number, "--out", here.folder / f"{number}.bin").code == 0
        assert (here.folder / f"{number}.bin").read_bytes() == (inbox / name).read_bytes()


@pytest.mark.thorough
def test_a_store_is_switched_on_rotated_and_switched_off(keeper: Keeper, inbox: Path) -> None:
    place = keeper.place
    place.process(inbox)
    meaning = place.meaning()
    messages = place.rows("SELECT count(*) FROM kernel_message")[0][0]

    assert keeper("eis", "encrypt").code == ExitCode.USAGE
    keeper.new_key("first")
    assert keeper("eis", "verify").code == ExitCode.REJECTED
    done = keeper("eis", "encrypt", "--wipe", "--json").json
    assert done["rows"]["kernel_message"] == messages
    assert keeper("eis", "verify").code == ExitCode.OK
    assert "everything is under data key 1 already" in keeper("eis", "encrypt").out

    keeper.new_key("second")
    assert "1 data keys were wrapped with second" in keeper("keys", "rotate").out
    keeper.set("second", without="first")
    assert keeper("eis", "verify").code == ExitCode.OK
    deep = keeper("keys", "rotate", "--deep", "--json").json
    assert (deep["data_key"], deep["rows"]["kernel_message"]) == (2, messages)
    assert [(row["label"], row["data_keys"]) for row in keeper("keys", "list", "--json").json] == [
        ("second", ["1", "2 (current)"])
    ]

    refused = keeper("eis", "decrypt")
    assert refused.code == ExitCode.USAGE
    assert "Unset storage_key" in refused.err
    keeper.set(None)
    assert keeper("eis", "decrypt", "--json").json["rows"]["kernel_message"] == messages
    (place.folder / "energycomm.toml").unlink()
    assert keeper("eis", "verify").code == ExitCode.OK
    assert place.meaning() == meaning
    for secret in keeper.secrets():
        assert len(secret) == 64
        assert secret not in keeper.output


def test_a_missing_key_is_named_by_every_command_that_needs_the_store(keeper: Keeper, inbox: Path) -> None:
    keeper.new_key("first")
    keeper.place.process(inbox)
    keeper.labels.append("other")
    (keeper.place.folder / "other.key").write_text("ab" * 32)
    keeper.set("other", without="first")
    for words in (("message", "list"), ("process", inbox), ("eis", "verify"), ("eis", "stats"), ("keys", "rotate")):
        answer = keeper(*words)
        assert answer.code == ExitCode.DATABASE, words
        assert "encrypted under the key 'first', which is not in the key ring" in answer.err
    listed = keeper("keys", "list")
    assert listed.code == ExitCode.DATABASE
    assert "first\tstore\tmissing\t1 (current)" in listed.out
    (keeper.place.folder / "first.key").write_text("cd" * 32)
    keeper.set("first")
    assert "wrapped with another key of that name" in keeper("message", "list").err
    assert "another key of this name is needed" in keeper("keys", "list").out
    (keeper.place.folder / "first.key").write_text("short")
    assert "not hexadecimal" in keeper("message", "list").err
    assert "abab" not in keeper.output
    assert "cdcd" not in keeper.output


def test_a_damaged_row_is_named_and_the_others_are_told(keeper: Keeper, inbox: Path) -> None:
    keeper.new_key("first")
    place = keeper.place
    place.process(inbox)
    ((message,),) = place.rows("SELECT message_id FROM outbox ORDER BY id LIMIT 1")
    sql = f"UPDATE kernel_message SET xml = (SELECT xml FROM kernel_message WHERE id <> {message} LIMIT 1)"
    change(place, f"{sql} WHERE id = {message}")
    shown = keeper("message", "show", message)
    assert shown.code == ExitCode.UNREADABLE
    assert f"STORE_ROW_DAMAGED: row {message} of kernel_message was changed" in shown.err
    assert "Traceback" not in shown.err
    verified = keeper("eis", "verify")
    assert verified.code == ExitCode.UNREADABLE
    assert f"row {message} of kernel_message" in verified.out
    assert keeper("message", "list").code == ExitCode.OK


def change(place: Place, sql: str) -> None:
    """Change the store behind the program's back."""
    from energycomm.eis.database import opened, writing

    with opened(place.url) as engine, writing(engine) as connection:
        connection.exec_driver_sql(sql)


def test_a_key_is_written_for_its_owner_only_and_never_over_another(keeper: Keeper) -> None:
    keeper.new_key("first")
    file = keeper.place.folder / "first.key"
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.read_bytes()
    again = keeper("keys", "generate", "first.key")
    assert again.code == ExitCode.USAGE
    assert "first.key exists" in again.err
    assert file.read_bytes() == before


@pytest.mark.parametrize("label", ["nobody", "envelopes"])
def test_a_storage_key_that_is_no_key_of_the_store_is_refused(keeper: Keeper, label: str) -> None:
    keeper.place.folder.joinpath("energycomm.toml").write_text(
        f'storage_key = "{label}"\n[[keys]]\nlabel = "envelopes"\nscheme = "aes-256-iv-in-file"\nkey_file = "x"\n'
    )
    answer = keeper("message", "list")
    assert answer.code == ExitCode.USAGE
    assert "expected the label of one of the keys of scheme aes-256-gcm" in answer.err


def test_what_an_earlier_version_stored_is_compressed_by_a_command(keeper: Keeper, project_root: Path) -> None:
    """Kernel XML as it was kept before is shown as ever; a run writes it anew, the next finds nothing to do."""
    here = keeper.place
    here.process(project_root / "fixtures" / "fr" / "r15_periodic.xml")
    ((number,),) = here.rows("SELECT min(id) FROM kernel_message")
    clear = here("message", "show", number, "--json").json["xml"]
    change(here, f"UPDATE kernel_message SET xml = '{clear}' WHERE id = {number}")
    assert here("message", "show", number, "--json").json["xml"] == clear
    assert here("eis", "compact", "--json").json["rows"] == {"kernel_message": 1}
    ((stored,),) = here.rows(f"SELECT xml FROM kernel_message WHERE id = {number}")
    assert len(stored) < len(clear) / 3
    assert here("message", "show", number, "--json").json["xml"] == clear
    assert "everything is compressed already" in here("eis", "compact", "--wipe").out
