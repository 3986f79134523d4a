"""`energycomm serve`: the web services and the console, until they are stopped."""

from __future__ import annotations

import signal
import ssl
import sys
from typing import Annotated, Any

import structlog
import typer

from energycomm import logs
from energycomm.config import Config, load
from energycomm.errors import ExitCode, UserError

log = structlog.get_logger()

SWITCH_SECONDS = 0.001
"""How long a thread computes before another one has its turn: the one that answers everybody does not wait for long."""


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; that of [web] by default.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="Port; 0 takes a free one.")] = None,
) -> None:
    """Serve the API, the sign-in and the console; until SIGTERM.

    Settings are in [web] and [oidc] of the configuration. The API is described at /api/v1/openapi.json, health at
    /health/live and /health/ready. Exit code 3: the address is taken, or the certificate cannot be read.

    Example: energycomm serve --port 8080
    """
    from energycomm.transport.listening import Bounds, http_server  # everything else would pay for the import
    from energycomm.webservice.app import make_app

    config = load()
    logs.configure(config.log_format, config.log_level)
    context = tls_context(config)
    sys.setswitchinterval(SWITCH_SECONDS)
    app = make_app(config)
    app.state.services.gateway  # noqa: B018 - broken rules are told now, not to the first caller
    server = http_server(app, Bounds.of(config.web, config.web.proxies), context, **options(config, host, port))
    typer.echo(f"serving on {_address(config, host, port)}; stop with Ctrl-C", err=True)
    # uvicorn stops by itself and then sends the signal on: what was asked for is done by then.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    try:
        server.run()
    except SystemExit:
        raise UserError(
            f"The web services cannot listen on {_address(config, host, port)}.",
            "Is something else listening there? Choose another --port or --host.",
        ) from None
    raise typer.Exit(ExitCode.OK)


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
    """How connections are secured; None without a certificate.

    Raises:
      UserError: the certificate cannot be read.
    """
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
    return context


def _address(config: Config, host: str | None, port: int | None) -> str:
    scheme = "https" if config.web.certificate_file else "http"
    return f"{scheme}://{host or config.web.host}:{config.web.port if port is None else port}"
