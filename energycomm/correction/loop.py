"""The loop: run the automatic scripts until a round frees nothing; then make tickets for the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from msgspec import Struct, field

from energycomm.correction import campaign
from energycomm.correction.analysis import judging
from energycomm.correction.cases import Case, stuck_ids
from energycomm.correction.library import LoadedScript
from energycomm.correction.planning import Planned, trials
from energycomm.correction.script import Replay
from energycomm.correction.tickets import close_settled, make_tickets, open_tickets
from energycomm.eis.store import Store
from energycomm.kernel.counting import counted
from energycomm.kernel.instants import now_micros
from energycomm.pipeline.batch import BatchWriter

DAY = 86_400_000_000

MOST_ROUNDS = 20


class Step(Struct, frozen=True):
    """One campaign of the loop."""

    round: int
    script: str
    campaign_id: int
    actions: int
    freed: int


class LoopReport(Struct):
    """What the loop did.

    Attributes:
      steps: its campaigns.
      freed: messages that came to be accepted.
      left: messages that are still stuck.
      tickets: ids of the tickets made.
      closed: ids of tickets whose messages were all freed.
    """

    steps: list[Step] = field(default_factory=list)
    freed: int = 0
    left: int = 0
    tickets: list[int] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)


def loop(
    store: Store,
    writer: BatchWriter,
    scripts: Iterable[LoadedScript],
    *,
    by: str,
    why: str,
    waited_days: int = 0,
    ticket: bool = True,
    owner: str | None = None,
    due_days: int | None = None,
    watch: Callable[[str], None] = lambda _: None,
) -> LoopReport:
    """Run the automatic scripts again and again, each only where its dry run frees something and takes nothing away.

    Args:
      store: the EIS.
      writer: the rules.
      scripts: which scripts; those that are not automatic are passed over.
      by: who asks.
      why: words for the record.
      waited_days: messages in quarantine are touched, and get tickets, when they have waited so many days.
      ticket: make tickets for what is left.
      owner: of the tickets.
      due_days: days until the tickets are due.
      watch: called with words about each step.
    """
    report = LoopReport()
    open_before = open_tickets(store)
    chosen = [script for script in scripts if script.declared.automatic]
    tried: dict[str, set[int]] = defaultdict(set)
    for number in range(1, MOST_ROUNDS + 1):
        before = report.freed
        for script in chosen:
            step = _step(store, writer, script, number, by, why, waited_days, tried[script.name])
            if step is not None:
                report.steps.append(step)
                report.freed += step.freed
                watch(
                    f"round {number}: {script.name} freed "
                    f"{counted(step.freed, 'message')} by {counted(step.actions, 'action')}"
                )
        if report.freed == before:
            break
    close_settled(store)
    report.closed = sorted(open_before - open_tickets(store))
    report.left = len(stuck_ids(store.engine))
    if ticket:
        due = (one for one in judging(store.engine, writer.markets) if _ripe(one.case, waited_days))
        report.tickets = make_tickets(store, due, by, owner=owner, due_days=due_days)
    return report


def _ripe(case: Case, waited_days: int) -> bool:
    """Whether a message is to be dealt with: one in quarantine when it has waited so many days."""
    return case.state != "quarantined" or case.received_at <= now_micros() - waited_days * DAY


def _step(
    store: Store,
    writer: BatchWriter,
    script: LoadedScript,
    number: int,
    by: str,
    why: str,
    waited_days: int,
    tried: set[int],
) -> Step | None:
    def takes(item: Planned) -> bool:
        if not _ripe(item.case, waited_days):
            return False
        # Sending back what is refused is worth one try: rules do not change while the loop runs.
        again = isinstance(item.action, Replay) and item.case.id in tried
        if isinstance(item.action, Replay):
            tried.add(item.case.id)
        return not again

    selected = 0

    def useful() -> Iterator[Planned]:
        nonlocal selected
        for part in trials(store, writer, script, {}, takes=takes):
            selected += part.selected
            yield from part.useful

    items = useful()
    first = next(items, None)
    if first is None:
        return None
    campaign_id = campaign.start(store, script, chain((first,), items), by=by, why=why, selected=lambda: selected)
    record = campaign.run(store, writer, campaign_id)
    return Step(number, script.name, campaign_id, sum(record.items.values()), record.freed)
