"""Messages of every market in random orders and batches, some twice: every order ends in the same store.

    python -m tests.pipeline.permutations --orders 10000 --seed 1 --processes 2

Files of the markets are digested once. An order takes the CH messages about a few access points, shuffles them,
delivers some of them again, cuts them into batches, and stores these in an empty EIS; or it takes in whole files. What
the store means then (`energycomm.eis.meaning`) must be what it means after the same in order: every domain row, state,
code, comment, Kernel XML, and what the back office is to be told. A difference names the order that repeats it.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec import structs

from energycomm.config import Config
from energycomm.eis import archive, migrations
from energycomm.eis.comparison import Meaning, canonical, differences
from energycomm.eis.database import opened
from energycomm.eis.store import Store
from energycomm.pipeline.batch import BatchWriter, Origin, Prepared
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.progress import total
from energycomm.pipeline.records import Book, MemberRecord, OpenEnvelope, save_member
from tests.pipeline.scenes import Scene, Source, scenes, sources
from tests.postgres import NoPostgres, PostgresServer, running

NOW = 1_790_000_000_000_000
FILES_SHARE = 0.03
"""Share of the orders that take in whole files."""
POSTGRES_SHARE = 0.04
"""Share of the orders that are stored on PostgreSQL."""
COPY = "copy of "

T = TypeVar("T")


class Order(NamedTuple):
    """One order, told by its number: the same number of the same seed is the same order."""

    seed: int
    number: int

    @property
    def chance(self) -> random.Random:
        """Says everything about the order."""
        return random.Random(f"{self.seed}/{self.number}")


class Outcome(NamedTuple):
    """What came of an order.

    Attributes:
      number: its number.
      what: the scene and the database.
      messages: CH messages or files that were delivered.
      batches: transactions that they were delivered in.
      differences: from the store in order.
    """

    number: int
    what: str
    messages: int
    batches: int
    differences: list[str]


class Stage:
    """Everything that orders share, made once.

    Args:
      folder: on a fast disk; empty.
      seed: of the simulations, and of what is repeated.
      server: for the orders on PostgreSQL; none are without it.
    """

    def __init__(self, folder: Path, seed: int, server: PostgresServer | None) -> None:
        self.folder, self.seed, self.server = folder, seed, server
        self.template = folder / "template.db"
        with opened(f"sqlite:///{self.template}") as engine:
            migrations.upgrade(engine)
            self.gateway = Gateway(Config.model_validate({"database": f"sqlite:///{self.template}"}), Store(engine))
        chance = random.Random(seed)
        self.sources = sources(folder / "files", seed)
        self.scenes = [scene for source in self.sources for scene in scenes(source, folder, chance)]
        self.template_name = None if server is None else self._postgres_template(server)
        self._of_scene: dict[int, Meaning] = {}
        self._of_files: dict[int, Meaning] = {}

    def _postgres_template(self, server: PostgresServer) -> str:
        name = server.create_database()
        with opened(server.url(name)) as engine:
            migrations.upgrade(engine)
            Gateway(Config.model_validate({"database": server.url(name)}), Store(engine))
        return name

    def play(self, order: Order) -> Outcome:
        """Deliver one order and compare."""
        chance = order.chance
        postgres = self.server is not None and chance.random() < POSTGRES_SHARE
        database = "PostgreSQL" if postgres else "SQLite"
        if chance.random() < FILES_SHARE:
            index = chance.randrange(len(self.sources))
            return self._play_files(
                order, index, postgres=postgres, what=f"files of {self.sources[index].name}, {database}"
            )
        index = chance.randrange(len(self.scenes))
        scene = self.scenes[index]
        numbers = list(range(len(scene.told.transactions)))
        numbers += chance.sample(numbers, len(numbers) // 10)
        chance.shuffle(numbers)
        batches = list(cut(numbers, chance))
        with self._store(postgres=postgres) as store:
            self.deliver(store, scene, batches)
            meaning = canonical(store.engine, carriers=False)
        found = differences(self._scene_in_order(index), meaning)
        return Outcome(order.number, f"{scene.market} messages, {database}", len(numbers), len(batches), found)

    def _play_files(self, order: Order, index: int, *, postgres: bool, what: str) -> Outcome:
        chance = order.chance
        files = self._with_copies(self.sources[index])
        chance.shuffle(files)
        with self._store(postgres=postgres) as store:
            inbound = self.inbound(store, chance.choice((1, 3, 10, 100, 500)))
            for group in cut(files, chance):
                total(inbound.take(group, "test"))
            meaning = canonical(store.engine)
        return Outcome(order.number, what, len(files), len(files), differences(self._files_in_order(index), meaning))

    def _scene_in_order(self, index: int) -> Meaning:
        """What the store means after a scene in the order in which it was written."""
        if index not in self._of_scene:
            with self._store() as store:
                self.deliver(store, self.scenes[index], [list(range(len(self.scenes[index].told.transactions)))])
                self._of_scene[index] = canonical(store.engine, carriers=False)
        return self._of_scene[index]

    def _files_in_order(self, index: int) -> Meaning:
        if index not in self._of_files:
            with self._store() as store:
                inbound = self.inbound(store, 500)
                total(inbound.take(inbound.in_order(self._with_copies(self.sources[index])), "test"))
                self._of_files[index] = canonical(store.engine)
        return self._of_files[index]

    def _with_copies(self, source: Source) -> list[Path]:
        """The files, and some of them under another name."""
        folder = self.folder / "copies"
        folder.mkdir(exist_ok=True)
        copies = []
        for path in source.files[::7]:
            copy = folder / (COPY + path.name)
            if not copy.exists():
                shutil.copy(path, copy)
            copies.append(copy)
        return [*source.files, *copies]

    def inbound(self, store: Store, batch_size: int) -> Inbound:
        """What takes in files."""
        ours = self.gateway.inbound
        return Inbound(store, self.writer(), ours.keys, ours.limits, batch_size)

    def writer(self) -> BatchWriter:
        """Judges and stores batches."""
        return BatchWriter(self.gateway.engine, self.gateway.rules_version_id, 30, self.gateway.markets)

    def deliver(self, store: Store, scene: Scene, batches: Sequence[Sequence[int]]) -> None:
        """Store the CH messages of a scene, each batch as a file of its own."""
        writer, told = self.writer(), scene.told
        for number, batch in enumerate(batches):
            prepared = Prepared(
                [structs.replace(told.transactions[at], position=place) for place, at in enumerate(batch, 1)],
                [told.xmls[at] for at in batch],
                [told.refusals[at] for at in batch],
            )
            now = NOW + number
            with store.transaction() as tx:
                archived = archive.archive(tx, f"{number}.xml", io.BytesIO(str(number).encode()), "test", now)
                member = MemberRecord(f"{number}.xml", archived.sha256, archived.size)
                book = Book(tx, [OpenEnvelope(archived.envelope_id, member.path, archived.sha256)])
                member, _ = save_member(book, archived.envelope_id, member, scene.market, len(batch), last=True)
                book.store()
                writer.store(tx, Origin(scene.market, archived.envelope_id, member.id), prepared, now)

    @contextmanager
    def _store(self, *, postgres: bool = False) -> Iterator[Store]:
        """An empty store."""
        with ExitStack() as ending:
            if postgres:
                assert self.server is not None
                assert self.template_name is not None
                name = self.server.create_database(self.template_name)
                ending.callback(self.server.drop_database, name)
                url = self.server.url(name)
            else:
                folder = Path(ending.enter_context(tempfile.TemporaryDirectory(dir=self.folder)))
                shutil.copy(self.template, folder / "eis.db")
                url = f"sqlite:///{folder / 'eis.db'}"
            yield Store(ending.enter_context(opened(url)))


def cut(things: Sequence[T], chance: random.Random) -> Iterator[Sequence[T]]:
    """Things in batches of random sizes: mostly a few, one by one now and then, or all of them."""
    most = chance.choice((1, 4, 10, 30, 30, 100, 500))
    start = 0
    while start < len(things):
        size = chance.randint(1, most)
        yield things[start : start + size]
        start += size


_STAGE: list[Stage] = []
"""The stage of this process; those that it forks have it too."""


def _play(order: Order) -> Outcome:
    return _STAGE[0].play(order)


def play_all(stage: Stage, orders: Sequence[Order], processes: int = 1) -> Iterator[Outcome]:
    """Play orders, in several processes where asked."""
    if processes == 1:
        yield from map(stage.play, orders)
        return
    _STAGE[:] = [stage]
    with ProcessPoolExecutor(processes, multiprocessing.get_context("fork")) as pool:
        yield from pool.map(_play, orders, chunksize=20)


@contextmanager
def staged(seed: int, server: PostgresServer | None) -> Iterator[Stage]:
    """A stage in memory where the machine has a disk there."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Stage(Path(folder), seed, server)


