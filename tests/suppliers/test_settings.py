"""Several suppliers are declared in one file, each has a file of its own, and no two share anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from energycomm.cli import main
from energycomm.config import choosing, load, load_all
from energycomm.eis.database import opened
from energycomm.eis.ownership import owner_of
from energycomm.errors import ExitCode, UserError
from energycomm.installation import load_apart

NORD, SUD = "17X100A100A0001A", "8712423010208"
WHOLE = f"""
[suppliers.nord]
file = "nord/energycomm.toml"
title = "Nord"
parties = ["{NORD}"]
url = "https://nord.example.org"

[suppliers.sud]
file = "sud/energycomm.toml"
parties = ["{SUD}"]
url = "https://sud.example.org/"

[people]
anna = ["nord", "sud"]

[web]
port = 8090
"""

Declared = Callable[..., Path]


@pytest.fixture
def declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Declared:
    """Writes the files of an installation with two suppliers, and works in its folder."""
    monkeypatch.chdir(tmp_path)

    def written(whole: str = WHOLE, *, nord: str = "", sud: str = "") -> Path:
        (tmp_path / "energycomm.toml").write_text(whole, "utf-8")
        for name, text in (("nord", nord), ("sud", sud)):
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / "energycomm.toml").write_text(text, "utf-8")
        return tmp_path

    return written


def refused(call: Callable[[], Any], *words: str) -> None:
    with pytest.raises(UserError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_each_supplier_has_the_settings_of_its_own_file_and_places_of_its_own(declared: Declared) -> None:
    folder = declared(nord="quarantine_days = 7\n", sud='database = "sqlite:///store/sud.db"\n')
    installation, suppliers = load_apart()
    assert list(suppliers) == ["nord", "sud"]
    nord, sud = suppliers.values()
    assert (nord.quarantine_days, sud.quarantine_days) == (7, 30)
    assert nord.database_url == f"sqlite:///{folder}/nord/energycomm.db"
    assert sud.database_url == f"sqlite:///{folder}/sud/store/sud.db"
    assert (nord.spool_folder, sud.archive_folder) == (folder / "nord/spool", folder / "sud/archive")
    assert (nord.parties, sud.parties) == ((NORD,), (SUD,))
    assert (nord.web.port, nord.web.public_url, sud.web.public_url) == (
        8090, "https://nord.example.org", "https://sud.example.org",
    )  # fmt: skip
    assert installation.supplier is None
    assert nord.supplier is not None
    assert (nord.supplier.name, nord.supplier.title, nord.supplier.foreign) == ("nord", "Nord", frozenset({SUD}))
    assert nord.supplier.elsewhere("anna") == [("sud", "https://sud.example.org")]
    assert nord.supplier.elsewhere("ben") == []


def test_one_supplier_is_chosen_by_option_or_variable(declared: Declared, monkeypatch: pytest.MonkeyPatch) -> None:
    declared()
    refused(load, "several suppliers", "--supplier", "nord, sud")
    monkeypatch.setenv("ENERGYCOMM_SUPPLIER", "sud")
    assert load().parties == (SUD,)
    with choosing("nord"):
        assert load().parties == (NORD,)
        assert list(load_all()[1]) == ["nord"]
    with choosing("west"):
        refused(load, "no supplier 'west'", "nord, sud")


def test_who_is_alone_is_as_before_and_has_nobody_to_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "energycomm.toml").write_text(f'parties = ["{NORD}"]\n')
    assert (load().supplier, load().parties, load_apart()[1]) == (None, (NORD,), {})
    monkeypatch.setenv("ENERGYCOMM_SUPPLIER", "nord")
    refused(load, "no supplier 'nord'", "declares none")


@pytest.mark.parametrize(
    ("whole", "words"),
    [
        (WHOLE.replace(SUD, NORD), [NORD, "two suppliers"]),
        (WHOLE.replace("sud.example", "nord.example"), ["nord.example.org", "two suppliers"]),
        (WHOLE.replace("sud/energycomm", "nord/energycomm"), ["nord/energycomm.toml", "two suppliers"]),
        (WHOLE.replace("suppliers.sud]", "suppliers.Sud]"), ["'Sud' is no name"]),
        (WHOLE.replace('"nord", "sud"]', '"nord", "west"]'), ["people", "'west'"]),
        (WHOLE.replace(SUD, "12"), ["suppliers.sud.parties", "'12'"]),
        ('database = "sqlite:///a.db"\n' + WHOLE, ["database", "file of each supplier"]),
        (WHOLE + 'public_url = "https://x.example.org"\n', ["web.public_url", "file of each supplier"]),
    ],
)
def test_what_two_suppliers_would_share_is_refused(declared: Declared, whole: str, words: list[str]) -> None:
    declared(whole)
    refused(load_all, *words)


@pytest.mark.parametrize("text", ["[web]\nport = 1\n", "parties = []\n", 'log_level = "info"\n'])
def test_what_is_the_installations_is_refused_in_the_file_of_a_supplier(declared: Declared, text: str) -> None:
    declared(nord=text)
    refused(load_all, "nord/energycomm.toml", text.split()[0].strip("[]"), "belongs to")


def test_the_environment_sets_nothing_for_all(declared: Declared, monkeypatch: pytest.MonkeyPatch) -> None:
    declared()
    monkeypatch.setenv("ENERGYCOMM_LOG_LEVEL", "info")
    monkeypatch.setenv("ENERGYCOMM_SUD_KEY", "00" * 16)  # a secret of the other's
    with choosing("nord"):
        assert load().log_level == "info"
    for name, value in (("DATABASE", "sqlite:///x.db"), ("WEB__PUBLIC_URL", "https://x"), ("PARTIES", NORD)):
        with monkeypatch.context() as patch:
            patch.setenv(f"ENERGYCOMM_{name}", value)
            refused(load_all, f"ENERGYCOMM_{name.split('__')[0]} would hold for every supplier")


SAME = {
    "spool": 'spool = "../both"\n',
    "archive": '[retention]\narchive = "../both"\n',
    "notify": '[notify]\nfolder = "../both"\n',
    "key": '[[keys]]\nlabel = "k"\nscheme = "aes-256-gcm"\nkey_file = "../both.key"\n',
    "K_ENV": '[[keys]]\nlabel = "k"\nscheme = "aes-256-gcm"\nkey_env = "K_ENV"\n',
    "channel": '[[channels]]\nname = "in"\nkind = "folder"\nmarket = "FR"\ndirection = "in"\npath = "../both"\n',
}


@pytest.mark.parametrize("what", SAME)
def test_no_two_suppliers_share_a_folder_or_a_key(declared: Declared, what: str) -> None:
    declared(nord=SAME[what], sud=SAME[what])
    refused(load_apart, "Two suppliers share", what)


def test_a_folder_inside_of_anothers_is_shared_too(declared: Declared) -> None:
    declared(nord=SAME["channel"].replace("../both", "../sud"), sud=SAME["spool"].replace("../both", "received"))
    refused(load_apart, "channel in of nord", "spool of sud")


@pytest.mark.thorough
def test_a_store_is_opened_for_its_own_supplier_alone(declared: Declared, capsys: pytest.CaptureFixture[str]) -> None:
    folder = declared()
    for name in ("nord", "sud"):
        assert main(["eis", "upgrade", "--supplier", name]) == ExitCode.OK
        with opened(f"sqlite:///{folder}/{name}/energycomm.db") as engine:
            assert owner_of(engine) == name
    declared(sud='database = "sqlite:///../nord/energycomm.db"\n')
    capsys.readouterr()
    for command in ("eis stats", "message list", "eis upgrade", "eis backup b", "token create x --role operator"):
        assert main([*command.split(), "--supplier", "sud"]) == ExitCode.DATABASE, command
        told = capsys.readouterr()
        assert (told.out, "belongs to another supplier than sud" in told.err) == ("", True)
    assert main(["supplier", "list"]) == ExitCode.DATABASE
    assert "another's" in capsys.readouterr().out


def test_a_store_of_before_is_taken_once_by_who_says_so(declared: Declared, capsys: pytest.CaptureFixture[str]) -> None:
    """Who was alone goes into an installation with the store that is there."""
    folder = declared()
    alone = folder / "nord"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(alone)
        assert main(["eis", "upgrade"]) == ExitCode.OK
    capsys.readouterr()
    assert main(["--supplier", "nord", "eis", "stats"]) == ExitCode.DATABASE
    assert "energycomm --supplier nord eis upgrade" in capsys.readouterr().err
    assert main(["--supplier", "nord", "eis", "upgrade"]) == ExitCode.OK
    assert main(["--supplier=nord", "eis", "stats"]) == ExitCode.OK


def test_a_supplier_is_added_with_a_store_and_nobody_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = ["supplier", "add", "nord", "--title", 'Énergie "Nord"', "--party", NORD, "--url", "https://n.example.org"]
    assert main(typed) == ExitCode.OK
    assert main(["supplier", "add", "sud", "--party", NORD]) == ExitCode.USAGE, "its identifier is nord's"
    assert not (tmp_path / "sud").exists()
    assert main(["supplier", "add", "nord"]) == ExitCode.USAGE
    assert main(["supplier", "add", "No"]) == ExitCode.USAGE
    assert main(["supplier", "add", "sud", "--party", SUD]) == ExitCode.OK
    installation, suppliers = load_apart()
    assert [(one.title, one.parties) for one in installation.suppliers.values()] == [
        ('Énergie "Nord"', (NORD,)), ("", (SUD,)),
    ]  # fmt: skip
    assert oct((tmp_path / "nord" / "energycomm.toml").stat().st_mode & 0o777) == "0o600"
    capsys.readouterr()
    assert main(["supplier", "list", "--tsv"]) == ExitCode.OK
    assert [line.split("\t")[-1] for line in capsys.readouterr().out.splitlines()] == ["store", "ready", "ready"]
    for config in suppliers.values():
        with opened(config.database_url) as engine, engine.connect() as connection:
            held = [connection.exec_driver_sql(f"SELECT count(*) FROM {t}").scalar() for t in ("account", "api_token")]
            assert held == [0, 0]


def test_who_is_alone_is_not_made_one_of_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "energycomm.toml").write_text('database = "sqlite:///a.db"\n')
    assert main(["supplier", "add", "nord"]) == ExitCode.USAGE
    assert "configuration of one supplier" in capsys.readouterr().err
    assert (tmp_path / "energycomm.toml").read_text() == 'database = "sqlite:///a.db"\n'


def test_a_backup_of_one_supplier_is_not_laid_down_at_another(
    declared: Declared, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be refused when it is opened; by then its rows would lie in the other's folder."""
    folder = declared()
    assert main(["--supplier", "nord", "eis", "upgrade"]) == ExitCode.OK
    assert main(["--supplier", "nord", "eis", "backup", "backups"]) == ExitCode.OK
    (backup,) = (folder / "backups").iterdir()
    assert main(["--supplier", "sud", "eis", "restore", str(backup)]) == ExitCode.USAGE
    assert "of another supplier than sud" in capsys.readouterr().err
    assert not (folder / "sud" / "energycomm.db").exists()
    (folder / "nord" / "energycomm.db").rename(folder / "lost")
    for beside in (folder / "nord").glob("energycomm.db-*"):
        beside.unlink()
    assert main(["--supplier", "nord", "eis", "restore", str(backup)]) == ExitCode.OK
    with opened(f"sqlite:///{folder}/nord/energycomm.db", create=False) as engine:
        assert owner_of(engine) == "nord"
