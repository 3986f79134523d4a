"""What to do about groups of stuck messages: scripts tried out in a dry run, the one that frees most first.

The consultant sees "frees 412 of 450" before anything is touched. Large groups are tried by a sample, and the words say
so; the sample is spread evenly over the group, so that equal stores give equal answers.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from energycomm.correction.acting import Place
from energycomm.correction.analysis import Dimension, Judged, members
from energycomm.correction.cases import Case
from energycomm.correction.library import LoadedScript
from energycomm.correction.planning import asked, preview, selected_ids
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.kernel.counting import counted
from energycomm.pipeline.batch import BatchWriter

SAMPLE = 40
"""Messages of a group that are tried, unless more are asked for."""

SECONDS = 60.0
"""How long trying may take, unless more is asked for."""

SUGGESTIONS = 3
"""Sets of parameters that are tried for one script and group."""


class Proposal(Struct, frozen=True, kw_only=True):
    """One action for a group of stuck messages, as its dry run went.

    Attributes:
      group: key of the group.
      script: name of the script; None where only a person, here or at the market, can do something.
      title: what it does.
      parameters: of the script.
      messages: how many the group has.
      tried: how many of them the dry run looked at.
      freed: how many of those it frees.
      others: messages of other groups that it frees on the way.
      actions: what is done to free them.
      automatic: the loop does it by itself.
      finished: the time sufficed to try the whole sample.
    """

    group: str
    script: str | None
    title: str
    parameters: dict[str, str]
    messages: int
    tried: int
    freed: int
    others: int
    actions: int
    automatic: bool
    finished: bool = True

    @property
    def expected(self) -> int:
        """Messages of the whole group that it would free if the rest is like the sample."""
        return round(self.freed * self.messages / self.tried) if self.tried else 0

    @property
    def words(self) -> str:
        """`frees 412 of 450`, or what is known of it."""
        if self.script is None:
            return f"ticket for {counted(self.messages, 'message')}"
        others = f", and {self.others} of other groups" if self.others else ""
        if not self.tried:
            return "not tried: the time was over"
        if self.tried == self.messages:
            return f"frees {self.freed} of {self.messages}{others}"
        return f"frees {self.freed} of {self.tried} tried, about {self.expected} of {self.messages}{others}"

    @property
    def settings(self) -> str:
        """The parameters, as the command line writes them."""
        return " ".join(shlex.quote(f"{name}={value}") for name, value in self.parameters.items())

    @property
    def command(self) -> str:
        """The command that shows the dry run of the whole group."""
        if self.script is None:
            return "energycomm correct loop"
        words = [f"--set {shlex.quote(f'{name}={value}')}" for name, value in self.parameters.items()]
        return " ".join(["energycomm correct script run", self.script, *words])


class _Trial(Struct):
    """What trying a script at some access points came to: messages freed and actions done, by place."""

    freed: dict[Place, set[int]]
    actions: dict[Place, int]
    untried: set[Place]


def propose(
    store: Store,
    writer: BatchWriter,
    scripts: Iterable[LoadedScript],
    cases: Sequence[Judged],
    by: Dimension = "code",
    *,
    now: int,
    groups: int = 20,
    sample: int = SAMPLE,
    seconds: float = SECONDS,
    only: str | None = None,
) -> list[Proposal]:
    """Try scripts on the largest groups; nothing is stored.

    A script is tried on all that is stuck at the access points of the sample, as it would be run: what frees a message
    is often done to another one of its access point.

    Args:
      store: the EIS.
      writer: the rules.
      scripts: which scripts; those whose parameters must be given are tried with what they suggest.
      cases: all stuck messages.
      by: what the groups have in common.
      now: the present, microseconds since the epoch.
      groups: how many groups, the largest first.
      sample: how many messages of a group.
      seconds: how long it may take.
      only: of this group alone.

    Returns:
      The proposals, group by group, those that free most first; a group that nothing frees gets a ticket proposed.

    Raises:
      UserError: there is no such group.
    """
    until = time.monotonic() + seconds
    found = members(cases, by, now)
    if only is not None and only not in found:
        raise UserError(f"There is no group {only!r} of stuck messages.", f"Groups: {', '.join(list(found)[:20])}.")
    keys = [only] if only is not None else sorted(found, key=lambda key: (-len(found[key]), key))[:groups]
    samples = {key: _spread(found[key], sample) for key in keys}
    sampled = {one.case.id: _place(one.case) for chosen in samples.values() for one in chosen}
    places = {place for place in sampled.values() if place[1] is not None}
    there = [one.case for one in cases if _place(one.case) in places or one.case.id in sampled]
    loaded = list(scripts)
    proposals: dict[str, list[Proposal]] = {key: [] for key in keys}
    for script in loaded:
        if all(parameter.default is not None for parameter in script.declared.parameters):
            trial = _try(store, writer, script, {}, there, until)
            for key in keys:
                proposals[key] += _told(key, script, {}, found[key], samples[key], trial)
    for key in keys:
        for script in loaded:
            if script.suggest is not None:
                proposals[key] += _suggested(store, writer, script, key, found[key], samples[key], until)
    return [one for key in keys for one in _ranked(key, found[key], proposals[key])]


def _suggested(
    store: Store,
    writer: BatchWriter,
    script: LoadedScript,
    key: str,
    group: Sequence[Judged],
    sample: Sequence[Judged],
    until: float,
) -> list[Proposal]:
    """A script with parameters of its own suggestion, for one group."""
    assert script.suggest is not None
    cases = [one.case for one in sample if script.declared.selection.takes(one.case)]
    proposals = []
    for parameters in list(script.suggest(cases) if cases else ())[:SUGGESTIONS]:
        trial = _try(store, writer, script, parameters, cases, until)
        proposals += _told(key, script, parameters, group, sample, trial)
    return proposals


def _spread(group: Sequence[Judged], size: int) -> list[Judged]:
    """So many of a group, evenly spread over its access points and their time."""
    if len(group) <= size:
        return list(group)
    ordered = sorted(group, key=lambda one: (one.case.identifier or "", one.case.at, one.case.id))
    return [ordered[index * len(ordered) // size] for index in range(size)]


def _try(
    store: Store,
    writer: BatchWriter,
    script: LoadedScript,
    parameters: Mapping[str, str],
    cases: Sequence[Case],
    until: float,
) -> _Trial:
    chosen = [case for case in cases if script.declared.selection.takes(case)]
    if script.declared.selection.sql is not None:
        wanted = set(selected_ids(store.engine, script.declared.selection))
        chosen = [case for case in chosen if case.id in wanted]
    seen = preview(store, writer, asked(store.engine, script, parameters, chosen), until=until)
    where = {case.id: _place(case) for case in cases}
    trial = _Trial({}, {}, {item.place for item in seen.untried})
    for number in seen.freed:
        trial.freed.setdefault(where.get(number, ("", None)), set()).add(number)
    for item in seen.useful:
        trial.actions[item.place] = trial.actions.get(item.place, 0) + 1
    return trial


def _place(case: Case) -> Place:
    return case.message.market, case.identifier


def _told(
    key: str,
    script: LoadedScript,
    parameters: Mapping[str, str],
    group: Sequence[Judged],
    sample: Sequence[Judged],
    trial: _Trial,
) -> list[Proposal]:
    """What a trial means for one group; nothing when it frees none of it."""
    tried = [one for one in sample if _place(one.case) not in trial.untried]
    freed = [one for one in tried if one.case.id in trial.freed.get(_place(one.case), ())]
    if not freed:
        return []
    places = {_place(one.case) for one in freed}
    mine = {one.case.id for one in group}
    return [
        Proposal(
            group=key,
            script=script.name,
            title=script.declared.title,
            parameters=dict(parameters),
            messages=len(group),
            tried=len(tried),
            freed=len(freed),
            others=len(set().union(*(trial.freed[place] for place in places)) - mine),
            actions=sum(trial.actions.get(place, 0) for place in places),
            automatic=script.declared.automatic and not parameters,
            finished=len(tried) == len(sample),
        )
    ]


def _ranked(key: str, group: Sequence[Judged], proposals: list[Proposal]) -> list[Proposal]:
    """The proposals of a group in their order; a ticket last, where something would be left."""
    proposals.sort(key=lambda one: (-one.expected, -one.others, one.actions, one.script or ""))
    best = proposals[0].expected if proposals else 0
    if best < len(group):
        ticket = Proposal(
            group=key,
            script=None,
            title="Ticket for a person who can correct it",
            parameters={},
            messages=len(group) - best,
            tried=0,
            freed=0,
            others=0,
            actions=0,
            automatic=False,
        )
        return [*proposals, ticket]
    return proposals
