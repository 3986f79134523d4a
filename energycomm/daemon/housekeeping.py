"""The periodic duty: time-outs, overdue requests, gaps in series, retention, erasures."""

from __future__ import annotations

import time

from energycomm.daemon.clock import ClockWatch
from energycomm.daemon.duties import Desk, Duty
from energycomm.eis import finding, tables
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.overdue import refresh
from energycomm.eis.partitions import Partitions
from energycomm.eis.store import Store
from energycomm.eis.tallies import settle
from energycomm.erasure.erasing import again, means_of
from energycomm.invoicing.gathering import InvoiceCheck
from energycomm.invoicing.keeping import check_changed
from energycomm.kernel.instants import now_micros
from energycomm.logs import Log
from energycomm.market.contract import notices_of
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.batch import Tally
from energycomm.pipeline.delivery import overdue
from energycomm.pipeline.quarantine import give_up
from energycomm.pipeline.records import report_gaps
from energycomm.pipeline.retention import policies, purge

log = Log()

SECOND = 1_000_000
RETENTION_EVERY = 3600.0
INVOICES_EVERY = 600.0
OVERDUE = "overdue"


class Housekeeping(Duty):
    """Tidies.

    Args:
      desk: what the worker shares.
      rules_version_id: version of the rules, for the record of what is given up.
    """

    def __init__(self, desk: Desk, rules_version_id: int) -> None:
        super().__init__(desk, "tidy", desk.config.daemon.tidy_seconds)
        self.rules_version_id = rules_version_id
        self._series_since = self._erased_upto = 0
        self._clock = ClockWatch()
        self._retention_due = self._invoices_due = 0.0

    def turn(self) -> float | None:
        """Do all of it."""
        settle(self.desk.store.engine)
        trouble = self._clock.trouble(_latest(self.desk.store))
        self.desk.report.alarm("CLOCK_JUMPED", "clock", trouble is not None, trouble or "")
        if trouble is None:
            self._by_the_calendar()
        if time.monotonic() >= self._invoices_due:
            self._invoices()
            self._rhythms()
            self._invoices_due = time.monotonic() + INVOICES_EVERY
        return None

    def _rhythms(self) -> None:
        """Work out the rhythms of measures that changed: whoever asks for what is missed finds little left to do."""
        notices = notices_of(installed_adapters(self.desk.config.mapping_files))
        refresh(self.desk.store.engine, now_micros(), notices)

    def _invoices(self) -> None:
        """Check the grid invoices that are complete, and those that something changed for."""
        config = self.desk.config
        zones = dict(installed_adapters(config.mapping_files).zones)
        for one in check_changed(InvoiceCheck(self.desk.store, config.rules_folder, zones)):
            words = {"invoice": one.invoice, "findings": one.contradictions, "contested": str(one.contested)}
            log.info("invoice.checked", market=one.market, **words)

    def _by_the_calendar(self) -> None:
        """What the clock decides, and nobody can take back."""
        given_up = give_up(self.desk.store, now_micros(), self.rules_version_id)
        if given_up:
            log.info("quarantine.given_up", messages=given_up)
            self.desk.report.count("energycomm_given_up", value=given_up)
        self._overdue()
        self._gaps()
        if time.monotonic() >= self._retention_due:
            self._retention()
            self._erasures()
            Partitions(self.desk.store.engine).tend()
            finding.tidy(self.desk.store.engine)
            self._retention_due = time.monotonic() + RETENTION_EVERY

    def _overdue(self) -> None:
        """Write once into the life of a request that its answer is late."""
        now = now_micros()
        known = "SELECT id FROM outgoing_event WHERE outgoing_id = ? AND state = ?"
        for request_id, reference, answer_by in overdue(self.desk.store, now):
            with self.desk.store.transaction() as tx:
                if tx.driver.rows(known, (request_id, OVERDUE)):
                    continue
                late = (now - answer_by) // (3600 * SECOND)
                event = {
                    "outgoing_id": request_id,
                    "at": now,
                    "state": OVERDUE,
                    "text": f"no answer, {late} hours late",
                }
                tx.insert(tables.outgoing_event, [event])
            log.warning("request.overdue", request=request_id, reference=reference)

    def _gaps(self) -> None:
        """Report gaps in series that have been quiet for a while: files of one day arrive in any order."""
        until = now_micros() - int(self.desk.config.daemon.gap_minutes * 60 * SECOND)
        sql = (
            "SELECT series_key FROM envelope WHERE series_key IS NOT NULL AND received_at >= ? "
            "GROUP BY series_key HAVING max(received_at) < ?"
        )
        if self._series_since > until:
            self._series_since = 0  # the clock was put back
        with reading(self.desk.store.engine) as connection:
            keys = {row[0] for row in driver_of(connection).rows(sql, (self._series_since, until))}
        if keys and self.going():
            tally = Tally()
            report_gaps(self.desk.store, tally, keys)
        # A series that was not quiet yet is looked at again: it has rows that are younger.
        self._series_since = until - int(self.every * SECOND)

    def _retention(self) -> None:
        for what, days in policies(self.desk.config.retention).items():
            if not self.going():
                return
            rows, size = purge(self.desk.store, what, days, now_micros(), "retention policy")
            if rows:
                log.info("retention.purged", what=what, days=days, rows=rows, bytes=size)

    def _erasures(self) -> None:
        """Take out again what came of customers who were erased, and what was kept for a time that is over."""
        begun = now_micros()
        again(means_of(self.desk.config, self.desk.store), since=self._erased_upto)
        self._erased_upto = begun - int(RETENTION_EVERY * SECOND)  # what was being stored then is looked at twice


def _latest(store: Store) -> int:
    """When the latest envelope arrived, microseconds since the epoch; 0 where none did."""
    with reading(store.engine) as connection:
        sql = "SELECT received_at FROM envelope ORDER BY id DESC LIMIT 1"
        rows = driver_of(connection).rows(sql)
    return rows[0][0] if rows else 0
