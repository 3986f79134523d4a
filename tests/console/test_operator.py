"""An operator's hour: in a real browser, on the command line, beside a daemon and a service in processes of their own.

With `--pictures FOLDER` (`make screenshots`) the run leaves the pictures of docs/operating.md.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from alembic.config import Config

from alembic import command
from energycomm import cli
from energycomm.eis import migrations
from energycomm.eis.database import opened, writing
from tests.console.onlooker import LAPTOP, Onlooker, by_name
from tests.daemon.test_alarming import Mails
from tests.daemon.test_daemon import get, running_daemon, until
from tests.machine import lacks
from tests.servers.authority import Authority
from tests.servers.gateway import gateway_server
from tests.servers.https import HttpsTestServer, Reply, https_server
from tests.webservice.test_accounts import totp

FIRST_RELEASE = "0011"
"""Revision of the tables of version 0.1."""

OWN, BENS = "Kessel tanzt im Nebel", "Nebel tanzt am Kessel"
C15 = "17XGRIDFICTIF01X_C15_17XLUMINEFICT01X_90000101_0328_00001_20260226051012_00001_00001.xml"

SETTINGS = """
database = "sqlite:///eis.db"
[daemon]
poll_seconds = 0.2
send_seconds = 0.2
tidy_seconds = 1
port = 0
heartbeat = "beat.json"
alarm_seconds = 0.5
[[channels]]
name = "inbox"
market = "FR"
direction = "in"
kind = "folder"
path = "in"
settle = 0
[[channels]]
name = "moved"
market = "NL"
direction = "in"
kind = "folder"
path = "gone"
settle = 0
attempts = 1
break_after = 2
break_for = 600
[notify]
url = "{erp}"
ca_file = "authority/ca.pem"
secret_file = "secret"
[alarms]
after_minutes = 0
email_to = ["ops@house.example"]
email_from = "gateway@house.example"
smtp_host = "127.0.0.1"
smtp_port = {smtp}
smtp_security = "none"
url = "{hook}"
ca_file = "authority/ca.pem"
secret_file = "secret"
"""


def decoded(page: Any, picture: bytes) -> str:
    """What a phone reads in a picture, by a decoder that has nothing to do with the program that drew it."""
    try:
        zxingcpp = import_module("zxingcpp")
    except ImportError:
        lacks("zxing-cpp is not installed (make test installs it)")
    drawn = """async (data) => {
      const image = new Image();
      image.src = "data:image/png;base64," + data;
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height), pen = canvas.getContext("2d");
      pen.drawImage(image, 0, 0);
      const pixels = pen.getImageData(0, 0, image.width, image.height).data;
      return [image.width, Array.from(pixels.filter((_, at) => at % 4 === 1))];
    }"""
    blank = page.context.new_page()
    width, pixels = blank.evaluate(drawn, base64.b64encode(picture).decode())
    blank.close()
    grey = memoryview(bytes(pixels)).cast("B", shape=[len(pixels) // width, width])
    (found,) = zxingcpp.read_barcodes(grey)
    return str(found.text)


class House:
    """A place with a daemon, a service, a back office and the people who are told of alarms."""

    def __init__(self, place: Path, erp: HttpsTestServer, hook: HttpsTestServer, mails: Mails) -> None:
        self.place, self.erp, self.hook, self.mails = place, erp, hook, mails

    def told(self, what: str, code: str) -> bool:
        """Whether people were told of an alarm by mail and by webhook: that it is on, or over."""
        posts = [alarm for one in self.hook.requests for alarm in json.loads(one.content)["alarms"]]
        mails = [re.sub(r"=\r?\n", "", one) for one in self.mails.kept]
        return any((one["code"], one["what"]) == (code, what) for one in posts) and any(
            re.search(rf"^{code} .*: {what} \(since", one, re.MULTILINE) for one in mails
        )


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """A store that version 0.1 made, and the configuration of a house; the command line stands in it."""
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("a secret of some length")
    authority = Authority(tmp_path / "authority")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ENERGYCOMM_DATABASE", raising=False)
    with opened("sqlite:///eis.db", check_references=False) as engine, writing(engine) as connection:
        config = Config()
        config.set_main_option("script_location", str(migrations.scripts()))
        config.attributes["connection"] = connection
        command.upgrade(config, FIRST_RELEASE)
    hook, erp = authority.issue("hook"), authority.issue("erp")
    with https_server(hook, None) as told, https_server(erp, None) as office, Mails() as mails:
        thread = threading.Thread(target=mails.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        made = SETTINGS.format(erp=office.url, hook=told.url, smtp=mails.server_address[1])
        (tmp_path / "energycomm.toml").write_text(made)
        yield House(tmp_path, office, told, mails)
        mails.shutdown()
        thread.join()


@pytest.fixture
def run(house: House, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """A command of the operator; what it printed."""

    def ran(*words: str) -> str:
        capsys.readouterr()
        assert cli.main(list(words)) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return ran


def window(browser: Any, **options: Any) -> Any:
    """A window of somebody, as patient as `until`: what a page waits for is done by a daemon that has to start."""
    context = browser.new_context(locale="en-GB", **options)
    context.set_default_timeout(120_000)
    return context.new_page()


def sign_in(page: Any, name: str, password: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").first.click()


def waits(page: Any, name: str) -> bool:
    """Guess once more; whether the next guess has to wait."""
    sign_in(page, name, "not it")
    page.get_by_role("alert").wait_for()
    return "Too many wrong tries" in page.get_by_role("alert").inner_text()


def choose_password(page: Any, password: str) -> None:
    page.get_by_label("New password").fill(password)
    page.get_by_label("Once more").fill(password)
    page.get_by_role("button", name="Go on").click()


@pytest.mark.thorough
def test_an_operators_hour(
    house: House, run: Callable[..., str], browser: Any, pictures: Path | None, project_root: Path
) -> None:
    assert FIRST_RELEASE in run("eis", "upgrade")
    olga = run("user", "add", "olga", "--role", "operator", "--role", "administrator").split()[0]
    ben = run("user", "add", "ben", "--role", "back_office").split()[0]
    house.erp.otherwise = lambda _: Reply(400, b"unknown event")
    with running_daemon(house.place) as daemon, gateway_server(house.place) as (address, _):
        shutil.copy(project_root / "fixtures" / "fr" / "c15_mistakes.xml", house.place / "in" / C15)
        page = window(browser, viewport=LAPTOP, base_url=address, timezone_id="Europe/Paris")
        page.goto("/channels")
        eyes = Onlooker(page, pictures)
        button = partial(by_name, page, "button")

        # Signing in: a wrong word, the initial password, one of her own, a phone for the codes.
        sign_in(page, "olga", "not it")
        page.get_by_text("The name or the password is wrong.").wait_for()
        assert page.get_by_label("Name").input_value() == "olga"
        eyes.look()
        eyes.wrong.clear()
        sign_in(page, "olga", olga)
        page.get_by_role("heading", name="A password of your own").wait_for()
        eyes.look()
        choose_password(page, OWN)
        page.get_by_role("heading", name="Second factor").wait_for()
        eyes.look()
        found = decoded(page, page.get_by_role("img", name="QR code").screenshot())
        key = re.fullmatch(r"otpauth://totp/EnergyComm%3Aolga\?secret=([A-Z2-7]+)&.*", found)
        assert key, found
        assert page.locator("#key").inner_text().replace(" ", "") == key[1]
        secret = base64.b32decode(key[1] + "=" * (-len(key[1]) % 8))
        page.get_by_role("textbox", name="Code").fill(totp(secret, time.time()))
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Recovery codes").wait_for()
        eyes.look()
        page.get_by_text("I keep them: go on").click()
        page.wait_for_url("**/channels")

        # A folder that is not there: the page says which, and why. It rests, goes on, and is tried at once.
        line = page.locator("tr", has_text="moved")
        line.get_by_text("is not there").wait_for()
        eyes.look()
        until(lambda: house.told("on", "CHANNEL_FAILING"))
        line.get_by_label("Why moved").fill("the folder moves to the new disk")
        button("Pause moved").click()
        line.get_by_text("the folder moves to the new disk").wait_for()
        (house.place / "gone").mkdir()
        button("Resume moved").click()
        button("Try now moved").click()
        page.get_by_text("moved is tried at once").wait_for()
        line.get_by_text("works").wait_for()
        eyes.look("channels")

        # The back office refuses what it is told. Dead notifications are an alarm, and go out again once it is mended.
        until(lambda: "OUTBOX_DEAD" in json.dumps(json.loads((house.place / "beat.json").read_text())))
        page.goto("/state")
        page.get_by_text("OUTBOX_DEAD").first.wait_for()
        eyes.look("health")
        # Somebody guesses Ben's password. They have to wait; his own browser, which is known, goes on.
        his = window(browser, viewport=LAPTOP, base_url=address)
        his.goto("/")
        sign_in(his, "ben", ben)
        choose_password(his, BENS)
        his.get_by_role("button", name="Sign out").click()
        guessing = window(browser, base_url=address)
        guessing.goto("/login")
        until(lambda: waits(guessing, "ben"))
        (known,) = [one for one in his.context.cookies() if one["name"].endswith("energycomm-device")]
        assert (known["httpOnly"], known["sameSite"]) == (True, "Lax")
        sign_in(his, "ben", BENS)
        his.get_by_role("button", name="Sign out").wait_for()
        run("user", "unlock", "ben")
        sign_in(guessing, "ben", BENS)
        guessing.get_by_role("button", name="Sign out").wait_for()

        # People: who is signed in where; Ben's sessions end, and the audit says who did what.
        page.goto("/people")
        assert page.get_by_role("button", name=re.compile("End the session of ben")).count() == 2
        eyes.look("people", phone=True, dark=True)
        button("Sign out ben everywhere").click()
        page.wait_for_url("**/people")
        his.goto("/account")
        his.wait_for_url("**/login**")
        page.goto("/audit")
        page.get_by_label("Person").fill("olga")
        page.get_by_label("Action").select_option("change")
        button("Search").click()
        page.get_by_text("POST /channels/moved/pause").wait_for()
        assert page.get_by_text("POST /people/ben/sign-out").count() == 1
        eyes.look("audit")
        for path in ("/", "/rules", "/documentation", "/account"):
            page.goto(path)
            eyes.look()
        page.goto("/people")
        eyes.walk()
        page.goto("/channels")
        eyes.walk()

        # The back office is mended. What machines read, and what people were told: each alarm, and its end.
        until(lambda: house.told("on", "OUTBOX_DEAD"))
        house.erp.otherwise = lambda _: Reply()
        run("outbox", "retry", "--all")
        beat = json.loads((house.place / "beat.json").read_text())
        assert get(beat["port"], "/health/ready")[0] == 200
        assert "energycomm_" in get(beat["port"], "/metrics")[1]
        until(lambda: house.told("over", "CHANNEL_FAILING") and run("alarm", "list") == "")
        run("eis", "backup", "backups")
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(60) == 0
    assert eyes.report() == ""

    # The disk is lost; the store comes back from the backup, and knows what it knew.
    with sqlite3.connect(house.place / "eis.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    (house.place / "eis.db").rename("lost.db")
    (backup,) = (house.place / "backups").iterdir()
    run("eis", "restore", str(backup))
    run("eis", "compare", "sqlite:///lost.db")
    assert json.loads(run("audit", "verify", "--json"))["flaw"] is None
