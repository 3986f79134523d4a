"""One's conversations: their list, their names, their end; and the documents that are attached to one."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import FastAPI, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, Response
from starlette.concurrency import run_in_threadpool

from assistant.chat.attachments import LARGEST, Refused
from assistant.web.desk import Desk
from assistant.web.visit import Visit, conversation_of
from assistant.web.words import Pages, words_of
from energycomm.errors import UserError


class Conversations:
    """The routes.

    Args:
      desk: has the log and the attachments.
      pages: answers pages.
      upload: address that takes documents.
    """

    def __init__(self, desk: Desk, pages: Pages, upload: str) -> None:
        self.desk, self.pages, self.upload = desk, pages, upload

    def add_to(self, app: FastAPI) -> None:
        """Add the routes to an application."""
        app.get("/conversations.json")(self.export)
        app.post("/conversations/delete", response_class=HTMLResponse)(self.delete_all)
        app.post("/conversations/{name}/rename", response_class=HTMLResponse)(self.rename)
        app.post("/conversations/{name}/delete", response_class=HTMLResponse)(self.delete)
        app.post(f"/{self.upload}", response_class=HTMLResponse)(self.attach)
        app.post(f"/{self.upload}/{{id}}/remove", response_class=HTMLResponse)(self.remove)

    def export(self, request: Request) -> Response:
        """All of one's conversations as they are kept: titles, questions, answers, opinions."""
        author, log = Visit(request).author, self.desk.log
        told = [
            {
                "title": one.title,
                "documents": [attached.name for attached in self.desk.attachments.of(author, one.name)],
                "questions": [
                    {"at": e.at, "question": e.question, "answer": e.answer.text, "good": e.good, "comment": e.comment}
                    for e in log.conversation(one.name, author)
                ],
            }
            for one in log.conversations(author)
        ]
        headers = {"Content-Disposition": 'attachment; filename="conversations.json"', "Cache-Control": "no-store"}
        return Response(msgspec.json.format(msgspec.json.encode(told), indent=1), 200, headers, "application/json")

    def rename(
        self, request: Request, name: str, title: Annotated[str, Form()] = "", conversation: Annotated[str, Form()] = ""
    ) -> HTMLResponse:
        """Name a conversation."""
        try:
            self.desk.log.rename(name, title, Visit(request).author)
        except UserError:
            return self._none(request)
        return self._list(request, conversation)

    def delete(self, request: Request, name: str, conversation: Annotated[str, Form()] = "") -> HTMLResponse:
        """Delete a conversation with its documents; from the one that is open a new one begins."""
        author = Visit(request).author
        try:
            self.desk.log.forget(name, author)
        except UserError:
            return self._none(request)
        self.desk.forget(author, name)
        return self._begun(request) if name == conversation else self._list(request, conversation)

    def delete_all(self, request: Request) -> HTMLResponse:
        """Delete all of one's conversations with their documents."""
        author = Visit(request).author
        for one in self.desk.log.conversations(author):
            self.desk.log.forget(one.name, author)
            self.desk.forget(author, one.name)
        self.desk.attachments.forget(author)  # those of conversations in which nothing was asked too
        return self._begun(request)

    async def attach(
        self, request: Request, document: UploadFile | None = None, conversation: Annotated[str, Form()] = ""
    ) -> HTMLResponse:
        """Take a document for a conversation."""
        visit, name = Visit(request), conversation_of(request, conversation)
        words = words_of(request, self.pages.otherwise)
        if document is None or not document.filename:
            return self._attached(request, visit, name, words.t("Choose a document."))
        if not name or self.desk.deleted(visit.author, name):
            return self._attached(request, visit, name, words.t("This conversation was deleted. Begin a new one."))
        content = await document.read(LARGEST + 1)
        try:
            await run_in_threadpool(self.desk.attachments.attach, document.filename, content, visit.author, name)
        except Refused as refused:
            trouble = words.t(
                "{code}: found {found}; expected {expected}.",
                code=refused.code, found=words.said(refused.found), expected=words.said(refused.expected),
            )  # fmt: skip
            status = 413 if refused.code == "UPLOAD_SIZE" else 422
            return await run_in_threadpool(self._attached, request, visit, name, trouble, status)
        return await run_in_threadpool(self._attached, request, visit, name)

    def remove(self, request: Request, id: str, conversation: Annotated[str, Form()] = "") -> HTMLResponse:
        """Remove a document."""
        visit, name = Visit(request), conversation_of(request, conversation)
        if not self.desk.attachments.remove(id, visit.author, name):
            words = words_of(request, self.pages.otherwise)
            return self._attached(request, visit, name, words.t("There is no such document in this conversation."), 404)
        return self._attached(request, visit, name)

    def _attached(
        self, request: Request, visit: Visit, conversation: str, refused: str | None = None, status: int = 422
    ) -> HTMLResponse:
        answer = self.pages.page(
            request, "attached.html", status if refused else 200, conversation=conversation, refused=refused,
            attached=self.desk.attachments.of(visit.author, conversation), largest=LARGEST,
        )  # fmt: skip
        visit.remember(answer)
        return answer

    def _list(self, request: Request, conversation: str) -> HTMLResponse:
        log = self.desk.log
        return self.pages.page(
            request, "conversations.html", conversations=log.conversations(Visit(request).author),
            conversation=conversation, logged=log.enabled, swapped=False,
        )  # fmt: skip

    def _none(self, request: Request) -> HTMLResponse:
        words = words_of(request, self.pages.otherwise)
        trouble = words.t("There is no such conversation of yours.")
        return self.pages.page(request, "trouble.html", 404, trouble=trouble)

    def _begun(self, request: Request) -> HTMLResponse:
        return HTMLResponse("", headers={"HX-Redirect": f"{request.scope.get('root_path', '')}/?new=1"})
