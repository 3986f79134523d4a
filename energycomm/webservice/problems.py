"""Problem details (RFC 9457): every refusal of the web services has a code, a place, a value and what to do.

`application/problem+json` under /api, in the language of `Accept-Language`, English where it names none of ours;
the pages show the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from msgspec import Struct, structs
from starlette.exceptions import HTTPException

from energycomm.choices import UnknownWord
from energycomm.eis.database import Conflict
from energycomm.errors import ExitCode, UserError
from energycomm.fielderrors import in_words
from energycomm.kernel.counting import counted
from energycomm.kernel.verdicts import Refusal
from energycomm.logs import Log
from energycomm.masking import mask
from energycomm.texts.catalogues import translate_sentence, wanted
from energycomm.texts.parsers import is_saying

if TYPE_CHECKING:
    from energycomm.webservice.services import Services

log = Log()

MEDIA = "application/problem+json"
LONGEST_VALUE = 200
LONGEST_WORDS = 4000
MOST_ERRORS = 500
MOST_BYTES = 48_000
"""Characters of a value and of a sentence, mistakes of an answer and bytes of all of them: it stays small whatever
came."""

PROBLEMS: dict[str, tuple[int, str]] = {
    "API_UNREADABLE": (400, "The request cannot be read."),
    "API_NOT_SIGNED_IN": (401, "Not signed in."),
    "API_FORBIDDEN": (403, "This is not allowed with these roles and scopes."),
    "API_FORGED": (403, "The request does not come from a page of this site."),
    "API_NOT_FOUND": (404, "The object does not exist."),
    "API_METHOD": (405, "This method is not allowed for this address."),
    "API_CONFLICT": (409, "The change was made before, or conflicts with the present state."),
    "API_CHANGED": (412, "It was changed after it was read."),
    "API_TOO_LARGE": (413, "The body is too large."),
    "API_ENCODED": (415, "Compressed bodies are not accepted."),
    "API_MEDIA": (415, "The body is of a form that this address does not read."),
    "API_HOST": (421, "No supplier is served at this host."),
    "API_INVALID": (422, "The request has mistakes; all are listed."),
    "API_REFUSED": (422, "A rule or the schema refuses it; all reasons are listed."),
    "API_RATE": (429, "Too many requests."),
    "API_FAULT": (500, "The gateway failed; it is logged."),
    "API_DATABASE": (503, "The database cannot be used at the moment."),
}
"""Code -> status and title."""


class Mistake(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong.

    Attributes:
      code: of a rule, the schema, or the request.
      target: JSON pointer, name of the parameter, or path in the message.
      detail: what is wrong, one sentence.
      value: what was found, shortened; absent for what may be secret.
      expected: what was expected.
      advice: what to do.
    """

    code: str
    target: str
    detail: str
    value: str | None = None
    expected: str = ""
    advice: str = ""


