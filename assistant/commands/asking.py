"""Asking from the command line: one question, a conversation, a search, an explanation, an opinion, the web page."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from assistant.commands.indexing import day
from assistant.commands.showing import Form, answer_data, print_answer, print_explanation, print_found
from energycomm.commands.output import Json, print_json, say, say_piece
from energycomm.commands.recording import announce, of_answer, of_message, of_question, recorded, system_user
from energycomm.errors import ExitCode

Markets = Annotated[list[str] | None, typer.Option("--market", help="Only texts for this market; may be repeated.")]
On = Annotated[str | None, typer.Option("--on", help="Only texts valid on this day, YYYY-MM-DD.")]
Languages = Annotated[list[str] | None, typer.Option("--language", help="Only documents in this language: fr.")]
Sources = Annotated[list[str] | None, typer.Option("--source", help="Only this source: rules.")]
Versions = Annotated[list[str] | None, typer.Option("--version", help="Only this version of the documents.")]
ShowPlan = Annotated[bool, typer.Option("--show-plan", help="Print what is understood, and answer nothing.")]
Plain = Annotated[bool, typer.Option("--plain", help="Plain text, also on a terminal.")]


@recorded("assistant ask", subject=of_question)
def ask(
    question: Annotated[str, typer.Argument(help="The question, in French, Dutch, English or German.")],
    market: Markets = None,
    on: On = None,
    language: Languages = None,
    source: Sources = None,
    version: Versions = None,
    plain: Plain = False,
    show_plan: ShowPlan = False,
    json: Json = False,
) -> None:
    """Answer a question: worked out from rules and store, or quoted from the sources; exit code 1 if it abstains.

    Example: energycomm assistant ask "Pourquoi un relevé R151 est-il rejeté quand l'index diminue ?"
    """
    from assistant.chat.question import asked_question

    question = asked_question(question)
    form = Form.of(json, plain)
    filters = _filters(market, on, language, source, version)
    with _uncollected():
        house = _house()
        if show_plan:
            print_json(house.plan(question))
            return
        # Rules and store answer without the packages of the index.
        answer, log = _worked(house, question, filters)
        if answer is None or _doubtful(house, answer):
            assistant, log = _open(house)
            answer = assistant.ask(question, filters, streamed=_stream(form), tried=answer is None)
        number = log.write(answer, author=author())
    if json:
        print_json(answer_data(answer, number))
    else:
        print_answer(answer, number, form)
    if answer.abstained:
        raise typer.Exit(ExitCode.REJECTED)


@recorded("assistant chat", subject=of_question)
def chat(
    market: Markets = None,
    on: On = None,
    language: Languages = None,
    source: Sources = None,
    version: Versions = None,
    plain: Plain = False,
    json: Json = False,
) -> None:
    """Start a conversation, one question per line; an empty line ends it; follow-up questions keep their context.

    Example: energycomm assistant chat --market fr
    """
    import uuid

    from assistant.chat.assistant import turn_of
    from assistant.chat.followup import Turn
    from assistant.chat.question import asked_question
    from energycomm.errors import UserError

    assistant, log = _open(_house())
    assistant.prepare()
    filters = _filters(market, on, language, source, version)
    form = Form.of(json, plain)
    conversation = uuid.uuid4().hex
    history: list[Turn] = []
    while True:
        if sys.stdin.isatty():
            say_piece("? ")
        line = sys.stdin.readline().strip()
        if not line:
            return
        try:
            answer = assistant.ask(asked_question(line), filters, history, streamed=_stream(form))
        except UserError as trouble:
            say(str(trouble), err=True)
            continue
        number = log.write(answer, conversation, author())
        if json:
            print_json(answer_data(answer, number))
        else:
            print_answer(answer, number, form)
        history.append(turn_of(answer))


@recorded("assistant search", subject=of_question)
def search(
    question: Annotated[str, typer.Argument(help="What to look for.")],
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many passages at most.")] = 10,
    market: Markets = None,
    on: On = None,
    language: Languages = None,
    source: Sources = None,
    version: Versions = None,
    json: Json = False,
) -> None:
    """Find passages, without an answer.

    Example: energycomm assistant search "index plus petit" --source rules
    """
    from assistant.chat.question import asked_question

    question = asked_question(question)
    assistant, _ = _open()
    found = assistant.search(question, _filters(market, on, language, source, version), limit)
    if json:
        print_json(found)
    else:
        print_found(found)


@recorded("assistant feedback", changing=("number",), subject=of_answer)
def feedback(
    number: Annotated[
        int | None, typer.Argument(help="Number of the answer; without one the latest are listed.")
    ] = None,
    good: Annotated[bool | None, typer.Option("--good/--bad", help="Whether the answer was good.")] = None,
    comment: Annotated[str, typer.Option(help="What was good or bad about it.")] = "",
    everybody: Annotated[
        bool, typer.Option("--all", help="List the questions of all users, those of the web chat too.")
    ] = False,
    json: Json = False,
) -> None:
    """Rate an answer, or list your own latest answers with their ratings.

    Example: energycomm assistant feedback 12 --bad --comment "names the wrong rule"
    """
    from assistant.chat.log import open_log
    from assistant.config import load_config
    from energycomm.commands.output import print_rows
    from energycomm.config import load
    from energycomm.errors import UserError

    announce(load())
    log = open_log(load_config())
    if number is not None:
        if good is None:
            raise UserError("Rate the answer with --good or --bad.", "Add --good or --bad.")
        log.rate(number, good, comment, author=author())
        return
    exchanges = log.latest(author=None if everybody else author())
    if json:
        print_json(exchanges)
        return
    marks = {True: "good", False: "bad", None: ""}
    print_rows(
        ("number", "at", "question", "answered", "opinion", "comment"),
        [(e.id, e.at, e.question, "no" if e.answer.abstained else "yes", marks[e.good], e.comment) for e in exchanges],
    )


@recorded("assistant explain", subject=of_message)
def explain(
    message_id: Annotated[int, typer.Argument(metavar="MESSAGE_ID", help="Number of a Kernel message.")],
    language: Annotated[str, typer.Option(help="Language of the explanation: en or fr.")] = "en",
    plain: Plain = False,
    json: Json = False,
) -> None:
    """Explain why a message was rejected or waits: facts, rules, sources, similar cases, a tested correction.

    Example: energycomm assistant explain 17
    """
    from assistant.config import load_config
    from assistant.explanation.explaining import explain_message
    from energycomm.config import load

    explanation = explain_message(load(), load_config(), message_id, language)
    if json:
        print_json(explanation)
    else:
        print_explanation(explanation, Form.of(json, plain))


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on.")] = 8765,
    sign_in: Annotated[bool, typer.Option("--sign-in", help="Require the sign-in on this machine too.")] = False,
) -> None:
    """Serve the web chat; other machines need the sign-in of the web services.

    On this machine no sign-in is needed. Otherwise users sign in as to the console, with a token or the identity
    provider; this needs the EIS. Certificate and proxies are those of [web].

    Example: energycomm assistant serve --port 8765
    """
    from assistant.extras import need

    need("fastapi", "jinja2", "uvicorn")
    from assistant.config import load_config
    from assistant.operations.house import House
    from assistant.operations.likeness import Likeness
    from assistant.web.pages import make_app
    from assistant.web.serving import door
    from energycomm.commands.serve import options, tls_context
    from energycomm.config import load
    from energycomm.transport.listening import Bounds, http_server

    config = load()

    def chat() -> Any:
        settings = load_config()
        return make_app(*_open(House(config, likeness=Likeness.of(settings))), settings)

    with door(config, host, chat, sign_in=sign_in) as app:
        scheme = "https" if config.web.certificate_file else "http"
        say(f"{scheme}://{host}:{port}/", err=True)
        bounds = Bounds.of(config.web, config.web.proxies)
        http_server(app, bounds, tls_context(config), log_level="warning", **options(config, host, port)).run()


@contextmanager
def _uncollected() -> Iterator[None]:
    """A block without the collection of cycles: with one question little is lost, and an eighth of the time is won.

    Nor is what was made in it looked through later: a collection of all of it would cost what was won.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.freeze()
            gc.enable()


