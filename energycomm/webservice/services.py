"""What every request of the web services needs: the configuration, the store, the Kernel."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property

from fastapi import Request

from energycomm.config import Config
from energycomm.eis.database import connect
from energycomm.eis.store import Store
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.batch import BatchWriter
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.opening import make_ready, open_store
from energycomm.pipeline.outbound import Outbound
from energycomm.texts.catalogues import Folders
from energycomm.transport.allowances import Guesses, RateLimit
from energycomm.webservice.provider import Provider

BACKGROUND = 2
"""Threads for what takes longer than a request."""


class Services:
    """Shared by all requests of a process.

    Everything in the store is synchronous: routes that use it are plain functions, which FastAPI runs in a thread.

    Args:
      config: the configuration.

    Attributes:
      store: the EIS; may be used by many threads at once, each with its own transaction.
      requests: allowances of callers.
      failures: wrong tokens and sign-ins.
      closing: set when the process ends.

    Raises:
      UserError: the database cannot be reached or is not of this version.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        engine = connect(config.database_url)
        try:
            make_ready(engine, config, make=True)
        except BaseException:
            engine.dispose()
            raise
        self.store = Store(engine)
        self.requests = RateLimit(config.web.requests_per_minute)
        self.failures = Guesses(config.web.failures_per_minute)
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._gateway: Gateway | None = None
        self._provider: Provider | None = None
        self._own = threading.local()
        self._background: ThreadPoolExecutor | None = None

    @property
    def gateway(self) -> Gateway:
        """The Kernel with its rules and markets, made at the first use; rules that change need a restart.

        Raises:
          UserError: the rules are broken, or a key cannot be read.
        """
        with self._lock:
            if self._gateway is None:
                self._gateway = Gateway(self.config, self.store)
            return self._gateway

    @property
    def provider(self) -> Provider | None:
        """The identity provider that people sign in with; None where there is none."""
        if self.config.oidc.issuer is None:
            return None
        with self._lock:
            if self._provider is None:
                self._provider = Provider(self.config.oidc, self.config.folder)
            return self._provider

    @cached_property
    def texts(self) -> Folders:
        """Folders of the catalogues that readers need beside those of the program: of rules, markets and scripts."""
        found = [self.config.rules_folder, *installed_adapters(self.config.mapping_files).sources]
        if self.config.scripts_folder is not None:
            found.append(self.config.scripts_folder)
        return tuple(folder / "texts" for folder in found if (folder / "texts").is_dir())

    def writer(self) -> BatchWriter:
        """The Kernel for the thread that asks: the checker of Kernel XML belongs to one thread."""
        made: BatchWriter | None = getattr(self._own, "writer", None)
        if made is None:
            gateway = self.gateway
            made = BatchWriter(gateway.engine, gateway.rules_version_id, self.config.quarantine_days, gateway.markets)
            self._own.writer = made
        return made

    def outbound(self) -> Outbound:
        """What takes in requests to the market, for the thread that asks."""
        made: Outbound | None = getattr(self._own, "outbound", None)
        if made is None:
            gateway = self.gateway
            made = Outbound(self.store, gateway.engine, gateway.markets, gateway.rules_version_id)
            self._own.outbound = made
        return made

    @property
    def background(self) -> ThreadPoolExecutor:
        """Threads for work that takes longer than a request; its progress is in the store."""
        with self._lock:
            if self._background is None:
                self._background = ThreadPoolExecutor(BACKGROUND, thread_name_prefix="web-background")
            return self._background

    @contextmanager
    def rehearsing(self) -> Iterator[Store]:
        """A store of one's own for dry runs.

        What is rehearsed is seen by everybody who uses the same store object (`energycomm.eis.database.rehearsal`), so
        no two requests may share one: previews and tries of corrections take theirs from here.
        """
        with open_store(self.config) as store:
            yield store

    def close(self) -> None:
        """Let what is done in the background stop at its next step, and close the connections."""
        self.closing.set()
        if self._background is not None:
            self._background.shutdown(wait=True, cancel_futures=True)
        self.store.engine.dispose()


async def services(request: Request) -> Services:
    """The services of the application that a request came to: `Annotated[Services, Depends(services)]`."""
    found: Services = request.app.state.services
    return found
