"""The web chat: server-rendered pages, htmx, and server-sent events; it stands alone or is mounted in the console."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import date
from html import escape
from typing import Annotated, Any

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assistant.chat.answer import Answer
from assistant.chat.assistant import Assistant
from assistant.chat.attachments import LARGEST, SOURCE, open_attachments
from assistant.chat.log import Log
from assistant.chat.question import LONGEST_QUESTION, has_words
from assistant.config import AssistantConfig
from assistant.retrieval.query import Filters
from assistant.web.addresses import UPLOAD
from assistant.web.conversations import Conversations
from assistant.web.desk import Desk, Waiting
from assistant.web.marking import turn_shown
from assistant.web.reading import Reading
from assistant.web.visit import Visit, conversation_of, new_conversation
from assistant.web.words import HEADERS, WEB, Pages, words_of
from energycomm.console.view import COOKIE_LANGUAGE
from energycomm.errors import UserError
from energycomm.texts.catalogues import LANGUAGES

MOST_QUESTIONS = 200
"""Questions of a conversation."""
SMALL_BODY = 64 << 10
UPLOAD_BODY = LARGEST + SMALL_BODY
"""Bytes of a request."""


def make_app(assistant: Assistant, log: Log, config: AssistantConfig, *, in_console: bool = False) -> ASGIApp:
    """The application.

    Args:
      assistant: answers.
      log: where questions, answers and opinions are kept.
      config: its language is that of the page until a visitor chooses.
      in_console: proofs link to the lists of the console that the chat is part of.
    """
    assistant.prepare()
    app = FastAPI(title="EnergyComm assistant", docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/static", StaticFiles(directory=WEB / "static"), name="static")
    app.middleware("http")(_headed)
    model = threading.Lock()
    attachments = open_attachments(config, assistant.embedder, assistant.index.lexicon, model, kept=log.enabled)
    desk = Desk(assistant, log, attachments, model)
    pages = Pages(config.language, in_console=in_console)
    chat = _Chat(desk, pages)
    app.get("/", response_class=HTMLResponse)(chat.home)
    app.post("/ask", response_class=HTMLResponse)(chat.ask)
    app.get("/answers/{ticket}")(chat.answers)
    app.post("/feedback/{number}", response_class=HTMLResponse)(chat.feedback)
    Reading(assistant, attachments, pages, config).add_to(app)
    Conversations(desk, pages, UPLOAD).add_to(app)
    return Bounded(app)


async def _headed(request: Request, follow: Any) -> Any:
    """Every answer says what a browser may load with it."""
    answer = await follow(request)
    answer.headers.update(HEADERS)
    return answer


class Bounded:
    """Takes bodies of requests up to a bound: a document, or a small form.

    Args:
      app: what it stands around.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most = UPLOAD_BODY if scope["path"].endswith(f"/{UPLOAD}") else SMALL_BODY
        declared, taken = Headers(scope=scope).get("content-length", ""), 0
        if declared.isdecimal() and int(declared) > most:
            await PlainTextResponse(f"More than {most} bytes.\n", 413)(scope, receive, send)
            return

        async def receiving() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise HTTPException(413, f"More than {most} bytes.")
            return message

        await self.app(scope, receiving, send)


