"""The command line: puts the commands together and turns every outcome into words and an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from energycomm.cells import on_one_line
from energycomm.commands.helping import show_mistake
from energycomm.commands.language import reader, told
from energycomm.commands.loading import Place, program
from energycomm.errors import DamagedRow, ExitCode, UserError
from energycomm.masking import masked_output
from energycomm.private_files import private_files

# The common ancestor of Typer's complaints about what was typed.
_UsageMistake: type[Exception] = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")

PIPE_CLOSED = 141
"""Exit code when whoever read the output closed the pipe, as the shell tells it of any program."""

COMMANDS: dict[str, Place] = {
    "process": Place(
        "process", "process", "Process envelopes: archive, digest, judge and store every message in them."
    ),
    "daemon": Place(
        "daemon",
        "daemon",
        "Poll all channels, process arrivals, send what is due, notify the back office; until SIGTERM.",
    ),
    "workers": Place(
        "daemon",
        "workers",
        "List the daemons of all hosts with their workers: state, envelope at hand, duties that each leads.",
    ),
    "serve": Place("serve", "serve", "Serve the API, the sign-in and the console; until SIGTERM."),
    "portfolio": Place("portfolio", "app", "A supplier's points: taken over on the first day, compared at any time."),
    "inject": Place("inject", "inject", "Inject Kernel messages, such as those received by e-mail or from the TSO."),
    "find": Place(
        "find", "find", "Find access points, contracts, meters, customers, requests, references, files, tickets, codes."
    ),
    "message": Place("message", "app", "Kernel messages and their verdicts."),
    "access-point": Place("access_point", "app", "Access points and their histories."),
    "envelope": Place("envelope", "app", "Envelopes: what arrived."),
    "correct": Place("correct", "app", "Refused messages: analysed, corrected, replayed."),
    "request": Place("request", "app", "Requests to the market."),
    "channel": Place("channel", "app", "Inbound and outbound channels."),
    "alarm": Place("alarm", "app", "Alarms: what needs somebody, and who is told."),
    "outbox": Place("outbox", "app", "Notifications to the back office."),
    "acknowledgement": Place("acknowledgement", "app", "Acknowledgements to the senders of envelopes."),
    "eis": Place("eis", "app", "The Energy Information Store."),
    "keys": Place("keys", "app", "The key ring: keys of envelopes and of the store."),
    "rules": Place("rules", "app", "The rules that the Kernel applies."),
    "export": Place(
        "export", "export", "Export a subject to Parquet, CSV or JSON lines, and tell the cursor to go on from."
    ),
    "billing": Place(
        "billing",
        "billing",
        "Show the billing period of a contract: consumption by time class, terms, what is estimated or missing.",
    ),
    "invoice": Place("invoice", "app", "Grid invoices, checked: what they charge that nothing explains, in euros."),
    "gas": Place("gas", "app", "Calorific values, and volumes of gas as energy."),
    "simulate": Place(
        "simulate",
        "simulate",
        "Write realistic envelopes of a market, and a truth file with the expected outcome of each message.",
    ),
    "simulate-answers": Place(
        "simulate",
        "simulate_answers",
        "Write the markets' answers to the built and sent requests of the EIS.",
    ),
    "customer": Place("customer", "app", "A customer's personal data: found, handed over in one file, erased."),
    "token": Place("token", "app", "API tokens of the web services."),
    "user": Place("user", "app", "People and programs that use the web services."),
    "audit": Place("audit", "app", "Who read personal data or changed something."),
    "supplier": Place("supplier", "app", "The suppliers of an installation of several, each apart."),
    "config": Place("config", "app", "The settings of EnergyComm."),
}
"""Every command of the gateway, in the order of the help. A command that is not asked for is not imported."""

app = typer.Typer(
    name="energycomm",
    cls=program(COMMANDS),  # type: ignore[arg-type]
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"energycomm {version('energycomm')}")
        raise typer.Exit


@app.callback()
def energycomm(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    supplier: Annotated[
        str | None,
        typer.Option(
            "--supplier", metavar="NAME", help="Of several suppliers, this one; it may stand behind the command too."
        ),
    ] = None,
) -> None:
    """The gateway between an energy supplier and the clearing houses of several countries.

    Example: energycomm process inbox/
    """
    # Imported here: the help needs neither.
    from energycomm import logs
    from energycomm.config import choosing, load_all

    context.with_resource(choosing(supplier))
    # A wrong configuration is the command's to report: `--help` must work with it.
    with contextlib.suppress(UserError):
        settings, _ = load_all()
        logs.configure(settings.log_format, settings.log_level)


def main(arguments: list[str] | None = None) -> int:
    """Run a command: what it prints is masked and in the reader's language, what it writes is private.

    Args:
      arguments: what was typed after the program's name; the process's own by default.

    Returns:
      The exit code, one of `ExitCode`, 130 when interrupted, or `PIPE_CLOSED`.
    """
    with private_files(), masked_output(), reader():
        return _run(arguments)


OWN = ("adapters", "rules", "assistant")
"""Packages of ours whose names others use too: AdapterHub has an `adapters`, django-rules a `rules`."""


def refuse_foreign_packages() -> None:
    """Refuse to start if a package of another project has the name of one of ours, or has overwritten it.

    Nothing is imported: each of ours says in its first lines whose it is.

    Raises:
      UserError: one is not ours; where it lies.
    """
    for name in OWN:
        spec = find_spec(name)
        origin = spec.origin if spec else None
        if origin is None or "EnergyComm" not in Path(origin).read_text("utf-8", "replace"):
            raise UserError(
                f"The Python package `{name}` is not that of EnergyComm: {origin or 'it is not installed'}.",
                "Install EnergyComm in an environment of its own, without the other package of that name.",
            )


def _run(arguments: list[str] | None) -> int:
    try:
        refuse_foreign_packages()
        typed = sys.argv[1:] if arguments is None else arguments
        _refuse_empty(typed)
        outcome = app(_supplier_first(typed), standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        return _complain(error.message, error.advice, error.exit_code)
    except DamagedRow as error:
        return _complain(str(error), f"{error.advice[:1].upper()}{error.advice[1:]}.", ExitCode.UNREADABLE)
    except _UsageMistake as error:
        mistakes = getattr(error.__cause__, "errors", None)
        if mistakes is not None:
            from energycomm.fielderrors import in_words

            error.message = in_words(mistakes()[0])  # type: ignore[attr-defined]
        show_mistake(error)
        return ExitCode.USAGE
    except (KeyboardInterrupt, typer.Abort):
        return _complain("Interrupted.", "Committed work is kept; run the command again to continue.", 130)
    except (BrokenPipeError, SystemExit):
        # Whoever read our output (head, less) has seen enough. Rich and Typer make a SystemExit of it; nobody else
        # exits. Python would complain once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except OSError as error:
        if error.filename is None or not error.strerror:
            return _broken()
        advice = "Name another place, or change its permissions; what was written before stays."
        return _complain(f"{error.filename}: {error.strerror}.", advice, ExitCode.USAGE)
    except Exception:
        return _broken()
    return outcome if isinstance(outcome, int) else ExitCode.OK


def _refuse_empty(arguments: list[str]) -> None:
    """Refuse an empty word: of a variable that is not set, it would mean the folder one is in, or every row.

    Raises:
      UserError: one is empty; behind which word.
    """
    for place, word in enumerate(arguments):
        name, sign, value = word.partition("=")
        if not word.strip() or (name.startswith("--") and sign and not value.strip()):
            where = name if word.strip() else arguments[place - 1] if place else "energycomm"
            advice = "Write a value, or leave the option out; is a variable of the shell not set?"
            raise UserError(f"The word after {where} is empty.", advice)


def _supplier_first(arguments: list[str]) -> list[str]:
    """The arguments with `--supplier` in front of the command, wherever it was typed."""
    typed = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for place, word in enumerate(typed):
        if word == "--supplier" and place:
            return [*arguments[place : place + 2], *arguments[:place], *arguments[place + 2 :]]
        if word.startswith("--supplier="):
            return [word, *arguments[:place], *arguments[place + 1 :]]
    return arguments


def _broken() -> int:
    """The end of a command that a mistake of ours ended; to be called while its exception is handled."""
    traceback.print_exc()
    return _complain(
        "EnergyComm failed.", "This is a mistake of the program: report the lines above.", ExitCode.INTERNAL
    )


def _complain(message: str, advice: str, exit_code: int) -> int:
    # What goes on in a further line is indented, where no line of ours begins.
    lines = [on_one_line(told(line)) for text in (message.rstrip(), advice) if text for line in text.split("\n")]
    typer.echo(f"{told('error:')} " + "\n       ".join(lines), err=True)
    return exit_code
