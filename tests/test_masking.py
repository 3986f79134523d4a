"""No secret is written anywhere: every form of address, through every way out."""

from __future__ import annotations

import html
import io
import json
import logging
import random
import string
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from energycomm import logs, masking
from energycomm.cli import main
from energycomm.config import load
from energycomm.daemon.alarms import AlarmBook
from energycomm.daemon.supervisor import check
from energycomm.eis import migrations
from energycomm.eis.database import connect, opened
from energycomm.eis.store import Store
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.verdicts import Refusal
from energycomm.masking import MASK, conceal, conceal_address, conceal_environment, is_secret_name, mask, masked
from energycomm.pipeline.batch import Tally
from energycomm.pipeline.records import note
from energycomm.transport.credentials import Secret
from energycomm.webservice.problems import Problem

PLAIN = "Zq7Hw2xK9v"
ODD = "Zq7/w2?K#9:v&L=%+é'"
"""With every sign that means something in an address."""

NOWHERE = "127.0.0.1:1"

DATABASES: dict[str, Callable[[str], str]] = {
    "user and password": lambda s: f"postgresql://u:{quote(s, safe='')}@{NOWHERE}/db",
    "the driver named": lambda s: f"postgresql+psycopg://u:{quote(s, safe='')}@{NOWHERE}/db",
    "the password as it is": lambda s: f"postgresql://u:{s.replace('%', '')}@{NOWHERE}/db",
    "in the query": lambda s: f"postgresql://{NOWHERE}/db?user=u&password={quote(s, safe='')}",
    "in the query, blanks as plus": lambda s: f"postgresql://{NOWHERE}/db?password={quote_plus(s)}&user=u",
    "its name encoded": lambda s: f"postgresql://{NOWHERE}/db?user=u&p%61ssword={quote(s, safe='')}",
    "its name in capitals": lambda s: f"postgresql://{NOWHERE}/db?user=u&PASSWORD={quote(s, safe='')}",
    "of the client's key": lambda s: f"postgresql://u@{NOWHERE}/db?sslpassword={quote(s, safe='')}",
    "of the client's key, with both": lambda s: (
        f"postgresql://u:x@{NOWHERE}/d?sslpassword={quote(s, safe='')}&sslkey=k"
    ),
    "a file of passwords": lambda s: f"postgresql://u@{NOWHERE}/db?passfile=/tmp/{quote(s, safe='')}",
    "an OAuth client": lambda s: f"postgresql://u@{NOWHERE}/db?oauth_client_secret={quote(s, safe='')}",
}
"""Form of address -> how a secret stands in it."""

TEXTS: dict[str, Callable[[str], str]] = {
    "conninfo": lambda s: f"connection to host=h port=1 password={s} dbname=d failed",
    "conninfo, quoted": lambda s: f"host=h password = '{s}' dbname=d",
    "ADO": lambda s: f"Server=h;Password={s};Database=d",
    "SFTP": lambda s: f"cannot reach sftp://user:{s}@host:22/in: refused",
    "FTP": lambda s: f"ftp://user:{s}@host/in",
    "HTTPS with a user": lambda s: f"GET https://user:{s}@host/in 401",
    "HTTPS with a token": lambda s: f"GET https://{s}@host/in 401",
    "proxy": lambda s: f"ProxyError: http://user:{s}@proxy:3128",
    "SMTP": lambda s: f"smtp://mailer:{s}@mail.example:587",
    "token": lambda s: f"https://hook.example/in?a=1&token={s}&b=2",
    "access token": lambda s: f"https://hook.example/in?access_token={s}",
    "API key": lambda s: f"https://hook.example/in?api_key={s}#top",
    "short key": lambda s: f"https://hook.example/in?key={s}",
    "shared access": lambda s: f"https://x.blob.example/y?sv=1&sig={s}&se=2",
    "signed by Amazon": lambda s: f"https://s3.example/y?X-Amz-Credential={s}&X-Amz-Date=1",
    "an address as a value": lambda s: f"url=postgresql://h/d?user=u&password={s}",
    "an address within an address": lambda s: f"https://h:80/x,postgresql://u:{s}@h",
    "an address in a list": lambda s: f"['https://h:80/x','postgresql://h/d?password={s}']",
    "a value after another": lambda s: f"x=y,password={s}",
    "written in HTML": lambda s: f"https://x.example/y?a=1&amp;token={s}&amp;b=1",
    "bearer": lambda s: f"sent Authorization: Bearer {s}",
    "bearer alone": lambda s: f"the server refused bearer {s}",
    "basic": lambda s: f"Authorization: Basic {s}",
    "cookie": lambda s: f"Set-Cookie: energycomm={s}; HttpOnly",
    "GitLab": lambda s: f"PRIVATE-TOKEN: {s}",
    "environment": lambda s: f"PGPASSWORD={s} psql",
    "JSON": lambda s: json.dumps({"user": "u", "client_secret": s}),
    "a dictionary of Python": lambda s: repr({"user": "u", "password": s}),
    "TOML": lambda s: f'password = "{s}"',
    "our API token": lambda s: f"the token ec_{s * 4} is unknown",
}
"""Kind of text -> a text that holds a secret nobody told us of."""


