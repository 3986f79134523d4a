"""Whatever happens in whatever order, every file that was dropped is in the store, and none is lost on the way."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from energycomm.transport.channel import Arrival, Outcome
from energycomm.transport.folders import FolderIn
from tests.transport.arrivals import content_of, drop


class Crashes(RuleBasedStateMachine):
    """A folder, a process that takes files in, dies and comes back, and a store that knows bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.folder = Path(self.place.name)
        self.channel = FolderIn("in", "FR", self.folder)
        self.dropped: set[bytes] = set()
        self.store: set[bytes] = set()
        self.open: list[Arrival] = []

    def teardown(self) -> None:
        self.channel.close()
        for item in FolderIn("in", "FR", self.folder).poll():
            assert isinstance(item, Arrival)
            self.store.add(content_of(item))
        assert self.store == self.dropped
        self.place.cleanup()

    @rule(name=some.sampled_from(["a.xml", "b.xml", "c"]))
    def somebody_drops_a_file(self, name: str) -> None:
        if not (self.folder / name).exists():
            content = str(len(self.dropped)).encode()
            drop(self.folder, name, content)
            self.dropped.add(content)

    @rule(most=some.integers(0, 3))
    def poll(self, most: int) -> None:
        for item in self.channel.poll():
            if most == 0 and isinstance(item, Arrival):
                item.give_back()
                break
            assert isinstance(item, Arrival)
            self.open.append(item)
            most -= 1

    @rule(outcome=some.sampled_from(["done", "duplicate", "failed"]))
    def commit_and_acknowledge(self, outcome: Outcome) -> None:
        if self.open:
            arrival = self.open.pop(0)
            self.store.add(content_of(arrival))
            assert arrival.acknowledge(outcome, "why") is None

    @rule()
    def commit_and_crash(self) -> None:
        if self.open:
            self.store.add(content_of(self.open[0]))
        self.crash()

    @rule()
    def crash(self) -> None:
        self.open = []
        self.channel.close()  # the lock vanishes with the process
        self.channel = FolderIn("in", "FR", self.folder)

    @rule()
    def give_back(self) -> None:
        if self.open:
            self.open.pop().give_back()

    @invariant()
    def every_file_is_somewhere(self) -> None:
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        there = {path.read_bytes() for path in files if not path.name.startswith(".")}
        assert self.dropped <= there


TestCrashes = Crashes.TestCase
TestCrashes.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