def author() -> str:
    """Whose the questions of the command line are."""
    return f"user {system_user()}"


def _house() -> Any:
    from assistant.config import load_config
    from assistant.kept import FOLDER
    from assistant.operations.house import House
    from assistant.operations.likeness import Likeness
    from energycomm.config import load

    config, settings = load(), load_config()
    announce(config)
    return House(config, documents=_documents, kept=settings.folder / FOLDER, likeness=Likeness.of(settings))


def _documents() -> Any:
    """The indexed documents that have a version. Only a question about them opens the index for it."""
    from assistant.config import load_config
    from assistant.extras import CORE, need

    need(*CORE)
    from assistant.chat.assistant import versions_of
    from assistant.knowledge.index import open_index

    return versions_of(open_index(load_config().folder / "index"))


def _worked(house: Any, question: str, filters: Any) -> tuple[Any, Any]:
    """The answer that the house works out, and the log; no answer where passages have to."""
    import msgspec

    from assistant.chat.log import open_log
    from assistant.chat.working import worked_answer
    from assistant.config import load_config

    if not msgspec.structs.replace(filters, markets=None).empty:
        return None, None
    answer = worked_answer(house, question, filters.markets or ())
    return answer, None if answer is None else open_log(load_config())


def _doubtful(house: Any, answer: Any) -> bool:
    """Whether documents of other houses are indexed that an answer from our documentation may have been asked of."""
    from assistant.chat.working import leans
    from assistant.config import load_config
    from assistant.extras import CORE, installed

    if not leans(answer) or not installed(*CORE):
        return False
    from assistant.knowledge.index import addresses

    return any(not house.own(address) for address in addresses(load_config().folder / "index"))


def _open(house: Any = None) -> tuple[Any, Any]:
    from assistant.config import load_config
    from assistant.extras import CORE, need

    need(*CORE)
    from assistant.chat.assistant import Assistant
    from assistant.chat.log import open_log
    from energycomm.config import load

    if house is None:
        announce(load())
    config = load_config()
    return Assistant.open(config, house), open_log(config)


def _filters(
    market: list[str] | None,
    on: str | None,
    language: list[str] | None,
    source: list[str] | None,
    version: list[str] | None,
) -> Any:
    from assistant.retrieval.query import Filters

    return Filters(
        markets=tuple(name.upper() for name in market) if market else None,
        on=day(on),
        languages=tuple(language) if language else None,
        sources=tuple(source) if source else None,
        versions=tuple(version) if version else None,
    )


def _stream(form: Form) -> Any:
    """What a generator writes is shown while it comes, on a terminal only: it is not checked yet."""
    if form is not Form.rich or not sys.stderr.isatty():
        return None
    return say_piece
