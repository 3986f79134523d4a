"""The markets around the daemon under chaos: the servers that they run, what they send, and how they answer requests.

France: envelopes in a folder and on an SFTP server, requests to a SOAP service. The Netherlands: envelopes pushed
and on the SFTP server, requests to a SOAP service, queries in a folder. Belgium: a message queue, both ways. Denmark:
queues over HTTP, out of which a document is removed by its identifier, and requests to the same service. Servers fail
while there is trouble: they hang up before they did anything or after, and say that they are out of order.
"""

from __future__ import annotations

import contextlib
import queue
import random
import re
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from energycomm.simulation.answering import Asked, Clerk, Delivery, Document, Manners, answer
from energycomm.simulation.port import load_simulator
from energycomm.transport.messagequeue import QueueNames
from tests.servers.authority import Authority
from tests.servers.httpqueue import CLIENT, SECRET, TOKEN_PATH, HttpQueueBehaviour
from tests.servers.https import HttpsTestServer, Reply, Request, https_server
from tests.servers.queueservice import QueueBehaviour
from tests.servers.sftp import SftpTestServer

MARKETS = ("FR", "NL", "BE", "DK")
QUEUE = QueueNames(namespace="urn:be:atrias:b2b:messageservice:1", confirm="ConfirmMessageRequest")
MANNERS = Manners(refuse=0.25, twice=0.25, disorder=0.3)
BEGUN = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
"""When the markets of the simulation receive the first request; each further one a minute later."""
TOKEN = "the token of the partner"
REFERENCE = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
COLLECTED = {"queries": "NL"}
"""Folder in which we leave requests -> the market that takes them."""
HUB_QUEUES = {"sums": re.compile("Aggregated|Wholesale"), "measures": re.compile("Measure|TimeSeries"), "points": None}
"""Queue of the hub -> what stands in the names of the documents in it; the last one has the others."""
LATE = 6.0
"""Longest time, in seconds, that a document of an answer takes to arrive."""


class Envelope(NamedTuple):
    """What a market sends: its name and bytes."""

    name: str
    content: bytes

    @property
    def sha256(self) -> bytes:
        """Hash of its bytes."""
        return sha256(self.content).digest()


class Register:
    """What a market knows of our requests, and what it decided: equal requests get equal answers.

    Args:
      clerk: who answers.

    Attributes:
      kinds: reference -> kind and running number of each request that may arrive.
      received: reference -> bytes of each that did.
      times: reference -> how often it arrived.
      altered: references under which other bytes came than the first time.
      decided: reference -> accepted or refused.
    """

    def __init__(self, clerk: Clerk) -> None:
        self._clerk, self._guard = clerk, threading.Lock()
        self.kinds: dict[str, tuple[str, int]] = {}
        self.received: dict[str, bytes] = {}
        self.times: Counter[str] = Counter()
        self.altered: list[str] = []
        self.decided: dict[str, str] = {}
        self._answers: dict[str, list[Delivery]] = {}

    def reference_of(self, content: bytes) -> str | None:
        """Which of the requests that may arrive this is."""
        found = (match.decode() for match in REFERENCE.findall(content))
        return next((reference for reference in found if reference in self.kinds), None)

    def receive(self, reference: str, content: bytes) -> tuple[list[Delivery], bool]:
        """Take a request; the whole answer, and whether it came for the first time."""
        with self._guard:
            self.times[reference] += 1
            if reference in self.received:
                if self.received[reference] != content:
                    self.altered.append(reference)
                return self._answers[reference], False
            self.received[reference] = content
            kind, number = self.kinds[reference]
            asked = Asked(kind, content, reference, BEGUN + timedelta(minutes=number))
            self._answers[reference] = answer(_Deciding(self._clerk, self.decided), [asked], MANNERS)
            return self._answers[reference], True


class _Deciding:
    """A clerk whose decisions are written down."""

    def __init__(self, clerk: Clerk, decided: dict[str, str]) -> None:
        self._clerk, self._decided = clerk, decided

    def accept(self, asked: Asked, at: datetime) -> Sequence[Document]:
        self._decided[asked.reference] = "accepted"
        return self._clerk.accept(asked, at)

    def refuse(self, asked: Asked, at: datetime, choice: int) -> Sequence[Document]:
        self._decided[asked.reference] = "refused"
        return self._clerk.refuse(asked, at, choice)


