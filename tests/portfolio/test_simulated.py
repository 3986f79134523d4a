"""A supplier that begins in the middle of simulated lives: with an opening balance nothing waits that need not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import pytest

from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.kernel.codec import decode
from energycomm.kernel.instants import instant
from energycomm.kernel.messages import EndOfSupply, KernelMessage, StartOfSupply
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.portfolio import compare_portfolio, load_portfolio
from energycomm.portfolio.columns import fixed_columns
from energycomm.portfolio.comparison import Comparison, terms_of
from energycomm.simulation.port import load_simulator
from energycomm.simulation.scenario import Scenario
from tests.markets import CODES
from tests.portfolio.conftest import make_gateway
from tests.portfolio.tables import csv_of
from tests.stored import clear_xml

POINTS, MONTHS = 8, 4


def process(gateway: Gateway, files: Sequence[Path]) -> None:
    for _ in gateway.inbound.take(files, "folder"):
        pass


def waiting(gateway: Gateway) -> set[tuple[object, ...]]:
    """What waits: the content of the CH message and its place there."""
    with reading(gateway.store.engine) as connection:
        rows = driver_of(connection).rows(
            "SELECT c.identity, k.position FROM kernel_message k JOIN ch_message c ON c.id = k.ch_message_id "
            "WHERE k.state = 'quarantined'"
        )
    return {(bytes(row[0]), row[1]) for row in rows}


def told(gateway: Gateway) -> dict[str, list[KernelMessage]]:
    """The accepted messages of each point, in business order."""
    with reading(gateway.store.engine) as connection:
        rows = driver_of(connection).rows(
            "SELECT p.identifier, k.xml FROM kernel_message k JOIN access_point p ON p.id = k.access_point_id "
            "WHERE k.state = 'accepted' ORDER BY p.identifier, k.effective, k.id"
        )
    found: dict[str, list[KernelMessage]] = {}
    for point, xml in rows:
        message = decode(clear_xml(xml))
        assert isinstance(message, KernelMessage)
        found.setdefault(point, []).append(message)
    return found


def openings(gateway: Gateway, market: str, as_of: date) -> Iterator[dict[str, str]]:
    """The rows of a supplier's portfolio, from what another gateway of theirs knows."""
    for point, messages in told(gateway).items():
        starts = [message for message in messages if isinstance(message, StartOfSupply)]
        if not starts:
            continue
        zone = gateway.markets.zone(market)
        terms = terms_of(messages, zone)
        ends = [one for one in messages if isinstance(one, EndOfSupply) and one.effective > starts[-1].effective]
        if ends and ends[-1].function != "cancel":  # else the end was taken back
            terms["supply.end"] = ends[-1].effective.astimezone(zone).date()
        row = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in terms.items()}
        supplier = starts[-1].supplier or starts[-1].receiver or ""
        yield row | {
            "market": market,
            "access_point": point,
            "as_of": as_of.isoformat(),
            "energy": starts[-1].energy,
            "supply.supplier": supplier,
        }


@pytest.mark.thorough
@pytest.mark.parametrize("market", CODES)
def test_nothing_waits_that_need_not(market: str, tmp_path: Path, project_root: Path) -> None:
    """Half of the envelopes go to a former gateway. A new one gets its points as a portfolio, from which it differs in
    nothing, then the other half: what waits there waits in the former one too."""
    simulator = load_simulator(market)
    assert simulator is not None
    simulator.simulate(Scenario(POINTS, MONTHS, 11, daily_share=0.05), tmp_path / "market")
    former = next(make_gateway(f"sqlite:///{tmp_path / 'former.db'}", project_root))
    new = next(make_gateway(f"sqlite:///{tmp_path / 'new.db'}", project_root))
    files = former.inbound.in_order(sorted((tmp_path / "market" / "envelopes").iterdir()))
    half = len(files) // 2
    process(former, files[:half])
    with reading(former.store.engine) as connection:
        ((last,),) = driver_of(connection).rows("SELECT max(effective) FROM kernel_message")
    rows = list(openings(former, simulator.market, instant(last).date()))
    assert len(rows) > POINTS // 3
    head = sorted({name for row in rows for name in row}, key=lambda name: (name not in fixed_columns(), name))
    path = tmp_path / "portfolio.csv"
    path.write_text(csv_of(head, rows, "|"), "utf-8")
    with path.open("rb") as source:
        done = load_portfolio(new.store, new.inbound, source, path.name, 100)
    assert (done.refused, done.bad) == (0, ())
    with path.open("rb") as source:
        found = compare_portfolio(new.store, new.inbound, source, path.name, instant(last), 100)
    assert isinstance(found, Comparison)
    assert (found.lines, found.equal) == ((), found.here)
    process(former, files[half:])
    process(new, files[half:])
    assert waiting(new) <= waiting(former), f"{len(waiting(new))} wait, {len(waiting(former))} before"
