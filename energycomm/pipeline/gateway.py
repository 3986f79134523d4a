"""The gateway put together from its configuration: the store, the rules, the markets, the keys."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path

from energycomm import logs
from energycomm.config import Config
from energycomm.eis.store import Store
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import load_catalogue, rule_texts
from energycomm.engine.parallel import ParallelEngine
from energycomm.engine.port import RuleEngine
from energycomm.engine.problems import BrokenCatalogue
from energycomm.errors import UserError
from energycomm.kernel.instants import now_micros
from energycomm.kernel.tolerance import CURVE_TOLERANCE
from energycomm.market.installed import installed_adapters
from energycomm.masking import mask_output
from energycomm.pipeline.batch import BatchWriter
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.opening import open_store
from energycomm.pipeline.quarantine import give_up
from energycomm.pipeline.reader import Place, Reader
from energycomm.transport.keys import KeyRing, read_keys

YOUNG_OBJECTS = 50_000
"""New objects before the collector looks for cycles among them: those of a batch live until it is written."""


class Gateway:
    """Everything a run needs.

    Args:
      config: the configuration.
      store: the EIS to write to (`open_store`).

    Raises:
      UserError: the rules are broken, or a key cannot be read.
    """

    def __init__(self, config: Config, store: Store) -> None:
        gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
        self.config = config
        self.catalogue = open_catalogue(config.rules_folder)
        self.engine = open_engine(self.catalogue, config.engine, config.curve_tolerance)
        self.store = store
        with self.store.transaction() as tx:
            self.rules_version_id = tx.rules_version(
                self.engine.version, self.engine.name, rule_texts(config.rules_folder), now_micros()
            )
        self.markets = installed_adapters(config.mapping_files)
        self.writer = BatchWriter(self.engine, self.rules_version_id, config.quarantine_days, self.markets)
        self.inbound = Inbound(
            self.store,
            self.writer,
            open_keys(config),
            config.limits,
            config.batch_size,
            channels={channel.name: channel.market for channel in config.channels},
            reader=Reader(partial(_place, config)) if config.processes > 1 else None,
            foreign=config.foreign,
        )

    def give_up_overdue(self) -> int:
        """Reject the messages that waited too long; how many."""
        return give_up(self.store, now_micros(), self.rules_version_id)


@contextmanager
def _place(config: Config) -> Iterator[Place]:
    """What a process takes that reads for this one."""
    logs.configure(config.log_format, config.log_level)
    mask_output()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    with open_store(config) as store:
        yield Place(store.engine, installed_adapters(config.mapping_files), open_keys(config), config.limits)


def open_catalogue(folder: Path) -> Catalogue:
    """The rules of a folder.

    Raises:
      UserError: a rule file is broken; every problem is listed with file and line.
    """
    try:
        return load_catalogue(folder)
    except BrokenCatalogue as broken:
        raise UserError(
            f"The rules are broken; nothing was processed.\n{broken}", "`energycomm rules check` lists what to change."
        ) from None


def open_engine(catalogue: Catalogue, name: str, curve_tolerance: Decimal = CURVE_TOLERANCE) -> RuleEngine:
    """A rules engine by its name in the configuration.

    Args:
      catalogue: the rules.
      name: ``parallel`` or ``durable-rules``.
      curve_tolerance: percent by which a curve may differ from the indexes of the same days.

    Raises:
      UserError: the engine is not installed.
    """
    engine = _engine(catalogue, name)
    engine.curve_tolerance = curve_tolerance
    return engine


def _engine(catalogue: Catalogue, name: str) -> RuleEngine:
    if name == "parallel":
        return ParallelEngine(catalogue)
    try:
        from energycomm.engine.durable import DurableEngine
    except ImportError:
        raise UserError(
            "The engine durable-rules is not installed.", "Install energycomm[durable], or set engine = 'parallel'."
        ) from None
    return DurableEngine(catalogue)


def open_keys(config: Config) -> KeyRing:
    """The decryption keys of the configuration.

    Raises:
      UserError: a key cannot be read; the key itself is never shown.
    """
    ring, refusals = read_keys(config.key_entries, os.environ, config.folder)
    if refusals:
        raise UserError("Keys cannot be read.\n  " + "\n  ".join(str(refusal) for refusal in refusals))
    return ring
