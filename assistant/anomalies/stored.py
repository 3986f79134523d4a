"""The anomalies of a store: rows of its exports, and the powers that hold now, ranked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Engine

from assistant.anomalies.calendar import by_class, by_weekday
from assistant.anomalies.charges import charged
from assistant.anomalies.energy import Point, told, used
from assistant.anomalies.ranking import Anomaly, Followed, ranked
from energycomm.eis.store import Store
from energycomm.export.rows import opened_export
from energycomm.export.subjects import Selection
from energycomm.market.installed import installed_adapters


def anomalies(store: Store, least: float, selection: Selection | None = None) -> list[Anomaly]:
    """The access points of a store that are unlike their past and their peers, the worst first.

    Args:
      store: the store.
      least: their least score, in standard errors.
      selection: which rows; all by default.
    """
    return [one for one in ranked(followed(store.engine, selection)) if one.score >= least]


def followed(engine: Engine, selection: Selection | None = None) -> Followed:
    """What is followed of the access points of a store.

    Args:
      engine: the store.
      selection: which of them; all by default.
    """
    zones = installed_adapters().zones
    parts = told(rows(engine, "readings", selection), rows(engine, "volumes", selection))
    spans = used(parts)
    return Followed(
        spans,
        powers(rows(engine, "contracts", selection)),
        [*by_class(spans), *by_weekday(parts, zones)],
        charged(rows(engine, "charges", selection), parts, zones),
    )


def rows(engine: Engine, subject: str, selection: Selection | None = None) -> Iterator[dict[str, Any]]:
    """The rows of an export by their columns.

    Args:
      engine: the store.
      subject: readings, volumes, contracts or charges.
      selection: which rows; all by default.
    """
    with opened_export(engine, subject, selection or Selection(), installed_adapters().zones) as export:
        names = [column.name for column in export.subject.columns]
        for row in export.rows():
            yield dict(zip(names, row, strict=True))


def powers(contracts: Iterable[Mapping[str, Any]]) -> dict[Point, float]:
    """The subscribed power of each access point that holds last, in kVA.

    Args:
      contracts: rows of the export `contracts`.
    """
    found: dict[Point, tuple[Any, float]] = {}
    for row in contracts:
        if row["subscribed_power"] is not None and row["power_unit"] in ("kVA", "kW"):
            point, key = (row["market"], row["access_point"]), (row["at"], row["message"])
            if point not in found or found[point][0] < key:
                found[point] = key, float(row["subscribed_power"])
    return {point: power for point, (_, power) in found.items()}
