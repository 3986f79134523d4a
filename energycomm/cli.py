"""The command line: puts the commands together and turns every outcome into words and an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from importlib.metadata import entry_points, version
from typing import Annotated

import typer

from energycomm import logs
from energycomm.commands import (
    access_point,
    channel,
    config,
    correct,
    daemon,
    eis,
    envelope,
    message,
    outbox,
    process,
    request,
    rules,
    simulate,
)
from energycomm.config import load
from energycomm.errors import ExitCode, UserError

# The common ancestor of Typer's complaints about what was typed.
_UsageMistake: type[Exception] = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")

PIPE_CLOSED = 141
"""Exit code when whoever read the output closed the pipe, as the shell tells it of any program."""

app = typer.Typer(name="energycomm", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
app.command()(process.process)
app.command()(daemon.daemon)
app.add_typer(message.app, name="message")
app.add_typer(access_point.app, name="access-point")
app.add_typer(envelope.app, name="envelope")
app.add_typer(correct.app, name="correct")
app.add_typer(request.app, name="request")
app.add_typer(channel.app, name="channel")
app.add_typer(outbox.app, name="outbox")
app.add_typer(eis.app, name="eis")
app.add_typer(rules.app, name="rules")
app.command()(simulate.simulate)
app.command()(simulate.simulate_answers)
app.add_typer(config.app, name="config")

# What other packages add; they import the gateway, it never imports them.
for _point in sorted(entry_points(group="energycomm.commands")):
    app.add_typer(_point.load(), name=_point.name)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"energycomm {version('energycomm')}")
        raise typer.Exit


@app.callback()
def energycomm(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The gateway between an energy supplier and the clearing houses of several countries.

    Example: energycomm process inbox/
    """
    # A wrong configuration is the command's to report: `--help` must work with it.
    with contextlib.suppress(UserError):
        settings = load()
        logs.configure(settings.log_format, settings.log_level)


def main(arguments: list[str] | None = None) -> int:
    """Run a command.

    Args:
      arguments: what was typed after the program's name; the process's own by default.

    Returns:
      The exit code, one of `ExitCode`, 130 when interrupted, or `PIPE_CLOSED`.
    """
    try:
        outcome = app(arguments, standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        return _complain(error.message, error.advice, error.exit_code)
    except _UsageMistake as error:
        error.show()  # type: ignore[attr-defined]
        return ExitCode.USAGE
    except (KeyboardInterrupt, typer.Abort):
        return _complain("Interrupted.", "What was committed stays; run the command again to go on.", 130)
    except (BrokenPipeError, SystemExit):
        # Whoever read our output (head, less) has seen enough. Rich and Typer make a SystemExit of it; nobody else
        # exits. Python would complain once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception:
        traceback.print_exc()
        return _complain(
            "EnergyComm failed.", "This is a mistake of the program: report the lines above.", ExitCode.INTERNAL
        )
    return outcome if isinstance(outcome, int) else ExitCode.OK


def _complain(message: str, advice: str, exit_code: int) -> int:
    typer.echo(f"error: {message.rstrip()}", err=True)
    if advice:
        typer.echo(f"       {advice}", err=True)
    return exit_code
