"""The configuration: where values come from, and how mistakes and secrets are shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from energycomm.cli import main
from energycomm.config import load
from energycomm.errors import ExitCode, UserError
from energycomm.transport.keys import read_keys
from energycomm.transport.limits import Limits

Writer = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Writer:
    """Write an energycomm.toml and work in its folder."""
    monkeypatch.chdir(tmp_path)

    def written(text: str) -> Path:
        file = tmp_path / "energycomm.toml"
        file.write_text(text, "utf-8")
        return file

    return written


def test_without_a_file_everything_has_its_default(write: Writer) -> None:
    """The shipped rules, a SQLite file in the working directory, the parallel engine."""
    config = load()
    assert config.file is None
    assert config.database_url == "sqlite:///energycomm.db"
    assert (config.rules_folder / "predicates.py").is_file()
    assert config.origin("engine") == "default"


def test_the_environment_goes_before_the_file_and_the_file_before_the_default(
    write: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each setting is overridden on its own, nested ones too."""
    write('batch_size = 100\nlanguage = "fr"\n[limits]\nmember = 5\nratio = 7\n')
    monkeypatch.setenv("ENERGYCOMM_BATCH_SIZE", "200")
    monkeypatch.setenv("ENERGYCOMM_LIMITS__RATIO", "9")
    monkeypatch.setenv("ENERGYCOMM_PARTIES", "17X100A100A0001A, 1234567890123")
    config = load()
    assert config.batch_size == 200
    assert config.language == "fr"
    assert config.limits == Limits(member=5, ratio=9)
    assert config.parties == ("17X100A100A0001A", "1234567890123")
    assert [config.origin(name) for name in ("batch_size", "language", "engine")] == ["environment", "file", "default"]


def test_another_file_can_be_named_and_its_relative_paths_start_from_it(
    write: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service's configuration may lie anywhere."""
    write('database = "sqlite:///store/eis.db"\nrules = "ours"\n')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("ENERGYCOMM_CONFIG", str(tmp_path / "energycomm.toml"))
    config = load()
    assert config.database_url == f"sqlite:///{tmp_path}/store/eis.db"
    assert config.rules_folder == tmp_path / "ours"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("batch_size = 0", ["batch_size", "at least 1 was expected", "found 0"]),
        ('engine = "drools"', ["engine", "'parallel' or 'durable-rules'", "'drools'"]),
        ("colour = 1", ["colour", "no such setting"]),
        ("[limits]\nmembr = 1", ["limits.membr", "no such setting"]),
        ("[deamon]\nport = 1", ["deamon: no such setting; did you mean daemon?"]),
        ("[daemon]\nprot = 1", ["daemon.prot: no such setting; did you mean port?"]),
        (
            '[[channels]]\nname = "a"\nmarket = "FR"\ndirection = "in"\nkind = "folder"\npth = "in"',
            ["channels.1.folder.pth: no such setting; did you mean path?"],
        ),
        ('parties = ["17X"]', ["parties", "'17X' is neither an EIC"]),
        ("batch_size =\nx = 1", ["is not TOML", "line 1"]),
        ('database = "here"', ["database", "expected sqlite:///PATH"]),
        ('[[keys]]\nlabel = "a"', ["keys.1.scheme", "it is missing"]),
    ],
)
def test_a_mistake_names_file_field_value_and_what_is_expected(write: Writer, text: str, words: list[str]) -> None:
    """Every mistake of the file is put so that it can be found and corrected."""
    file = write(text)
    with pytest.raises(UserError) as caught:
        load()
    for word in [str(file), *words]:
        assert word in str(caught.value)
    assert caught.value.exit_code == ExitCode.USAGE


def test_all_mistakes_are_told_at_once(write: Writer) -> None:
    """Nobody has to correct a file one mistake at a time."""
    write('batch_size = 0\nengine = "x"\nlanguage = "de"')
    with pytest.raises(UserError) as caught:
        load()
    assert all(name in str(caught.value) for name in ("batch_size", "engine", "language"))


