"""Jobs of the correction: proposals for a group, dry runs of scripts, campaigns, tickets for the rest.

What a dry run found is kept with its job until the campaign begins. The job's id is the campaign's idempotency key, so
that a second click on "run" finds the campaign of the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from energycomm.console.jobs import Job, Workbench
from energycomm.correction import campaign
from energycomm.correction.analysis import Judged, judging
from energycomm.correction.cases import STUCK, read_cases, stuck_ids
from energycomm.correction.evidence import evidence_of
from energycomm.correction.library import LoadedScript, find_script, read_scripts
from energycomm.correction.planning import Planned, Preview, plan, preview
from energycomm.correction.proposals import Proposal, propose
from energycomm.correction.tickets import make_tickets
from energycomm.eis.store import Store
from energycomm.kernel.instants import now_micros
from energycomm.market.installed import Markets
from energycomm.webservice.services import Services

SAMPLE = 40
"""How many messages of a group the scripts are tried on."""

SECONDS = 60.0

MOST_ACTIONS = 5_000
"""Actions of one dry run: what it found is kept in memory until it is run."""


class Trial(Struct, frozen=True, kw_only=True):
    """The result of a dry run.

    Attributes:
      script: what was tried.
      parameters: of the script.
      code: the group that it was tried for, where it was for one.
      preview: what it found.
    """

    script: LoadedScript
    parameters: dict[str, str]
    code: str | None
    preview: Preview


class Ticketed(Struct, frozen=True, kw_only=True):
    """Tickets that were made for a group."""

    code: str
    tickets: tuple[int, ...]
    messages: int


def scripts_of(shared: Services) -> dict[str, LoadedScript]:
    """All scripts; their files are read again only when one in the configured folder has changed.

    Raises:
      UserError: a script cannot be read.
    """
    folder = shared.config.scripts_folder
    seen = () if folder is None else tuple((file.name, file.stat().st_mtime_ns) for file in sorted(folder.glob("*.py")))
    rules = shared.gateway.catalogue.rules
    return {name: script.meant_for(rules) for name, script in _scripts(folder, seen).items()}


@lru_cache(maxsize=4)
def _scripts(folder: Path | None, _seen: tuple[tuple[str, int], ...]) -> dict[str, LoadedScript]:
    return read_scripts(folder)


def proposals_key(code: str) -> str:
    """Key of the job that proposes what to do about a group."""
    return f"proposals {code}"


def propose_for(bench: Workbench, code: str, by: str) -> Job:
    """Try all scripts on a sample of a group."""
    shared = bench.shared

    def work(job: Job) -> list[Proposal]:
        with shared.rehearsing() as store:
            cases = _sample(store, shared.gateway.markets, code)
            job.step(0, len(cases))
            scripts = scripts_of(shared).values()
            return propose(
                store,
                shared.writer(),
                scripts,
                cases,
                "code",
                now=now_micros(),
                sample=SAMPLE,
                seconds=SECONDS,
                only=code,
            )

    return bench.start(proposals_key(code), f"proposals for {code}", by, work)


def _sample(store: Store, markets: Markets, code: str) -> list[Judged]:
    """Some messages of a group, spread over it, with all that is stuck at their access points."""
    ids = stuck_ids(store.engine, codes=(code,))
    chosen = [ids[index * len(ids) // SAMPLE] for index in range(SAMPLE)] if len(ids) > SAMPLE else ids
    cases = list(read_cases(store.engine, markets, chosen))
    known = set(chosen)
    beside = {one.id for case in cases for one in case.around if one.id not in known and one.state in STUCK}
    cases += list(read_cases(store.engine, markets, sorted(beside)))
    return [Judged(case, evidence_of(case)) for case in cases]


def try_script(
    bench: Workbench,
    name: str,
    parameters: Mapping[str, str],
    by: str,
    *,
    code: str | None = None,
    limit: int | None = None,
) -> Job:
    """A dry run of a script.

    Args:
      bench: where the work is done.
      name: of the script.
      parameters: as given.
      by: who asks.
      code: only messages with this code.
      limit: at most so many actions.

    Raises:
      UserError: there is no such script, or a parameter is unknown or missing.
    """
    shared = bench.shared
    script = find_script(name, shared.gateway.catalogue.rules, shared.config.scripts_folder)
    script.values(parameters)

    def work(job: Job) -> Trial:
        with shared.rehearsing() as store:
            only = None if code is None else stuck_ids(store.engine, codes=(code,))
            planned = plan(
                store.engine,
                shared.gateway.markets,
                script,
                parameters,
                limit=min(limit or MOST_ACTIONS, MOST_ACTIONS),
                only=only,
            )
            job.step(0, len(planned.items))
            found = preview(store, shared.writer(), planned, watch=job.step)
        return Trial(script=script, parameters=dict(parameters), code=code, preview=found)

    key = f"trial {by} {script.name} {sorted(parameters.items())} {code} {limit}"
    return bench.start(key, f"dry run of {script.name}", by, work)


def begin(bench: Workbench, trial: Trial, items: Sequence[Planned], *, by: str, why: str, key: str) -> int:
    """Record the campaign of a trial and run it in the background, unless a second person is to agree first.

    Returns:
      The campaign's id; that of the first click when it is clicked twice.
    """
    shared = bench.shared
    number = campaign.start(
        shared.store,
        trial.script,
        items,
        by=by,
        why=why,
        parameters=trial.parameters,
        selected=trial.preview.selected,
        key=key,
    )
    if not shared.config.correction.four_eyes and campaign.show(shared.store, number).state == "planned":
        run(bench, number, by)
    return number


def run(bench: Workbench, number: int, by: str) -> Job:
    """Run or continue a campaign in the background; once at a time."""
    shared = bench.shared

    def work(job: Job) -> Any:
        items = campaign.show(shared.store, number).items
        total = sum(items.values())
        job.step(total - items.get("planned", 0), total)
        return campaign.run(
            shared.store,
            shared.writer(),
            number,
            four_eyes=shared.config.correction.four_eyes,
        )

    return bench.start(campaign_key(number), f"campaign {number}", by, work)


def undo(bench: Workbench, number: int, by: str) -> Job:
    """Take a campaign back, in the background."""
    shared = bench.shared
    campaign.show(shared.store, number)

    def work(_: Job) -> Any:
        return campaign.undo(shared.store, shared.writer(), number, by)

    return bench.start(campaign_key(number), f"undo of campaign {number}", by, work)


def campaign_key(number: int) -> str:
    """Key of the job that works on a campaign."""
    return f"campaign {number}"


def ticket_rest(bench: Workbench, code: str, by: str, owner: str | None, due_days: int) -> Job:
    """Tickets for all messages of a group that are in none yet, in the background."""
    shared = bench.shared

    def work(job: Job) -> Ticketed:
        ids = stuck_ids(shared.store.engine, ("rejected", "engine_error", "delegated"), codes=(code,))
        job.step(0, len(ids))

        def judged() -> Iterator[Judged]:
            for done, one in enumerate(judging(shared.store.engine, shared.gateway.markets, ids), 1):
                yield one
                job.step(done)

        made = make_tickets(shared.store, judged(), by, owner=owner, due_days=due_days)
        return Ticketed(code=code, tickets=tuple(made), messages=len(ids))

    return bench.start(f"tickets {code}", f"tickets for {code}", by, work)
