"""A look at the store every few seconds: how much waits, and what alarms."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field
from sqlalchemy import Engine

from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.received_requests import owed_query
from energycomm.eis.triggers import ALL_TIME
from energycomm.kernel.counting import counted

DAY = 86_400_000_000
SECOND = 1_000_000

_WAITING = "SELECT count(*) FROM envelope WHERE state IN ('archived', 'processing')"
_MESSAGES = (
    f"SELECT state, sum(messages) FROM message_tally WHERE hour = {ALL_TIME} "  # noqa: S608 - our own words
    "AND state IN ('quarantined', 'engine_error') GROUP BY state HAVING sum(messages) > 0"
)
_OUTBOX = "SELECT state, count(*), min(at) FROM outbox WHERE state IN ('pending', 'sending', 'dead') GROUP BY state"
_REQUESTS = (
    "SELECT market, state, count(*) FROM outgoing "
    "WHERE state IN ('built', 'sent', 'acknowledged', 'in-course', 'dead') GROUP BY market, state"
)
_ACKNOWLEDGEMENTS = "SELECT count(*) FROM acknowledgement WHERE state = 'dead'"
_OVERDUE = (
    "SELECT market, count(*) FROM outgoing "
    "WHERE state IN ('sent', 'acknowledged', 'in-course') AND answer_by < ? GROUP BY market"
)
_ANSWERS_DUE = owed_query("k.market, count(*)", "AND r.answer_by_at < ? GROUP BY k.market")
_PUT_ASIDE = (
    "SELECT count(DISTINCT i.envelope_id) FROM incident i JOIN envelope e ON e.id = i.envelope_id "
    "LEFT JOIN ch_message c ON c.id = i.ch_message_id "
    "WHERE i.code IN ('ENV_PUT_ASIDE', 'ADAPTER_FAULT', 'CH_PUT_ASIDE', 'CH_HISTORY_ARCHIVED', 'DIGEST_FAILED') "
    "AND i.at > ? "
    "AND (c.outcome = 'put-aside' OR (c.id IS NULL AND e.state = 'failed'))"
)
_NAMED = 5
"""Orders that an alarm names."""
REPORT_HOURS = 72
"""Hours after the first file of an order within which its report has to be there."""
REPORT_DAYS = 60
"""Days after which an order is not looked at any more."""
_RESULTS = (
    "SELECT request, max(files), min(received_at), "
    "count(DISTINCT CASE WHEN files IS NULL AND state <> 'failed' THEN coalesce(series_number, -id) END), "
    "max(received_at) FROM envelope WHERE duplicate_of IS NULL AND request IN ("
    "SELECT request FROM envelope WHERE request IS NOT NULL AND duplicate_of IS NULL AND received_at > ?"
    ") GROUP BY market, request HAVING max(received_at) > ?"
)
"""The orders of which something came lately, by an index: what came before is not looked at."""


class Survey(Struct):
    """What was found.

    Attributes:
      waiting: envelopes that are not finished.
      messages: state -> Kernel messages, of states that need somebody.
      outbox: state -> notifications that are not sent.
      oldest_notification: age in seconds of the oldest that is to be sent.
      requests: (market, state) -> requests that are not settled.
      acknowledgements: those that were put aside.
      overdue: market -> requests without an answer in time.
      answers_due: market -> requests to us whose answer is late or due soon.
      put_aside: envelopes that were put aside, or a message of them, within the last day.
      unreported: orders of which files came, and no report in time.
      incomplete: order -> number of files there, and announced by its report, where these differ.
    """

    waiting: int = 0
    messages: dict[str, int] = field(default_factory=dict)
    outbox: dict[str, int] = field(default_factory=dict)
    oldest_notification: float = 0
    requests: dict[tuple[str, str], int] = field(default_factory=dict)
    acknowledgements: int = 0
    overdue: dict[str, int] = field(default_factory=dict)
    answers_due: dict[str, int] = field(default_factory=dict)
    put_aside: int = 0
    unreported: list[str] = field(default_factory=list)
    incomplete: dict[str, tuple[int, int]] = field(default_factory=dict)

    def alarms(self) -> Iterator[tuple[str, str, int, str]]:
        """What alarms: (code, subject, how many, in words); those of which there are none too."""
        broken, dead = self.messages.get("engine_error", 0), self.outbox.get("dead", 0)
        requests = sum(number for (_, state), number in self.requests.items() if state == "dead")
        overdue, due = sum(self.overdue.values()), sum(self.answers_due.values())
        yield "ENGINE_ERROR", "messages", broken, f"{counted(broken, 'message')} could not be judged"
        yield (
            "OUTBOX_DEAD",
            "notifications",
            dead,
            f"{counted(dead, 'notification was', 'notifications were')} put aside",
        )
        yield "REQUEST_DEAD", "requests", requests, f"{counted(requests, 'request was', 'requests were')} put aside"
        yield (
            "ACKNOWLEDGEMENT_DEAD",
            "acknowledgements",
            self.acknowledgements,
            f"{counted(self.acknowledgements, 'acknowledgement was', 'acknowledgements were')} put aside",
        )
        yield (
            "REQUEST_OVERDUE",
            "requests",
            overdue,
            f"{counted(overdue, 'request has', 'requests have')} no answer in time",
        )
        named = ", ".join(self.unreported[:_NAMED])
        yield "RESULT_UNREPORTED", "orders", len(self.unreported), f"no report after {REPORT_HOURS} hours: {named}"
        told = "; ".join(
            f"{order}: {there} of {files} files" for order, (there, files) in [*self.incomplete.items()][:_NAMED]
        )
        yield "RESULT_INCOMPLETE", "orders", len(self.incomplete), told
        yield (
            "ANSWER_DUE",
            "answers",
            due,
            f"{counted(due, 'request to us has', 'requests to us have')} no answer of ours yet, late or due soon",
        )
        yield (
            "ENVELOPE_PUT_ASIDE",
            "envelopes",
            self.put_aside,
            f"{counted(self.put_aside, 'envelope')}, or messages of them, were put aside",
        )


def survey(engine: Engine, now: int, answer_hours: float) -> Survey:
    """Look at the store.

    Args:
      engine: the database.
      now: the present, microseconds since the epoch.
      answer_hours: hours before an answer of ours is due that it counts as due soon.

    Raises:
      UserError: the database was lost.
    """
    found = Survey()
    with reading(engine) as connection:
        driver = driver_of(connection)
        found.waiting = driver.rows(_WAITING)[0][0]
        found.messages = {row[0]: int(row[1]) for row in driver.rows(_MESSAGES)}
        for state, number, oldest in driver.rows(_OUTBOX):
            found.outbox[state] = number
            if state != "dead":
                found.oldest_notification = max(found.oldest_notification, (now - oldest) / SECOND)
        found.requests = {(row[0], row[1]): row[2] for row in driver.rows(_REQUESTS)}
        found.acknowledgements = driver.rows(_ACKNOWLEDGEMENTS)[0][0]
        found.overdue = {row[0]: row[1] for row in driver.rows(_OVERDUE, (now,))}
        soon = now + round(answer_hours * 3600) * SECOND
        found.answers_due = {row[0]: row[1] for row in driver.rows(_ANSWERS_DUE, (soon,))}
        found.put_aside = driver.rows(_PUT_ASIDE, (now - DAY,))[0][0]
        lately = now - REPORT_DAYS * DAY
        for request, files, first, there, _ in driver.rows(_RESULTS, (lately, lately)):
            if files is None:
                if now - first > REPORT_HOURS * 3600 * SECOND:
                    found.unreported.append(request)
            elif there != files:
                found.incomplete[request] = (there, files)
    return found
