"""Campaigns: a correction that was planned is done message by message, recorded, cancelled, resumed and undone."""

# ruff: noqa: S608 - statements are put together from conditions that stand here, never from values

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice

import msgspec
from msgspec import Struct
from sqlalchemy import select, text

from energycomm.correction.acting import (
    ACTIONS,
    NotDone,
    Place,
    act,
    compared,
    judge_again,
    place_of,
    sorted_places,
    states_at,
    take_up,
    withdraw,
)
from energycomm.correction.cases import content_of
from energycomm.correction.library import LoadedScript
from energycomm.correction.planning import Planned
from energycomm.correction.script import Action, Create, Modify, Reorder, Replay, SetAside, Storing
from energycomm.eis import tables
from energycomm.eis.bulk import NewRow, Row, driver_of
from energycomm.eis.database import Conflict, reading
from energycomm.eis.fitting import Misfit
from energycomm.eis.store import Store, StoreTransaction
from energycomm.eis.structures import filled
from energycomm.errors import UserError
from energycomm.kernel.codec import encode
from energycomm.kernel.counting import counted
from energycomm.kernel.instants import micros, now_micros
from energycomm.logs import Log
from energycomm.pipeline.batch import BatchWriter
from energycomm.pipeline.fold import fault_words

log = Log()

_PIECE = 500
"""Items that are recorded in one transaction."""

_KINDS: dict[str, type[Modify | Reorder | Create]] = {"modify": Modify, "reorder": Reorder, "create": Create}


class CampaignRecord(Struct, frozen=True, kw_only=True):
    """A campaign and its state; `items` counts its items by state."""

    id: int
    script: str
    digest: str
    parameters: dict[str, str]
    state: str
    by: str
    why: str
    approved_by: str | None
    created_at: datetime
    finished_at: datetime | None
    selected: int
    freed: int
    items: dict[str, int]


class Rival(Struct, frozen=True, kw_only=True):
    """Another proposal for some of the messages of a campaign."""

    campaign: int
    by: str
    messages: int

    @property
    def words(self) -> str:
        """What it means, for a person."""
        return (
            f"Campaign {self.campaign} of {self.by} is proposed for {counted(self.messages, 'message')} of this one: "
            "the one that is approved first is done, the other passes over what was corrected."
        )


class ItemRecord(Struct, frozen=True, kw_only=True):
    """The outcome of a campaign for one message."""

    message_id: int
    access_point: str | None
    action: str
    state: str
    note: str
    before: str
    after: str | None
    result_id: int | None


def start(
    store: Store,
    script: LoadedScript | None,
    items: Iterable[Planned],
    *,
    by: str,
    why: str,
    parameters: Mapping[str, str] | None = None,
    selected: Callable[[], int] | int | None = None,
    key: str | None = None,
) -> int:
    """Record a campaign; nothing is done to a message yet.

    Many items are recorded a piece at a time, as they come. Until the last one is there the campaign is one that was
    cancelled: nobody can approve it, and what is there of one that was cut off can be run.

    Args:
      store: the EIS.
      script: the script; None for an edit by hand.
      items: what is to be done.
      by: who.
      why: in words.
      parameters: of the script.
      selected: how many messages the script was about; or what tells it after the last item.
      key: idempotency key: the campaign that bears it already is the answer.

    Returns:
      The campaign's id.
    """
    if key is not None and (known := by_key(store, key)) is not None:
        return known
    coming = iter(items)
    piece = list(islice(coming, _PIECE))
    whole = len(piece) < _PIECE
    row = {
        **_campaign_row(script, parameters, by, why, key),
        "state": "planned" if whole else "cancelled",
        "selected": _number(selected, len(piece)) if whole else len(piece),
    }
    try:
        with store.transaction() as tx:
            (campaign_id,) = tx.reserve(tables.campaign, 1)
            tx.insert(tables.campaign, [{"id": campaign_id, **row}])
            tx.insert(tables.campaign_item, [_item_row(campaign_id, item) for item in piece])
    except Conflict:
        known = None if key is None else by_key(store, key)
        if known is None:
            raise
        return known
    if not whole:
        _add(store, campaign_id, coming, len(piece), selected)
    return campaign_id


