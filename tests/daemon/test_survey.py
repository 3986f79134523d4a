"""A look at the store costs what waits in it, not what it holds."""

from __future__ import annotations

import io

import pytest
from sqlalchemy import text

from energycomm.daemon.survey import REPORT_DAYS, survey
from energycomm.eis.archive import archive
from energycomm.eis.database import connect, is_sqlite, writing
from energycomm.eis.store import Store
from tests.eis.rows import DAY
from tests.eis.watched import Watched

NOW = 400 * DAY


@pytest.mark.thorough
def test_orders_of_long_ago_are_not_looked_at(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = connect(database_url)
    store = Store(engine)
    touched = []
    for some in (range(20), range(20, 1500)):
        with store.transaction() as tx:
            for number in some:
                name = f"{number}.zip"
                envelope = archive(tx, name, io.BytesIO(name.encode()), "directory", NOW - 90 * DAY).envelope_id
                tx.driver.run(
                    "UPDATE envelope SET request = ?, state = 'done' WHERE id = ?", (f"M{number:05d}", envelope)
                )
        if not some.start:
            with writing(engine) as connection:
                connection.execute(text("UPDATE envelope SET received_at = :at WHERE id < 4"), {"at": NOW - 5 * DAY})
        if not is_sqlite(engine):
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(text("VACUUM (ANALYZE)"))
        with monkeypatch.context() as patched:
            watched = Watched(engine, patched)
            found = survey(engine, NOW, 24)
        assert sorted(found.unreported) == ["M00000", "M00001", "M00002"]
        touched.append(watched.all)
    assert REPORT_DAYS < 90
    assert touched[1] < 1.5 * touched[0] + 20
    engine.dispose()
