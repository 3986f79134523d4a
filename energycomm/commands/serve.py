"""`energycomm serve`: the web services and the console, until they are stopped."""

from __future__ import annotations

import errno
import os
import signal
import socket
import ssl
import sys
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from energycomm import logs
from energycomm.commands.output import say
from energycomm.config import Config
from energycomm.errors import ExitCode, UserError
from energycomm.installation import load_apart
from energycomm.logs import Log

log = Log()

SWITCH_SECONDS = 0.001
"""How long a thread computes before another one has its turn: the one that answers everybody does not wait for long."""


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; that of [web] by default.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="Port; 0 takes a free one.")] = None,
) -> None:
    """Serve the API, the sign-in and the console; until SIGTERM.

    Settings are in [web] and [oidc] of the configuration. The API is described at /api/v1/openapi.json, health at
    /health/live and /health/ready. Of several suppliers, each is served at the host of its own address.
    Exit code 3: the address is taken, or the certificate cannot be read.

    Example: energycomm serve --port 8080
    """
    from energycomm.transport.listening import Bounds, http_server  # everything else would pay for the import

    config, suppliers = load_apart()
    logs.configure(config.log_format, config.log_level)
    context = tls_context(config)
    sys.setswitchinterval(SWITCH_SECONDS)
    app = _one(config) if not suppliers else _several(suppliers)
    server = http_server(app, Bounds.of(config.web, config.web.proxies), context, **options(config, host, port))
    listening = _listen(config, host, port)
    say(f"serving on {_address(config, host, listening.getsockname()[1])}; stop with Ctrl-C", err=True)
    # uvicorn stops by itself and then sends the signal on: what was asked for is done by then.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    server.run(sockets=[listening])
    raise typer.Exit(ExitCode.OK)


def _one(config: Config) -> Any:
    from energycomm.webservice.app import make_app

    app = make_app(config)
    app.state.services.gateway  # noqa: B018 - broken rules are told now, not to the first caller
    return app


def _several(suppliers: dict[str, Config]) -> Any:
    """The applications of several suppliers; what keeps one from being served is told, and tried again."""
    from energycomm.webservice.hosts import Hosts

    app = Hosts(suppliers)
    for host, error in app.failures.items():
        say(f"{host} is not served yet: {error}", err=True)
    return app


def options(config: Config, host: str | None, port: int | None) -> dict[str, Any]:
    """What uvicorn is told.

    Args:
      config: the configuration.
      host, port: of the command line, instead of those of [web].
    """
    web = config.web
    return {
        "host": host or web.host,
        "port": web.port if port is None else port,
        "proxy_headers": bool(web.proxies),
        "forwarded_allow_ips": ",".join(web.proxies) or None,
        "timeout_graceful_shutdown": 30,
    }


def tls_context(config: Config) -> ssl.SSLContext | None:
    """How connections are secured; None without a certificate. One that has ended is used, and the log says so.

    Raises:
      UserError: the certificate cannot be read.
    """
    from cryptography import x509  # every other command would pay for the import

    web = config.web
    if web.certificate_file is None or web.key_file is None:
        return None
    certificate, key = config.folder / web.certificate_file, config.folder / web.key_file
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, lambda: "")  # without an answer OpenSSL would ask at the terminal
    except (OSError, ssl.SSLError) as error:
        raise UserError(
            f"The certificate {certificate} with the key {key} cannot be used: {error.strerror or error}.",
            "Correct `certificate_file` and `key_file` of [web].",
        ) from None
    ends = x509.load_pem_x509_certificate(certificate.read_bytes()).not_valid_after_utc
    if ends < datetime.now(UTC):
        log.warning(
            "certificate.ended", file=str(certificate), ended=f"{ends:%F %R}Z", do="Put a new one in its place."
        )
    return context


TROUBLES = {
    errno.EADDRINUSE: "Something else listens there (`ss -ltnp` names it): end it, or choose another --port.",
    errno.EACCES: "A port below 1024 needs a right of its own: choose a higher one, behind a reverse proxy.",
    errno.EADDRNOTAVAIL: "--host is no address of this machine: 127.0.0.1 is itself, 0.0.0.0 all networks.",
}


def _listen(config: Config, host: str | None, port: int | None) -> socket.socket:
    """The socket that callers connect to; taken before anybody is told that it is served."""
    place = (host or config.web.host, config.web.port if port is None else port)
    try:
        return socket.create_server(place, family=socket.AF_INET6 if ":" in place[0] else socket.AF_INET, backlog=2048)
    except OSError as error:
        # A name that is no address has a number of its own, below zero.
        number = error.errno or 0
        number = number if number in errno.errorcode else errno.EADDRNOTAVAIL
        raise UserError(
            f"The web services cannot listen on {_address(config, host, port)}: {os.strerror(number)}.",
            TROUBLES.get(number) or TROUBLES[errno.EADDRNOTAVAIL],
        ) from None


def _address(config: Config, host: str | None, port: int | None) -> str:
    scheme = "https" if config.web.certificate_file else "http"
    return f"{scheme}://{host or config.web.host}:{config.web.port if port is None else port}"