def test_a_misspelled_environment_variable_is_refused(write: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that silently does nothing is worse than a refusal."""
    monkeypatch.setenv("ENERGYCOMM_BATCHSIZE", "5")
    with pytest.raises(
        UserError, match="ENERGYCOMM_BATCHSIZE is no setting of EnergyComm; did you mean ENERGYCOMM_BATCH_SIZE"
    ):
        load()


def test_an_environment_value_that_is_not_json_is_a_clear_mistake(
    write: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keys' list is JSON in the environment."""
    monkeypatch.setenv("ENERGYCOMM_KEYS", "[{label")
    with pytest.raises(UserError, match="keys"):
        load()


def test_keys_reach_the_key_ring(write: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the file says of keys is what transport reads, and a variable that holds a key is no unknown setting."""
    monkeypatch.setenv("ENERGYCOMM_KEY_2026", "00" * 32)
    write(
        '[[keys]]\nlabel = "2026"\nscheme = "aes-256-iv-in-file"\nkey_env = "ENERGYCOMM_KEY_2026"\nsince = 2026-06-09\n'
        f'[[keys]]\nlabel = "2024"\nscheme = "aes-128-fixed-iv"\nkey_file = "old.key"\niv = "{"1f" * 16}"\n'
    )
    Path("old.key").write_text("ab" * 16, "ascii")
    config = load()
    ring, refusals = read_keys(config.key_entries, folder=config.folder)
    assert refusals == ()
    assert ring.labels == ("2026", "2024")


def test_config_show_names_the_installed_markets(write: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether an adapter was found is seen before anything is processed."""
    write("")
    assert main(["config", "show", "--json"]) == ExitCode.OK
    markets = json.loads(capsys.readouterr().out)["markets"]
    assert {code: found["zone"] for code, found in markets.items()} == {
        "BE": "Europe/Brussels",
        "DK": "Europe/Copenhagen",
        "FR": "Europe/Paris",
        "NL": "Europe/Amsterdam",
    }
    assert main(["config", "show"]) == ExitCode.OK
    assert "Europe/Amsterdam" in capsys.readouterr().out


def test_secrets_are_never_shown(
    write: Writer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not by `config show`, not by a representation, not in an error."""
    write(f'[[keys]]\nlabel = "k"\nscheme = "aes-128-fixed-iv"\nkey_file = "k"\niv = "{"1f" * 16}"\n')
    monkeypatch.setenv("ENERGYCOMM_DATABASE", "postgresql://user:hunter2@db/eis")
    assert main(["config", "show"]) == ExitCode.OK
    assert main(["config", "show", "--json"]) == ExitCode.OK
    monkeypatch.setenv("ENERGYCOMM_BATCH_SIZE", "x")
    assert main(["config", "show"]) == ExitCode.USAGE
    monkeypatch.setenv("ENERGYCOMM_BATCH_SIZE", "1")
    monkeypatch.setenv("ENERGYCOMM_DATABASE", "hunter2")
    assert main(["config", "show"]) == ExitCode.USAGE
    output = "".join(capsys.readouterr())
    monkeypatch.setenv("ENERGYCOMM_DATABASE", "postgresql://user:hunter2@db/eis")
    output += repr(load()) + str(load())
    assert "hunter2" not in output
    assert "1f1f" not in output
    assert "user:***@db" in output


def test_show_as_json_names_each_value_and_its_origin(write: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    """A script can read what EnergyComm is set to."""
    file = write("quarantine_days = 7")
    assert main(["config", "show", "--json"]) == ExitCode.OK
    shown = json.loads(capsys.readouterr().out)
    assert shown["file"] == str(file)
    assert shown["settings"]["quarantine_days"] == {"value": 7, "from": "file"}
    assert shown["settings"]["engine"] == {"value": "parallel", "from": "default"}


def test_the_token_of_the_api_clients_is_no_wrong_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever exports it for a client of the API goes on using the commands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_TOKEN", "ec_something")
    load()
