"""The assistant as pages of the gateway's console: the chat, and the explanation of a message's verdict.

The gateway finds `addition` by the entry point group `energycomm.console`; it imports nothing of the assistant itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from assistant.config import load_config
from assistant.extras import CORE, installed
from assistant.web.addresses import PLACE, QUESTION, UPLOAD
from assistant.web.words import FOLDERS, WEB, Pages, words_of
from energycomm.config import Config
from energycomm.console.additions import Addition
from energycomm.errors import UserError
from energycomm.texts import wording


def addition(config: Config) -> Addition | None:
    """What the console gets; None where the assistant's packages are not all installed."""
    if not installed(*CORE):
        return None
    return guarded(config)


def guarded(config: Config, chat: ASGIApp | None = None) -> Addition:
    """The assistant as an addition: explanations and questions are recorded in the audit.

    Args:
      config: the gateway's configuration.
      chat: the chat; opened when it is first asked for where there is none yet.
    """
    return Addition(
        name="assistant",
        title=wording("Assistant"),
        make=lambda: application(config, chat),
        explain="explain/{id}",
        read=(QUESTION, PLACE),
        large=(UPLOAD,),
        texts=FOLDERS,
        ready=_ready(chat),
    )


def indexed() -> bool:
    """Whether there is an index, so that the chat answers; without one the link to it would be a dead end."""
    # numpy is imported with it: the console starts without.
    from assistant.knowledge.index import current_generation

    try:
        return current_generation(load_config().folder / "index") is not None
    except UserError:
        return False


def _ready(chat: ASGIApp | None) -> Callable[[], bool]:
    return indexed if chat is None else lambda: True


def application(config: Config, chat: ASGIApp | None = None) -> FastAPI:
    """The pages: explanations need the rules and the store alone, the chat its index and models as well."""
    # Its packages take seconds to import: only when somebody asks.
    from assistant.explanation.explaining import explain_message
    from assistant.web.unlike import add_pages

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    pages = Pages(config.language, in_console=True, ready=_ready(chat))

    @app.get("/explain/{number}", response_class=HTMLResponse)
    def explain(request: Request, number: int) -> HTMLResponse:
        language = words_of(request, config.language).language
        try:
            explanation = explain_message(config, load_config(), number, language)
        except UserError as error:
            return pages.page(request, "refused.html", 404, trouble=str(error))
        return pages.page(request, "explanation.html", number=number, explanation=explanation)

    add_pages(app, config, pages)
    app.mount("/static", StaticFiles(directory=WEB / "static"))
    app.mount("/", chat or Chat(pages, config))
    return app


class Chat:
    """The chat, whose index and models are opened when it is first asked for.

    Args:
      pages: says why it cannot be opened.
      gateway: the gateway's configuration: its rules and store, which are asked before passages.
    """

    def __init__(self, pages: Pages, gateway: Config) -> None:
        self.pages, self.gateway = pages, gateway
        self._app: ASGIApp | None = None
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        try:
            app = self._app
            if app is None:
                app = await run_in_threadpool(self._open)
        except UserError as error:
            answer = self.pages.page(Request(scope, receive), "refused.html", 503, trouble=str(error))
            await answer(scope, receive, send)
            return
        await app(scope, receive, send)

    def _open(self) -> ASGIApp:
        from assistant.chat.assistant import Assistant
        from assistant.chat.log import open_log
        from assistant.operations.house import House
        from assistant.operations.likeness import Likeness
        from assistant.web.pages import make_app

        with self._lock:
            if self._app is None:
                config = load_config()
                self._app = make_app(
                    Assistant.open(config, House(self.gateway, likeness=Likeness.of(config))),
                    open_log(config),
                    config,
                    in_console=True,
                )
            return self._app