class _Chat:
    """The pages of one assistant."""

    def __init__(self, desk: Desk, pages: Pages) -> None:
        self.desk, self.pages = desk, pages

    def home(
        self, request: Request, language: str | None = None, new: bool = False, open: str | None = None
    ) -> Response:
        """The chat with its conversation, the list of one's conversations, and filters."""
        visit, log = Visit(request), self.desk.log
        if new:
            answer: Response = RedirectResponse(f"{request.scope.get('root_path', '')}/", 303)
            visit.remember(answer, new_conversation())
            return answer
        name = conversation_of(request, open) or new_conversation()
        turns, attached = self.desk.turns(visit.author, name), self.desk.attachments.of(visit.author, name)
        words = words_of(request, self.pages.otherwise)
        if open and not turns and not attached:
            return self.pages.page(
                request, "refused.html", 404, trouble=words.t("There is no such conversation of yours.")
            )
        if self.desk.deleted(visit.author, name):
            name = new_conversation()
        if language in LANGUAGES:
            words.language = language
        facts = [passage.metadata for passage in self.desk.assistant.index.passages]
        answer = self.pages.page(
            request,
            "chat.html",
            words=words,
            conversation=name,
            turns=[turn_shown(one.answer, one.id or None, one.good, kept=True) for one in turns],
            conversations=log.conversations(visit.author),
            logged=log.enabled,
            attached=attached,
            refused=None,
            largest=LARGEST,
            markets=sorted({f.market for f in facts if f.market}),
            languages=sorted({f.language for f in facts if f.language}),
            sources=sorted({f.source for f in facts} | {SOURCE}),
            versions=sorted({f.version for f in facts if f.version}),
        )
        visit.remember(answer, name)
        if language in LANGUAGES:
            answer.set_cookie(COOKIE_LANGUAGE, language, samesite="lax")
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
        conversation: Annotated[str, Form()] = "",
    ) -> HTMLResponse:
        """Take a question; what comes back fetches its answer."""
        visit, words = Visit(request), words_of(request, self.pages.otherwise)
        name, question = conversation_of(request, conversation) or new_conversation(), question.strip()
        if not has_words(question):
            return self._refused(request, words.t("Type a question."))
        if len(question) > LONGEST_QUESTION:
            long = words.t(
                "The question has {n} characters; expected are at most {most}.", n=len(question), most=LONGEST_QUESTION
            )
            return self._refused(request, long)
        if self.desk.deleted(visit.author, name):
            return self._refused(request, words.t("This conversation was deleted. Begin a new one."))
        if len(self.desk.turns(visit.author, name)) >= MOST_QUESTIONS:
            full = words.t("This conversation has {n} questions, the most that one may have. Begin a new one.",
                           n=MOST_QUESTIONS)  # fmt: skip
            return self._refused(request, full)
        filters = Filters(
            markets=(market,) if market else None,
            on=_day(on),
            languages=(language,) if language else None,
            sources=(source,) if source else None,
            versions=(version,) if version else None,
        )
        ticket = self.desk.put(Waiting(visit.author, name, question, filters))
        answer = self.pages.page(request, "pending.html", question=question, ticket=ticket)
        visit.remember(answer, name)
        return answer

    def _refused(self, request: Request, trouble: str) -> HTMLResponse:
        return self.pages.page(request, "trouble.html", 422, trouble=trouble)

    async def answers(self, request: Request, ticket: str) -> StreamingResponse:
        """The answer as server-sent events: pieces as they come, then the whole."""
        waiting = self.desk.take(ticket, Visit(request).author)
        return StreamingResponse(
            self._events(request, waiting), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )

    def feedback(
        self, request: Request, number: int, good: Annotated[bool, Form()], comment: Annotated[str, Form()] = ""
    ) -> HTMLResponse:
        """Keep an opinion."""
        words = words_of(request, self.pages.otherwise)
        try:
            self.desk.log.rate(number, good, comment, Visit(request).author)
        except UserError:
            return self.pages.page(request, "trouble.html", 404, trouble=words.t("There is no such answer of yours."))
        return self.pages.page(request, "rated.html", number=number, good=good, commented=bool(comment))

    async def _events(self, request: Request, waiting: Waiting | None) -> AsyncIterator[str]:
        if waiting is None:
            yield _event("done", "")
            return
        pieces: asyncio.Queue[str] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def streamed(piece: str) -> None:
            loop.call_soon_threadsafe(pieces.put_nowait, piece)

        task = asyncio.create_task(asyncio.to_thread(self.desk.answer, waiting, streamed))
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
            yield _event("answer", self.pages.part(request, "trouble.html", trouble=str(error)))
        else:
            yield _event("answer", await asyncio.to_thread(self._answered, request, waiting, answer, number))
        yield _event("done", "")

    def _answered(self, request: Request, waiting: Waiting, answer: Answer, number: int | None) -> str:
        """The answer, with the lists beside it brought up to date."""
        return self.pages.part(
            request, "answered.html", turn=turn_shown(answer, number, None), conversation=waiting.conversation,
            conversations=self.desk.log.conversations(waiting.author), logged=self.desk.log.enabled,
        )  # fmt: skip


def _event(name: str, data: str) -> str:
    return f"event: {name}\n" + "".join(f"data: {line}\n" for line in data.splitlines() or [""]) + "\n"


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None
