"""Build the images of `deploy/` and start its compose file in an engine of containers: `make containers`, as root.

The engine is Debian's (`docker.io`, `docker-compose`) and one of its own: in a network namespace, out of which
slirp4netns leads, so that it takes no port and changes no rule of this machine. The base image is a fresh Debian 12 and
its Python; PostgreSQL is that of Debian, behind a stand-in for the official image (`postgres/Containerfile`). Both are
pushed to a registry of the namespace, which gives them the digests that the build asks for.

What is tried, in this order: the images are built; everything starts until the health checks of the file pass; the
processes are who they are to be and cannot write where they must not; an envelope that is put into the mounted inbox is
stored and told; a backup is made; everything stops in order; the database is lost, and comes back from the backup. With
`--assistant`, the assistant's image too: its index, its service behind the sign-in, an answer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "dockerd": "docker.io",
    "docker-compose": "docker-compose",
    "docker-registry": "docker-registry",
    "debootstrap": "debootstrap",
    "slirp4netns": "slirp4netns",
    "iptables": "iptables",
    "ip": "iproute2",
}
REGISTRY = "127.0.0.1:5000"
POSTGRES_MAJOR = "15"
USER = 10001
OF_THIS_MACHINE = ("etc/pip.conf", "etc/ssl/certs/ca-certificates.crt")
"""Files without which this machine's registries are not reached from the base image. The variable WHEELS names folders
that the settings of pip name: where torch for the CPU is, for example."""

SETTINGS = """
[daemon]
poll_seconds = 1
token_file = "secrets/metrics.token"
[notify]
folder = "/srv/energycomm/told"
[[channels]]
name = "inbox"
market = "FR"
direction = "in"
kind = "folder"
path = "/srv/energycomm/inbox"
settle = 0
"""


def run(*words: str | Path, **more: str) -> str:
    """Run a command that must succeed; what it printed.

    Args:
      words: the command.
      more: variables of its environment.
    """
    environment = {**os.environ, **more}
    done = subprocess.run(
        [*map(str, words)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{shlex.join(map(str, words))}\n{done.stdout[-6000:]}\nended with {done.returncode}")
    return done.stdout


def until(what: str, good: Callable[[], object], seconds: float = 180) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError):
            if good():
                return ok(what)
        time.sleep(0.5)
    raise SystemExit(f"within {seconds:g} s it did not happen that {what}")


def ok(what: str) -> None:
    """Say what was seen."""
    print(f"  {what}", flush=True)


def step(what: str) -> None:
    """Say what is done next."""
    print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)


@contextlib.contextmanager
def running(log: Path, *words: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server beside us, ended in the end."""
    with log.open("wb") as file:
        process = subprocess.Popen([*map(str, words)], stdout=file, stderr=file)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def base(place: Path) -> Path:
    """The files of the base image: made once, kept in PLACE."""
    root = place / "base"
    if not (root / "made").exists():
        step("a fresh Debian, by debootstrap")
        shutil.rmtree(root, ignore_errors=True)
        packages = "python3,python3-venv,ca-certificates"
        run("debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", root)
        (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
        for name in OF_THIS_MACHINE:
            if Path("/", name).is_file():
                shutil.copyfile(Path("/", name), root / name)
        settings = Path.home() / ".config" / "pip" / "pip.conf"
        if settings.is_file():
            (root / "root" / ".config" / "pip").mkdir(parents=True, exist_ok=True)
            shutil.copy(settings, root / "root" / ".config" / "pip")
        for folder in os.environ.get("WHEELS", "").split():
            shutil.copytree(folder, root / folder.lstrip("/"), dirs_exist_ok=True)
        (root / "made").touch()
    return root


def pushed(name: str) -> str:
    """Push an image to the registry; its name by digest."""
    run("docker", "push", f"{REGISTRY}/{name}")
    shown = run("docker", "image", "inspect", f"{REGISTRY}/{name}", "--format", "{{index .RepoDigests 0}}")
    return shown.strip()


def checkout(place: Path) -> Path:
    """The files of this checkout that git knows, as in a fresh clone."""
    clone = place / "clone"
    shutil.rmtree(clone, ignore_errors=True)
    names = run("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)
    return clone


class Composed:
    """The services of the compose file.

    Args:
      deploy: the folder `deploy/` of a checkout.
    """

    def __init__(self, deploy: Path) -> None:
        self.deploy = deploy

    def __call__(self, *words: str) -> str:
        """Run a command of docker-compose."""
        path = f"/usr/bin:/usr/sbin:{os.environ['PATH']}"  # its own client knows how to build by BuildKit
        more = {"PATH": path, "DOCKER_BUILDKIT": "1", "COMPOSE_DOCKER_CLI_BUILD": "1", "COMPOSE_PROJECT_NAME": "ec"}
        return run("docker-compose", "-f", self.deploy / "compose.yaml", *words, **more)

    def inspect(self, service: str, what: str) -> str:
        """Something of a service's container, as a template of `docker inspect` names it."""
        number = self("ps", "--all", "--quiet", service).strip()
        return run("docker", "inspect", "--format", what, number).strip() if number else ""

    def is_healthy(self, service: str) -> bool:
        """Its health check passes."""
        return self.inspect(service, "{{.State.Health.Status}}") == "healthy"

    def inside(self, service: str, command: str) -> str:
        """The output of a shell command in a service's container."""
        return self("exec", "-T", service, "sh", "-c", command).strip()


def prepare(deploy: Path, images: dict[str, str]) -> None:
    """What docs/operating.md says to put into `deploy/` before the start."""
    for name in ("secrets", "exchange/inbox", "exchange/told", "backups", "documents"):
        (deploy / name).mkdir(parents=True)
    (deploy / ".env").write_text("".join(f"{name}={value}\n" for name, value in images.items()))
    (deploy / "database.secret").write_text("not-guessed")
    (deploy / "database.env").write_text(
        "ENERGYCOMM_DATABASE=postgresql://energycomm:not-guessed@database/energycomm\n"
    )
    (deploy / "energycomm.toml").write_text(SETTINGS)
    (deploy / "secrets" / "metrics.token").write_text("a-token-of-the-rehearsal")
    for name in ("secrets", "exchange", "backups"):
        for path in (deploy / name, *(deploy / name).rglob("*")):
            os.chown(path, USER, USER)
            path.chmod(0o700 if path.is_dir() else 0o600)


def answer(address: str, token: str = "") -> int:
    """The status code of a page."""
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=10) as found:
            return int(found.status)
    except urllib.error.HTTPError as error:
        return error.code


def refused(compose: Composed, service: str, path: str) -> None:
    """A service cannot write a file."""
    said = compose.inside(service, f"touch {path} 2>&1 && echo written || true")
    if "written" in said:
        raise SystemExit(f"{service} can write {path}")
    ok(f"{service} cannot write {path}")


def counted(compose: Composed) -> dict[str, object]:
    """What the store holds; its sizes are the database's own business."""
    found = json.loads(compose("exec", "-T", "daemon", "energycomm", "eis", "stats", "--json"))
    return {name: found[name] for name in ("messages", "codes", "envelopes", "notifications")}


def try_gateway(compose: Composed) -> None:
    """From the start to the stop, the loss of the database and the way back."""
    deploy = compose.deploy
    step("start, by compose.yaml")
    compose("up", "--detach")
    for service in ("database", "daemon", "web"):
        until(f"{service} is healthy", lambda service=service: compose.is_healthy(service))  # type: ignore[misc]
    if compose.inspect("upgrade", "{{.State.Status}} {{.State.ExitCode}}") != "exited 0":
        raise SystemExit("the upgrade did not end well before the others began")
    ok("upgrade ended before, with exit code 0")
    step("who runs, and what is written")
    for service in ("daemon", "web"):
        if compose.inside(service, "id -u") != str(USER):
            raise SystemExit(f"{service} runs as another user")
        for path in ("/opt/energycomm/x", "/etc/energycomm/secrets/x", "/usr/x"):
            refused(compose, service, path)
    step("an envelope in the inbox")
    inbox, told = deploy / "exchange" / "inbox", deploy / "exchange" / "told"
    # Its sender writes it under a hidden name, and renames it.
    shutil.copy(ROOT / "fixtures" / "fr" / "c15_entries.xml", inbox / ".c15_entries.xml")
    os.chown(inbox / ".c15_entries.xml", USER, USER)
    (inbox / ".c15_entries.xml").rename(inbox / "c15_entries.xml")
    until("it is done", lambda: (inbox / "done" / "c15_entries.xml").exists())
    until("the back office is told of its messages", lambda: any(told.iterdir()))
    until(
        "metrics answer who has the token",
        lambda: answer("http://127.0.0.1:9464/metrics", "a-token-of-the-rehearsal") == 200,
    )
    until("and nobody else", lambda: answer("http://127.0.0.1:9464/metrics") == 401)
    until("the web services answer on their port", lambda: answer("http://127.0.0.1:8080/health/ready") == 200)
    step("a backup, verified")
    before = counted(compose)
    compose("run", "--rm", "backup")
    ok(compose("run", "--rm", "backup", "eis", "backups", "/srv/backups", "--verify").strip().splitlines()[-1])
    (kept,) = (one.name for one in (deploy / "backups").iterdir() if not one.name.startswith("."))
    step("stop")
    compose("stop")
    codes = {service: compose.inspect(service, "{{.State.ExitCode}}") for service in ("daemon", "web", "database")}
    if set(codes.values()) != {"0"}:
        raise SystemExit(f"they did not stop in order: {codes}\n{compose('logs', '--tail', '20')}")
    ok("daemon, web and database ended with exit code 0")
    step("the database is lost, and comes back from the backup")
    compose("down", "--volumes")
    compose("up", "--detach", "database")
    until("a new database is healthy", lambda: compose.is_healthy("database"))
    compose("run", "--rm", "backup", "eis", "restore", f"/srv/backups/{kept}")
    compose("up", "--detach")
    until("daemon is healthy", lambda: compose.is_healthy("daemon"))
    if (after := counted(compose)) != before or not before["messages"]:
        raise SystemExit(f"the restored store counts otherwise: {after}, before: {before}")
    ok("the restored store counts as the one before")
    compose("down", "--volumes")


def try_assistant(compose: Composed) -> None:
    """Its image, an index, the service, a question."""
    step("build the assistant: 400 MB")
    with (compose.deploy / "energycomm.toml").open("a") as file:
        file.write("[web]\ntoken_sign_in = true\n")
    shutil.copy(ROOT / "docs" / "operating.md", compose.deploy / "documents")
    compose("build", "assistant")
    step("index and ask")
    ok(compose("run", "--rm", "assistant", "assistant", "index", "/srv/documents").strip().splitlines()[-1])
    said = compose("run", "--rm", "assistant", "assistant", "ask", "What does the alarm DISK_LOW mean?")
    if "disk" not in said.lower():
        raise SystemExit(f"the assistant said: {said}")
    ok("it answers from the documents")
    compose("--profile", "assistant", "up", "--detach", "assistant")
    until("assistant is healthy", lambda: compose.is_healthy("assistant"))
    refused(compose, "assistant", "/opt/energycomm/x")
    compose("stop")
    if compose.inspect("assistant", "{{.State.ExitCode}}") != "0":
        raise SystemExit("the assistant did not stop in order")
    ok("it stops with exit code 0")
    compose("--profile", "assistant", "down", "--volumes")


def rehearse(place: Path, assistant: bool) -> None:
    """Everything, inside the namespace."""
    run("ip", "link", "set", "lo", "up")
    os.environ["DOCKER_HOST"] = f"unix://{place}/engine.sock"
    engine = ("--data-root", place / "engine", "--exec-root", place / "run", "--pidfile", place / "engine.pid")
    registry = place / "registry.yaml"
    registry.write_text(
        f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {place}/registry}}}}\nhttp: {{addr: '{REGISTRY}'}}\n"
    )
    # The parent has joined this namespace by then and leads out of it.
    until("the namespace leads out", lambda: "tap0" in run("ip", "link"))
    with (
        running(place / "engine.log", "dockerd", *engine, "--host", os.environ["DOCKER_HOST"]),
        running(place / "registry.log", "docker-registry", "serve", registry),
    ):
        until("the engine answers", lambda: subprocess.run(["docker", "info"], capture_output=True).returncode == 0)
        if f"{REGISTRY}/python" not in run(
            "docker", "image", "ls"
        ):  # that of an earlier run keeps what was built on it
            pack = f'tar --create --directory "$0" . | docker import - {REGISTRY}/python'
            run("sh", "-c", pack, base(place))
        images = {"BASE": pushed("python"), "POSTGRES_MAJOR": POSTGRES_MAJOR}
        step("a stand-in for the image of PostgreSQL")
        built = [word for name in images for word in ("--build-arg", f"{name}={images[name]}")]
        folder = ROOT / "tests" / "deploy" / "postgres"
        client = {"DOCKER_BUILDKIT": "1", "PATH": f"/usr/bin:{os.environ['PATH']}"}
        run("docker", "build", *built, "-f", folder / "Containerfile", "-t", f"{REGISTRY}/postgres", folder, **client)
        images["POSTGRES"] = pushed("postgres")
        compose = Composed(checkout(place) / "deploy")
        prepare(compose.deploy, images)
        try:
            step("build the gateway's image, by compose.yaml")
            compose("build")
            try_gateway(compose)
            if assistant:
                try_assistant(compose)
        except BaseException:
            with contextlib.suppress(SystemExit):
                print(compose("logs", "--no-color", "--tail", "40"))
            raise
        finally:
            with contextlib.suppress(SystemExit):
                compose("--profile", "assistant", "down", "--volumes")
    print("the images are built; compose.yaml starts, works, is backed up, stops in order and is restored", flush=True)


def main() -> None:
    """Start the rehearsal in a namespace of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--place", type=Path, default=ROOT / "build" / "containers", help="Folder that may be removed.")
    parser.add_argument("--assistant", action="store_true", help="The assistant's image too; some minutes more.")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    place: Path = given.place.resolve()
    place.mkdir(parents=True, exist_ok=True)
    if given.inside:
        return rehearse(place, given.assistant)
    missing = sorted({package for name, package in PROGRAMS.items() if shutil.which(name) is None})
    if missing or os.geteuid() != 0:
        raise SystemExit(f"Run it as root, with: apt-get install --no-install-recommends {' '.join(missing)}")
    words = [sys.executable, "-m", "tests.deploy.containers", "--inside", f"--place={place}"]
    words += ["--assistant"] if given.assistant else []
    inside = subprocess.Popen(["unshare", "--net", "--mount", *words], cwd=ROOT)
    time.sleep(1)  # unshare has made the namespace
    with running(place / "slirp.log", "slirp4netns", "--configure", "--mtu=65520", str(inside.pid), "tap0"):
        code = inside.wait()
    raise SystemExit(code)


if __name__ == "__main__":
    main()
