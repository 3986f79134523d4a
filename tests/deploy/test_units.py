"""The units, proxies and services that are shipped name commands that there are, and their programs take them."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import typer
import yaml

from energycomm import cli
from energycomm.errors import ExitCode
from tests.machine import program
from tests.test_recorded_commands import commands

PROGRAM = "/opt/energycomm/bin/energycomm"
HARDENED = ("NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "CapabilityBoundingSet=", "UMask=0077")


def unknown(words: list[str]) -> list[str]:
    """What of a command line of ours there is not."""
    known = dict(commands(typer.main.get_command(cli.app)))
    for length in range(len(words), 0, -1):
        if (found := known.get(" ".join(words[:length]))) is not None:
            options = {option for param in found.params for option in param.opts}
            return [word for word in words[length:] if word.startswith("--") and word not in options]
    return words


def units(project_root: Path, kind: str) -> list[Path]:
    return sorted((project_root / "deploy").glob(f"*.{kind}"))


def test_an_unknown_command_would_be_found() -> None:
    assert unknown(["eis", "backup", "x", "--keep", "3"]) == []
    assert unknown(["eis", "backup", "x", "--keeep", "3"]) == ["--keeep"]
    assert unknown(["eis", "bakcup"]) == ["eis", "bakcup"]


@pytest.mark.thorough
def test_every_unit_starts_a_command_that_there_is(project_root: Path) -> None:
    for unit in units(project_root, "service"):
        text = unit.read_text("utf-8")
        (line,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
        program, *words = shlex.split(line)
        assert (program, unknown(words)) == (PROGRAM, []), unit.name
        assert [one for one in HARDENED if f"\n{one}" not in text] == [], unit.name


def test_units_may_write_where_the_pages_say_that_files_are(project_root: Path) -> None:
    """Examples are copied: a folder that is read-only to the daemon would fail at the first file."""
    text = "".join(unit.read_text("utf-8") for unit in units(project_root, "service"))
    writable = [path.removeprefix("-") for path in re.findall(r"^ReadWritePaths=(.*)$", text, re.MULTILINE)]
    pages = "".join(page.read_text("utf-8") for page in sorted((project_root / "docs").glob("*.md")))
    named = set(re.findall(r"(?:path|folder|archive|spool) = \"(/[^\"]*)\"", pages))
    assert "/srv/energycomm/inbox" in named
    places = ("/var/lib/energycomm", *writable)
    assert [path for path in sorted(named) if path.startswith("/srv") and not path.startswith(places)] == []
    assert "/srv/backups/energycomm" in writable


def test_what_a_wrong_setting_ended_is_not_started_again(project_root: Path) -> None:
    for name in ("energycomm", "energycomm-web"):
        text = (project_root / "deploy" / f"{name}.service").read_text("utf-8")
        assert f"\nRestartPreventExitStatus={int(ExitCode.USAGE)}\n" in text


def test_every_timer_has_its_service(project_root: Path) -> None:
    timers = units(project_root, "timer")
    assert {timer.stem for timer in timers} == {"energycomm-alarms", "energycomm-backup", "energycomm-loop"}
    for timer in timers:
        assert timer.with_suffix(".service").is_file()
        assert re.search(r"^On\w+=", timer.read_text("utf-8"), re.MULTILINE)


def instructions(project_root: Path) -> list[tuple[str, str]]:
    """The instructions of the Containerfile, in order: name and the rest, continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", (project_root / "deploy" / "Containerfile").read_text("utf-8"), flags=re.MULTILINE)
    lines = [line.partition(" ") for line in text.replace("\\\n", " ").splitlines() if line]
    return [(name, " ".join(rest.split())) for name, _, rest in lines]


@pytest.mark.thorough
def test_every_service_of_the_compose_file_starts_a_command_that_there_is(project_root: Path) -> None:
    content = yaml.safe_load((project_root / "deploy" / "compose.yaml").read_text("utf-8"))
    ours = {name: one for name, one in content["services"].items() if "build" in one}
    assert {"upgrade", "daemon", "web", "backup", "assistant"} == set(ours)
    stages = {rest.partition(" AS ")[2] for name, rest in instructions(project_root) if name == "FROM"}
    for name, one in ours.items():
        assert unknown(one.get("command", [])) == [], name
        assert (project_root / "deploy" / one["build"]["context"] / one["build"]["dockerfile"]).is_file()
        assert one["build"]["target"] in stages
        hardened = (one["read_only"], one["cap_drop"], one["security_opt"], one["logging"]["options"]["max-size"])
        assert hardened == (True, ["ALL"], ["no-new-privileges:true"], "50m"), name
    for words in (json.loads(rest) for name, rest in instructions(project_root) if name == "CMD"):
        assert unknown(words) == []


def test_what_the_image_copies_is_there(project_root: Path) -> None:
    """`make containers` runs the steps, which takes minutes and a container engine."""
    steps = instructions(project_root)
    copied = [shlex.split(rest)[:-1] for name, rest in steps if name == "COPY" and "--from" not in rest]
    assert [one for words in copied for one in words if not (project_root / one).exists()] == []
    assert steps[-1][0] == "CMD"
    assert [rest for name, rest in steps if name == "FROM"][-1] == "runtime AS gateway", (
        "built where no target is named"
    )


def taken(package: str, *words: str | Path) -> None:
    """A program of a package takes what is given to it."""
    found = program(str(words[0]), package)
    done = subprocess.run([found, *map(str, words[1:])], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_systemd_takes_the_units(project_root: Path, tmp_path: Path) -> None:
    for unit in (*units(project_root, "service"), *units(project_root, "timer")):
        (tmp_path / unit.name).write_text(unit.read_text("utf-8").replace(PROGRAM, "/bin/true"))
    taken("systemd", "systemd-analyze", "verify", "--man=no", *sorted(tmp_path.iterdir()))
    for service in sorted(tmp_path.glob("*.service")):
        # Of ten; 2.4 today. What a unit is exposed to more has a reason, and a new number here.
        taken("systemd", "systemd-analyze", "security", "--offline=true", "--threshold=25", service)


def test_caddy_takes_its_file(project_root: Path) -> None:
    taken("caddy", "caddy", "validate", "--adapter", "caddyfile", "--config", project_root / "deploy" / "Caddyfile")


def test_nginx_takes_its_file(project_root: Path, tmp_path: Path) -> None:
    key = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=energycomm"]
    taken("openssl", *key, "-keyout", tmp_path / "privkey.pem", "-out", tmp_path / "fullchain.pem")
    text = (project_root / "deploy" / "nginx.conf").read_text("utf-8").replace("/etc/energycomm/tls", str(tmp_path))
    text = text.replace("listen 80;", "listen 127.0.0.1:18080;").replace("listen 443 ", "listen 127.0.0.1:18443 ")
    (tmp_path / "site.conf").write_text(text)
    places = " ".join(
        f"{one}_temp_path {tmp_path}/{one};" for one in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ access_log off; {places} include site.conf; }}"
    (tmp_path / "main.conf").write_text(main)
    taken("nginx-light", "nginx", "-t", "-c", tmp_path / "main.conf")
