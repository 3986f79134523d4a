"""Whether model and rules still agree: over time, by rule and market, and since rules moved.

It reads what `energycomm assistant shadow` left in the EIS, and holds it against the verdicts as they are now.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from msgspec import Struct

from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.eis.tables import ALL_CHANGES
from energycomm.kernel.instants import instant
from energycomm.pipeline.fold import APPLIED

LEAST = 20
"""Messages on each side without which nothing is said of a change."""
DROP = 0.03
"""Fall of agreement, as a share, that is worth an alarm."""
SURE = 3.0
"""Standard errors that a fall has to be away from none."""

_SAID = (
    "SELECT p.message_id, p.model, p.rules, p.codes, p.abstained, k.market, k.state, k.waits_for, k.received_at "
    "FROM prediction p JOIN kernel_message k ON k.id = p.message_id"
)
_CODES = "SELECT message_id, error_code FROM finding WHERE \"current\" AND severity = 'error'"
_VERSIONS = (
    f"SELECT s.message_id, v.hash FROM ({ALL_CHANGES}) AS s "  # noqa: S608 - our own words
    "JOIN rules_version v ON v.id = s.rules_version_id ORDER BY s.id"
)


class Pair(Struct, frozen=True):
    """A message with what the rules and what a model said of it.

    Attributes:
      model, learned: the model, and the rules that it learned from.
      market: of the message.
      verdict, said: codes of both.
      abstained: the model did not answer.
      rules: version that gave the verdict.
      received: when the message arrived.
    """

    model: str
    learned: str
    market: str
    verdict: tuple[str, ...]
    said: tuple[str, ...]
    abstained: bool
    rules: str
    received: datetime

    @property
    def agrees(self) -> bool:
        """Whether both said the same, or would have when the model was sure enough to answer."""
        return self.verdict == self.said


class Share(Struct, frozen=True, kw_only=True):
    """How often both agree in one group.

    Attributes:
      group: week, market or rule.
      messages: in it.
      agreed: share of them.
      abstained: share of which the model did not answer.
    """

    group: str
    messages: int
    agreed: float
    abstained: float


class Alarm(Struct, frozen=True, kw_only=True):
    """Agreement that fell when rules moved and the model did not.

    Attributes:
      model: which model.
      what: error code, or market.
      rules: the version since which it fell.
      before, after: agreement under the rules it learned from, and since.
      messages: of both sides.
    """

    model: str
    what: str
    rules: str
    before: float
    after: float
    messages: tuple[int, int]


class Drift(Struct, frozen=True, kw_only=True):
    """The whole answer.

    Attributes:
      models: model -> the rules that it learned from.
      rules: version of today.
      outdated: models that learned from other rules than those of today.
      weeks, markets, codes: agreement by group; codes with the worst first.
      alarms: falls.
    """

    models: dict[str, str]
    rules: str
    outdated: tuple[str, ...]
    weeks: tuple[Share, ...]
    markets: tuple[Share, ...]
    codes: tuple[Share, ...]
    alarms: tuple[Alarm, ...]


def read_pairs(store: Store, model: str | None = None) -> list[Pair]:
    """Every message with a verdict of which a model said something."""
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        where = "" if model is None else " WHERE p.model = ?"
        rows = driver.rows(_SAID + where, () if model is None else (model,))
        ids = sorted({row[0] for row in rows})
        codes: dict[int, set[str]] = {}
        for number, code in driver.matching(_CODES, ids, "message_id"):
            codes.setdefault(number, set()).add(code)
        versions: dict[int, str] = dict(driver.rows(_VERSIONS))
    pairs = []
    for number, name, learned, said, abstained, market, state, waits_for, received in rows:
        own = tuple(sorted(codes.get(number, ())))
        refused = state in ("rejected", "delegated", "ticketed") and own and waits_for is None
        if state not in APPLIED and not refused:
            continue
        told = tuple(said.split(", ")) if said else ()
        verdict = own if refused else ()
        version = versions.get(number, "")
        pairs.append(Pair(name, learned, market, verdict, told, bool(abstained), version, instant(received)))
    return pairs


def drift(pairs: Iterable[Pair], rules: str) -> Drift:
    """How model and rules agree.

    Args:
      pairs: of `read_pairs`.
      rules: version of the rules of today.
    """
    found = list(pairs)
    models = {pair.model: pair.learned for pair in found}
    codes = sorted(_shares(found, _of_rules), key=lambda share: (share.agreed, -share.messages, share.group))
    return Drift(
        models=models,
        rules=rules,
        outdated=tuple(sorted(name for name, learned in models.items() if rules not in learned.split(", "))),
        weeks=tuple(_shares(found, lambda pair: (_week(pair.received),))),
        markets=tuple(_shares(found, lambda pair: (pair.market,))),
        codes=tuple(codes),
        alarms=tuple(_alarms(found)),
    )


def _of_rules(pair: Pair) -> tuple[str, ...]:
    """What a message counts for: every code that either of the two named, or accepted."""
    return tuple(sorted({*pair.verdict, *pair.said})) or ("accepted",)


def _week(at: datetime) -> str:
    return (at - timedelta(days=at.weekday())).date().isoformat()


def _shares(pairs: Iterable[Pair], key: Callable[[Pair], tuple[str, ...]]) -> list[Share]:
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        for group in key(pair):
            groups.setdefault(group, []).append(pair)
    return [
        Share(
            group=group,
            messages=len(own),
            agreed=sum(pair.agrees for pair in own) / len(own),
            abstained=sum(pair.abstained for pair in own) / len(own),
        )
        for group, own in sorted(groups.items())
    ]


def _alarms(pairs: list[Pair]) -> list[Alarm]:
    """Falls of agreement between messages judged by the rules that a model learned from and by each later version."""
    alarms: list[Alarm] = []
    for model in sorted({pair.model for pair in pairs}):
        own = [pair for pair in pairs if pair.model == model]
        known = [pair for pair in own if pair.rules in pair.learned.split(", ")]
        versions = dict.fromkeys(pair.rules for pair in sorted(own, key=lambda one: one.received))
        for version in versions:
            later = [pair for pair in own if pair.rules == version and version not in pair.learned.split(", ")]
            for key in (_of_rules, lambda pair: (pair.market,)):
                alarms += _falls(model, version, known, later, key)
    return alarms


def _falls(
    model: str, version: str, known: list[Pair], later: list[Pair], key: Callable[[Pair], tuple[str, ...]]
) -> Iterable[Alarm]:
    before = {share.group: share for share in _shares(known, key)}
    overall = sum(pair.agrees for pair in known) / len(known) if known else 1.0
    for now in _shares(later, key):
        then = before.get(now.group)
        # A code that was never seen before has nothing of its own to be compared with.
        share, count = (then.agreed, then.messages) if then else (overall, len(known))
        if now.messages < LEAST or share - now.agreed < DROP:
            continue
        error = math.sqrt(_spread(share, count) + _spread(now.agreed, now.messages))
        if share - now.agreed >= SURE * error:
            yield Alarm(
                model=model,
                what=now.group,
                rules=version,
                before=share,
                after=now.agreed,
                messages=(count, now.messages),
            )


def _spread(share: float, count: int) -> float:
    """Variance of a share, with one of each kind added so that a share of all or none has one too."""
    kept = (share * count + 1) / (count + 2)
    return kept * (1 - kept) / (count + 2)
