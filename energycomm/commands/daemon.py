"""`energycomm daemon`: runs unattended until it is stopped."""

from __future__ import annotations

import typer

from energycomm import logs
from energycomm.config import load


def daemon() -> None:
    """Poll all channels, process arrivals, send what is due, notify the back office; until SIGTERM.

    Settings are in [daemon], [[channels]], [notify] and [retention] of the configuration. Metrics and health are served
    on http://127.0.0.1:9464: /health/live, /health/ready; and /metrics, /health/details, for this machine or with the
    token of the settings. Exit code 0: every batch was finished.

    Example: energycomm daemon
    """
    from energycomm.daemon.supervisor import Supervisor  # everything else would pay for the import

    config = load()
    logs.configure(config.log_format, config.log_level)
    raise typer.Exit(Supervisor(config).run())