def _campaign_row(
    script: LoadedScript | None, parameters: Mapping[str, str] | None, by: str, why: str, key: str | None
) -> NewRow:
    """What is known of a campaign before its items."""
    name, digest = (script.name, script.digest) if script is not None else ("edit", "")
    return {
        "script": name,
        "digest": digest,
        "parameters": msgspec.json.encode(dict(parameters or {})).decode(),
        "by": by[:120],
        "why": why[:400],
        "key": key,
        "created_at": now_micros(),
    }


def _add(
    store: Store, campaign_id: int, coming: Iterator[Planned], known: int, selected: Callable[[], int] | int | None
) -> None:
    """The further items of a campaign, a piece at a time; it is planned with the last one."""
    whole = False
    while not whole:
        piece = list(islice(coming, _PIECE))
        known, whole = known + len(piece), len(piece) < _PIECE
        with store.transaction() as tx:
            tx.insert(tables.campaign_item, [_item_row(campaign_id, item) for item in piece])
            if whole:
                sql = "UPDATE campaign SET state = 'planned', selected = ? WHERE id = ? AND state = 'cancelled'"
                tx.driver.run(sql, (_number(selected, known), campaign_id))


def _number(selected: Callable[[], int] | int | None, items: int) -> int:
    if selected is None:
        return items
    return selected() if callable(selected) else selected


def by_key(store: Store, key: str) -> int | None:
    """The campaign with an idempotency key; None when there is none."""
    with reading(store.engine) as connection:
        rows = driver_of(connection).rows("SELECT id FROM campaign WHERE key = ?", (key,))
    return rows[0][0] if rows else None


def _item_row(campaign_id: int, item: Planned) -> NewRow:
    case, action = item.case, item.action
    return {
        "campaign_id": campaign_id,
        "message_id": case.id,
        "access_point_id": case.access_point_id,
        "action": ACTIONS[type(action).__name__],
        "state": "planned",
        "content": encode(action.message) if isinstance(action, Storing) else "",
        "note": action.note[:400],
        "before": case.state,
    }


def approve(store: Store, campaign_id: int, by: str) -> None:
    """A second person agrees to a campaign that was proposed.

    Raises:
      UserError: there is none, it has begun, or the person proposed it.
    """
    record = show(store, campaign_id)
    if record.by == by:
        raise UserError("The person who proposed a campaign cannot approve it.", "Ask a colleague.")
    if record.state != "planned":
        raise UserError(f"Campaign {campaign_id} is {record.state} already.")
    with store.transaction() as tx:
        tx.driver.run("UPDATE campaign SET approved_by = ? WHERE id = ?", (by[:120], campaign_id))


def run(
    store: Store,
    writer: BatchWriter,
    campaign_id: int,
    *,
    four_eyes: bool = False,
    watch: Callable[[int, int], None] = lambda _done, _freed: None,
) -> CampaignRecord:
    """Run the rest of a campaign, access point by access point; no item is done twice.

    Args:
      store: the EIS.
      writer: the rules.
      campaign_id: the campaign; one that was cancelled or cut off goes on.
      four_eyes: refuse a campaign that nobody approved.
      watch: called with (items done, messages freed).

    Raises:
      UserError: there is none, it was undone, or it is not approved.
    """
    record = show(store, campaign_id)
    if record.state == "undone":
        raise UserError(f"Campaign {campaign_id} was undone.", "Run its script again.")
    if four_eyes and record.approved_by is None:
        raise UserError(
            f"Campaign {campaign_id} waits for the approval of a second person.",
            "`energycomm correct approve` gives it.",
        )
    if record.state != "done":
        _set_state(store, campaign_id, "running")
    done = 0
    for ids in _by_point(store, campaign_id, OPEN):
        if _state(store, campaign_id) != "running":
            break
        for place, group in groupby(_open_items(store, ids), key=_place):
            items = list(group)
            freed = _run_around(store, writer, campaign_id, record, place, items)
            done += len(items)
            watch(done, freed)
    if _state(store, campaign_id) == "running":
        _set_state(store, campaign_id, "done")
    return show(store, campaign_id)


