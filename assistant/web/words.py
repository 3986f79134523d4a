"""The words of the assistant's pages in the visitor's language, by the gettext catalogues, and answering a page."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from fastapi.templating import Jinja2Templates

from energycomm.console.view import COOKIE_LANGUAGE, COOKIE_THEME, THEMES
from energycomm.templates import templates as environment
from energycomm.texts.catalogues import LANGUAGES, NAMES, translate, translate_plural, translate_sentence, wanted

WEB = Path(str(resources.files("assistant.web")))
FOLDERS = (WEB.parent / "texts",)
"""The catalogues of these pages; a text that the console has too is translated there."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Words:
    """The words of one visitor.

    Args:
      language: en, fr or nl.
    """

    def __init__(self, language: str) -> None:
        self.language = language

    def t(self, text: str, **values: object) -> str:
        """A text of ours in the visitor's language."""
        found = translate(text, self.language, FOLDERS)
        return found.format(**values) if values else found

    def tn(self, one: str, several: str, number: int, **values: object) -> str:
        """The form of a text of ours that goes with a number, which stands in it as `{n}`."""
        return translate_plural(one, several, number, self.language, FOLDERS).format(n=number, **values)

    def said(self, sentence: str) -> str:
        """A refusal, which is finished in English, in the visitor's language."""
        return translate_sentence(sentence, self.language, FOLDERS)


def words_of(request: Request, otherwise: str) -> Words:
    """The words of a visitor: as chosen here or in the console, else as the browser wants, else as configured."""
    chosen = request.cookies.get(COOKIE_LANGUAGE, "")
    if chosen not in LANGUAGES:
        chosen = wanted(request.headers.get("accept-language", ""), otherwise)
    return Words(chosen)


class Pages:
    """Answers pages of the assistant.

    Args:
      otherwise: language of a visitor who wants none of ours.
      in_console: the pages are part of the console, and link to it.
      ready: tells whether the chat answers; pages link to it only then.
    """

    def __init__(self, otherwise: str, *, in_console: bool, ready: Callable[[], bool] = lambda: True) -> None:
        self.otherwise, self.in_console, self.ready = otherwise, in_console, ready
        self._templates = Jinja2Templates(env=environment(WEB / "templates"))

    def page(
        self, request: Request, name: str, status: int = 200, words: Words | None = None, **values: Any
    ) -> HTMLResponse:
        """A page or a part of one, in the words of who asks."""
        given = self._given(request, words or words_of(request, self.otherwise))
        return self._templates.TemplateResponse(request, name, given | values, status, headers=HEADERS)

    def part(self, request: Request, name: str, **values: Any) -> str:
        """A part of a page as text."""
        given = self._given(request, words_of(request, self.otherwise))
        return self._templates.get_template(name).render(request=request, **given, **values)

    def _given(self, request: Request, words: Words) -> dict[str, Any]:
        theme = request.cookies.get(COOKIE_THEME, "")
        person = getattr(request.state, "person", None)
        return {
            "t": words.t,
            "tn": words.tn,
            "said": words.said,
            "lang": words.language,
            "names": NAMES,
            "theme": theme if theme in THEMES else "auto",
            "root": request.scope.get("root_path", ""),
            "in_console": self.in_console,
            "chat_ready": self.ready,
            "csrf": person.csrf if person is not None else "",
        }
