"""The audit for administrators: who read or changed what, searched, and taken away as a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from energycomm.console.account import Administrator
from energycomm.console.sheets import Column, Format, absent_from, heads, sheet
from energycomm.console.view import address, page, words_of
from energycomm.pipeline.listsearch import AUDIT_ACTIONS, AuditSearch
from energycomm.webservice import audit
from energycomm.webservice.parameters import Shared, Words
from energycomm.webservice.problems import Problem
from energycomm.webservice.recording import RecordedRoute
from energycomm.webservice.services import Services

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

LINES, SHEET_LINES = 100, 500
"""Lines of the audit on a page, and read at a time for a file."""

COLUMNS = (
    Column("At", lambda one, words: words.when(one.at)),
    Column("Person", lambda one, _: one.person),
    Column("Action", lambda one, words: words.t("looked at") if one.action == "read" else words.t(one.action)),
    Column("About", lambda one, _: one.subject),
    Column("What", lambda one, _: one.what),
    Column("How", lambda one, words: words.said(one.via)),
    Column("Address", lambda one, _: one.address),
    Column("Status", lambda one, _: one.status or "", right=True),
)


class Listing(AuditSearch):
    """Lines of the audit on a page."""

    cursor: Words | None = None
    format: Format = ""


@router.get("/audit")
def audit_page(request: Request, person: Administrator, shared: Shared, asked: Annotated[Listing, Query()]) -> Response:
    """Who read or changed what, the newest first; looking is a line too."""
    absent = absent_from(asked, shared.store.engine)
    wanted = asked.model_dump(include=set(AuditSearch.model_fields)) | asked.period(words_of(request).taste.zone)
    if asked.format:
        return sheet(COLUMNS, words_of(request), _all_lines(shared, wanted), asked.format, "audit")
    try:
        found = audit.list_audit(shared.store, **wanted, cursor=asked.cursor, limit=LINES)
    except (ValueError, OverflowError):
        raise Problem("API_INVALID", "This is no place in the list.", target="cursor", value=asked.cursor) from None
    kept = {name: request.query_params.get(name) for name in AuditSearch.model_fields}
    more = address("/audit", **kept, cursor=found.next) if found.next else None
    return page(
        request,
        "audit.html",
        entries=found.entries,
        kept=kept,
        more=more,
        actions=AUDIT_ACTIONS,
        absent=absent,
        heads=heads(COLUMNS, words_of(request), "/audit", kept, sort="-at", possible=()),
        sheets={form: address("/audit", **kept, format=form) for form in ("csv", "xlsx")},
    )


def _all_lines(shared: Services, wanted: dict[str, Any]) -> Iterator[audit.AuditEntry]:
    cursor: str | None = None
    while True:
        found = audit.list_audit(shared.store, **wanted, cursor=cursor, limit=SHEET_LINES)
        yield from found.entries
        cursor = found.next
        if cursor is None:
            return
