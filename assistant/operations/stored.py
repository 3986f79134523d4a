"""Operations on the store: how many, which, since when, most frequent; one message; the life of an access point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Engine, Numeric, Select, Table, and_, cast, func, or_, select

from assistant.operations.catalogue import rule_proof
from assistant.operations.family import DayOf, Stored, StoreGroup, WhyMessage
from assistant.operations.store_forms import INVOICE_FLAGS
from assistant.operations.wording import say, thing_name
from assistant.operations.worked import MOST_ROWS, Proof, Worked, ranked
from assistant.operations.worked import Table as Shown
from energycomm.eis import states, tables
from energycomm.eis.browsing import MessageFilter, number_of
from energycomm.eis.database import reading
from energycomm.eis.message_parts import StateRecord
from energycomm.eis.messages import MessageDetail, show_message
from energycomm.eis.states import APPLIED, STUCK
from energycomm.engine.catalogue import Catalogue
from energycomm.errors import UserError
from energycomm.kernel.family import KINDS
from energycomm.kernel.instants import instant, micros
from energycomm.market.legaltime import LegalTime
from energycomm.pipeline.listsearch import EnvelopeSearch, ListSearch, NotificationSearch, RequestSearch, TicketSearch
from energycomm.pipeline.messagesearch import MessageSearch
from energycomm.pipeline.rejudging import AFTER_LATE

WAITS = "waits for "
"""How the record of a change of state begins that says what a message waits for."""
SAME_MOMENT = 1000
"""Microseconds between the arrival of a message and the changes that it brings, at most: they are kept apart by one."""
MICROS_OF_HOUR = 3_600_000_000


class Source(Struct, frozen=True):
    """Where the things of a name are kept, and by what they can be restricted and counted.

    Attributes:
      table: the table that counts.
      joins: tables with the condition that joins each.
      at: when it arrived or came to be.
      columns: name of a restriction or group -> its column.
      shown: columns of a list.
      states: the words of its states.
      number: what is counted, when not its rows.
      always: what always restricts.
      page: path of the console's list.
      command: the list on the command line.
      flags: what is told of a thing beside others, in place of one state -> the condition.
      own: the day is the thing's own, and not that of its arrival; its first and its last are shown.
    """

    table: Table
    at: ColumnElement[Any] | None
    columns: dict[str, ColumnElement[Any]]
    shown: tuple[str, ...]
    states: tuple[str, ...] = ()
    joins: tuple[tuple[Table, ColumnElement[bool]], ...] = ()
    number: ColumnElement[Any] | None = None
    always: tuple[ColumnElement[bool], ...] = ()
    page: str = ""
    command: str = ""
    flags: dict[str, ColumnElement[bool]] = {}
    own: bool = False


def _of_messages() -> dict[str, Source]:
    """Messages, what was found of them, and what freed them."""
    k, f, c, e = tables.kernel_message, tables.finding, tables.state_change, tables.envelope
    message: dict[str, ColumnElement[Any]] = {
        "market": k.c.market, "type": k.c.market_type, "kind": k.c.kind, "state": k.c.state,
        "waits_for": k.c.waits_for,
    }  # fmt: skip
    return {
        "message": Source(
            k, k.c.received_at, {"id": k.c.id, **message}, ("id", "market", "type", "kind", "state", "waits_for"),
            states.MESSAGE_STATES, page="/messages", command="energycomm message list",
        ),
        "finding": Source(
            f, k.c.received_at,
            {"id": f.c.message_id, "message": f.c.message_id, **message, "code": f.c.error_code, "rule": f.c.rule,
             "class": f.c.error_class, "severity": f.c.severity, "comment": f.c.comment},
            ("id", "market", "type", "code", "rule", "comment"), states.MESSAGE_STATES,
            ((k, f.c.message_id == k.c.id),), func.count(f.c.message_id.distinct()), (f.c.current,), "/messages",
            "energycomm message list",
        ),
        "freed": Source(
            c, c.c.at,
            {"id": c.c.message_id, **message, "by": c.c.by, "why": c.c.why, "state": c.c.before,
             "before": c.c.before, "after": c.c.after},
            ("id", "market", "type", "before", "after", "by", "why"), states.MESSAGE_STATES,
            ((k, c.c.message_id == k.c.id),), func.count(c.c.message_id.distinct()),
            (c.c.before.in_(STUCK), c.c.after.in_(sorted(APPLIED))),
        ),
        "envelope": Source(
            e, e.c.received_at,
            {"id": e.c.id, "name": e.c.name, "market": e.c.market, "state": e.c.state, "channel": e.c.channel},
            ("id", "name", "market", "state", "channel"), states.ENVELOPE_STATES,
            page="/envelopes", command="energycomm envelope list",
        ),
    }  # fmt: skip


def _sent() -> dict[str, Source]:
    """What we send: requests, notifications, acknowledgements."""
    o, b, a, k = tables.outgoing, tables.outbox, tables.acknowledgement, tables.kernel_message
    return {
        "request": Source(
            o, o.c.created_at,
            {"id": o.c.id, "market": o.c.market, "kind": o.c.kind, "type": o.c.type, "state": o.c.state,
             "channel": o.c.channel, "by": o.c.submitted_by, "reference": o.c.reference,
             "market_reference": o.c.market_reference, "code": o.c.answer_code},
            ("id", "market", "kind", "type", "state", "code", "reference", "market_reference"), states.REQUEST_STATES,
            page="/requests", command="energycomm request list",
        ),
        "notification": Source(
            b, b.c.at,
            {"id": b.c.id, "type": b.c.event, "state": b.c.state,
             "market": select(k.c.market).where(k.c.id == b.c.message_id).scalar_subquery()},
            ("id", "market", "type", "state"), states.NOTIFICATION_STATES, command="energycomm outbox list",
        ),
        "acknowledgement": Source(
            a, a.c.created_at, {"market": a.c.market, "type": a.c.type, "state": a.c.state, "channel": a.c.channel},
            ("market", "type", "state"), states.ACKNOWLEDGEMENT_STATES, command="energycomm acknowledgement list",
        ),
    }  # fmt: skip


def _kept() -> dict[str, Source]:
    """What the house keeps: tickets, incidents, access points, versions of the rules."""
    e = tables.envelope.c
    heat, check = tables.calorific_value.c, tables.invoice_check.c
    t, i, point, v = tables.ticket, tables.incident, tables.access_point, tables.rules_version
    return {
        "ticket": Source(
            t, t.c.created_at,
            {"id": t.c.id, "market": t.c.market, "state": t.c.state, "class": t.c.error_class,
             "operator": t.c.grid_operator, "by": t.c.owner, "title": t.c.title},
            ("id", "title", "market", "state", "class"), states.TICKET_STATES,
            page="/tickets", command="energycomm correct tickets",
        ),
        "incident": Source(
            i, i.c.at,
            {"id": i.c.id, "code": i.c.code, "severity": i.c.severity, "expected": i.c.expected,
             "envelope": select(e.name).where(e.id == i.c.envelope_id).scalar_subquery()},
            ("id", "code", "severity", "expected", "envelope"),
        ),
        "access_point": Source(
            point, point.c.last_at, {"id": point.c.id, "market": point.c.market, "identifier": point.c.identifier},
            ("market", "identifier"), page="/access-points",
        ),
        "calorific_value": Source(
            tables.calorific_value, heat.at,
            {"market": heat.market, "station": heat.station, "name": heat.name, "month": heat.month,
             "value": heat.value},
            ("station", "name", "market", "month", "value"),
        ),
        "invoice": Source(
            tables.invoice_check, None,
            {name: check[name] for name in ("invoice", "market", "contradictions", "contested", "complete")},
            ("invoice", "market", "contradictions", "contested", "complete"), INVOICE_FLAGS,
            flags={
                "contradictory": check.contradictions > 0, "contested": cast(check.contested, Numeric) != 0,
                "complete": check.complete.is_(True), "incomplete": check.complete.is_(False),
            },
            page="/invoices", command="energycomm invoice list",
        ),
        "rules_version": Source(
            v, v.c.first_used_at, {"id": v.c.id, "version": v.c.hash, "engine": v.c.engine}, ("id", "version", "engine")
        ),
    }  # fmt: skip


def _in_place() -> ColumnElement[bool]:
    """Whether a meter was not said to be removed since."""
    m, later = tables.DOMAIN["meter"].c, tables.DOMAIN["meter"].alias("later").c
    removed = select(later.id).where(
        later.access_point_id == m.access_point_id, later.serial == m.serial, later.action == "removed",
        or_(later.at > m.at, and_(later.at == m.at, later.id >= m.id)),
    )  # fmt: skip
    return ~removed.exists()


def _held() -> dict[str, Source]:
    """What is held of access points, and the heads of grid invoices: never what was measured, nor whose it is."""
    r, v, s, p = tables.reading, tables.volume, tables.series, tables.supply_period
    m, t, g = tables.DOMAIN["meter"], tables.contract, tables.DOMAIN["grid_invoice"]

    def of_point(
        table: Table, *names: str, at: ColumnElement[Any] | None = None, number: ColumnElement[Any] | None = None,
        states: tuple[str, ...] = (), flags: dict[str, ColumnElement[bool]] | None = None,
    ) -> Source:  # fmt: skip
        point = tables.access_point.c
        told = {one: table.c[one] for one in names}
        columns = {"access_point": point.identifier, "market": point.market, **told}
        joins = ((tables.access_point, point.id == table.c.access_point_id),)
        return Source(
            table, table.c.at if at is None else at, {"row": table.c.id, **columns}, tuple(columns), states, joins,
            number, page="/access-points", flags=flags or {}, own=True,
        )  # fmt: skip

    return {
        "reading": of_point(r, "source", "nature", "status", states=KEPT_STATES),
        # A period of consumption is of the day on which it begins.
        "volume": of_point(
            v, "source", "nature", "status", at=func.coalesce(v.c.start_at, v.c.at), states=KEPT_STATES
        ),
        "series": of_point(s, "source", "unit", "direction", "status", states=KEPT_STATES),
        "meter": of_point(
            m, "serial", "action", "type", number=func.count(m.c.serial.distinct()), states=("present",),
            flags={"present": _in_place()},
        ),
        "supply_period": of_point(p, "ended_at", "reason", "end_reason", states=("running", "ended")),
        "contract": of_point(t, "reference", "status", "tariff"),
        "grid_invoice": Source(
            g, g.c.at,
            {"row": g.c.id, **{name: g.c[name] for name in (
                "invoice", "market", "part", "type", "total", "tax", "gross", "currency", "due", "charges")}},
            ("invoice", "market", "part", "total", "tax", "gross", "currency", "due", "charges"),
            number=func.count(g.c.invoice.distinct()), page="/invoices", command="energycomm invoice list", own=True,
        ),
    }  # fmt: skip


KEPT_STATES = ("current", "replaced", "cancelled", "cancels")
"""What became of a measure."""
_INSTANTS = ("ended_at",)
"""Columns of instants beside that of the day."""

_SOURCES = {**_of_messages(), **_sent(), **_kept(), **_held()}


class _Asked(Struct, frozen=True):
    """A question to the store while it is answered.

    Attributes:
      plan, source: what is asked, and where it is.
      language: of the answer.
      times: how instants are shown.
      conditions, joined: which rows, and whether those of access points are joined.
      where, thing: the restriction and the thing in words.
      proofs: of the answer.
    """

    plan: Stored
    source: Source
    language: str
    times: LegalTime
    conditions: Sequence[ColumnElement[bool]]
    joined: bool
    where: str
    thing: str
    proofs: tuple[Proof, ...]

    def rows_of(self, query: Select[Any]) -> Select[Any]:
        """The query over the rows that are asked for."""
        return _from(query, self.source, self.joined, self.conditions)

    def counted(self, total: int) -> str:
        """How many there are, in a sentence."""
        return say(self.language, "stored", n=total, thing=self.thing, where=self.where)

    def nothing(self, *values: Any) -> Worked:
        """The answer where there is none."""
        return Worked(sentence=say(self.language, "nothing", where=self.where), proofs=self.proofs, values=values)


def stored_answer(
    engine: Engine, catalogue: Catalogue, plan: Stored, language: str, now: datetime, times: LegalTime
) -> Worked:
    """Things of the store.

    Args:
      engine: the store.
      catalogue: the rules, for their codes and proofs.
      plan: what is asked.
      language: of the answer.
      now: the time.
      times: legal time, in which instants are shown and days begin; those of the store's lists are ours.

    Raises:
      UserError: they cannot be restricted or grouped so.
    """
    findings = (
        plan.thing == "finding" and plan.how == "count" and plan.by is None
    )  # they are asked for, and no messages
    plan = _about_findings(plan)
    source = _dated(_SOURCES[plan.thing], plan)
    conditions, joined = _conditions(source, plan, catalogue, now, times)
    where = _in_words(plan)
    thing = thing_name("message" if plan.thing == "finding" and not findings else plan.thing, language)
    proofs = (_proof(plan, source, where), *_code_proofs(catalogue, plan.code))
    asked = _Asked(plan, source, language, times, conditions, joined, where, thing, proofs)
    with reading(engine) as connection:
        total = _tallied(connection, plan)
        if total is None:
            number = func.count() if findings else _number(source)
            total = int(connection.execute(asked.rows_of(select(number))).scalar_one())
        if plan.how in ("first", "last"):
            return _edge_answer(connection, asked, total)
        if plan.how == "average":
            return _average_answer(connection, asked)
        if plan.by is not None or plan.how == "top":
            return _groups_answer(connection, asked, catalogue, total)
        if plan.how == "count":
            return Worked(sentence=asked.counted(total), proofs=proofs, values=(total,))
        if plan.how == "exists":
            found = _list_answer(connection, asked, total)
            answer = say(language, "yes" if total else "no")
            return replace(found, sentence=f"{answer} {found.sentence}", values=(total > 0,))
        if plan.value is not None:
            return _invoice_answer(connection, asked)
        return _list_answer(connection, asked, total)


def _invoice_answer(connection: Connection, asked: _Asked) -> Worked:
    """What grid invoices say: the files of one may each say it, and are named where they differ."""
    name = str(asked.plan.value)
    columns = asked.source.columns
    said = [columns["invoice"], columns[name], columns["currency"]]
    query = asked.rows_of(select(*said)).where(columns[name].is_not(None)).distinct().order_by(*said)
    found = connection.execute(query.limit(asked.plan.limit)).all()
    if not found:
        return asked.nothing()
    told = "; ".join(
        f"{invoice}: {value} {currency}" if name in ("total", "tax", "gross") else f"{invoice}: {value}"
        for invoice, value, currency in found
    )
    listed = _list_answer(connection, asked, len(found))
    sentence = f"{say(asked.language, f'invoice_{name}')} {told}."
    return replace(listed, sentence=sentence, values=tuple(str(value) for _, value, _ in found))


def _edge_answer(connection: Connection, asked: _Asked, total: int) -> Worked:
    """The first or the last."""
    query, _ = _edge(asked.source, asked.plan, asked.joined, asked.conditions)
    row = connection.execute(query).first()
    if row is None:
        return asked.nothing()
    at = instant(row[0])
    what = f"{asked.thing} {row[1]}" if len(row) > 1 else asked.thing
    told = say(asked.language, asked.plan.how, at=asked.times.to_the_minute(at), what=what, where=asked.where)
    whole = asked.source.own or (len(row) > 1 and asked.plan.how == "last")
    shown = _list_answer(connection, asked, total, limit=1) if whole else None
    return Worked(
        sentence=f"{told} ({asked.counted(total).rstrip('.')})",
        table=None if shown is None else shown.table,
        proofs=asked.proofs,
        values=(asked.times.day(at), *row[1:]),
    )


def _average_answer(connection: Connection, asked: _Asked) -> Worked:
    """How many there are of each group on average; groups without any are not counted."""
    by: StoreGroup = asked.plan.by or "access_point"
    counts = [number for _, number in _counts(connection, asked, by)]
    if not counts:
        return asked.nothing(0)
    average = f"{sum(counts) / len(counts):.2f}".rstrip("0").rstrip(".")
    told = say(
        asked.language, "average", average=average, thing=asked.thing, by=by, n=sum(counts), groups=len(counts),
        where=asked.where,
    )  # fmt: skip
    return Worked(sentence=told, proofs=asked.proofs, values=(average,))


def _groups_answer(connection: Connection, asked: _Asked, catalogue: Catalogue, total: int) -> Worked:
    """How many of each, or the most frequent."""
    by: StoreGroup = asked.plan.by or "code"
    least, most_ = asked.plan.at_least, asked.plan.at_most
    rows = [
        (str(name), str(number)) for name, number in _counts(connection, asked, by)
        if (least is None or number >= least) and (most_ is None or number <= most_)
    ]  # fmt: skip
    if asked.plan.how == "bottom":
        rows.reverse()
    if not rows:
        return asked.nothing(0)
    top = asked.plan.how in ("top", "bottom")
    rows = ranked(rows, asked.plan.ranks) if top else rows
    best = [name for name, number in rows if number == rows[0][1]]
    most = say(asked.language, "top", name=", ".join(best), n=rows[0][1], thing=asked.thing, where=asked.where)
    if asked.plan.ranks:
        each = ", ".join(f"{name} ({number})" for name, number in rows)
        most = say(asked.language, "ranks", names=each, where=asked.where)
    if asked.plan.how in ("groups", "count_groups"):
        told = say(asked.language, "groups", n=len(rows), by=thing_name(by, asked.language), where=asked.where)
        if asked.plan.how == "count_groups":
            return Worked(
                sentence=told,
                table=Shown(columns=(by, asked.thing), rows=tuple(rows[:MOST_ROWS])),
                proofs=asked.proofs,
                values=(len(rows),),
            )
        shown = Shown(columns=(by, asked.thing), rows=tuple(rows[:MOST_ROWS]))
        return Worked(sentence=told, table=shown, proofs=asked.proofs, values=tuple(name for name, _ in rows))
    return Worked(
        sentence=most if top else asked.counted(total if least is None and most_ is None else len(rows)),
        table=Shown(columns=(by, asked.thing), rows=tuple(rows[:MOST_ROWS])),
        proofs=(*asked.proofs, *(_code_proofs(catalogue, best[0]) if by == "code" else ())),
        values=(*best, int(rows[0][1])) if top else tuple((name, int(number)) for name, number in rows),
    )


def _list_answer(connection: Connection, asked: _Asked, total: int, limit: int | None = None) -> Worked:
    """The newest of them; the oldest where the first is asked for."""
    source = asked.source
    dated = source.at is not None
    shown = [source.columns[name] for name in source.shown]
    query = asked.rows_of(select(*([source.at] if source.at is not None else []), *shown))
    if source.at is not None:
        order = [source.at, *([source.columns["id"]] if "id" in source.columns else [])]
        query = query.order_by(*(one.asc() if asked.plan.how == "first" else one.desc() for one in order))
    found = connection.execute(query.distinct().limit(limit or asked.plan.limit)).all()
    rows = tuple(
        (
            *((asked.times.to_the_minute(instant(row[0])),) if dated else ()),
            *(_cell(asked, name, cell) for name, cell in zip(source.shown, row[dated:], strict=True)),
        )
        for row in found
    )
    first = source.shown.index("id") + dated if "id" in source.shown else dated
    return Worked(
        sentence=asked.counted(total),
        table=Shown(columns=(*(("at",) if dated else ()), *source.shown), rows=rows) if rows else None,
        proofs=asked.proofs,
        values=tuple(row[first] for row in found),
    )


def _cell(asked: _Asked, name: str, value: Any) -> str:
    if value is None:
        return ""
    return asked.times.to_the_minute(instant(int(value))) if name in _INSTANTS else str(value)


def _about_findings(plan: Stored) -> Stored:
    """Codes, rules and classes of messages stand in their findings."""
    if plan.thing == "message" and (
        plan.code or plan.error_class or plan.severity or plan.by in ("code", "rule", "class", "message")
    ):
        return replace(plan, thing="finding")
    return plan


_DAYS_OF: dict[DayOf, tuple[tuple[str, ...], ColumnElement[Any]]] = {
    "effective": (("message", "finding"), tables.kernel_message.c.effective),
    "due": (("request",), tables.outgoing.c.answer_by),
}
"""Days other than that of arrival: the things that have one, and its column."""


def _dated(source: Source, plan: Stored) -> Source:
    """What is asked for, by the day that is meant."""
    if plan.day_of is None or (plan.thing, plan.day_of) == ("grid_invoice", "due"):
        return source  # a grid invoice is due on a day, and at no instant
    things, column = _DAYS_OF[plan.day_of]
    if plan.thing not in things:
        raise UserError(f"A {plan.thing} has no such day.", "Ask when it came.")
    return replace(source, at=column)


def _tallied(connection: Any, plan: Stored) -> int | None:
    """The number from the tallies, where they have it: it takes as long with a million messages as with ten."""
    if (
        plan.thing != "message"
        or max(map(len, (plan.states, plan.kinds, plan.types, plan.markets))) > 1
        or plan.number
        or plan.since
        or plan.until
        or plan.day_of
        or plan.lacking
        or plan.access_point
        or plan.envelope
    ):
        return None
    wanted = MessageFilter(
        state=_only(plan.states), kind=_only(plan.kinds), type=_only(plan.types), market=_only(plan.markets)
    )
    return number_of(connection, wanted)


def _only(names: Sequence[str]) -> str | None:
    """The one name; None where there are several or none."""
    return names[0] if len(names) == 1 else None


def _conditions(
    source: Source, plan: Stored, catalogue: Catalogue, now: datetime, times: LegalTime
) -> tuple[list[ColumnElement[bool]], bool]:
    """What restricts, and whether access points are joined.

    Raises:
      UserError: the things that are asked for are not restricted so.
    """
    found = list(source.always)
    for name, wanted in (("market", plan.markets), ("kind", plan.kinds), ("type", plan.types)):
        if wanted:
            found.append(_column(source, plan, name).in_(wanted))
    if plan.number is not None:
        found.append(_column(source, plan, "id") == plan.number)
    if plan.severity is not None:
        found.append(_column(source, plan, "severity") == plan.severity)
    if plan.lacking is not None:
        if plan.thing not in ("message", "finding"):
            raise UserError(f"A {plan.thing} has no findings.", "Ask for messages.")
        f, of = tables.finding.c, _column(source, plan, "id")
        found.append(of.not_in(select(f.message_id).where(f.current, f.severity == plan.lacking)))
    if plan.error_class is not None:
        found.append(_column(source, plan, "class") == plan.error_class)
    if plan.code is not None:
        found.append(_of_code(source, plan, catalogue))
    if plan.envelope is not None:
        ch, k = tables.ch_message.c, tables.kernel_message.c
        _column(source, plan, "kind")
        found.append(k.ch_message_id.in_(select(ch.id).where(ch.envelope_id == plan.envelope)))
    if plan.late and plan.thing == "freed":
        found.append(tables.state_change.c.why == AFTER_LATE)
    elif plan.late:
        if plan.thing != "request":
            raise UserError(f"A {plan.thing} is never late.", "Ask for requests.")
        o = tables.outgoing.c
        found.append(and_(o.answer_by < micros(now), o.state.in_(("built", "sent", "acknowledged", "in-course"))))
    if plan.supplied is not None:
        if plan.thing != "access_point":
            raise UserError(f"A {plan.thing} is not supplied.", "Ask for access points.")
        found += _supply(supplied=plan.supplied, now=micros(now))
    for name, said in (("serial", plan.meter), ("invoice", plan.invoice)):
        if said is not None:
            found.append(func.upper(_column(source, plan, name)) == said.upper())
    if plan.value is not None and (plan.thing, plan.how) != ("grid_invoice", "list"):
        raise UserError(f"The {plan.value} is that of a grid invoice.", "List grid invoices.")
    there, joined = _at_point(source, plan)
    return [*found, *_in_states(source, plan, now), *_on_days(source, plan, times), *there], joined


def _in_states(source: Source, plan: Stored, now: datetime) -> list[ColumnElement[bool]]:
    """In one of the states, or with one of the flags."""
    if not plan.states:
        return []
    wrong = [state for state in plan.states if source.states and state not in source.states]
    if wrong:
        raise UserError(
            f"{wrong[0]!r} is no state of a {plan.thing}.", f"Its states: {', '.join(source.states) or 'none'}."
        )
    flags = [source.flags[state] for state in plan.states if source.flags]
    if plan.thing == "supply_period":
        flags = [_period_is(state, micros(now)) for state in plan.states]
    return [or_(*flags) if flags else _column(source, plan, "status" if source.own else "state").in_(plan.states)]


def _of_code(source: Source, plan: Stored, catalogue: Catalogue) -> ColumnElement[bool]:
    """With a code, or one that begins so."""
    beginning = str(plan.code).upper()
    begun = tuple(rule.error_code for rule in catalogue.rules if rule.error_code.upper().startswith(beginning))
    codes = catalogue.error_codes(str(plan.code)) or begun or (beginning,)
    if plan.thing == "freed":
        # Its findings are those of former verdicts.
        f = tables.finding.c
        return tables.state_change.c.message_id.in_(select(f.message_id).where(f.error_code.in_(codes)))
    return _column(source, plan, "code").in_(codes)


def _on_days(source: Source, plan: Stored, times: LegalTime) -> list[ColumnElement[bool]]:
    """Of some days: those of arrival, or those that are meant."""
    if plan.thing == "grid_invoice" and plan.day_of == "due":
        return _due(source.columns["due"], plan)
    if source.at is None and (plan.since or plan.until):
        raise UserError(f"The store does not tell the day of a {plan.thing}.", "Ask without days.")
    found = []
    if source.at is not None and plan.since is not None:
        found.append(source.at >= _micros(plan.since, times))
    if source.at is not None and plan.until is not None:
        found.append(source.at < _micros(plan.until, times))
    return found


def _at_point(source: Source, plan: Stored) -> tuple[list[ColumnElement[bool]], bool]:
    """At an access point, and whether access points are joined for it."""
    if plan.access_point is None and plan.by != "access_point":
        return [], False
    there = plan.thing == "access_point" or "access_point" in source.columns
    beside = (source.table, *(table for table, _ in source.joins))
    if not there and tables.kernel_message not in beside and tables.outgoing not in beside:
        raise UserError(f"The store does not tell the access point of a {plan.thing}.", "Ask for messages there.")
    where = [] if plan.access_point is None else [tables.access_point.c.identifier == plan.access_point]
    return where, not there


def _period_is(state: str, now: int) -> ColumnElement[bool]:
    """Whether a period of supply has begun and not ended, or has ended."""
    s = tables.supply_period.c
    return s.ended_at <= now if state == "ended" else and_(s.at <= now, or_(s.ended_at.is_(None), s.ended_at > now))


def _due(column: ColumnElement[Any], plan: Stored) -> list[ColumnElement[bool]]:
    """Which days something is due on: the column has them as text."""
    found: list[ColumnElement[bool]] = [column.is_not(None)]
    found += [column >= plan.since.isoformat()] if plan.since else []
    return found + ([column < plan.until.isoformat()] if plan.until else [])


def _supply(*, supplied: bool, now: int) -> list[ColumnElement[bool]]:
    """Points with a period of supply that has begun and not ended; or with some, of which none goes on."""
    s = tables.supply_period.c
    begun = select(s.id).where(s.access_point_id == tables.access_point.c.id, s.at <= now)
    goes_on = begun.where(or_(s.ended_at.is_(None), s.ended_at > now)).exists()
    return [goes_on] if supplied else [begun.exists(), ~goes_on]


def _column(source: Source, plan: Stored, name: str) -> ColumnElement[Any]:
    if name not in source.columns:
        raise UserError(f"A {plan.thing} has no {name}.", f"It has {', '.join(source.columns)}.")
    return source.columns[name]


def midnight(day: date, times: LegalTime, market: str | None = None) -> datetime:
    """When a day begins in the legal time of a market, or of ours."""
    return datetime(day.year, day.month, day.day, tzinfo=times.zone(market))


def _micros(day: date, times: LegalTime) -> int:
    return micros(midnight(day, times))


def _number(source: Source) -> ColumnElement[Any]:
    return source.number if source.number is not None else func.count()


def _from(query: Select[Any], source: Source, points: bool, conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    chain: Any = source.table
    for table, condition in source.joins:
        chain = chain.join(table, condition)
    if points:
        owner = tables.outgoing if source.table is tables.outgoing else tables.kernel_message
        chain = chain.join(tables.access_point, owner.c.access_point_id == tables.access_point.c.id)
    return query.select_from(chain).where(*conditions)


def _counts(connection: Connection, asked: _Asked, by: StoreGroup) -> list[tuple[Any, int]]:
    source, plan = asked.source, asked.plan
    number = func.count(_column(source, plan, "code").distinct()) if by == "message" else _number(source)
    if by in ("day", "month"):
        if source.at is None:
            raise UserError(f"A {plan.thing} has no day.", "Group it otherwise.")
        hour = source.at // MICROS_OF_HOUR  # days of legal time begin at an hour of universal time
        rows = connection.execute(asked.rows_of(select(hour, number)).group_by(hour)).all()
        counts: dict[str, int] = {}
        for value, count in rows:
            name = asked.times.day(instant(int(value) * MICROS_OF_HOUR))[: 7 if by == "month" else 10]
            counts[name] = counts.get(name, 0) + int(count)
        return sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    column = tables.access_point.c.identifier if by == "access_point" else _column(source, plan, by)
    query = asked.rows_of(select(column, number)).group_by(column).order_by(number.desc(), column)
    if by == "message":
        query = query.having(number >= (plan.at_least or 1))  # all of them: they are counted, too
    else:
        query = query.limit(MOST_ROWS)
    rows = connection.execute(query).all()
    return [(row[0], int(row[1])) for row in rows if row[0] is not None]


def _edge(
    source: Source, plan: Stored, joined: bool, conditions: Sequence[ColumnElement[bool]]
) -> tuple[Select[Any], str]:
    if source.at is None:
        raise UserError(f"A {plan.thing} has no day.", "Ask how many there are.")
    name = next((one for one in ("id", "identifier", "reference") if one in source.columns), "")
    columns = [source.at, *([source.columns[name]] if name else [])]
    query = _from(select(*columns), source, joined, conditions)
    order = [column.asc() if plan.how == "first" else column.desc() for column in columns]
    return query.order_by(*order).limit(1), name


MOST_STATES = 6
"""States of a message that are named one by one, at most."""


def _states_in_words(wanted: Sequence[str]) -> str:
    """States as they are told: one by one, as those in which somebody has to act, or all but the others."""
    if set(wanted) == set(STUCK):
        return "stuck"
    if len(wanted) <= MOST_STATES:
        return " or ".join(wanted)
    return f"any but {' and '.join(one for one in states.MESSAGE_STATES if one not in wanted)}"


def _in_words(plan: Stored) -> str:
    pairs: list[tuple[str, Any]] = [
        ("state", _states_in_words(plan.states)),
        ("market", " or ".join(plan.markets)), ("kind", " or ".join(plan.kinds)), ("type", " or ".join(plan.types)),
        ("code", plan.code),
        ("class", plan.error_class), ("access point", plan.access_point), ("envelope", plan.envelope),
        ("invoice", plan.invoice), ("meter", plan.meter and "by its serial number"),
        ("day", plan.day_of), ("since", plan.since), ("before", plan.until), ("late", "yes" if plan.late else None),
        ("supplied", {None: None, True: "yes", False: "no longer"}[plan.supplied]),
        ("number", plan.number), ("severity", plan.severity), ("without", plan.lacking),
        ("at least", plan.at_least), ("at most", plan.at_most),
    ]  # fmt: skip
    return "; ".join(f"{name} {value}" for name, value in pairs if value) or "all"


def _search(plan: Stored) -> ListSearch | None:
    """The filters of the list in the console and on the command line; None where the list has none of these."""
    state = plan.states[0] if len(plan.states) == 1 else None
    if plan.thing in ("message", "finding"):
        return MessageSearch(
            access_point=plan.access_point, code=plan.code, state=state, kind=_only(plan.kinds), type=_only(plan.types),
            market=_only(plan.markets), envelope=plan.envelope,
            since=None if plan.day_of else _start(plan.since), until=None if plan.day_of else _start(plan.until),
        )  # fmt: skip
    makers: dict[str, Callable[[], ListSearch]] = {
        "envelope": lambda: EnvelopeSearch(state=state),
        "request": lambda: RequestSearch(state=state, market=_only(plan.markets), access_point=plan.access_point),
        "ticket": lambda: TicketSearch(state=state),
        "notification": lambda: NotificationSearch(state=state),
    }
    return makers[plan.thing]() if plan.thing in makers else None


def _start(day: date | None) -> datetime | None:
    return datetime(day.year, day.month, day.day) if day else None


def _proof(plan: Stored, source: Source, where: str) -> Proof:
    search = _search(plan)
    link, command = source.page, source.command
    if search is not None:
        chosen = {
            name: f"{value:%Y-%m-%d}" if isinstance(value, datetime) else value
            for name, value in search.model_dump(exclude_none=True, exclude_defaults=True).items()
        }
        link = link and link + (f"?{urlencode(chosen)}" if chosen else "")
        options = (f"--{name.replace('_', '-')} {str(value).lower() if name == 'market' else value}"
                   for name, value in chosen.items())  # fmt: skip
        command = command and " ".join((command, *options))
    if source.own and plan.access_point:
        command = f"energycomm access-point show {plan.access_point}"
    if plan.invoice and source.own:
        link, command = f"{source.page}/{quote(plan.invoice)}", f"energycomm invoice show {plan.invoice}"
    return Proof(text=f"{plan.thing}: {where}", link=link, command=command)


def _code_proofs(catalogue: Catalogue, code: str | None) -> tuple[Proof, ...]:
    return tuple(rule_proof(rule) for rule in catalogue.find(code)[:2]) if code else ()


def message_answer(engine: Engine, catalogue: Catalogue, plan: WhyMessage, language: str, times: LegalTime) -> Worked:
    """One message: why it is as it is, what freed it, whose it is."""
    found = show_message(engine, plan.message)
    proof = Proof(
        text=f"message {plan.message}", link=f"/messages/{plan.message}",
        command=f"energycomm message show {plan.message}",
    )  # fmt: skip
    if found is None:
        list_ = Proof(text="message: all", link="/messages", command="energycomm message list")
        return Worked(sentence=say(language, "no_message", id=plan.message), proofs=(list_,))
    told = found.summary
    facts = {"id": plan.message, "kind": told.kind, "type": told.type, "state": told.state}
    if plan.about == "point":
        key = "point_of" if told.access_point else "no_point"
        text = say(language, key, point=told.access_point, market=told.market, **facts)
        return Worked(sentence=text, proofs=(proof,), values=(told.access_point,))
    if plan.about == "facts":
        at = times.to_the_minute(told.received_at)
        envelope = f"{found.origin.envelope_id} ({found.origin.envelope})" if found.origin else "-"
        text = say(language, "facts", at=at, market=told.market, envelope=envelope, **facts)
        return Worked(sentence=text, proofs=(proof,), values=(told.kind, told.type, told.market, at))
    if plan.about == "freed":
        return _freed(engine, found, language, facts, proof, times)
    if plan.about == "until" and told.state == "quarantined" and found.waits_until is not None:
        until = times.day(found.waits_until, told.market)
        text = say(language, "waits", what=told.waits_for or "-", until=until, **facts)
        return Worked(sentence=text, proofs=(proof,), values=(until,))
    return _explained(catalogue, plan, found, language, facts, times)


def _explained(
    catalogue: Catalogue, plan: WhyMessage, found: MessageDetail, language: str, facts: dict[str, Any],
    times: LegalTime,
) -> Worked:  # fmt: skip
    """Why a message is as it is, by its findings or by what it waits for; or its history."""
    told = found.summary
    current = [one for one in found.findings if one.current and plan.severity in (None, one.severity)]
    codes = tuple(dict.fromkeys(one.error_code for one in current))
    proofs = (
        Proof(
            text=f"message {plan.message}, its findings", link=f"/messages/{plan.message}/explanation",
            command=f"energycomm message explain {plan.message}",
        ),
        *(proof for code in codes for proof in _code_proofs(catalogue, code)[:1]),
    )  # fmt: skip
    waits = told.waits_for if told.state == "quarantined" else None
    if waits:
        until = times.day(found.waits_until, told.market) or "-"
        key = "waits_in" if plan.about == "state" else "waits"
        sentence = say(language, key, what=waits, until=until, **facts)
        values: tuple[Any, ...] = (waits,)
    else:
        listed = ", ".join(codes) or say(language, "no_error")
        sentence, values = say(language, "why", codes=listed, **facts), codes or (told.state,)
    if plan.about == "state":
        values = (told.state,)
    if plan.equals:
        holds = told.state == plan.equals or (plan.equals == "stuck" and told.state in STUCK)
        sentence, values = f"{say(language, 'yes' if holds else 'no')} {sentence}", (holds,)
    rows = tuple(
        (one.error_code, one.rule, one.field, one.value or "", one.comment_fr if language == "fr" else one.comment)
        for one in current
    )
    history = tuple(
        (times.to_the_minute(change.at), change.before or "", change.after, change.by, change.why or "")
        for change in found.changes
    )
    if plan.about == "history":
        table = Shown(columns=("at", "before", "after", "by", "why"), rows=history)
    else:
        table = Shown(columns=("code", "rule", "field", "value", "comment"), rows=rows)
    return Worked(sentence=sentence, table=table if table.rows else None, proofs=proofs, values=values)


def _freed(
    engine: Engine, found: MessageDetail, language: str, facts: dict[str, Any], proof: Proof, times: LegalTime
) -> Worked:
    freed = [one for one in found.changes if one.before in STUCK and one.after not in STUCK]
    if not freed:
        key = "not_freed" if facts["state"] in STUCK else "never_stuck"
        return Worked(sentence=say(language, key, **facts), proofs=(proof,), values=(facts["state"],))
    last = freed[-1]
    late = _late(engine, found, last) if last.why == AFTER_LATE else ()
    why = ", ".join((last.why or "", *(f"{id_} {found_kind}" for id_, found_kind in late))) if last.why else ""
    sentence = say(
        language, "freed", id=facts["id"], at=times.day(last.at), by=last.by, before=last.before, after=last.after,
        why=f" ({why})" if why else "",
    )  # fmt: skip
    return Worked(sentence=sentence, proofs=(proof,), values=(last.by, last.why, *(id_ for id_, _ in late)))


def _late(engine: Engine, found: MessageDetail, last: StateRecord) -> tuple[tuple[int, str], ...]:
    """The messages whose arrival freed another: those of the access point that came in that moment and are of the kind
    that it waited for."""
    waits = next(
        (one.why or "" for one in reversed(found.changes) if one.after == last.before and one.at <= last.at), ""
    )
    kind = waits.removeprefix(WAITS).partition(" ")[0]
    if kind not in KINDS or not found.summary.access_point:
        return ()
    k, point = tables.kernel_message.c, tables.access_point.c
    query = (
        select(k.id, k.kind)
        .join(tables.access_point, point.id == k.access_point_id)
        .where(point.identifier == found.summary.access_point, k.market == found.summary.market, k.kind == kind)
        .where(k.received_at.between(micros(last.at) - SAME_MOMENT, micros(last.at)), k.state.in_(sorted(APPLIED)))
        .where(k.id != found.summary.id)
        .order_by(k.id)
    )
    with reading(engine) as connection:
        return tuple((int(row[0]), str(row[1])) for row in connection.execute(query))
