"""The plan of a script, and its dry run through the Kernel."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct, field, structs
from sqlalchemy import Engine, text

from energycomm.correction.acting import (
    NotDone,
    Outcome,
    Place,
    act,
    compared,
    judge_again,
    place_of,
    sorted_places,
    states_at,
)
from energycomm.correction.cases import APPLIED, Case, by_point, read_cases, stuck_ids
from energycomm.correction.library import LoadedScript
from energycomm.correction.lookup import Lookup
from energycomm.correction.script import Action, Replay, Selection, SetAside, Storing
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import is_sqlite, reading, rehearsal
from energycomm.eis.messages import current_codes
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.kernel.codec import encode
from energycomm.kernel.counting import counted
from energycomm.market.installed import Markets
from energycomm.pipeline.batch import BatchWriter

SLICE = 8
"""Access points of one rehearsal: a writer waits for no more than these."""
MOST = 400
"""Messages of a slice that is planned at once, and those of its last access point."""


class Planned(Struct, frozen=True):
    """The action of a script on one message."""

    case: Case
    action: Action

    @property
    def place(self) -> Place:
        """Market and access point of the stuck message."""
        return self.case.message.market, self.case.identifier

    @property
    def places(self) -> tuple[Place, ...]:
        """Where messages are to be judged again: a corrected message may lie at another access point."""
        return tuple(dict.fromkeys((self.place, place_of(self.action) or self.place)))


class Plan(Struct, frozen=True):
    """The actions of a script.

    Attributes:
      selected: how many stuck messages it is about.
      items: what it would do, access point by access point.
      faults: message id -> what the script raised on it.
    """

    selected: int
    items: tuple[Planned, ...]
    faults: dict[int, str]


class Tried(Struct, frozen=True):
    """One item of a dry run.

    Attributes:
      item: what was tried.
      useful: its access point is better off: something is freed and nothing lost.
      note: why it could not be done, or what it would do.
    """

    item: Planned
    useful: bool
    note: str

    @property
    def alone(self) -> Tried:
        """The same without what is around its message: what may be kept of many."""
        return structs.replace(self, item=structs.replace(self.item, case=self.item.case.alone))


class Preview(Struct, frozen=True):
    """What a dry run found.

    Attributes:
      selected: how many stuck messages the script is about.
      tried: its items.
      freed: messages that would be freed, neighbours too.
      lost: messages that would lose their acceptance if the items that are not useful were done too.
      faults: message id -> what the script raised on it.
      untried: items that the time did not suffice for.
    """

    selected: int
    tried: tuple[Tried, ...]
    freed: tuple[int, ...]
    lost: tuple[int, ...]
    faults: dict[int, str]
    untried: tuple[Planned, ...] = ()

    @property
    def useful(self) -> tuple[Planned, ...]:
        """The items worth doing."""
        return tuple(tried.item for tried in self.tried if tried.useful)

    def __str__(self) -> str:
        return (
            f"frees {counted(len(self.freed), 'message')} by {len(self.useful)} of {counted(len(self.tried), 'action')}"
        )


class Outline(Struct):
    """What dry runs of many slices found: numbers, and a few of the items.

    Attributes:
      shown: items worth doing that are kept, at most.
      selected, tried: as of `Preview`; how many.
      useful, freed, lost: ids of messages.
      faults: message id -> what the script raised on it.
      items: the first items worth doing.
      left_out: the first of those that are not: message id, why.
    """

    shown: int
    selected: int = 0
    tried: int = 0
    useful: list[int] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    faults: dict[int, str] = field(default_factory=dict)
    items: list[Planned] = field(default_factory=list)
    left_out: list[tuple[int, str]] = field(default_factory=list)

    def add(self, found: Preview) -> None:
        """Add a slice."""
        self.selected += found.selected
        self.tried += len(found.tried)
        self.freed += found.freed
        self.lost += found.lost
        self.faults |= found.faults
        self.useful += [item.case.id for item in found.useful]
        room = max(0, self.shown - len(self.items))
        self.items += found.useful[:room]
        others = [(one.item.case.id, one.note) for one in found.tried if not one.useful]
        self.left_out += others[: max(0, LEFT_OUT - len(self.left_out))]

    def __str__(self) -> str:
        return f"frees {counted(len(self.freed), 'message')} by {len(self.useful)} of {counted(self.tried, 'action')}"


LEFT_OUT = 20
"""Items that are not worth doing, of which an outline says why."""


def plan(
    engine: Engine,
    markets: Markets,
    script: LoadedScript,
    parameters: Mapping[str, str],
    *,
    limit: int | None = None,
    only: Iterable[int] | None = None,
) -> Plan:
    """Ask a script what to do about the messages of its selection.

    Args:
      engine: the store.
      markets: the installed ones.
      script: the script.
      parameters: as given; defaults are added.
      limit: at most so many actions.
      only: of these messages only.
    """
    selection = script.selection(script.values(parameters))
    cases = read_cases(engine, markets, selected_ids(engine, selection, only))
    return asked(engine, script, parameters, cases, limit)


def selected_ids(engine: Engine, selection: Selection, only: Iterable[int] | None = None) -> list[int]:
    """Ids of the stuck messages of a selection; of these only, where they are given."""
    if not (selection.codes or selection.any_code):
        return []
    ids = stuck_ids(
        engine,
        selection.states,
        kinds=selection.kinds,
        markets=selection.markets,
        waits_for=selection.waits_for,
        codes=selection.codes,
    )
    if selection.sql is not None:
        wanted = selected_by_sql(engine, selection.sql)
        ids = [number for number in ids if number in wanted]
    if only is not None:
        chosen = set(only)
        ids = [number for number in ids if number in chosen]
    return ids


def asked(
    engine: Engine,
    script: LoadedScript,
    parameters: Mapping[str, str],
    cases: Iterable[Case],
    limit: int | None = None,
) -> Plan:
    """The actions of a script on stuck messages; messages outside its selection are skipped.

    Args:
      engine: the store, for what the script looks up.
      script: the script.
      parameters: as given; defaults are added.
      cases: the messages; a selection by SQL is not asked again.
      limit: at most so many actions.
    """
    values, lookup = script.values(parameters), Lookup(engine)
    selection = script.selection(values)
    items: list[Planned] = []
    faults: dict[int, str] = {}
    selected = 0
    for case in cases:
        if not selection.takes(case):
            continue
        selected += 1
        if limit is not None and len(items) >= limit:
            continue
        try:
            action = script.ask(case, values, lookup)
        except Exception as error:  # a script is the consultant's own code: one message must not stop the others
            faults[case.id] = f"{type(error).__name__}: {error}"
            continue
        if action is not None:
            items.append(Planned(case, action))
    items.sort(key=lambda item: (item.place[0], item.place[1] or "", item.case.at, item.case.id))
    return Plan(selected, tuple(items), faults)


def selected_by_sql(engine: Engine, query: str) -> set[int]:
    """The ids that a query gives; it can only read.

    Raises:
      UserError: the query is no query, or its first column is no number.
    """
    if not re.match(r"\s*(select|with)\b", query, re.IGNORECASE):
        raise UserError("A selection in SQL must be a query.", "Begin it with SELECT.")
    with reading(engine) as connection:
        lite = is_sqlite(engine)
        connection.execute(text("PRAGMA query_only = ON" if lite else "SET TRANSACTION READ ONLY"))
        try:
            return {int(row[0]) for row in connection.exec_driver_sql(query)}
        except Exception as error:
            words = str(error).splitlines()[0]
            raise UserError(f"The selection in SQL cannot be run: {words}.") from None
        finally:
            if lite:
                connection.execute(text("PRAGMA query_only = OFF"))


def trials(
    store: Store,
    writer: BatchWriter,
    script: LoadedScript,
    parameters: Mapping[str, str],
    *,
    limit: int | None = None,
    only: Iterable[int] | None = None,
    takes: Callable[[Planned], bool] = lambda _: True,
    watch: Callable[[int], None] = lambda _: None,
) -> Iterator[Preview]:
    """Plan a script and try it, slice by slice of whole access points: of many messages only a slice is in memory.

    Args:
      store: the EIS.
      writer: the rules.
      script: the script.
      parameters: as given; defaults are added.
      limit: at most so many actions.
      only: of these messages only.
      takes: which of the actions to try.
      watch: called with the number of items that were tried.
    """
    engine, markets, tried = store.engine, writer.markets, 0
    ids = selected_ids(engine, script.selection(script.values(parameters)), only)
    for some in by_point(engine, ids, SLICE, MOST):
        planned = asked(engine, script, parameters, read_cases(engine, markets, some), limit)
        limit = None if limit is None else limit - len(planned.items)
        items = tuple(item for item in planned.items if takes(item))
        found = preview(store, writer, Plan(planned.selected, items, planned.faults))
        tried += len(found.tried)
        watch(tried)
        yield structs.replace(found, tried=tuple(one.alone for one in found.tried))


def preview(
    store: Store,
    writer: BatchWriter,
    planned: Plan,
    *,
    watch: Callable[[int], None] = lambda _: None,
    until: float | None = None,
) -> Preview:
    """Do everything that is planned, judge, look, and undo it: the store is as before.

    It is done in slices of a few access points, so that others need not wait for the whole of it to write.

    Args:
      store: the EIS.
      writer: the rules.
      planned: what a script asks for.
      watch: called with the number of items that were tried.
      until: instant of `time.monotonic` after which nothing more is tried.
    """
    tried: list[Tried] = []
    freed: list[int] = []
    lost: list[int] = []
    groups = [list(group) for _, group in groupby(planned.items, key=lambda item: item.place)]
    done = 0
    while done < len(groups) and (until is None or time.monotonic() < until):
        with rehearsal(store.engine):
            for items in groups[done : done + SLICE]:
                outcome, notes = _try(store, writer, items)
                if outcome.better:
                    freed += outcome.freed
                lost += outcome.lost
                for item, note in zip(items, notes, strict=True):
                    useful = outcome.better and note is None and _needed(item, outcome)
                    tried.append(Tried(item, useful, note or item.action.note))
        done += SLICE
        watch(len(tried))
    untried = tuple(item for items in groups[done:] for item in items)
    return Preview(planned.selected, tuple(tried), tuple(dict.fromkeys(freed)), tuple(lost), planned.faults, untried)


def _try(store: Store, writer: BatchWriter, items: Sequence[Planned]) -> tuple[Outcome, list[str | None]]:
    places = sorted_places(place for item in items for place in item.places)
    before = states_at(store, places, [item.case.id for item in items])
    notes: list[str | None] = []
    results: list[int] = []
    for item in items:
        try:
            with store.transaction() as tx:
                results.append(act(tx, item.case.id, item.action, "dry run", item.action.note) or item.case.id)
            notes.append(None)
        except NotDone as why:
            results.append(item.case.id)
            notes.append(str(why))
    for market, identifier in places:
        judge_again(store, writer, market, identifier)
    aside = {item.case.id for item in items if isinstance(item.action, SetAside)}
    refused = refusals(store, [result for result in results if result not in aside])
    notes = [note or refused.get(result) for note, result in zip(notes, results, strict=True)]
    return compared(before, states_at(store, places, list(before))), notes


def refusals(store: Store, ids: Sequence[int]) -> dict[int, str]:
    """The reasons why the Kernel did not accept messages."""
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        sql = "SELECT id, state, waits_for FROM kernel_message WHERE true"
        rows = [row for row in driver.matching(sql, ids, "id") if row[1] not in APPLIED]
        codes = current_codes(connection, [row[0] for row in rows])
    return {n: f"{state} {waits_for or ' '.join(codes.get(n, ()))}".strip() for n, state, waits_for in rows}


def _needed(item: Planned, outcome: Outcome) -> bool:
    """A message that is only sent back is worth it when it is freed itself."""
    return not isinstance(item.action, Replay | SetAside) or item.case.id in outcome.freed


def difference(item: Planned) -> str:
    """What an item changes, line by line: the Kernel XML before and after, one attribute a line."""
    before = "" if type(item.action).__name__ == "Create" else spread(encode(item.case.message))
    after = spread(encode(item.action.message)) if isinstance(item.action, Storing) else before
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "stored", "corrected", lineterm="", n=1)
    return "\n".join(lines)


def spread(xml: str) -> str:
    """Kernel XML with one element and one attribute a line, to compare."""
    return re.sub(r'(?<=") (?=[A-Za-z:]+=")', "\n    ", xml.replace("><", ">\n<"))