def _place(row: Row) -> Place:
    return row[0], row[1]


def _run_around(
    store: Store, writer: BatchWriter, campaign_id: int, record: CampaignRecord, place: Place, items: list[Row]
) -> int:
    """The items of one access point; where the program breaks on them twice they are skipped, and the campaign goes on
    with the next."""
    for last in (False, True):
        try:
            return _run_point(store, writer, campaign_id, record, place, items) if items else 0
        except Exception as error:
            if isinstance(error, Conflict | UserError):
                raise
            log.error("campaign.broke", campaign=campaign_id, access_point=place[1], exc_info=error)
            if last:
                _skip(store, [row[2] for row in items], fault_words(error))
            items = _open_items(store, [row[2] for row in items])
    return 0


OPEN = "i.state IN ('planned', 'acted')"
"""Condition of items that are still to be done."""


def _by_point(store: Store, campaign_id: int, condition: str) -> Iterator[list[int]]:
    """Ids of the items of a campaign that meet a condition, access point by access point.

    Sixteen bytes of each item are in memory: its content is read when its turn comes.
    """
    sql = (
        "SELECT coalesce(i.access_point_id, 0), i.id FROM campaign_item i JOIN kernel_message k ON k.id = i.message_id "
        "LEFT JOIN access_point p ON p.id = i.access_point_id "
        f"WHERE i.campaign_id = :campaign AND {condition} ORDER BY k.market, p.identifier, k.effective, i.id"
    )
    points, ids = array("q"), array("q")
    with reading(store.engine) as connection:
        options = {"stream_results": True, "max_row_buffer": 2000}
        for point, number in connection.execute(text(sql), {"campaign": campaign_id}, execution_options=options):
            points.append(point)
            ids.append(number)
    for _, several in groupby(zip(points, ids, strict=True), key=lambda one: one[0]):
        yield [number for _, number in several]


def _open_items(store: Store, ids: Sequence[int]) -> list[Row]:
    """Those of items that are still to be done, in the order of their places and instants."""
    sql = (
        "SELECT k.market, p.identifier, i.id, i.message_id, i.action, i.content, i.note, i.state, k.effective "
        "FROM campaign_item i JOIN kernel_message k ON k.id = i.message_id "
        f"LEFT JOIN access_point p ON p.id = i.access_point_id WHERE {OPEN}"
    )
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        rows = {row[2]: row for row in driver.matching(sql, ids, "i.id")}.values()
        found = sorted(rows, key=lambda row: (row[0], row[1] or "", row[8], row[2]))
        return [(*row[:5], driver.vault.text("campaign_item", row[2], row[5]), *row[6:8]) for row in found]


def _run_point(
    store: Store,
    writer: BatchWriter,
    campaign_id: int,
    record: CampaignRecord,
    place: Place,
    items: list[Row],
) -> int:
    """The items of one access point; how many messages they freed."""
    actions = [_action(word, content, note) for _, _, _, _, word, content, note, _ in items]
    places = sorted_places([place, *(place_of(action) or place for action in actions)])
    before = states_at(store, places, [row[3] for row in items])
    if any(row[7] == "acted" for row in items):
        before = _as_they_were(store, before, micros(record.created_at))
    for (_, _, item_id, message_id, _, _, note, _), action in zip(items, actions, strict=True):
        _act_once(store, item_id, message_id, action, f"campaign {campaign_id}: {note}", record.by)
    for market, identifier in places:
        judge_again(store, writer, market, identifier)
    after = states_at(store, places, list(before))
    freed = len(compared(before, after).freed)
    with store.transaction() as tx:
        tx.driver.many(
            "UPDATE campaign_item SET state = 'done', after = ? WHERE id = ? AND state = 'acted'",
            [(after.get(row[3]), row[2]) for row in items],
        )
        tx.driver.run("UPDATE campaign SET freed = freed + ? WHERE id = ?", (freed, campaign_id))
    return freed


