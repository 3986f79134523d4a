"""The process that takes what markets push: HTTPS, the spools of the push channels, and no database.

The supervisor listens and hands the socket down: while this process is replaced, whoever connects waits.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import ssl
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import structlog
import uvicorn

from energycomm import logs
from energycomm.config import Config
from energycomm.daemon.report import Alive, Reporter
from energycomm.errors import UserError
from energycomm.logs import Log
from energycomm.masking import mask_output
from energycomm.transport.listening import Bounds, http_server
from energycomm.transport.opening import Places, push_channel
from energycomm.transport.push import PushIn, create_app
from energycomm.transport.settings import EndpointSettings, PushSetting

log = Log()

BACKLOG = 128
SIGN_EVERY = 1.0
GRACE_SECONDS = 10
"""Time that messages which are arriving have to end when the process stops."""


def push_settings(config: Config) -> list[PushSetting]:
    """The channels that are pushed to."""
    return [setting for setting in config.channels if isinstance(setting, PushSetting)]


def listen(config: Config) -> socket.socket | None:
    """Listen where markets push to; None where nothing is pushed, or another process serves it.

    Raises:
      UserError: it has no certificate, one that cannot be used, or the address is taken or not ours.
    """
    settings = config.push
    channels = push_settings(config)
    if not channels or not settings.serve:
        return None
    if settings.certificate_file is None and not settings.behind_proxy:
        raise UserError(
            f"The channel {channels[0].name} is pushed to over HTTPS, and no certificate is set.",
            "Set `certificate_file` and `key_file` of [push]; or `behind_proxy = true` where a proxy does TLS, "
            "or `serve = false` where another process serves the endpoint.",
        )
    tls_context(config)
    try:
        return socket.create_server((settings.host, settings.port), family=_family(settings.host), backlog=BACKLOG)
    except OSError as fault:
        raise UserError(
            f"Pushed messages cannot be taken on {settings.host}:{settings.port}: {fault.strerror or fault}.",
            "Is a daemon running already? Else change `host` or `port` of [push].",
        ) from None


def tls_context(config: Config) -> ssl.SSLContext | None:
    """How connections are secured; None behind a proxy.

    Raises:
      UserError: a certificate or key cannot be read, or they do not go together.
    """
    settings = config.push
    if settings.certificate_file is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        _load_certificate(context, config.folder, settings)
        if settings.client_ca_file is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(config.folder / settings.client_ca_file)
    except (OSError, ValueError) as fault:  # an SSLError is an OSError
        files = [settings.certificate_file, settings.key_file, settings.client_ca_file]
        named = ", ".join(str(file) for file in files if file is not None)
        words = getattr(fault, "strerror", None) or str(fault)
        raise UserError(
            f"The certificates of [push] cannot be used ({named}): {words}.", "Correct the files."
        ) from None
    return context


def make_app(config: Config) -> tuple[object, list[PushIn]]:
    """The application of the push channels, and the channels."""
    places = Places(config.folder, config.spool_folder)
    channels = [push_channel(setting, places) for setting in push_settings(config)]
    return create_app([channel.endpoint for channel in channels]), channels


def serve(_: int, config: Config, connection: Connection, listening: socket.socket) -> None:
    """The main function of the process.

    Args:
      config: the configuration.
      connection: the line to the supervisor.
      listening: the socket.
    """
    logs.configure(config.log_format, config.log_level)
    mask_output()
    structlog.contextvars.bind_contextvars(worker="push")
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    report = Reporter(connection, stop.set)
    app, channels = make_app(config)
    context = tls_context(config)
    server = make_server(app, context, config.push)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="push", daemon=True)
    thread.start()
    log.info("push.serves", port=listening.getsockname()[1], channels=[channel.name for channel in channels])
    renewed = Renewed(context, config) if context is not None else None
    while not stop.is_set() and thread.is_alive():
        report.send(Alive("working" if server.started else "starting"))
        if renewed is not None:
            renewed.look()
        stop.wait(SIGN_EVERY)
    if not stop.is_set():
        raise RuntimeError("the push endpoint ended by itself")
    report.send(Alive("stopping"))
    server.should_exit = True
    thread.join(GRACE_SECONDS + 5)
    log.info("push.stopped")


def make_server(app: object, context: ssl.SSLContext | None, settings: EndpointSettings) -> uvicorn.Server:
    """The server of the application; `run` it with the listening socket.

    Args:
      app: the application.
      context: the certificate; None behind a proxy.
      settings: [push].
    """
    # Behind a proxy everybody comes from its address.
    bounds = Bounds.of(settings, per_address=not settings.behind_proxy)
    return http_server(
        app, bounds, context, lifespan="off", proxy_headers=False, timeout_graceful_shutdown=GRACE_SECONDS
    )


class Renewed:
    """Reads the certificate again when its files change: connections that begin later are shown the new one.

    Args:
      context: how connections are secured.
      config: the configuration, which names the files.
    """

    def __init__(self, context: ssl.SSLContext, config: Config) -> None:
        self._context, self._config = context, config
        self._stamps = self._look()

    def look(self) -> None:
        """Read it again where a file changed; a pair that does not go together yet is tried again."""
        stamps = self._look()
        if stamps == self._stamps:
            return
        try:
            _load_certificate(self._context, self._config.folder, self._config.push)
        except (OSError, ValueError) as fault:
            log.warning("push.certificate", error=str(fault))
            return
        self._stamps = stamps
        log.info("push.certificate", renewed=True)

    def _look(self) -> list[int]:
        files = (self._config.push.certificate_file, self._config.push.key_file)
        stamps = [0]
        for file in files:
            with contextlib.suppress(OSError):
                stamps.append((self._config.folder / file).stat().st_mtime_ns if file is not None else 0)
        return stamps


def _load_certificate(context: ssl.SSLContext, folder: Path, settings: EndpointSettings) -> None:
    assert settings.certificate_file is not None
    key = folder / settings.key_file if settings.key_file is not None else None
    # Without a password a locked key would ask for one at the terminal.
    context.load_cert_chain(folder / settings.certificate_file, key, password=lambda: "")


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