def main() -> int:
    """Play orders and say what came of them; 1 where one differs."""
    parser = argparse.ArgumentParser(description="Every order of the same messages ends in the same store.")
    parser.add_argument("--orders", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first order")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    delivered = batches = differing = 0
    with ExitStack() as ending:
        try:
            server = ending.enter_context(running())
        except NoPostgres:
            server = None
        stage = ending.enter_context(staged(asked.seed, server))
        sizes = [len(scene.told.transactions) for scene in stage.scenes]
        print(f"{len(sizes)} scenes of {min(sizes)} to {max(sizes)} CH messages, {len(stage.sources)} sets of files")
        begun = time.monotonic()
        orders = [Order(asked.seed, number) for number in range(asked.first, asked.first + asked.orders)]
        for done, outcome in enumerate(play_all(stage, orders, asked.processes), 1):
            counts[outcome.what] += 1
            delivered += outcome.messages
            batches += outcome.batches
            if outcome.differences:
                differing += 1
                print(f"order {outcome.number} of seed {asked.seed} ({outcome.what}) differs:")
                print("".join(f"  {line}\n" for line in outcome.differences[:5]), end="", flush=True)
            if done % 500 == 0:
                print(f"{done} orders, {differing} differ, {time.monotonic() - begun:.0f} s", flush=True)
    for what, number in sorted(counts.items()):
        print(f"{number:7} {what}")
    print(f"{sum(counts.values())} orders of {delivered} messages and files in {batches} batches: {differing} differ")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