class Details(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of a refusal, see RFC 9457.

    Attributes:
      type: URI of the kind of problem.
      title: its words, the same each time.
      status: HTTP status.
      code: EnergyComm's code.
      detail: what is wrong here.
      instance: path that was asked.
      target, value: where, and what was found there, when it is one thing.
      advice: what to do.
      errors: every mistake, when there may be several; the first of them where they are very many.
    """

    type: str
    title: str
    status: int
    code: str
    detail: str
    instance: str
    target: str | None = None
    value: str | None = None
    advice: str = ""
    errors: tuple[Mistake, ...] = ()


class Problem(Exception):
    """A refusal, raised where it is found.

    Args:
      code: one of `PROBLEMS`.
      detail: what is wrong here.
      target: where.
      value: what was found there.
      advice: what to do.
      errors: every mistake.
      headers: to be sent along.
    """

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        target: str | None = None,
        value: object = None,
        advice: str = "",
        errors: Sequence[Mistake] = (),
        headers: dict[str, str] | None = None,
    ) -> None:
        detail, advice = mask(detail), mask(advice)
        super().__init__(detail or code)
        self.code, self.detail, self.advice = code, _short(detail), _short(advice)
        self.target = None if target is None else _short(target)
        self.value = None if value is None else _short(mask(str(value)), LONGEST_VALUE)
        self.errors, self.headers = _fitting(errors), headers or {}

    @property
    def status(self) -> int:
        """The HTTP status."""
        return PROBLEMS[self.code][0]

    @property
    def title(self) -> str:
        """What its code means."""
        return PROBLEMS[self.code][1]

    def details(self, path: str, said: Callable[[str], str] = str) -> Details:
        """The body of the answer to a request.

        Args:
          path: that was asked.
          said: a finished English sentence in the language of the reader.
        """
        status, title = PROBLEMS[self.code]
        title = said(title)
        return Details(
            type=f"urn:energycomm:problem:{self.code.lower().replace('_', '-')}",
            title=title,
            status=status,
            code=self.code,
            detail=said(self.detail) or title,
            instance=_short(path),
            target=self.target,
            value=_found(self.value, said),
            advice=said(self.advice),
            errors=tuple(_mistake_told(one, said) for one in self.errors),
        )


def _mistake_told(one: Mistake, said: Callable[[str], str]) -> Mistake:
    told = {name: said(getattr(one, name)) for name in ("detail", "expected", "advice")}
    return structs.replace(one, **told, value=_found(one.value, said))


def _found(value: str | None, said: Callable[[str], str]) -> str | None:
    """A value as it was found; where a parser says what that was, in the language of the reader."""
    return said(value) if value is not None and is_saying(value) else value


def not_found(what: str, target: str, value: object, advice: str = "") -> Problem:
    """The refusal of an address that leads to nothing."""
    return Problem("API_NOT_FOUND", f"There is no {what} {value}.", target=target, value=value, advice=advice)


def mistake_of(refusal: Refusal, prefix: str = "") -> Mistake:
    """A refusal of the Kernel as a mistake of the request."""
    return Mistake(
        code=refusal.code,
        target=prefix + refusal.path,
        detail=str(refusal),
        value=None if refusal.value is None else str(refusal.value),
        expected=refusal.expected,
        advice=refusal.advice,
    )


def install(app: FastAPI) -> None:
    """Let an application answer its refusals with problem details, or with a page outside of /api."""

    @app.exception_handler(Problem)
    async def _problem(request: Request, problem: Problem) -> Response:
        return answer(request, problem)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        return answer(request, _all_mistakes(error))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        code = {400: "API_UNREADABLE", 404: "API_NOT_FOUND", 405: "API_METHOD", 413: "API_TOO_LARGE"}
        headers = dict(error.headers or {})
        known = code.get(error.status_code, "API_FAULT" if error.status_code >= 500 else "API_UNREADABLE")
        advice = "Send it in pieces." if known == "API_TOO_LARGE" else ""
        # The framework's own phrase says no more than the title.
        detail = "" if error.detail == HTTPStatus(error.status_code).phrase else str(error.detail)
        return answer(request, Problem(known, detail, advice=advice, headers=headers))

    @app.exception_handler(Conflict)
    async def _conflict(request: Request, _: Conflict) -> Response:
        return answer(
            request,
            Problem("API_CONFLICT", "Another user made this change at the same time.", advice="Look, and try again."),
        )

    @app.exception_handler(UnknownWord)
    async def _unknown_word(request: Request, error: UnknownWord) -> Response:
        return answer(
            request,
            Problem("API_INVALID", error.message, target=error.field, value=error.value, advice=error.advice),
        )

    @app.exception_handler(UserError)
    async def _user_error(request: Request, error: UserError) -> Response:
        if error.exit_code == ExitCode.DATABASE:
            log.error("web.database", error=error.message)
            return answer(request, Problem("API_DATABASE", advice="Try again.", headers={"Retry-After": "5"}))
        return answer(request, Problem("API_REFUSED", error.message, advice=error.advice))


def fault(request: Request, error: Exception) -> Response:
    """The answer to a fault of the program: details are logged, not returned."""
    log.error("web.fault", path=request.url.path, exc_info=error)
    return answer(request, Problem("API_FAULT", advice="Report the time to the operator of the gateway."))


def answer(request: Request, problem: Problem) -> Response:
    """The answer of a refusal: problem details under /api, else the page that the console made for it, else words."""
    page: Any = getattr(request.app.state, "error_page", None)
    if page is not None and not request.url.path.startswith("/api"):
        made: Response = page(request, problem)
        made.headers.update(problem.headers)
        return made
    language = wanted(request.headers.get("accept-language", ""), "en")
    shared: Services | None = getattr(request.app.state, "services", None)
    said = partial(translate_sentence, language=language, folders=() if shared is None else shared.texts)
    details = problem.details(request.url.path, said)
    headers = {"Content-Language": language, "Vary": "Accept-Language", **problem.headers}
    return Response(msgspec.json.encode(details), problem.status, headers, MEDIA)


def _short(text: str, most: int = LONGEST_WORDS) -> str:
    """A text that is not longer than `most` characters and can be written as UTF-8."""
    return text[:most].encode("utf-8", "replace").decode()


def _fitting(errors: Sequence[Mistake]) -> tuple[Mistake, ...]:
    shown: list[Mistake] = []
    size = 0
    for one in errors[:MOST_ERRORS]:
        short = _shown(one)
        size += len(msgspec.json.encode(short))
        if size > MOST_BYTES:
            break
        shown.append(short)
    return tuple(shown)


def _shown(mistake: Mistake) -> Mistake:
    return Mistake(
        code=_short(mistake.code, LONGEST_VALUE),
        target=_short(mistake.target, LONGEST_VALUE),
        detail=_short(mistake.detail),
        value=None if mistake.value is None else _short(mistake.value, LONGEST_VALUE),
        expected=_short(mistake.expected, LONGEST_VALUE),
        advice=_short(mistake.advice),
    )


def _all_mistakes(error: RequestValidationError) -> Problem:
    mistakes = []
    found = error.errors()
    for one in found[:MOST_ERRORS]:
        place = [str(step) for step in one["loc"]]
        in_body = place[:1] == ["body"]
        target = "/" + "/".join(place[1:]) if in_body else ".".join(place[1:])
        if one["type"] == "json_invalid":
            return Problem("API_UNREADABLE", f"The body is no JSON: {one.get('ctx', {}).get('error', '')}.")
        value = one.get("input")
        shown = str(value) if isinstance(value, str | int | float | bool) else None
        mistakes.append(Mistake(code=str(one["type"]), target=target, detail=in_words(one), value=shown))
    first = mistakes[0]
    detail = f"{first.target}: {first.detail}" if len(found) == 1 else f"{counted(len(found), 'mistake')}."
    return Problem("API_INVALID", detail, target=first.target, value=first.value, errors=mistakes)