class Trouble:
    """What goes wrong with a server: nothing, until it is told to begin."""

    def __init__(self, seed: int) -> None:
        self._rng, self._until, self._guard = random.Random(seed), 0.0, threading.Lock()
        self.happened: Counter[str] = Counter()

    def begin(self, seconds: float) -> None:
        """Let half of the calls go wrong for so long."""
        self._until = time.monotonic() + seconds

    def end(self) -> None:
        """Let everything go well."""
        self._until = 0.0

    def around(self, handle: Callable[[Request], Reply]) -> Callable[[Request], Reply]:
        """A server's answer, with what goes wrong before and after it."""

        def troubled(request: Request) -> Reply:
            with self._guard:
                what = self._rng.choice(("", "", "", "503", "before", "after")) if self._is_on() else ""
                self.happened[what] += bool(what)
            if what == "503":
                return Reply(status=503)
            if what == "before":
                return Reply(hang_up=True)
            reply = handle(request)
            return Reply(hang_up=True) if what == "after" else reply

        return troubled

    def _is_on(self) -> bool:
        return time.monotonic() < self._until


class Markets:
    """The markets of one run.

    Args:
      folder: to work in; the daemon's own.
      sftp: the SFTP server, which serves `folder`/served; the others listen on its address.
      stack: ends the servers.
      seed: of all chance.

    Attributes:
      registers: market -> what it knows of our requests.
      sent: everything that was sent to us, once each.
      acknowledged: reference -> bytes of each acknowledgement of an interchange that we sent.
      push_host, push_port: where we take pushed messages; set when it is known.
    """

    def __init__(self, folder: Path, sftp: SftpTestServer, stack: contextlib.ExitStack, seed: int) -> None:
        self.folder, self.sftp = folder, sftp
        self.rng = random.Random(f"markets {seed}")
        self.registers = {market: Register(_clerk(market)) for market in MARKETS}
        self.sent: dict[bytes, Envelope] = {}
        self.acknowledged: dict[str, bytes] = {}
        self.trouble = Trouble(seed)
        self.push_host, self.push_port = "127.0.0.1", 0
        self.pushed_again = self.push_refused = 0
        self.folder_guard = threading.Lock()
        self._push: queue.SimpleQueue[tuple[str, Envelope]] = queue.SimpleQueue()
        self._pushing = 0
        self._numbers = iter(range(1, 1 << 30))
        self._later: list[tuple[float, str, Envelope]] = []
        self._guard, self._queue_guard, self._hub_guard = threading.Lock(), threading.Lock(), threading.Lock()
        self.over = threading.Event()
        self._authority = Authority(folder / "pki")
        certificate = self._authority.issue("server", host=sftp.host)
        self._authority.issue("client")
        self.queue = QueueBehaviour(QUEUE)
        self.hub = HttpQueueBehaviour()
        self.hub.waiting = {name: [] for name in HUB_QUEUES}
        self.services: dict[str, HttpsTestServer] = {
            name: stack.enter_context(
                https_server(certificate, self._authority.file, self.trouble.around(handle), sftp.host)
            )
            for name, handle in (
                ("sge", self._soap("FR")),
                ("edsn", self._soap("NL")),
                ("atrias", self._queued),
                ("datahub", self._at_hub),
            )
        }
        for place in ("in", "served/out", "served/nl", "portal", *COLLECTED):
            (folder / place).mkdir(parents=True, exist_ok=True)
        self._threads = [threading.Thread(target=work) for work in (self._push_all, self._collect, self._send_later)]

    def start(self) -> None:
        """Begin to push, to collect what we leave in folders, and to send what is due later."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End it."""
        self.over.set()
        for thread in self._threads:
            thread.join()

    def settings(self, patience: str) -> str:
        """The channels of the markets, as TOML."""
        places = {name: server.url for name, server in self.services.items()}
        tls = 'ca_file = "pki/ca.pem"\ncertificate_file = "pki/client.pem"\nkey_file = "pki/client.key"\ntimeout = 10\n'
        sftp = (
            f'kind = "sftp"\ndirection = "in"\nhost = "{self.sftp.host}"\nport = {self.sftp.port}\nuser = "supplier"\n'
            'password_file = "password"\nknown_hosts = "known_hosts"\ntimeout = 5\nconnect_timeout = 5\nsettle = 0\n'
        )
        belgian = f'url = "{places["atrias"]}"\nkind = "message-queue"\nmarket = "BE"\nqueue = "us"\n{tls}'
        names = f'[channels.names]\nconfirm = "{QUEUE.confirm}"\n'
        entries = (
            'name = "drop"\nmarket = "FR"\ndirection = "in"\nkind = "folder"\npath = "in"\nsettle = 0\n',
            f'name = "enedis"\nmarket = "FR"\npath = "out"\nafter = "delete"\n{sftp}',
            f'name = "edsn-files"\nmarket = "NL"\npath = "nl"\nafter = "keep"\n{sftp}',
            'name = "partner"\nmarket = "NL"\nkind = "push"\ntoken_file = "token"\n',
            f'name = "sge"\nmarket = "FR"\nkind = "soap"\nurl = "{places["sge"]}"\nsends = ["Commande*"]\n{tls}',
            'name = "portal"\nmarket = "FR"\ndirection = "out"\nkind = "folder"\npath = "portal"\n',
            'name = "queries"\nmarket = "NL"\ndirection = "out"\nkind = "folder"\npath = "queries"\n'
            'sends = ["MeteredDataRequest"]\n',
            f'name = "edsn"\nmarket = "NL"\nkind = "soap"\nurl = "{places["edsn"]}"\n{tls}',
        )
        danish = (
            f'market = "DK"\nkind = "http-queue"\nurl = "{places["datahub"]}"\nqueues = {list(HUB_QUEUES)}\n{tls}'
            f'token_url = "{places["datahub"].removesuffix("/service")}{TOKEN_PATH}"\n'
            f'client_id = "{CLIENT}"\nclient_secret_file = "secret"\n'
        )
        hub = [f'name = "datahub-{way}"\ndirection = "{way}"\n{danish}' for way in ("in", "out")]
        queues = [f'name = "atrias-{way}"\ndirection = "{way}"\n{belgian}' for way in ("in", "out")]
        written = "".join(f"[[channels]]\n{entry}{patience}" for entry in (*entries, *hub))
        written += "".join(f"[[channels]]\n{entry}{patience}{names}" for entry in queues)
        push = '[push]\nport = 0\ncertificate_file = "pki/server.pem"\nkey_file = "pki/server.key"\n'
        self.sftp.known_hosts(self.folder / "known_hosts")
        (self.folder / "token").write_text(TOKEN)
        (self.folder / "secret").write_text(SECRET)
        return written + push

    # --- what is sent to us ---

    def send(self, market: str, envelope: Envelope) -> None:
        """Send an envelope through one of the market's channels."""
        self.sent.setdefault(envelope.sha256, envelope)
        number = next(self._numbers)
        if market == "BE":
            with self._queue_guard:
                self.queue.waiting.append((f"{number}-{Path(envelope.name).stem}", envelope.content))
        elif market == "DK":
            with self._hub_guard:
                self.hub.waiting[_hub_queue(envelope.name)].append((f"hub-{number}", envelope.content))
        elif market == "NL" and number % 2:
            self._push.put(("partner", envelope))
        elif market == "NL":
            # What stays on the server needs a name of its own; of an answer the name tells whose it is.
            name = envelope.name if envelope.name.startswith("answer") else f"{number}-{envelope.name}"
            _drop(envelope.content, self.folder / "served" / "nl" / name)
        elif number % 2:
            _drop(envelope.content, self.folder / "served" / "out" / envelope.name)
        else:
            with self.folder_guard:
                _drop(envelope.content, self.folder / "in" / envelope.name)

    def waiting(self) -> list[str]:
        """What was sent and is still with a channel."""
        left = [f"not taken: {path}" for path in files_of(self.folder / "in")]
        left += [f"not acknowledged: {path}" for path in files_of(self.folder / "in" / "processing")]
        left += [f"not taken from SFTP: {path}" for path in files_of(self.folder / "served" / "out")]
        left += [f"not collected: {path}" for place in COLLECTED for path in files_of(self.folder / place)]
        left += [f"not taken from the queue: {identifier}" for identifier, _ in self.queue.waiting]
        left += [f"not taken from the hub: {one[0]}" for waiting in self.hub.waiting.values() for one in waiting]
        left += [f"{number} not pushed" for number in (self._push.qsize() + self._pushing,) if number]
        left += [f"{number} pushes refused" for number in (self.push_refused,) if number]
        left += [f"to be sent later: {item[2].name}" for item in self._later]
        return left

    def _push_all(self) -> None:
        """Push one message after the other, each until it is taken."""
        context = ssl.create_default_context(cafile=self._authority.file)
        context.check_hostname = False  # one certificate serves all hosts
        while not self.over.is_set():
            with contextlib.suppress(queue.Empty):
                channel, envelope = self._push.get(timeout=0.2)
                self._pushing = 1
                while not self._pushed(context, channel, envelope) and not self.over.wait(0.3):
                    self.pushed_again += 1
                self._pushing = 0

    def _pushed(self, context: ssl.SSLContext, channel: str, envelope: Envelope) -> bool:
        query = urllib.parse.urlencode({"name": envelope.name})
        request = urllib.request.Request(
            f"https://{self.push_host}:{self.push_port}/channels/{channel}/messages?{query}",
            data=envelope.content,
            headers={"Authorization": f"Bearer {TOKEN}", "Idempotency-Key": envelope.sha256.hex()},
        )
        try:
            with urllib.request.urlopen(request, timeout=10, context=context) as reply:
                return bool(reply.status == 202)
        except urllib.error.HTTPError as error:
            with error:
                self.push_refused += error.code not in (408, 503)
        except OSError:
            pass
        return False

    # --- what we send ---

    def _soap(self, market: str) -> Callable[[Request], Reply]:
        """A service that answers at once; what else there is to say comes by the other channels."""

        def handle(request: Request) -> Reply:
            reference = self.registers[market].reference_of(request.content)
            if reference is None:
                return Reply(status=400)
            deliveries, new = self.registers[market].receive(reference, request.content)
            at_once = [each.document for each in deliveries if each.document.name.startswith("answer")]
            if new:
                self._follow(market, [each for each in deliveries if each.document not in at_once])
            return Reply(status=500 if b"Fault>" in at_once[0].content else 200, content=_in_soap(at_once[0].content))

        return handle

    def _queued(self, request: Request) -> Reply:
        with self._queue_guard:
            before = len(self.queue.sent)
            reply = self.queue(request)
            sent = self.queue.sent[before:]
        for reference, _, content in sent:
            if reference not in self.registers["BE"].kinds:
                if self.acknowledged.setdefault(reference, content) != content:
                    self.registers["BE"].altered.append(reference)
                continue
            deliveries, new = self.registers["BE"].receive(reference, content)
            if new:
                self._follow("BE", deliveries)
        return reply

    def _at_hub(self, request: Request) -> Reply:
        """The hub's queues and what we send to it; it refuses a document that it has already."""
        with self._hub_guard:
            reply = self.hub(request)
        reference = self.registers["DK"].reference_of(request.content) if request.method == "POST" else None
        if reference is not None:
            deliveries, new = self.registers["DK"].receive(reference, request.content)
            if new:
                self._follow("DK", deliveries)
        return reply

    def _collect(self) -> None:
        """Take the requests that we leave in folders."""
        while not self.over.wait(0.3):
            for place, market in COLLECTED.items():
                for path in sorted((self.folder / place).glob("[!.]*")):
                    content = path.read_bytes()
                    reference = self.registers[market].reference_of(content)
                    assert reference is not None, path
                    deliveries, new = self.registers[market].receive(reference, content)
                    if new:
                        self._follow(market, deliveries)
                    path.unlink()

    def _follow(self, market: str, deliveries: Sequence[Delivery]) -> None:
        """Send the documents of an answer, soon and in their order, or not quite."""
        for delivery in deliveries:
            document = delivery.document
            own = document.name.startswith("answer")
            name = f"{document.name if own else f'{delivery.reference[:13]}_{document.name}'}{document.suffix}"
            due = time.monotonic() + self.rng.uniform(0, LATE)
            with self._guard:
                self._later.append((due, market, Envelope(name, document.content)))

    def _send_later(self) -> None:
        while not self.over.wait(0.1):
            with self._guard:
                now = time.monotonic()
                due = [item for item in self._later if item[0] <= now]
            for item in due:
                self.send(item[1], item[2])
                with self._guard:
                    self._later.remove(item)


def _hub_queue(name: str) -> str:
    """The queue of the hub that a document of a name waits in."""
    return next(place for place, words in HUB_QUEUES.items() if words is None or words.search(name))


def _in_soap(content: bytes) -> bytes:
    """A document as a service says it: in SOAP."""
    if b":Envelope" in content:
        return content
    head = content.partition(b"?>")[2] if content.startswith(b"<?xml") else content
    space = b"http://schemas.xmlsoap.org/soap/envelope/"
    return b'<s:Envelope xmlns:s="' + space + b'"><s:Body>' + head + b"</s:Body></s:Envelope>"


def _clerk(market: str) -> Clerk:
    simulator = load_simulator(market)
    assert simulator is not None
    return simulator.clerk


def _drop(content: bytes, target: Path) -> None:
    """Let a file appear whole, as a careful sender does."""
    part = target.with_name(f".{target.name}.part")
    part.write_bytes(content)
    part.replace(target)


def files_of(folder: Path) -> Iterator[str]:
    """Names of the finished files in a folder."""
    return (path.name for path in sorted(folder.glob("*")) if path.is_file() and not path.name.startswith("."))
