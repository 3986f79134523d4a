"""The web chat: server-rendered pages, htmx, and server-sent events; it stands alone or is mounted in the console.

What somebody asked belongs to them: to the person that the sign-in tells (`request.state.person`), or, where nobody
signs in, to the browser that holds a secret cookie. What others asked and were answered is as if it did not exist.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import AsyncIterator
from datetime import date
from hashlib import sha256
from html import escape
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from fastapi import Cookie, FastAPI, Form, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates

from assistant.chat.answer import Answer
from assistant.chat.assistant import Assistant, turn_of
from assistant.chat.log import Log
from assistant.config import AssistantConfig
from assistant.retrieval.query import Filters
from assistant.web.interface import WORDS
from assistant.web.marking import blocks_of, copied, lines_of
from energycomm.errors import UserError
from energycomm.texts.catalogues import NAMES

LONGEST_QUESTION = 2_000
MOST_WAITING = 64
"""Questions that were sent and not yet fetched."""

VISITOR = "visitor"
"""Cookie of a browser where nobody signs in."""
VISITOR_SECONDS = 365 * 86_400
SHORTEST_COOKIE = 32

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'self'"
)


class _Waiting(NamedTuple):
    """A question that waits for its stream."""

    author: str
    conversation: str
    question: str
    filters: Filters


class _Visit:
    """Whose a request is.

    Args:
      request: the request.

    Attributes:
      author: as the log names them.
    """

    def __init__(self, request: Request) -> None:
        person = getattr(request.state, "person", None)
        cookie = request.cookies.get(VISITOR, "")
        self._new = "" if person is not None or len(cookie) >= SHORTEST_COOKIE else secrets.token_urlsafe(24)
        if person is not None:
            self.author = f"person {person.name}"
        else:
            self.author = f"visitor {sha256((self._new or cookie).encode()).hexdigest()}"

    def remember(self, answer: Response) -> None:
        """Give a browser that is not known the cookie that it will be known by."""
        if self._new:
            answer.set_cookie(VISITOR, self._new, max_age=VISITOR_SECONDS, httponly=True, samesite="strict")


class _Desk:
    """Questions between their sending and the stream that answers them, and conversations where nothing is logged."""

    def __init__(self) -> None:
        self.waiting: dict[str, _Waiting] = {}
        self.turns: dict[tuple[str, str], list[Answer]] = {}
        # One model, two cores: questions are answered one after the other.
        self.model = threading.Lock()

    def put(self, waiting: _Waiting) -> str:
        """Keep a question; returns the ticket that its stream is asked with."""
        while len(self.waiting) >= MOST_WAITING:
            self.waiting.pop(next(iter(self.waiting)))
        ticket = secrets.token_urlsafe(12)
        self.waiting[ticket] = waiting
        return ticket

    def take(self, ticket: str, author: str) -> _Waiting | None:
        """The question of a ticket, once; None where it is not the author's."""
        waiting = self.waiting.get(ticket)
        return self.waiting.pop(ticket) if waiting is not None and waiting.author == author else None


def make_app(assistant: Assistant, log: Log, config: AssistantConfig, *, in_console: bool = False) -> FastAPI:
    """The application.

    Args:
      assistant: answers.
      log: where questions, answers and opinions are kept.
      config: its language is that of the page until a visitor chooses.
      in_console: proofs link to the lists of the console that the chat is part of.
    """
    app = FastAPI(title="EnergyComm assistant", docs_url=None, redoc_url=None, openapi_url=None)
    folder = Path(str(resources.files("assistant.web")))
    app.mount("/static", StaticFiles(directory=folder / "static"), name="static")
    app.middleware("http")(_headed)
    templates = Jinja2Templates(folder / "templates")
    templates.env.globals["in_console"] = in_console
    chat = _Chat(assistant, log, config, templates)
    app.get("/", response_class=HTMLResponse)(chat.home)
    app.post("/ask", response_class=HTMLResponse)(chat.ask)
    app.get("/answers/{ticket}")(chat.answers)
    app.get("/document/{passage}", response_class=HTMLResponse)(chat.document)
    app.post("/feedback/{number}", response_class=HTMLResponse)(chat.feedback)
    return app


async def _headed(request: Request, follow: Any) -> Any:
    """Every answer says what a browser may load with it."""
    answer = await follow(request)
    answer.headers["Content-Security-Policy"] = POLICY
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