def _as_they_were(store: Store, states: Mapping[int, str], since: int) -> dict[int, str]:
    """States before a campaign that was cut off began: each message's before its first change since then."""
    sql = f'SELECT message_id, "before" FROM ({tables.ALL_CHANGES}) AS c WHERE at >= ?'
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        rows = driver.matching(sql, list(states), "message_id", "ORDER BY at DESC, id DESC", (since,))
    found: dict[int, str] = {**states, **dict(rows)}  # the first change comes last
    return {number: state for number, state in found.items() if state != "received"}


def _action(word: str, content: str, note: str) -> Action:
    if word == "set-aside":
        return SetAside(note)
    return Replay(note) if word == "replay" else _KINDS[word](content_of(content), note)


def _act_once(store: Store, item_id: int, message_id: int, action: Action, why: str, by: str) -> None:
    """Claim an item and do it in one transaction: another process that runs the same campaign finds it claimed."""
    claim = "UPDATE campaign_item SET state = 'acted' WHERE id = ? AND state = 'planned'"
    try:
        with store.transaction() as tx:
            if tx.driver.run(claim, (item_id,)):
                if isinstance(action, Create) and _made_before(tx, item_id, message_id):
                    raise NotDone("another campaign made the missing message")
                result = act(tx, message_id, action, by, why)
                tx.driver.run("UPDATE campaign_item SET result_id = ? WHERE id = ?", (result, item_id))
    except NotDone as reason:
        _skip(store, [item_id], str(reason))
    except Misfit as reason:
        _skip(store, [item_id], str(reason))


def _skip(store: Store, item_ids: Sequence[int], why: str) -> None:
    skip = "UPDATE campaign_item SET state = 'skipped', note = ? WHERE id = ? AND state IN ('planned', 'acted')"
    with store.transaction() as tx:
        tx.driver.many(skip, [(why[:400], item_id) for item_id in item_ids])


def _made_before(tx: StoreTransaction, item_id: int, message_id: int) -> bool:
    sql = (
        "SELECT 1 FROM campaign_item WHERE message_id = ? AND action = 'create' AND id <> ? "
        "AND state IN ('acted', 'done')"
    )
    return bool(tx.driver.rows(sql, (message_id, item_id)))


def cancel(store: Store, campaign_id: int) -> CampaignRecord:
    """Stop a campaign after the current access point; `run` continues it."""
    record = show(store, campaign_id)
    if record.state in ("planned", "running"):
        _set_state(store, campaign_id, "cancelled")
    return show(store, campaign_id)


def undo(store: Store, writer: BatchWriter, campaign_id: int, by: str) -> CampaignRecord:
    """Undo a campaign: withdraw its versions and created messages, and judge the access points again.

    Messages that were only sent back keep the verdict that today's rules gave them. A version that was corrected
    further stays, and its item says so.
    """
    show(store, campaign_id)
    undone = "i.state IN ('acted', 'done') AND i.action <> 'replay'"
    for ids in _by_point(store, campaign_id, undone):
        _undo_point(store, writer, campaign_id, ids, by)
    _set_state(store, campaign_id, "undone")
    return show(store, campaign_id)


def _undo_point(store: Store, writer: BatchWriter, campaign_id: int, ids: Sequence[int], by: str) -> None:
    sql = (
        "SELECT k.market, p.identifier, i.id, i.result_id, q.identifier, i.message_id FROM campaign_item i "
        "JOIN kernel_message k ON k.id = i.message_id LEFT JOIN access_point p ON p.id = i.access_point_id "
        "LEFT JOIN kernel_message r ON r.id = i.result_id LEFT JOIN access_point q ON q.id = r.access_point_id "
        "WHERE true"
    )
    with reading(store.engine) as connection:
        rows = {row[2]: row for row in driver_of(connection).matching(sql, ids, "i.id")}.values()
    for (market, identifier), group in groupby(sorted(rows, key=lambda row: (row[0], -row[2])), key=_place):
        since: list[int] = []
        places = {(market, identifier)}
        for _, _, item_id, result_id, other, message_id in group:
            at = _undo_item(store, item_id, message_id, result_id, by, f"campaign {campaign_id} was undone")
            if at is not None:
                since.append(at)
                places |= {(market, other)} if result_id is not None else set()
        for place in sorted_places(places) if since else ():
            judge_again(store, writer, *place, min(since))


