"""A queue over HTTP whose service fails at every second call, and a daemon that dies now and then: what was sent is in
the store once, as in peace, and each request has one effect at its market."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from adapters.dk_energinet.simulator import simulator
from energycomm.config import Config
from energycomm.eis import migrations
from energycomm.eis.comparison import differences
from energycomm.eis.database import opened
from energycomm.eis.meaning import Meaning, canonical
from energycomm.eis.store import Store
from energycomm.kernel.family import KINDS
from energycomm.pipeline.delivery import deliver, hurry
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.outbound import Outbound
from energycomm.pipeline.progress import total
from energycomm.simulation.scenario import Scenario
from energycomm.transport.credentials import Secret
from energycomm.transport.httpqueue import HttpQueueNames, HttpQueueOut, HttpQueueService
from energycomm.transport.https import HttpsServer
from energycomm.transport.messagequeue import QueueIn
from energycomm.transport.tokens import ClientCredentials
from tests.daemon.chaos_markets import Register, Trouble
from tests.daemon.conftest import Office
from tests.daemon.test_polling import Poller, process
from tests.servers.authority import Authority
from tests.servers.httpqueue import CLIENT, SECRET, TOKEN_PATH, HttpQueueBehaviour
from tests.servers.https import Reply, Request, https_server
from tests.transport.memory import MemoryOut

ROOT = Path(__file__).resolve().parents[2]
ASKED = ("MoveInRequest", "MeteredDataRequest", "AggregatedDataRequest", "SettlementRequest")
QUEUES = ("measures", "sums", "points")
FOREVER = 1e6
MOST_TURNS = 400
DIES_EVERY = 6


class Hub:
    """The service: its queues, what it knows of our requests, and its trouble. An answer waits in a queue at once. That
    it has a request is not heard the first time."""

    def __init__(self, folder: Path) -> None:
        self.holds, self.register, self.trouble = HttpQueueBehaviour(), Register(simulator.clerk), Trouble(7)
        self.sent: dict[str, bytes] = {}
        self.folder = folder
        self.holds.waiting = {name: [] for name in QUEUES}
        self.trouble.begin(FOREVER)

    def send(self, name: str, content: bytes) -> None:
        """Let a document wait; the queues get them in turn."""
        number = len(self.sent)
        self.sent[f"{number}-{name}"] = content
        self.holds.waiting[QUEUES[number % len(QUEUES)]].append((f"hub-{number}", content))

    def __call__(self, request: Request) -> Reply:
        reply = self.holds(request)
        reference = self.register.reference_of(request.content) if request.method == "POST" else None
        if reference is not None:
            deliveries, new = self.register.receive(reference, request.content)
            if new:
                reply = Reply(hang_up=True)
            for delivery in deliveries if new else ():
                self.send(f"{reference}_{delivery.document.name}{delivery.document.suffix}", delivery.document.content)
        return reply

    @property
    def waiting(self) -> int:
        """How many documents nobody removed."""
        return sum(map(len, self.holds.waiting.values()))


class Line:
    """Channels to the hub, opened anew where a process died or another host took over."""

    def __init__(self, hub: Hub, url: str, authority: Path, folder: Path) -> None:
        self.hub, self.spool = hub, folder / "spool"
        self._server = HttpsServer(url=f"{url}/", ca_file=authority, timeout=5.0, max_answer=1 << 20)
        self._token = HttpsServer(url=url.replace("/service", TOKEN_PATH), ca_file=authority)
        self._secret = folder / "secret"
        self._secret.write_text(SECRET)

    def _service(self) -> HttpQueueService:
        credentials = ClientCredentials("hub", self._token, CLIENT, Secret("client secret", self._secret))
        return HttpQueueService("hub", self._server, HttpQueueNames(known="00101"), QUEUES, "xml", credentials)

    def incoming(self) -> QueueIn:
        return QueueIn("hub-in", "DK", self._service(), self.spool)

    def outgoing(self) -> HttpQueueOut:
        return HttpQueueOut("hub-out", "DK", self._service())


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    """A running service with what a small simulation tells."""
    simulator.simulate(Scenario(2, 2, 3, per_file=20), tmp_path / "sim")
    authority = Authority(tmp_path / "authority")
    hub = Hub(tmp_path)
    with https_server(authority.issue("server"), None, hub.trouble.around(hub)) as server:
        yield Line(hub, server.url, authority.file, tmp_path)


def _ask(office: Office, store: Store, hub: Hub) -> None:
    """Hand in requests; the hub is told which references may come."""
    told = {row["kind"]: row for row in json.loads((ROOT / "fixtures/requests/kinds/dk.json").read_bytes())}
    gateway = Gateway(office.config, store)
    for number, kind in enumerate(ASKED):
        reference = f"{number:08d}-0000-4000-8000-000000000000"
        hub.register.kinds[reference] = (kind, number)
        outbound = Outbound(store, gateway.engine, gateway.markets, gateway.rules_version_id, lambda: reference)  # noqa: B023
        message = msgspec.convert({**told[kind], "market_type": "request"}, KINDS[kind], strict=False)
        assert outbound.submit(message, "chaos", kind).label == "accepted"


def _live(office: Office, line: Line) -> int:
    """Poll, process and send until nothing is left; how often the process died meanwhile, or another host began."""
    hub, deaths = line.hub, 0
    polling, outgoing = Poller(office.desk, line.incoming(), office.gateway.inbound), line.outgoing()
    for turn in range(1, MOST_TURNS):
        polling.turn()
        if turn % DIES_EVERY == 0:  # what was archived is not acknowledged, what was got is in the spool
            polling.channel.close()
            deaths += 1
            if deaths % 3 == 0:
                shutil.rmtree(line.spool)
            polling = Poller(office.desk, line.incoming(), office.gateway.inbound)
        process(office)
        hurry(office.store, "DK")
        deliver(office.store, {"DK": outgoing}, lambda *_: None)
        unsent = office.rows("SELECT count(*) FROM outgoing WHERE state = 'built'")[0][0]
        if not (hub.waiting or unsent or office.waiting()):
            break
    polling.channel.close()
    outgoing.close()
    return deaths


def _in_peace(office: Office, line: Line, folder: Path) -> Meaning:
    """The meaning of a store that is given the same and left alone."""
    url = f"sqlite:///{folder}/peace.db"
    files = folder / "files"
    files.mkdir()
    for name, content in line.hub.sent.items():
        (files / name).write_bytes(content)
    config = Config.model_validate({"database": url})
    with opened(url) as engine:
        migrations.upgrade(engine)
        store = Store(engine)
        _ask(Office(config, store), store, line.hub)
        deliver(store, {"DK": MemoryOut("hub-out", "DK")}, lambda *_: None)
        total(Gateway(config, store).inbound.take(sorted(files.iterdir()), "folder"))
        return canonical(engine, carriers=False)


@pytest.mark.thorough
def test_nothing_is_lost_and_nothing_comes_twice_through_a_queue_that_fails(
    office: Office, line: Line, tmp_path: Path
) -> None:
    hub = line.hub
    for path in sorted((tmp_path / "sim" / "envelopes").iterdir())[:24]:
        hub.send(path.name, path.read_bytes())
    _ask(office, office.store, hub)
    deaths = _live(office, line)
    assert hub.waiting == 0
    assert sorted(hub.holds.removed) == sorted(f"hub-{number}" for number in range(len(hub.sent)))
    assert set(hub.register.received) == set(hub.register.kinds)
    assert hub.register.altered == []
    assert len(hub.holds.taken) == len(ASKED)
    assert differences(canonical(office.store.engine, carriers=False), _in_peace(office, line, tmp_path)) == []
    assert deaths > 2
    assert min(hub.trouble.happened[what] for what in ("503", "before", "after")) > 3
    assert min(hub.register.times.values()) > 1
