"""Requests to the SGE that the market would refuse are refused here first, with the market's code."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from adapters.fr_enedis import adapter
from energycomm.engine.parallel import ParallelEngine
from energycomm.kernel.family import KINDS
from energycomm.kernel.history import NO_HISTORY, History
from energycomm.kernel.messages import KernelMessage
from energycomm.market.contract import OutgoingMessage

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
OURS = History(known=True, supplied=True, supplied_until=True, supply_start=datetime(2025, 1, 5, tzinfo=UTC))
MEASURES = {"measure": "index", "start": date(2025, 12, 1), "end": date(2026, 1, 4), "consent": True}
CURVE = {"measure": "curve", "start": date(2025, 12, 28), "end": date(2026, 1, 4), "consent": True}
ORDER = {
    "measure": "curve",
    "start": date(2026, 1, 10),
    "end": date(2026, 12, 31),
    "consent": True,
    "company": "FONDERIE FICTIVE",
    "step": "PT30M",
    "rhythm": "P1D",
}
ACCESS = {
    "action": "open",
    "measure": "energy",
    "start": date(2026, 1, 10),
    "end": date(2028, 12, 31),
    "consent": True,
    "customer": "DUPONT",
}


def request_of(kind: str, **fields: Any) -> KernelMessage:
    """A request of a supplier."""
    head: dict[str, Any] = {
        "market": "FR",
        "market_type": "SGE",
        "reference": "LUM-1",
        "created": NOW,
        "effective": NOW,
        "access_point": "99000000000101",
        "sender": "17XLUMINEFICT01X",
        "receiver": "17XGRIDFICTIF01X",
        "sender_role": "supplier",
        "receiver_role": "grid-operator",
        "requester_login": "eau.douce@lumine.example",
        "contract": "90000101",
    }
    return KINDS[kind](**{**head, **fields})


GOOD = [
    ("SearchRequest", {"access_point": None, "meter": "02197600040404"}, NO_HISTORY),
    ("SearchRequest", {}, OURS),
    ("MasterDataRequest", {"consent": True}, NO_HISTORY),
    ("MasterDataRequest", {}, OURS),
    ("MeteredDataRequest", MEASURES, NO_HISTORY),
    ("MeteredDataRequest", CURVE, OURS),
    ("MeteringServiceOrder", ORDER, OURS),
    ("MeteringServiceStop", {"service": "47761068"}, OURS),
    ("DataAccessOrder", ACCESS, NO_HISTORY),
    ("DataAccessOrder", {"action": "renew", "service": "666", "consent": True, "customer": "DUPONT"}, OURS),
    ("DataAccessOrder", {"action": "change", "service": "666", "rhythm": "P1D"}, OURS),
    ("DataAccessOrder", {"action": "end", "service": "666"}, OURS),
]


@pytest.mark.parametrize(("kind", "fields", "history"), GOOD)
def test_what_passes_the_rules_can_be_built(
    engine: ParallelEngine, kind: str, fields: dict[str, Any], history: History
) -> None:
    message = request_of(kind, **fields)
    verdict = engine.judge(message, history)
    assert (verdict.label, verdict.findings) == ("accepted", ())
    assert isinstance(adapter.build(message, "LUM-1"), OutgoingMessage)


REFUSED = [
    ("MasterDataRequest", {"access_point": "990000000001"}, OURS, "SGT401"),
    ("MasterDataRequest", {"consent": False}, NO_HISTORY, "SGT4G2"),
    ("MeteredDataRequest", {**MEASURES, "consent": None}, NO_HISTORY, "SGT4G2"),
    ("MeteredDataRequest", {**CURVE, "consent": False}, OURS, "SGT4K2"),
    ("MeteringServiceOrder", {**ORDER, "consent": False}, OURS, "SGT4K2"),
    ("DataAccessOrder", {**ACCESS, "consent": False}, NO_HISTORY, "SGT566"),
    ("MeteredDataRequest", {**CURVE, "start": date(2025, 12, 20)}, OURS, "SGT4L8"),
    ("MeteredDataRequest", {**MEASURES, "start": date(2021, 12, 20)}, OURS, "SGT4L8"),
    ("MeteringServiceOrder", {**ORDER, "end": None}, OURS, "SGT4H4"),
    ("MeteringServiceOrder", {**ORDER, "end": date(2100, 1, 1)}, OURS, "SGT4H4"),
    ("MeteringServiceOrder", {**ORDER, "measure": "maximum-power", "step": None}, OURS, "SGT4Q1"),
    ("MeteringServiceOrder", ORDER, History(known=True, supplied=True, pending_requests=1), "SGT570"),
    ("MeteringServiceOrder", ORDER, NO_HISTORY, "SGT4G2"),
]


@pytest.mark.parametrize(("kind", "fields", "history", "code"), REFUSED)
def test_what_the_market_would_refuse_is_refused_with_its_code(
    engine: ParallelEngine, kind: str, fields: dict[str, Any], history: History, code: str
) -> None:
    verdict = engine.judge(request_of(kind, **fields), history)
    assert verdict.label == "rejected"
    assert [
        finding.error_code for finding in verdict.findings if code in finding.comment and code in finding.comment_fr
    ]
    assert "request-not-sent" in [action.argument for action in verdict.actions]
