"""`energycomm request`: what we ask of the market, handed in, listed, followed, sent again; and what we owe others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from energycomm.commands.options import options_of
from energycomm.commands.output import (
    NO_TIME,
    Form,
    Json,
    hand_over,
    legal_time,
    listed,
    print_facts,
    print_heading,
    print_json,
    print_rows,
    say,
)
from energycomm.commands.recording import of_request, recorded, system_user
from energycomm.config import load
from energycomm.eis.received_requests import list_owed
from energycomm.eis.requests import list_requests, show_request
from energycomm.errors import ExitCode, UserError
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.delivery import revive
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.listsearch import OwedSearch, RequestSearch
from energycomm.pipeline.opening import open_store
from energycomm.pipeline.outbound import Outbound, Submission
from energycomm.pipeline.submissions import Handed, read_handed

app = typer.Typer(no_args_is_help=True, help="Requests to the market.")


@app.command()
@recorded("request submit", changing=True)
def submit(
    file: Annotated[
        Path, typer.Argument(help="Kernel messages as JSON (one or a list) or XML; - reads from the pipe.")
    ],
    key: Annotated[
        str | None, typer.Option("--key", help="Idempotency key: the same key again has no second effect.")
    ] = None,
    json: Json = False,
) -> None:
    """Submit requests to the market: judge them by the outgoing rules, build their bytes and queue them for sending.

    Exit code 0: all will be sent; 1: some were rejected by a rule; 2: some could not be read or built.

    Example: energycomm request submit switch.json --key 2026-000123
    """
    config = load()
    by = system_user()
    answers: list[Submission] = []
    with open_store(config) as store:
        gateway = Gateway(config, store)
        outbound = Outbound(store, gateway.engine, gateway.markets, gateway.rules_version_id)
        for number, one in enumerate(_handed(_read(file), file)):
            if one.message is None:
                answers.append(Submission(label="refused", refusals=one.refusals))
            else:
                own_key = key if key is None or number == 0 else f"{key}/{number}"
                answers.append(outbound.submit(one.message, by, own_key))
    if json:
        print_json(answers)
    else:
        for answer in answers:
            _print_submission(answer)
    labels = {answer.label for answer in answers}
    if "refused" in labels:
        raise typer.Exit(ExitCode.UNREADABLE)
    if labels - {"accepted"}:
        raise typer.Exit(ExitCode.REJECTED)


def _print_submission(answer: Submission) -> None:
    if answer.request_id is not None:
        words = f"request {answer.request_id} will be sent, reference {answer.reference}"
        say(f"{words} (submitted before)" if answer.repeated else words)
    else:
        say(f"{answer.label}: message {answer.message_id}" if answer.message_id else answer.label)
    for finding in answer.findings:
        say(f"  {finding.error_code} {finding.comment}")
    for refusal in answer.refusals:
        say(f"  {refusal}")


def _read(file: Path) -> bytes:
    """What is handed in."""
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.", "Check the path.") from None
    return content


def _handed(content: bytes, file: Path) -> list[Handed]:
    """The messages of a document, each readable or not."""
    found = read_handed(content)
    if isinstance(found, list):
        return found
    if content.lstrip()[:1] == b"<":
        return [Handed(None, content, (found,))]
    raise UserError(f"{file} is neither XML nor JSON: {found.expected}.", "See docs/requests.md for the form.")


@app.command("list")
@recorded("request list")
@options_of(RequestSearch)
@listed
def list_(
    wanted: RequestSearch,
    form: Form,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 50,
) -> None:
    """List requests, the newest first unless they are sorted otherwise.

    Example: energycomm request list --state refused
    """
    with open_store(load()) as store:
        found = list_requests(store.engine, **wanted.known(store.engine).model_dump(), limit=limit)
    form.show(
        found,
        ("id", "market", "kind", "access point", "made", "state", "code", "overdue"),
        [
            (
                r.id,
                r.market,
                r.kind,
                r.access_point,
                r.created_at,
                r.state,
                r.answer_code,
                "overdue" if r.overdue else "",
            )
            for r in found
        ],
    )


@app.command()
@recorded("request owed")
@options_of(OwedSearch)
@listed
def owed(
    wanted: OwedSearch,
    form: Form,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 50,
) -> None:
    """List what other parties ask of us and we have not answered, the most urgent first, in the market's legal time.

    Example: energycomm request owed --late
    """
    config = load()
    times = legal_time()
    with open_store(config) as store:
        found = list_owed(
            store.engine,
            installed_adapters(config.mapping_files).zones,
            **wanted.model_dump(),
            limit=limit,
        )
    form.show(
        found,
        ("message", "market", "access point", "reference", "requester", "asks", "answer by", "late"),
        [
            (
                one.message_id,
                one.market,
                one.access_point,
                one.reference,
                one.requester,
                one.object_code,
                times.when(one.answer_by, one.market),
                "late" if one.late else "",
            )
            for one in found
        ],
    )


@app.command()
@recorded("request show", subject=of_request)
def show(
    request_id: Annotated[int, typer.Argument(metavar="ID", help="Number of the request.")],
    content: Annotated[bool, typer.Option("--content", help="Print only the bytes that are sent.")] = False,
    json: Json = False,
) -> None:
    """Show one request: its content, every step, and the market's answers.

    Example: energycomm request show 12
    """
    with open_store(load()) as store:
        found = show_request(store.engine, request_id)
    if found is None:
        raise UserError(f"There is no request {request_id}.", "`energycomm request list` lists them.")
    if content:
        hand_over(found.content.encode())
        return
    if json:
        print_json(found)
        return
    summary = found.summary
    print_facts(
        [
            ("request", f"{summary.id} ({summary.kind})"),
            ("state", f"{summary.state} (overdue)" if summary.overdue else summary.state),
            ("market", f"{summary.market} {found.type}"),
            ("access point", summary.access_point),
            ("our reference", summary.reference),
            ("the market's", summary.market_reference),
            ("message", found.message_id),
            ("made", summary.created_at),
            ("by", found.submitted_by),
            ("sent", found.sent_at),
            ("answer by", summary.answer_by),
            ("attempts", found.attempts),
            ("last error", found.last_error),
        ]
    )
    times = legal_time()
    print_heading("Steps")
    print_rows(
        ("when", "state", "code", "text", "message"),
        [
            (times.when(step.at, summary.market) or NO_TIME, step.state, step.code, step.text, step.message_id)
            for step in found.steps
        ],
    )


@app.command()
@recorded("request retry", changing=True, subject=of_request)
def retry(
    request_id: Annotated[int, typer.Argument(metavar="ID", help="Number of a dead request.")], json: Json = False
) -> None:
    """Send a dead request again, with the same bytes and reference.

    Example: energycomm request retry 12
    """
    with open_store(load()) as store:
        if not revive(store, request_id):
            raise UserError(
                f"Request {request_id} is not dead, or another answer was made in its place.",
                "`energycomm request list --state dead` lists them.",
            )
    if json:
        print_json({"due_again": [request_id]})
    else:
        say(f"request {request_id} will be sent again")
