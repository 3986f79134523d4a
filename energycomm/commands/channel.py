"""`energycomm channel`: inbound and outbound channels."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from energycomm import logs
from energycomm.commands import process
from energycomm.commands.output import Form, Json, listed, print_json, say
from energycomm.commands.recording import has_store, recorded, system_user
from energycomm.config import Config, load
from energycomm.daemon import operations
from energycomm.eis import channels as stored
from energycomm.eis.channels import NEW, channel_states
from energycomm.eis.envelopes import show_envelope
from energycomm.eis.seen_files import SeenFiles
from energycomm.eis.store import Store
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.instants import now_micros
from energycomm.pipeline.addressee import Misdirected
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.opening import open_store
from energycomm.pipeline.progress import Progress, total
from energycomm.pipeline.records import note, to_process
from energycomm.transport.channel import Arrival, Incoming, Outcome, Seen, TechnicalError, Unseen
from energycomm.transport.settings import AnyChannel

if TYPE_CHECKING:
    from energycomm.transport.patience import GuardedIn, GuardedOut

app = typer.Typer(no_args_is_help=True, help="Inbound and outbound channels.")

Name = Annotated[str, typer.Argument(help="Name of the channel.", show_default=False)]
EVERY = 60.0


@app.command("list")
@listed
def list_channels(form: Form) -> None:
    """List the configured channels, with their state, backlog and last error where there is a store.

    Example: energycomm channel list
    """
    config = load()
    if not config.channels:
        say("No channels are configured; docs/channels.md says how.", err=True)
    shown: dict[str, operations.ChannelShown] = {}
    if config.channels and has_store(config):
        with open_store(config) as store:
            shown = {one.name: one for one in operations.channels(config, store)}
    told = {one.name: one.model_dump(mode="json", exclude_unset=True) for one in config.channels}
    for name, one in shown.items():
        told[name] = {**told.get(name, {}), **msgspec.to_builtins(one)}
    places = {one.name: (one.name, one.market, one.direction, one.kind, _place(one)) for one in config.channels}
    head = ("name", "market", "direction", "kind", "place")
    if not shown:
        form.show([*told.values()], head, places.values())
        return
    rows = [
        (
            *places.get(one.name, (one.name, one.market, one.direction, one.kind, "")),
            *(_state(one), one.backlog, one.worked_at, one.failed_at, one.error),
        )
        for one in shown.values()
    ]
    form.show([*told.values()], (*head, "state", "backlog", "worked", "failed", "error"), rows)


def _state(one: operations.ChannelShown) -> str:
    if one.state != "paused":
        return one.state
    return f"paused by {one.paused_by}: {one.why}" if one.why else f"paused by {one.paused_by}"


@app.command()
@recorded("channel pause", changing=True)
def pause(
    name: Name,
    why: Annotated[str, typer.Option("--why", help="For those who come after.")] = "",
    json: Json = False,
) -> None:
    """Let a channel rest, on all hosts and across restarts, until it is resumed. `back office` stops notifications.

    What was taken in is still processed and acknowledged. What is pushed meanwhile waits in the spool.

    Example: energycomm channel pause enedis --why "maintenance until Monday"
    """
    _switch(name, json, lambda store, one: stored.pause(store, one, system_user(), why, now_micros()))


@app.command()
@recorded("channel resume", changing=True)
def resume(name: Name, json: Json = False) -> None:
    """Let a paused channel go on.

    Example: energycomm channel resume enedis
    """
    _switch(name, json, stored.resume)


@app.command("try")
@recorded("channel try", changing=True)
def try_(name: Name, json: Json = False) -> None:
    """Ask the daemon that leads a channel to try it at once, whatever it waits for; within about two seconds.

    Example: energycomm channel try enedis
    """
    _switch(name, json, lambda store, one: operations.try_now(store, one, now_micros()))


def _switch(name: str, json: bool, do: Callable[[Store, str], object]) -> None:
    """Do something with a channel, and print how it is now."""
    config = load()
    name = operations.one_channel(config, name)
    with open_store(config) as store:
        do(store, name)
        (shown,) = (one for one in operations.channels(config, store) if one.name == name)
    if json:
        print_json(shown)
    else:
        say(f"{name}: {_state(shown)}")


@app.command()
@listed
def check(
    form: Form,
    name: Annotated[str | None, typer.Argument(help="Name of the channel; all of them without.")] = None,
) -> None:
    """Test a channel, without receiving or sending anything.

    It reads secrets and certificates, connects and logs in. Exit code 2: a channel does not work.

    Example: energycomm channel check sge
    """
    config = load()
    chosen = [_find(config, name)] if name is not None else list(config.channels)
    found: list[dict[str, Any]] = []
    for setting in chosen:
        opened = _open(config, setting)
        outcome = opened.check()
        opened.close()
        good = isinstance(outcome, str)
        found.append({"name": setting.name, "works": good, "words": str(outcome)})
    rows = [(row["name"], "yes" if row["works"] else "no", row["words"]) for row in found]
    form.show(found, ("name", "works", "words"), rows)
    raise typer.Exit(ExitCode.OK if all(row["works"] for row in found) else ExitCode.UNREADABLE)


@app.command()
def poll(
    name: Name,
    once: Annotated[bool, typer.Option("--once", help="Poll one time, then end.")] = False,
    every: Annotated[float, typer.Option(help="Seconds between two polls.", min=1)] = EVERY,
    json: Json = False,
) -> None:
    """Receive the waiting envelopes of a channel: archive, digest, judge and store them, then acknowledge them.

    Exit codes as for `energycomm process`; 2 also if the channel does not work.

    Example: energycomm channel poll enedis --once
    """
    config = load()
    logs.configure(config.log_format, config.log_level)
    setting = _find(config, name)
    if setting.direction == "out":
        raise UserError(f"The channel {name} sends; only incoming ones are polled.", "See `energycomm channel list`.")
    with open_store(config) as store:
        paused = channel_states(store.engine).get(name, NEW)
        if paused.paused_at is not None:
            raise UserError(
                f"The channel {name} was paused by {paused.paused_by}.",
                f"`energycomm channel resume {name}` ends that.",
            )
        gateway = Gateway(config, store)
        opened = _open(config, setting, SeenFiles(store.engine))
        assert isinstance(opened, Incoming)
        try:
            while True:
                summary, errors = take_in(gateway, opened)
                if json:
                    print_json({**summary, "channel_errors": [str(error) for error in errors]})
                else:
                    process.print_summary(summary)
                    for error in errors:
                        say(str(error), err=True)
                if once:
                    break
                time.sleep(every)
        finally:
            opened.close()
    raise typer.Exit(ExitCode.UNREADABLE if errors else process.exit_code(summary))


def take_in(gateway: Gateway, channel: Incoming) -> tuple[dict[str, Any], list[TechnicalError]]:
    """Take in what one poll of a channel gives.

    Args:
      gateway: the gateway, put together.
      channel: the channel.

    Returns:
      The summary as of `process.run`, and what did not work on the way.
    """
    errors: list[TechnicalError] = []
    done = total(gateway.inbound.resume())
    for item in channel.poll():
        if isinstance(item, TechnicalError):
            errors.append(item)
            continue
        error = _take(gateway, item, done)
        if error is not None:
            errors.append(error)
    return process.summarise(done, gateway), errors


def _take(gateway: Gateway, arrival: Arrival, done: Progress) -> TechnicalError | None:
    """Take in one arrival and acknowledge it; an exception leaves it with the channel, and it comes again."""
    try:
        source = arrival.open()
    except OSError as fault:
        arrival.give_back()
        return TechnicalError(
            code="CHANNEL_LOCAL", channel=arrival.channel, detail=str(fault.strerror), item=arrival.name
        )
    try:
        with source:
            (archived,) = gateway.inbound.archive([(source, arrival.name)], arrival.channel)
    except Misdirected as misdirected:
        step, refusal = Progress(files=1, unreadable=1), misdirected.refusals[0]
        note(gateway.store, step.tally, None, refusal, "error", arrival.name)
        done.add(step)
        return arrival.acknowledge("failed", str(refusal))
    done.add(Progress(files=1, duplicates=int(archived.duplicate_of is not None)))
    if archived.duplicate_of is None:
        done.add(total(gateway.inbound.process(to_process(archived, arrival.name, arrival.channel))))
    found = show_envelope(gateway.store.engine, archived.envelope_id)
    state = found.summary.state if found is not None else "done"
    outcomes: dict[str, Outcome] = {"duplicate": "duplicate", "failed": "failed"}
    incidents = found.incidents if found is not None and state == "failed" else ()
    reason = "\n".join(
        f"{incident.code} at {incident.path or arrival.name}: {incident.advice}" for incident in incidents
    )
    return arrival.acknowledge(outcomes.get(state, "done"), reason)


def _find(config: Config, name: str) -> AnyChannel:
    for setting in config.channels:
        if setting.name == name:
            return setting
    known = ", ".join(setting.name for setting in config.channels) or "none"
    raise UserError(f"There is no channel {name}.", f"Configured are: {known}.")


def _open(config: Config, setting: AnyChannel, seen: Seen | None = None) -> GuardedIn | GuardedOut:
    """Open a channel; without the store's memory of files it is only tried."""
    # The SSH and HTTP libraries take half a second to load, which only those commands spend that use a channel.
    from energycomm.daemon.channels import open_places
    from energycomm.transport.opening import open_channel

    return open_channel(setting, open_places(config), seen or Unseen())


def _place(setting: AnyChannel) -> str:
    """Where a channel leads, in a few words."""
    match setting.kind:
        case "folder":
            return setting.path
        case "sftp":
            return f"{setting.user}@{setting.host}:{setting.port}{setting.path}"
        case "push":
            return f"POST /channels/{setting.name}/messages"
        case _:
            return setting.url
