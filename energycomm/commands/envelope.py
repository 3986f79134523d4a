"""`energycomm envelope`: what arrived, what was in it, and the bytes themselves."""

from __future__ import annotations

import io
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated

import typer

from energycomm import logs
from energycomm.commands.language import named
from energycomm.commands.options import options_of
from energycomm.commands.output import (
    Form,
    Json,
    hand_over,
    listed,
    print_facts,
    print_heading,
    print_json,
    print_rows,
    say,
)
from energycomm.commands.recording import of_envelope, recorded
from energycomm.config import load
from energycomm.eis.archive import is_altered, open_raw
from energycomm.eis.database import Conflict
from energycomm.eis.envelopes import EnvelopeDetail, EnvelopeSummary, list_envelopes, refused_ch_messages, show_envelope
from energycomm.eis.store import Store
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.counting import counted
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage
from energycomm.pipeline.acknowledgement import acknowledgements, kept_acknowledgements
from energycomm.pipeline.gateway import Gateway, open_keys
from energycomm.pipeline.listsearch import EnvelopeSearch
from energycomm.pipeline.opening import open_store
from energycomm.pipeline.progress import Progress
from energycomm.pipeline.records import OpenEnvelope, TakenOver, put_aside, try_again

app = typer.Typer(no_args_is_help=True, help="Envelopes: what arrived.")


@app.command("list")
@options_of(EnvelopeSearch)
@listed
def list_(
    wanted: EnvelopeSearch,
    form: Form,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue where a former list ended (its `next`).")] = None,
) -> None:
    """List envelopes, the newest first unless they are sorted otherwise.

    Example: energycomm envelope list --state failed
    """
    try:
        with open_store(load()) as store:
            page = list_envelopes(store.engine, **wanted.known(store.engine).model_dump(), limit=limit, cursor=cursor)
    except ValueError:
        raise UserError(f"{cursor!r} is no cursor of a list.", "Take `next` of the list before.") from None
    form.show(
        page,
        ("id", "name", "size", "received", "market", "state", "series", "reason"),
        [(e.id, e.name, e.size, e.received_at, e.market, e.state, _series(e), e.reason or "") for e in page.envelopes],
        following=page.next,
    )


def _series(one: EnvelopeSummary) -> str:
    return f"{one.series_key} {one.series_number or ''}".rstrip() if one.series_key else ""


@app.command()
@recorded("envelope show", subject=of_envelope)
def show(
    envelope_id: Annotated[int, typer.Argument(metavar="ID", help="Number of the envelope.")], json: Json = False
) -> None:
    """Show one envelope: its members, their outcome, and all notes and incidents.

    Example: energycomm envelope show 3
    """
    with open_store(load()) as store:
        found = _find(store, envelope_id)
        refused = refused_ch_messages(store.engine, envelope_id)
        answers = kept_acknowledgements(store, envelope=envelope_id)
    if json:
        print_json(found)
        return
    summary = found.summary
    print_facts(
        [
            ("envelope", f"{summary.id} {summary.name}"),
            ("state", summary.state),
            ("sha256", summary.sha256),
            ("size", counted(summary.size, "byte")),
            ("received", summary.received_at),
            ("channel", summary.channel),
            ("key", summary.key_label),
            (
                "series",
                f"{summary.series_key} {named('number')} {summary.series_number}" if summary.series_key else None,
            ),
            ("duplicate of", summary.duplicate_of),
            ("duplicates", found.duplicates or None),
            ("CH messages", " ".join(f"{name} {number}" for name, number in found.outcomes.items())),
            ("Kernel messages", " ".join(f"{name} {number}" for name, number in found.states.items())),
        ]
    )
    if found.members:
        print_heading("Members")
        print_rows(
            ("path", "type", "declared", "read as", "state", "CH messages"),
            [(m.path, m.type, m.declared_version, m.version, m.state, m.transactions) for m in found.members],
        )
    if answers:
        print_heading("Acknowledgements")
        print_rows(
            ("type", "reference", "state", "sent", "channel", "last error"),
            [
                (one.type, one.reference, one.state, one.sent_at, one.channel or "", one.last_error or "")
                for one in answers
            ],
        )
    if refused:
        print_heading("Refused CH messages (energycomm message explain ch:ID)")
        print_rows(("id", "type", "reference"), [(f"ch:{number}", kind, ref) for number, kind, ref in refused])
    if found.incidents:
        print_heading("Notes")
        print_rows(
            ("severity", "code", "where", "found", "expected", "what to do"),
            [(i.severity, i.code, i.path, i.value, i.expected, i.advice) for i in found.incidents],
        )


@app.command()
@recorded("envelope extract", subject=of_envelope)
def extract(
    envelope_id: Annotated[int, typer.Argument(metavar="ID", help="Number of the envelope.")],
    out: Annotated[Path | None, typer.Option(help="File to write; standard output when not given.")] = None,
) -> None:
    """Write the bytes of an envelope exactly as they arrived; of one that told of a customer who was erased, the rest.

    Example: energycomm envelope extract 3 --out envelope.zip
    """
    with open_store(load()) as store:
        found = _find(store, envelope_id)
        sha256 = bytes.fromhex(found.summary.sha256)
        if is_altered(store.engine, sha256):
            say("A customer who was erased was taken out of it: these are not the bytes that arrived.", err=True)
        with open_raw(store.engine, sha256) as raw:
            if out is None:
                hand_over(raw)
                return
            _write(raw, out)
    say(f"{counted(found.summary.size, 'byte')} written to {out}")