class _Chat:
    """The pages of one assistant."""

    def __init__(self, assistant: Assistant, log: Log, config: AssistantConfig, templates: Jinja2Templates) -> None:
        self.assistant = assistant
        self.log = log
        self.config = config
        self.templates = templates
        self.desk = _Desk()

    def home(
        self,
        request: Request,
        conversation: Annotated[str | None, Cookie()] = None,
        lang: Annotated[str | None, Cookie()] = None,
        language: str | None = None,
        new: bool = False,
        open: str | None = None,
    ) -> HTMLResponse:
        """The chat with its conversation, history and filters."""
        chosen = language if language in WORDS else lang
        visit = _Visit(request)
        name = open if open and self.log.conversation(open, visit.author) else conversation
        if new or not name or len(name) > 64:
            name = secrets.token_urlsafe(12)
        facts = [passage.metadata for passage in self.assistant.index.passages]
        answer = self._page(
            request,
            "chat.html",
            words=self._words(chosen),
            names=NAMES,
            lang=chosen or self.config.language,
            turns=[_shown(e.answer, e.id, e.good) for e in self.log.conversation(name, visit.author)],
            history=[] if not self.log.enabled else self.log.latest(30, author=visit.author),
            markets=sorted({f.market for f in facts if f.market}),
            languages=sorted({f.language for f in facts if f.language}),
            sources=sorted({f.source for f in facts}),
            versions=sorted({f.version for f in facts if f.version}),
        )
        visit.remember(answer)
        answer.set_cookie("conversation", name, httponly=True, samesite="strict")
        if chosen:
            answer.set_cookie("lang", chosen, httponly=True, samesite="strict")
        return answer

    def ask(
        self,
        request: Request,
        question: Annotated[str, Form()] = "",
        market: Annotated[str, Form()] = "",
        on: Annotated[str, Form()] = "",
        language: Annotated[str, Form()] = "",
        source: Annotated[str, Form()] = "",
        version: Annotated[str, Form()] = "",
        conversation: Annotated[str | None, Cookie()] = None,
        lang: Annotated[str | None, Cookie()] = None,
    ) -> HTMLResponse:
        """Take a question; what comes back fetches its answer."""
        words = self._words(lang)
        question = question.strip()[:LONGEST_QUESTION]
        if not question:
            return self._page(request, "trouble.html", words=words, trouble=words["empty"])
        filters = Filters(
            markets=(market,) if market else None,
            on=_day(on),
            languages=(language,) if language else None,
            sources=(source,) if source else None,
            versions=(version,) if version else None,
        )
        visit = _Visit(request)
        ticket = self.desk.put(_Waiting(visit.author, (conversation or "")[:64], question, filters))
        answer = self._page(request, "pending.html", words=words, question=question, ticket=ticket)
        visit.remember(answer)
        return answer

    async def answers(
        self, request: Request, ticket: str, lang: Annotated[str | None, Cookie()] = None
    ) -> StreamingResponse:
        """The answer as server-sent events: pieces as they come, then the whole."""
        return StreamingResponse(
            self._events(self.desk.take(ticket, _Visit(request).author), self._words(lang)),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store"},
        )

    def document(
        self, request: Request, passage: str, marks: str = "", lang: Annotated[str | None, Cookie()] = None
    ) -> HTMLResponse:
        """The whole document of a passage, its marked spans highlighted."""
        words = self._words(lang)
        found = self.assistant.index.passage(passage)
        whole = found and self.assistant.index.document(found.document)
        if not found or not whole:
            return self._page(request, "trouble.html", words=words, trouble=words["gone"])
        return self._page(
            request,
            "document.html",
            words=words,
            metadata=found.metadata,
            blocks=blocks_of(whole, [*_spans(marks)] or [(found.start, found.end)]),
        )

    def feedback(
        self,
        request: Request,
        number: int,
        good: Annotated[bool, Form()],
        comment: Annotated[str, Form()] = "",
        lang: Annotated[str | None, Cookie()] = None,
    ) -> HTMLResponse:
        """Keep an opinion."""
        words = self._words(lang)
        try:
            self.log.rate(number, good, comment, _Visit(request).author)
        except UserError as error:
            return self._page(request, "trouble.html", words=words, trouble=str(error))
        return self._page(request, "rated.html", words=words, number=number, good=good, commented=bool(comment))

    async def _events(self, waiting: _Waiting | None, words: dict[str, str]) -> AsyncIterator[str]:
        if waiting is None:
            yield _event("done", "")
            return
        pieces: asyncio.Queue[str] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def streamed(piece: str) -> None:
            loop.call_soon_threadsafe(pieces.put_nowait, piece)

        task = asyncio.create_task(
            asyncio.to_thread(_answer, self.assistant, self.log, self.desk, waiting, streamed)
        )  # fmt: skip
        text = ""
        while not task.done() or not pieces.empty():
            try:
                text += await asyncio.wait_for(pieces.get(), 0.1)
            except TimeoutError:
                continue
            yield _event("piece", escape(text))
        try:
            answer, number = task.result()
        except UserError as error:
            yield _event("answer", _rendered(self.templates, "trouble.html", words=words, trouble=str(error)))
        else:
            shown = _shown(answer, number, None)
            yield _event("answer", _rendered(self.templates, "answer.html", words=words, turn=shown, fresh=True))
        yield _event("done", "")

    def _page(self, request: Request, name: str, **values: Any) -> HTMLResponse:
        return self.templates.TemplateResponse(request, name, values)

    def _words(self, lang: str | None) -> dict[str, str]:
        return WORDS.get(lang or "", WORDS[self.config.language])


def _answer(assistant: Assistant, log: Log, desk: _Desk, waiting: _Waiting, streamed: Any) -> tuple[Answer, int | None]:
    author, conversation = waiting.author, waiting.conversation
    logged = [exchange.answer for exchange in log.conversation(conversation, author)]
    earlier = desk.turns.setdefault((author, conversation), logged)
    with desk.model:
        answer = assistant.ask(waiting.question, waiting.filters, [turn_of(one) for one in earlier[-3:]], streamed)
    earlier.append(answer)
    while len(desk.turns) > MOST_WAITING:
        desk.turns.pop(next(iter(desk.turns)))
    return answer, log.write(answer, conversation, author)


def _shown(answer: Answer, number: int | None, good: bool | None) -> dict[str, Any]:
    return {"answer": answer, "lines": lines_of(answer), "number": number, "good": good, "copied": copied(answer)}


def _event(name: str, data: str) -> str:
    return f"event: {name}\n" + "".join(f"data: {line}\n" for line in data.splitlines() or [""]) + "\n"


def _rendered(templates: Jinja2Templates, name: str, **values: Any) -> str:
    return str(templates.get_template(name).render(**values))


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def _spans(marks: str) -> list[tuple[int, int]]:
    """Spans as the link writes them: 10-25,40-60; what is none is left out."""
    found = []
    for part in marks.split(",")[:50]:
        start, _, end = part.partition("-")
        if start.isdigit() and end.isdigit():
            found.append((int(start), int(end)))
    return found