@pytest.mark.parametrize("form", TEXTS)
def test_a_secret_that_nobody_told_us_of_is_known_by_its_place(form: str) -> None:
    """Drivers and libraries repeat addresses; the rest of the words stays."""
    text = TEXTS[form](PLAIN)
    shown = mask(text)
    assert PLAIN not in shown
    assert MASK in shown
    assert shown[:3] == text[:3] or "://" in text
    assert mask(shown) == shown, "twice is once"


@pytest.mark.parametrize("form", DATABASES)
def test_an_address_keeps_its_server_and_loses_its_secret(form: str) -> None:
    shown = mask(DATABASES[form](PLAIN))
    assert PLAIN not in shown
    assert NOWHERE in shown


@pytest.mark.parametrize(
    "text",
    [
        "https://host:8080/users/a@b",
        "sqlite:////var/lib/energycomm/eis.db",
        "postgresql://u@host/db",
        "max_tokens = 256, token_sign_in = True, password_file = /run/secrets/db, token_env = HOOK",
        "password: /run/secrets/db: No such file or directory",
        "code=FR-R03 key=17 envelope=4",
        '<NeMDS xmlns="https://energycomm.example/kernel/1">a@b</NeMDS>',
        "the token is unknown, expired or revoked",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert mask(text) == text


def test_names_say_what_is_secret() -> None:
    for name in ("password", "PGPASSWORD", "sslpassword", "passfile", "client_secret", "X-Amz-Signature", "apiKey"):
        assert is_secret_name(name), name
    for name in ("PWD", "password_file", "token_env", "tokens", "keys", "primary_key", "code", "user"):
        assert not is_secret_name(name), name
    assert is_secret_name("sig", in_query=True)
    assert is_secret_name("p%61ssword")


SIGNS = string.ascii_letters + string.digits + "!\"#$%&'()+,-./:;<=>?@[\\]^_`{|}~ éß€"


@settings(max_examples=300, deadline=None)
@given(st.text(SIGNS, min_size=8, max_size=30).filter(lambda t: t.strip() == t and t.lower() not in masking.ORDINARY))
def test_a_secret_that_is_known_is_masked_in_whatever_writing(secret: str) -> None:
    """As it is, percent-encoded, in JSON, in a representation, in HTML; whatever stands around it."""
    masking.forget_secrets()
    conceal(secret)
    for writing in (str, quote, quote_plus, json.dumps, repr, html.escape, lambda text: quote(text, safe="")):
        written = writing(secret)
        inner = written[1:-1] if writing in (json.dumps, repr) else written
        assert inner not in mask(f"it said ({written}), and {written}x again")


def test_no_name_of_a_secret_is_overlooked_for_speed() -> None:
    """Every ending, with and without signs between its words, is looked for."""
    for ending in masking.ENDINGS:
        for name in (ending, f"my_{ending}", ending.replace("key", "_key").replace("id", "-id"), f"MY{ending.upper()}"):
            assert mask(f"{name}={PLAIN}") == f"{name}={MASK}"


def test_short_and_ordinary_secrets_do_not_blank_the_log() -> None:
    """They are masked in their place; as words they would be found everywhere."""
    conceal("db")
    conceal("energycomm")
    conceal_address("postgresql://billing:billing@host/billing")
    assert mask("energycomm: the table of billing in db") == "energycomm: the table of billing in db"
    assert mask("postgresql://billing:billing@host/billing") == f"postgresql://billing:{MASK}@host/billing"
    conceal("x9kq")
    assert mask("x9kq and ax9kqb") == f"{MASK} and ax9kqb"


def test_what_is_read_as_a_secret_is_known_from_then_on(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{PLAIN}\nsecond-{PLAIN[::-1]}\n", "utf-8")
    Secret("token", tmp_path / "token").read()
    assert mask(f"{PLAIN} second-{PLAIN[::-1]}") == f"{MASK} {MASK}"


def test_the_environment_is_known() -> None:
    """Of PostgreSQL, of proxies, of whatever names itself a token."""
    conceal_environment({"PGPASSWORD": "Aa1-postgres", "HTTPS_PROXY": "http://u:Bb2-proxy@p", "CI_TOKEN": "Cc3-token"})
    assert mask("Aa1-postgres Bb2-proxy Cc3-token") == f"{MASK} {MASK} {MASK}"


def test_the_path_of_a_webhook_is_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Services for chats put the token into the path."""
    monkeypatch.chdir(tmp_path)
    token = "XyZ" + PLAIN * 2
    (tmp_path / "energycomm.toml").write_text(
        f'[notify]\nurl = "https://hooks.example/services/T0/{token}"\nsecret_env = "HOOK"\n', "utf-8"
    )
    load()
    assert mask(f"ConnectError: /services/T0/{token}") == f"ConnectError: /services/T0/{MASK}"


# --- every way out ---


def secrets_of(form: str) -> tuple[str, str]:
    """A fresh secret and the address that holds it."""
    draw = random.Random(form)
    secret = "".join(draw.choices(string.ascii_letters, k=6)) + (ODD if "as it is" not in form else "/w?K#9")
    return secret, DATABASES[form](secret)


def writings(secret: str) -> set[str]:
    """What must not be seen: the secret, and what is left of it in any usual encoding."""
    return {secret[:6], secret, quote(secret), quote(secret, safe=""), quote_plus(secret)}


def refused(secret: str, *texts: str) -> None:
    for text in texts:
        assert [one for one in writings(secret) if one in text] == []


@pytest.mark.parametrize("form", DATABASES)
def test_no_command_shows_the_password_of_the_database(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """On standard output and standard error, in tables, JSON, errors and the log."""
    secret, address = secrets_of(form)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", address)
    monkeypatch.setenv("COLUMNS", "300")
    for command in (["config", "show"], ["config", "show", "--json"]):
        assert main(command) == ExitCode.OK
    for command in (["eis", "upgrade"], ["message", "list"], ["serve", "--port", "0"]):
        assert main(command) == ExitCode.DATABASE, command
    seen = capfd.readouterr()
    assert NOWHERE in seen.out, "the address itself is shown"
    refused(secret, seen.out, seen.err)


@pytest.mark.parametrize("form", DATABASES)
@pytest.mark.parametrize("writing", ["json", "text"])
def test_no_line_of_the_log_and_no_alarm_shows_it(form: str, writing: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Not in fields, lists, tracebacks, lines of libraries; not of a daemon that waits for its database."""
    secret, address = secrets_of(form)
    logs.configure(writing, "debug")
    log = structlog.get_logger()
    conceal_address(address)
    try:
        raise ValueError(f"cannot connect to {address}")
    except ValueError as error:
        log.error("lost", address=address, several=[{"at": address}], error=error, exc_info=True)
    logging.getLogger("driver").error("lost %s", address)
    with pytest.raises(UserError) as caught:
        connect(address)
    book = AlarmBook(0, lambda: 0.0)
    book.say("DATABASE_LOST", "database", "supervisor", True, f"{address}: {caught.value}")
    detail = next(iter(book.on.values())).detail
    problem = Problem("API_REFUSED", f"cannot use {address}", value=address, advice=address).details("/api/v1")
    seen = capfd.readouterr()
    assert "DATABASE_LOST" in seen.err
    refused(secret, seen.err, seen.out, detail, str(caught.value), repr(caught.value), repr(problem))


def test_a_daemon_that_waits_for_its_database_says_nothing_of_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    secret, address = secrets_of("in the query")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", address)
    logs.configure("json", "info")
    check(load())
    seen = capfd.readouterr().err
    assert "database.lost" in seen
    refused(secret, seen)


def test_what_forgets_to_mask_is_masked_by_the_stream(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A traceback of a mistake of ours, and a plain print, of a command that knows nothing of masks."""
    monkeypatch.setenv("PGPASSWORD", PLAIN)

    def broken(*_: object, **__: object) -> None:
        print(f"with {PLAIN}")
        raise RuntimeError(f"no route to {PLAIN}, postgresql://u:other-{PLAIN}@h/d")

    monkeypatch.setattr("energycomm.cli.app", broken)
    assert main([]) == ExitCode.INTERNAL
    seen = capfd.readouterr()
    assert seen.out == f"with {MASK}\n"
    assert "RuntimeError" in seen.err
    assert PLAIN not in seen.err


def test_an_incident_in_the_store_holds_no_secret(database_url: str) -> None:
    told = f"https://u:{PLAIN}@erp.example/?token={PLAIN}"
    with opened(database_url) as engine:
        migrations.upgrade(engine)
        store = Store(engine)
        note(store, Tally(), None, Refusal(code="ENV_PUT_ASIDE", value=told), "error")
        with store.transaction() as tx:
            rows = tx.driver.rows("SELECT value FROM incident")
    assert rows[0][0] == f"https://{MASK}@erp.example/?token={MASK}"


def test_a_new_token_is_shown_to_whoever_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, by the command that makes it."""
    monkeypatch.chdir(tmp_path)
    assert main(["eis", "upgrade"]) == ExitCode.OK
    capsys.readouterr()
    assert main(["token", "create", "anna", "--role", "operator", "--json"]) == ExitCode.OK
    made = json.loads(capsys.readouterr().out)["token"]
    assert made.startswith("ec_")
    assert mask(f"refused {made}") == f"refused {MASK}"


def test_values_of_any_depth_are_masked() -> None:
    assert masked({"a": [f"password={PLAIN}"], "token": PLAIN, "n": 3, "path": Path("x")}) == {
        "a": [f"password={MASK}"],
        "token": MASK,
        "n": 3,
        "path": "x",
    }


def test_a_setting_that_does_not_exist_never_shows_its_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password under a name that is no setting is a password all the same."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "energycomm.toml").write_text(f'passwort = "{PLAIN}"\n[notify]\nsecret = "{PLAIN}"\n', "utf-8")
    with pytest.raises(UserError) as caught:
        load()
    assert "notify.secret" in str(caught.value)
    assert PLAIN not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 400_000 + "://",
        "password" * 50_000 + "=",
        "x://" + "a:" * 200_000 + "@",
        "://" * 100_000,
        "x://b:" * 70_000,
        "a@" + "x://b:" * 70_000,
        "x://b:1/" * 50_000 + "@",
        "password='" * 40_000,
        "'" * 400_000 + "://",
        "password=\\" * 40_000,
        "x-" * 200_000 + "://:",
        "&a" * 100_000 + "password=",
        "password=" + "&;" * 200_000,
        "bearer " * 60_000,
    ],
    ids=lambda text: text[:12],
)
def test_no_text_takes_long(text: str) -> None:
    """Whatever a stranger sends that ends in an error: each sign is read a few times, not once for each other sign."""
    began = time.process_time()
    mask(text)
    assert time.process_time() - began < 10, "a minute and more where the work grows with the square"


def test_streams_keep_what_they_are() -> None:
    """Bytes, encodings and files under them are not touched."""
    raw = io.BytesIO()
    stream = masking.MaskedStream(io.TextIOWrapper(raw, "utf-8"))
    assert stream.write(f"password={PLAIN}") == len(f"password={PLAIN}")
    stream.flush()
    stream.buffer.write(PLAIN.encode())
    assert (stream.encoding, raw.getvalue()) == ("utf-8", f"password={MASK}{PLAIN}".encode())