def _undo_item(store: Store, item_id: int, message_id: int, result_id: int | None, by: str, why: str) -> int | None:
    try:
        with store.transaction() as tx:
            since = take_up(tx, message_id, by, why) if result_id is None else withdraw(tx, result_id, by, why)
            tx.driver.run("UPDATE campaign_item SET state = 'undone' WHERE id = ?", (item_id,))
            return since
    except NotDone as reason:
        with store.transaction() as tx:
            tx.driver.run("UPDATE campaign_item SET note = ? WHERE id = ?", (f"not undone: {reason}"[:400], item_id))
        return None


def _set_state(store: Store, campaign_id: int, state: str) -> None:
    finished = now_micros() if state in ("done", "cancelled", "undone") else None
    with store.transaction() as tx:
        tx.driver.run("UPDATE campaign SET state = ?, finished_at = ? WHERE id = ?", (state, finished, campaign_id))


def _state(store: Store, campaign_id: int) -> str:
    with reading(store.engine) as connection:
        ((state,),) = driver_of(connection).rows("SELECT state FROM campaign WHERE id = ?", (campaign_id,))
    return str(state)


def show(store: Store, campaign_id: int) -> CampaignRecord:
    """A campaign and its state.

    Raises:
      UserError: there is none.
    """
    found = [record for record in campaigns(store, campaign_id) if record.id == campaign_id]
    if not found:
        raise UserError(f"There is no campaign {campaign_id}.", "`energycomm correct history` lists them.")
    return found[0]


def campaigns(store: Store, campaign_id: int | None = None, limit: int = 100) -> list[CampaignRecord]:
    """The latest campaigns, the newest first; or one."""
    t = tables.campaign
    query = select(t).order_by(t.c.id.desc()).limit(limit)
    if campaign_id is not None:
        query = query.where(t.c.id == campaign_id)
    with reading(store.engine) as connection:
        rows = connection.execute(query).mappings().all()
        counts: dict[int, dict[str, int]] = {}
        tail = "GROUP BY campaign_id, state ORDER BY campaign_id, state"
        sql = "SELECT campaign_id, state, count(*) FROM campaign_item WHERE true"
        ids = [row["id"] for row in rows]
        for number, state, count in driver_of(connection).matching(sql, ids, "campaign_id", tail):
            counts.setdefault(number, {})[state] = count
    return [
        filled(
            CampaignRecord,
            row,
            parameters=msgspec.json.decode(row["parameters"]),
            items=counts.get(row["id"], {}),
        )
        for row in rows
    ]


def rivals(store: Store, campaign_id: int) -> list[Rival]:
    """Other campaigns that wait to be approved or run, and have messages in common with this one that waits, too."""
    sql = (
        'SELECT o.campaign_id, c."by", count(*) FROM campaign_item i '
        "JOIN campaign_item o ON o.message_id = i.message_id AND o.campaign_id <> i.campaign_id "
        "JOIN campaign c ON c.id = o.campaign_id "
        "WHERE i.campaign_id = ? AND i.state = 'planned' AND o.state = 'planned' AND c.state = 'planned' "
        'GROUP BY o.campaign_id, c."by" ORDER BY o.campaign_id'
    )
    with reading(store.engine) as connection:
        rows = driver_of(connection).rows(sql, (campaign_id,))
    return [Rival(campaign=number, by=by, messages=messages) for number, by, messages in rows]


def items_of(store: Store, campaign_id: int, limit: int = 1000) -> list[ItemRecord]:
    """The outcome of a campaign, message by message."""
    sql = (
        "SELECT i.message_id, p.identifier, i.action, i.state, i.note, i.before, i.after, i.result_id "
        "FROM campaign_item i LEFT JOIN access_point p ON p.id = i.access_point_id WHERE i.campaign_id = ? "
        "ORDER BY i.id LIMIT ?"
    )
    with reading(store.engine) as connection:
        rows = driver_of(connection).rows(sql, (campaign_id, limit))
    names = ItemRecord.__struct_fields__
    return [ItemRecord(**dict(zip(names, row, strict=True))) for row in rows]
