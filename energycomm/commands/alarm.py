"""`energycomm alarm`: what needs somebody, with what to do; and telling people of it."""

from __future__ import annotations

import typer

from energycomm import logs
from energycomm.commands.output import Form, Json, listed, print_json, say
from energycomm.config import Config, load
from energycomm.daemon import alarming
from energycomm.daemon.alarms import BY_CODE
from energycomm.eis.alarm_states import Known
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.instants import now_micros
from energycomm.pipeline.opening import open_store

app = typer.Typer(no_args_is_help=True, help="Alarms: what needs somebody, and who is told.")


@app.command("list")
@listed
def list_(form: Form) -> None:
    """List the alarms that are on, of the store and of the daemons of all hosts, with what to do.

    Example: energycomm alarm list
    """
    config = load()
    with open_store(config) as store:
        found = alarming.current(store, config, now_micros())
    rows = [(code, subject, detail, BY_CODE[code].advice) for (code, subject), detail in found.items()]
    head = ("alarm", "subject", "detail", "do")
    form.show([dict(zip(head, row, strict=True)) for row in rows], head, rows)


@app.command()
def send(json: Json = False) -> None:
    """Tell people of the alarms that are due, as the daemon does; for a timer, which also notices that no daemon runs.

    Each is told once when it lasts, again while it goes on, and once when it is over, whoever tells.

    Example: energycomm alarm send
    """
    config = _told()
    with open_store(config) as store:
        number = alarming.turn(store, config)
    if json:
        print_json({"told": number})
    else:
        say(f"alarms told: {number}")


@app.command("test")
def try_out(json: Json = False) -> None:
    """Tell everybody of a made-up alarm, to see that it arrives; exit code 2 if no way works.

    Example: energycomm alarm test
    """
    config = _told()
    known = Known(since=now_micros(), detail="This is a test: nothing is wrong.")
    good = alarming.Ways(config).send([alarming.told(("NO_DAEMON", "test"), "on", known)])
    if json:
        print_json({"told": good})
    else:
        say("the test was told" if good else "nobody could be told; the log says why")
    raise typer.Exit(ExitCode.OK if good else ExitCode.UNREADABLE)


def _told() -> Config:
    config = load()
    logs.configure(config.log_format, config.log_level)
    if not alarming.is_told(config):
        raise UserError("Nobody is told of alarms.", "Set email_to or url of [alarms]; docs/configuration.md.")
    alarming.check_ways(config)
    return config
