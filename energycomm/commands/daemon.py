"""`energycomm daemon`: runs unattended until it is stopped."""

from __future__ import annotations

import typer

from energycomm import logs
from energycomm.commands.output import Form, listed
from energycomm.config import load
from energycomm.errors import ExitCode
from energycomm.installation import load_apart


def daemon() -> None:
    """Poll all channels, process arrivals, send what is due, notify the back office; until SIGTERM.

    Settings are in [daemon], [[channels]], [notify] and [retention] of the configuration. Metrics and health are served
    on http://127.0.0.1:9464: /health/live, /health/ready; and /metrics, /health/details, for this machine or with the
    token of the settings. Of several suppliers, each has workers of its own. Exit code 0: every batch was finished.

    Example: energycomm daemon
    """
    # Everything else would pay for the imports.
    from energycomm.daemon.several import Supervisors
    from energycomm.daemon.supervisor import Supervisor

    config, suppliers = load_apart()
    logs.configure(config.log_format, config.log_level)
    made = Supervisors(config, suppliers) if suppliers else Supervisor(config)
    raise typer.Exit(made.run())


@listed
def workers(form: Form) -> None:
    """List the daemons of all hosts with their workers: state, envelope at hand, duties that each leads.

    A daemon that gave no sign for half a minute is silent; one that was stopped in order is not listed. Exit code 2:
    all of them are silent.

    Example: energycomm workers
    """
    from energycomm.eis.channels import daemon_states
    from energycomm.kernel.instants import now_micros
    from energycomm.pipeline.opening import open_store

    with open_store(load()) as store:
        found = daemon_states(store.engine, now_micros())
    rows = []
    for one in found:
        for worker in one.facts["workers"]:
            state = "silent" if one.silent else worker["state"]
            leads = " ".join(worker["leads"])
            rows.append((one.name, worker["number"], worker["pid"], state, worker["envelope"], leads, one.seen_at))
    form.show(found, ("daemon", "worker", "process", "state", "envelope", "leads", "seen"), rows)
    if found and all(one.silent for one in found):
        raise typer.Exit(ExitCode.UNREADABLE)
