"""Read-only queries of a correction script about other access points.

A script that wants it has a third parameter:

    def correct(case, parameters, lookup):
        meant = lookup.supplied(case.message.market, candidates)
        ...

Most scripts need none of it: what lies around a message at its own access point is in `case.around`.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Engine

from energycomm.correction.cases import Neighbour, neighbours
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading


class Lookup:
    """Questions to the EIS. Each is one transaction that only reads.

    Args:
      engine: the store.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def supplied(self, market: str, identifiers: Iterable[str]) -> set[str]:
        """Those of the identifiers that are access points of a market with a supply period of ours."""
        sql = (
            "SELECT p.identifier FROM access_point p WHERE EXISTS "
            "(SELECT 1 FROM supply_period s WHERE s.access_point_id = p.id) AND p.market = ?"
        )
        with reading(self._engine) as connection:
            rows = driver_of(connection).matching(sql, sorted(set(identifiers)), "p.identifier", head=(market,))
        return {row[0] for row in rows}

    def messages(self, market: str, identifier: str) -> tuple[Neighbour, ...]:
        """The messages of an access point that count, in business time; empty where there is none of it.

        Their content is read only when it is asked for.
        """
        with reading(self._engine) as connection:
            driver = driver_of(connection)
            sql = "SELECT id FROM access_point WHERE market = ? AND identifier = ?"
            rows = driver.rows(sql, (market, identifier))
            return tuple(neighbours(driver, [rows[0][0]]).get(rows[0][0], ())) if rows else ()
