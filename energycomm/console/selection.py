"""What is done with chosen rows of a list: tried first, shown row by row, then done once and for all.

An action is one function that changes the store. Its dry run is the same function in a rehearsal, rolled back, so that
what is shown is what would be done. Both are jobs; the id of the dry run's job is the key of the real one, so that a
second click finds what the first one did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import groupby
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from msgspec import Struct
from pydantic import Field
from sqlalchemy import select

from energycomm.console.arrivals import COLUMNS as ENVELOPE_COLUMNS
from energycomm.console.jobs import Job, Workbench
from energycomm.console.messages import COLUMNS as MESSAGE_COLUMNS
from energycomm.console.sheets import Column, Format, sheet
from energycomm.console.tickets import COLUMNS as TICKET_COLUMNS
from energycomm.console.tickets import version_of
from energycomm.console.view import words_of
from energycomm.console.worklists import COLUMNS as REQUEST_COLUMNS
from energycomm.correction.analysis import Judged
from energycomm.correction.cases import read_cases
from energycomm.correction.evidence import evidence_of
from energycomm.correction.export import export
from energycomm.correction.replaying import replay_messages
from energycomm.correction.tickets import TICKETABLE, change_ticket, delegate, latest_changes, make_tickets, tickets
from energycomm.correction.trackers import TrackerTrouble, open_tracker
from energycomm.eis import tables
from energycomm.eis.archive import open_raw
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading, rehearsal
from energycomm.eis.envelopes import envelopes_of
from energycomm.eis.messages import summaries
from energycomm.eis.requests import requests_of
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.pipeline.delivery import revive
from energycomm.pipeline.records import try_again
from energycomm.texts import wording
from energycomm.webservice.identity import Require
from energycomm.webservice.parameters import CORRECTS, LARGEST, RESENDS, Corrector, Reader, Shared, Worker
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import READS, RecordedRoute, about
from energycomm.webservice.services import Services
from energycomm.webservice.signin import local

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

MOST = 500
"""Rows that are chosen at a time."""

SLICE = 25
"""Rows of one rehearsal: others may write between two of them."""

NOT_DELEGATED = wording("only what is refused is delegated")
NOT_TICKETED = wording("only what is refused gets a ticket")
TICKETED = wording("it is in an open ticket already")
CLOSED = wording("it is closed already")
MEANWHILE = wording("it was changed after it was tried: look at it again")
NO_TRACKER = wording("no tracker is configured")
MANY_TRACKERS = wording("there are several trackers: `energycomm correct export --to NAME`")
EXPORTED = wording("the tracker knows it as it is")
ALIVE = wording("it is not dead, or another answer was made in its place")
WHOLE = wording("nothing of it was put aside or refused")

What = Literal["messages", "tickets", "requests", "envelopes"]
Number = Annotated[int, Field(ge=1, le=LARGEST)]
Numbers = Annotated[list[Number] | None, Form(alias="chosen", max_length=MOST)]


class Asked(Struct, frozen=True, kw_only=True):
    """What an action is told besides its rows.

    Attributes:
      by: who does it.
      why: reason, note, for the record.
      to: the colleague, or the owner of a ticket.
      due: days until a ticket is due.
      rehearsed: it is a dry run: nobody outside is to be told.
    """

    by: str
    why: str = "-"
    to: str = ""
    due: int = 14
    rehearsed: bool = False


class Effect(Struct, frozen=True, kw_only=True):
    """What becomes of one row: its state before and after, its codes after, and why it is left alone.

    Attributes:
      moved: its state or its codes are others than before.
      seen: what tells whether somebody else changes it after this.
    """

    id: int
    before: str
    after: str
    codes: tuple[str, ...] = ()
    note: str = ""
    moved: bool = False
    seen: str = ""


class Action(Struct, frozen=True, kw_only=True):
    """Something that can be done with rows.

    Attributes:
      name: in addresses.
      title: its words, in English.
      of: what the rows are, one of `KINDS`.
      asks: the fields of its confirmation: why, to, due.
      do: does it; answers row -> why it was left alone.
      right: who may do it, of those who may change what is stuck.
    """

    name: str
    title: str
    of: str
    asks: tuple[str, ...]
    do: Callable[[Services, Store, Sequence[int], Asked], dict[int, str]]
    right: Require = CORRECTS


class Done(Struct, frozen=True, kw_only=True):
    """The result of an action, or of its dry run.

    Attributes:
      back: path of the list that the rows were chosen in, with its filters.
    """

    action: Action
    rehearsed: bool
    effects: tuple[Effect, ...]
    back: str

    @property
    def changed(self) -> tuple[Effect, ...]:
        """The rows that it was done with: all that were not left alone."""
        return tuple(one for one in self.effects if not one.note)

    @property
    def moved(self) -> int:
        """How many rows are in another state, or have other codes, after it."""
        return sum(one.moved for one in self.effects)


def _replay(shared: Services, store: Store, ids: Sequence[int], asked: Asked) -> dict[int, str]:
    gateway = shared.gateway
    done = replay_messages(store, shared.writer(), ids, by=asked.by, why=asked.why, engine_of=lambda _: gateway.engine)
    return done.passed_over


def _delegate(_: Services, store: Store, ids: Sequence[int], asked: Asked) -> dict[int, str]:
    given = set(delegate(store, ids, asked.to, asked.by, asked.why))
    return {one: NOT_DELEGATED for one in ids if one not in given}


def _ticket(shared: Services, store: Store, ids: Sequence[int], asked: Asked) -> dict[int, str]:
    states, ticketed = KINDS["messages"].states(store, ids), _ticketed(store, ids)
    notes = {one: NOT_TICKETED for one in ids if states[one][0] not in TICKETABLE}
    notes |= dict.fromkeys(ticketed, TICKETED)
    cases = read_cases(store.engine, shared.gateway.markets, [one for one in ids if one not in notes])
    judged = [Judged(case, evidence_of(case)) for case in cases]
    make_tickets(store, judged, asked.by, owner=asked.to or None, due_days=asked.due)
    return notes


def _ticketed(store: Store, ids: Sequence[int]) -> set[int]:
    t, m = tables.ticket, tables.ticket_message
    query = (
        select(m.c.message_id).join(t, t.c.id == m.c.ticket_id).where(t.c.state != "closed", m.c.message_id.in_(ids))
    )
    with reading(store.engine) as connection:
        return set(connection.execute(query).scalars())


def _close(_: Services, store: Store, ids: Sequence[int], asked: Asked) -> dict[int, str]:
    closed = {one.id for one in tickets(store) if one.id in set(ids) and one.state == "closed"}
    for number in ids:
        if number not in closed:
            change_ticket(store, number, state="closed")
    return dict.fromkeys(closed, CLOSED)


def _export(shared: Services, store: Store, ids: Sequence[int], asked: Asked) -> dict[int, str]:
    """Tickets go to the tracker; a dry run only says which would not, and asks nobody."""
    config = shared.config
    if len(config.trackers) != 1:
        return dict.fromkeys(ids, MANY_TRACKERS if config.trackers else NO_TRACKER)
    if asked.rehearsed:
        return {}
    (setting,) = config.trackers
    try:
        tracker = open_tracker(setting, config.folder)
    except TrackerTrouble as trouble:
        return dict.fromkeys(ids, str(trouble))
    chosen = [one for one in tickets(store) if one.id in set(ids)]
    web = config.web
    done = export(store, tracker, setting.name, chosen, public_url=web.public_url, zone=ZoneInfo(web.zone))
    notes = {"unchanged": EXPORTED}
    return {one.ticket: one.words or notes[one.what] for one in done if one.words or one.what in notes}


def _resend(_: Services, store: Store, ids: Sequence[int], asked: Asked) -> dict[int, str]:
    return {one: ALIVE for one in ids if not revive(store, one)}


def _process(_: Services, store: Store, ids: Sequence[int], asked: Asked) -> dict[int, str]:
    """What was put aside or refused of envelopes is due again; the daemon or the next `process` takes it."""
    notes = {}
    for one in envelopes_of(store.engine, ids):
        try:
            open_raw(store.engine, bytes.fromhex(one.sha256)).close()  # its bytes may be in an archive
        except UserError as trouble:
            notes[one.id] = str(trouble)
            continue
        if try_again(store, one.id) is None:
            notes[one.id] = WHOLE
    return notes


States = dict[int, tuple[str, tuple[str, ...]]]
"""Row -> its state and its codes."""


class Kind(Struct, frozen=True):
    """Rows that can be chosen.

    Attributes:
      columns: of their list.
      rows: those of some numbers, in that order.
      one: what one is called.
      latest: of some rows, what tells whether somebody changes them after this; without it their states do.
    """

    columns: tuple[Column, ...]
    rows: Callable[[Store, Sequence[int]], Sequence[Any]]
    one: str
    latest: Callable[[Store, Sequence[int]], dict[int, str]] | None = None

    def versions(self, store: Store, ids: Sequence[int]) -> dict[int, str]:
        """Of each of some rows, what tells whether somebody changes it after this."""
        if self.latest is not None:
            return self.latest(store, ids)
        return {one: state for one, (state, _) in self.states(store, ids).items()}

    def states(self, store: Store, ids: Sequence[int]) -> States:
        """The state of each of some rows; there is none of a row that there is not."""
        return {row.id: (row.state, getattr(row, "codes", ())) for row in self.rows(store, ids)}


def _messages(store: Store, ids: Sequence[int]) -> Sequence[Any]:
    with reading(store.engine) as connection:
        return summaries(connection, ids)


def _tickets(store: Store, ids: Sequence[int]) -> Sequence[Any]:
    known = {one.id: one for one in tickets(store)}
    return [known[one] for one in ids if one in known]


def _message_versions(store: Store, ids: Sequence[int]) -> dict[int, str]:
    with reading(store.engine) as connection:
        latest = latest_changes(driver_of(connection), ids)
    return {one: str(latest.get(one, 0)) for one in ids}


def _ticket_versions(store: Store, ids: Sequence[int]) -> dict[int, str]:
    return {one.id: version_of(one) for one in _tickets(store, ids)}


KINDS: Mapping[str, Kind] = {
    "messages": Kind(MESSAGE_COLUMNS, _messages, "message", _message_versions),
    "tickets": Kind(TICKET_COLUMNS, _tickets, "ticket", _ticket_versions),
    "requests": Kind(REQUEST_COLUMNS, lambda store, ids: requests_of(store.engine, ids), "request"),
    "envelopes": Kind(ENVELOPE_COLUMNS, lambda store, ids: envelopes_of(store.engine, ids), "envelope"),
}

ACTIONS = {
    one.name: one
    for one in (
        Action(name="replay", title=wording("Replay"), of="messages", asks=("why",), do=_replay),
        Action(name="delegate", title=wording("Delegate"), of="messages", asks=("to", "why"), do=_delegate),
        Action(name="ticket", title=wording("Make tickets"), of="messages", asks=("to", "due"), do=_ticket),
        Action(name="export", title=wording("Export to the tracker"), of="tickets", asks=(), do=_export),
        Action(name="close", title=wording("Close tickets"), of="tickets", asks=(), do=_close),
        Action(name="resend", title=wording("Send again"), of="requests", asks=(), do=_resend, right=RESENDS),
        Action(name="process", title=wording("Process again"), of="envelopes", asks=(), do=_process),
    )
}


@router.post("/{what}/selected")
def chosen(
    request: Request,
    what: What,
    person: Corrector,
    shared: Shared,
    action: Annotated[str, Form()],
    numbers: Numbers = None,
) -> Response:
    """Try an action on the chosen rows, in the background."""
    found = ACTIONS.get(action)
    if found is None or found.of != what:
        raise not_found("action", "action", action)
    found.right.check(person)
    ids = _known(shared, what, numbers)
    about(request, f"{action} {' '.join(map(str, ids))}")
    came = urlsplit(request.headers.get("referer", f"/{what}"))
    back = local(f"{came.path}?{came.query}" if came.query else came.path)
    job = attempt(request.app.state.workbench, found, ids, person.name, back)
    return RedirectResponse(f"/trials/{job.id}", 303)


@router.post("/envelopes/selected/file", openapi_extra=READS)
def taken_envelopes(
    request: Request, person: Worker, shared: Shared, form: Annotated[Format, Form()], numbers: Numbers = None
) -> Response:
    """The chosen envelopes as a file, for whom may see their list."""
    return _file(request, shared, "envelopes", form, numbers)


@router.post("/{what}/selected/file", openapi_extra=READS)
def taken(
    request: Request,
    what: What,
    person: Reader,
    shared: Shared,
    form: Annotated[Format, Form()],
    numbers: Numbers = None,
) -> Response:
    """The chosen rows as a file."""
    return _file(request, shared, what, form, numbers)


def _file(request: Request, shared: Services, what: str, form: Format, numbers: Sequence[int] | None) -> Response:
    ids, kind = _known(shared, what, numbers), KINDS[what]
    about(request, f"{what} {' '.join(map(str, ids))}")
    return sheet(kind.columns, words_of(request), kind.rows(shared.store, ids), form or "csv", what)


@router.post("/trials/{job_id}/do")
def confirm(
    request: Request,
    job_id: str,
    person: Corrector,
    why: Annotated[str, Form(max_length=400)] = "",
    to: Annotated[str, Form(max_length=120)] = "",
    due: Annotated[int, Form(ge=0, le=3650)] = 14,
) -> Response:
    """Do what was tried; a second click finds what the first one did."""
    bench: Workbench = request.app.state.workbench
    job = bench.find(job_id)
    if job is None:
        raise not_found("dry run", "id", job_id, "Dry runs are lost when the process ends: run it again.")
    tried = job.result
    if not isinstance(tried, Done) or not tried.rehearsed or not tried.changed:
        raise Problem("API_CONFLICT", "There is nothing to do.", advice="Repeat the dry run.")
    tried.action.right.check(person)
    for name, value in (("why", why), ("to", to)):
        if name in tried.action.asks and not value.strip() and tried.action.name != "ticket":
            raise Problem("API_INVALID", "This field is needed.", target=name)
    seen = {one.id: one.seen for one in tried.changed}
    about(request, f"{tried.action.name} {' '.join(map(str, seen))}")
    asked = Asked(by=person.name, why=why.strip() or "-", to=to.strip(), due=due)
    done = bench.latest(f"do {job.id}") or bench.start(
        f"do {job.id}",
        tried.action.title,
        person.name,
        _work(bench.shared, tried.action, [*seen], asked, tried.back, seen),
    )
    return RedirectResponse(f"/trials/{done.id}", 303)


def attempt(bench: Workbench, action: Action, ids: Sequence[int], by: str, back: str) -> Job:
    """A dry run of an action with rows of the list at a path."""
    work = _work(bench.shared, action, ids, Asked(by=by, rehearsed=True), back)
    return bench.start(f"{action.name} {by} {sorted(ids)}", action.title, by, work)


def _work(
    shared: Services,
    action: Action,
    ids: Sequence[int],
    asked: Asked,
    back: str,
    seen: Mapping[int, str] | None = None,
) -> Callable[[Job], Done]:
    """The work of an action, or of its dry run: of the rows that are still as they were seen, where they were."""

    def work(job: Job) -> Done:
        effects: list[Effect] = []
        job.step(0, len(ids))
        kind = KINDS[action.of]
        with shared.rehearsing() if asked.rehearsed else nullcontext(shared.store) as store:
            now = kind.versions(store, ids)
            others = {one for one in ids if seen is not None and now[one] != seen[one]}
            for some in _slices(store, action, ids):
                with rehearsal(store.engine) if asked.rehearsed else nullcontext():
                    before = kind.states(store, some)
                    own = [one for one in some if one not in others]
                    notes = action.do(shared, store, own, asked) if own else {}
                    after = kind.states(store, some)
                effects += [
                    Effect(
                        id=one,
                        before=before[one][0],
                        after=after[one][0],
                        codes=after[one][1],
                        note=MEANWHILE if one in others else notes.get(one, ""),
                        moved=before[one] != after[one],
                        seen=now[one],
                    )
                    for one in some
                ]
                job.step(len(effects))
        return Done(action=action, rehearsed=asked.rehearsed, effects=tuple(effects), back=back)

    return work


def _slices(store: Store, action: Action, ids: Sequence[int]) -> Iterator[list[int]]:
    """The rows in parts; messages of one access point stay together, since the verdict of one changes another's."""
    if action.of != "messages":
        yield list(ids)
        return
    k = tables.kernel_message.c
    with reading(store.engine) as connection:
        rows = connection.execute(select(k.access_point_id, k.id).where(k.id.in_(ids))).all()
    part: list[int] = []
    for _, group in groupby(sorted(rows, key=lambda row: (row[0] or 0, row[1])), key=lambda row: row[0]):
        part += [row[1] for row in group]
        if len(part) >= SLICE:
            yield part
            part = []
    if part:
        yield part


def _known(shared: Services, what: str, numbers: Sequence[int] | None) -> list[int]:
    """The rows that were chosen.

    Raises:
      Problem: none was chosen, or there is none of that number.
    """
    ids = list(dict.fromkeys(numbers or ()))
    if not ids:
        raise Problem("API_INVALID", "Nothing is chosen.", target="chosen", advice="Mark rows of the list first.")
    known = KINDS[what].states(shared.store, ids)
    if unknown := [one for one in ids if one not in known]:
        raise not_found(KINDS[what].one, "chosen", unknown[0])
    return ids