@app.command("put-aside")
@recorded("envelope put-aside", changing=True, subject=of_envelope)
def put_aside_(
    envelope_id: Annotated[int, typer.Argument(metavar="ID", help="Number of the envelope.")],
    why: Annotated[str, typer.Option(help="Why, for the record.")] = "put aside by hand",
) -> None:
    """Put an unprocessed envelope aside: the others continue without it, and its bytes are kept.

    Example: energycomm envelope put-aside 3 --why "kills the worker"
    """
    with open_store(load()) as store:
        summary = _find(store, envelope_id).summary
        envelope = OpenEnvelope(envelope_id, summary.name, bytes.fromhex(summary.sha256), channel=summary.channel)
        with store.transaction() as tx:
            given_up = put_aside(tx, envelope, why)
        if given_up is None:
            raise UserError(
                f"Envelope {envelope_id} ({summary.name}) is {summary.state}: only one that is archived or processing "
                "can be put aside.",
                "`energycomm envelope retry` processes the refused parts again.",
            )
    say(f"envelope {envelope_id} ({summary.name}) is put aside")


@app.command()
@recorded("envelope retry", changing=True, subject=of_envelope)
def retry(
    envelope_id: Annotated[int, typer.Argument(metavar="ID", help="Number of the envelope.")],
    later: Annotated[bool, typer.Option("--later", help="Leave it to the daemon or the next `process`.")] = False,
) -> None:
    """Process the put-aside and refused parts of an envelope again, and nothing else of it.

    Exit code 2: some part is still put aside or refused.

    Example: energycomm envelope retry 3
    """
    config = load()
    logs.configure(config.log_format, config.log_level)
    with open_store(config) as store:
        summary = _find(store, envelope_id).summary
        gateway = Gateway(config, store)  # before anything is changed: the rules may be broken
        open_raw(store.engine, bytes.fromhex(summary.sha256)).close()  # they may be in an archive
        number = try_again(store, envelope_id)
        if number is None:
            raise UserError(
                f"Nothing of envelope {envelope_id} ({summary.name}) was put aside or refused.",
                "`energycomm envelope show` shows its state.",
            )
        say(f"envelope {envelope_id} ({summary.name}) is tried again")
        if later:
            return
        envelope = OpenEnvelope(envelope_id, summary.name, bytes.fromhex(summary.sha256), channel=summary.channel)
        progress = Progress()
        with suppress(Conflict, TakenOver):  # a daemon has it already
            for step in gateway.inbound.process(envelope):
                progress.add(step)
        state = _find(store, envelope_id).summary.state
    told = progress.tally.told
    for place, refusal in told:
        say(f"{place}: {refusal}")
    say(f"it is {state}")
    raise typer.Exit(ExitCode.UNREADABLE if told or state == "failed" else ExitCode.OK)


@app.command()
@recorded("envelope acknowledge", subject=of_envelope)
def acknowledge(
    envelope_id: Annotated[int, typer.Argument(metavar="ID", help="Number of the envelope.")],
    out: Annotated[Path | None, typer.Option(help="File to write; standard output when not given.")] = None,
) -> None:
    """Write the acknowledgement of an envelope for its sender: the CONTRL of an EDIFACT interchange.

    Example: energycomm envelope acknowledge 3 --out contrl.edi
    """
    config = load()
    with open_store(config) as store:
        summary = _find(store, envelope_id).summary
        envelope = (envelope_id, summary.name, bytes.fromhex(summary.sha256), summary.channel)
        answers = list(acknowledgements(config, store, open_keys(config), envelope, datetime.now(UTC)))
    for answer in answers:
        if isinstance(answer, Refusal):
            raise UserError(f"No acknowledgement is possible: {answer}.", "Ask the sender to send it in another way.")
    content = b"".join(answer.content for answer in answers if isinstance(answer, OutgoingMessage))
    if not content:
        raise UserError("The sender of this envelope wants no such answer.", "Only interchanges of EDIFACT have one.")
    if out is None:
        hand_over(content)
        return
    _write(io.BytesIO(content), out)
    say(f"{counted(len(content), 'byte')} written to {out}")


def _write(raw: IO[bytes], out: Path) -> None:
    try:
        with out.open("xb") as target:
            shutil.copyfileobj(raw, target)
    except FileExistsError:
        raise UserError(f"{out} exists already.", "Choose another name or remove it.") from None
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}.", "Check the folder.") from None


def _find(store: Store, number: int) -> EnvelopeDetail:
    found = show_envelope(store.engine, number)
    if found is None:
        raise UserError(f"There is no envelope {number}.", "`energycomm envelope list` lists them.")
    return found
