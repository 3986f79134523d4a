"""Prometheus metrics: counts of the workers since the daemon began, and the state of the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest

from energycomm.daemon.alarms import ALARMS
from energycomm.daemon.report import Count, Timing
from energycomm.daemon.survey import Survey
from energycomm.kernel.verdicts import Label

SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600)


class Metrics:
    """The registry of one daemon. A worker that is killed may take the counts of its last envelope along.

    What can be known of the labels is there from the start, with 0: Prometheus sees no increase in a series that begins
    with what has happened, and nothing at all in one that is absent.

    Args:
      channels: the market of each channel of the configuration, by its name.
    """

    def __init__(self, channels: Mapping[str, str]) -> None:
        self.registry = CollectorRegistry()
        self._markets = sorted(set(channels.values()))
        counters: dict[str, tuple[str, tuple[str, ...]]] = {
            "energycomm_envelopes": ("Envelopes by channel and outcome.", ("channel", "outcome")),
            "energycomm_envelope_faults": ("Envelopes that a worker broke on.", ("channel",)),
            "energycomm_messages": ("Kernel messages by market and verdict.", ("market", "label")),
            "energycomm_ch_messages": ("Messages of the market by outcome.", ("market", "outcome")),
            "energycomm_reassessed": ("Messages judged otherwise after a late one.", ()),
            "energycomm_batch_conflicts": ("Batches run again because two workers met.", ()),
            "energycomm_channel_errors": ("Technical errors of channels.", ("channel", "code")),
            "energycomm_requests": ("Attempts at requests by outcome.", ("market", "outcome")),
            "energycomm_notifications": ("Attempts at notifications by outcome.", ("outcome",)),
            "energycomm_given_up": ("Messages that waited too long.", ()),
            "energycomm_worker_deaths": ("Workers that ended unexpectedly.", ()),
        }
        self._counters = {
            name: Counter(name, words, labels, registry=self.registry) for name, (words, labels) in counters.items()
        }
        self._seconds = Histogram(
            "energycomm_envelope_seconds", "Time to process an envelope.", buckets=SECONDS, registry=self.registry
        )
        self._polled = self._gauge(
            "energycomm_channel_last_poll_timestamp_seconds", "When a channel was polled last.", "channel"
        )
        self._alarms = self._gauge("energycomm_alarm", "1 while an alarm is on.", "code")
        self._workers = self._gauge("energycomm_workers", "Worker processes by state.", "state")
        self._ready = self._gauge("energycomm_ready", "1 while envelopes can be processed.")
        self._waiting = self._gauge("energycomm_envelopes_waiting", "Envelopes that are archived and not finished.")
        self._messages = self._gauge("energycomm_messages_in_state", "Messages that wait or broke a rule.", "state")
        self._outbox = self._gauge("energycomm_outbox", "Notifications that are not sent.", "state")
        self._oldest = self._gauge("energycomm_outbox_oldest_seconds", "Age of the oldest one that is to be sent.")
        self._requests = self._gauge("energycomm_requests_in_state", "Open requests.", "market", "state")
        self._overdue = self._gauge("energycomm_requests_overdue", "Requests without an answer in time.", "market")
        self._answers = self._gauge("energycomm_answers_due", "Answers of ours that are late or due soon.", "market")
        for code in ALARMS:
            self._alarms.labels(code.code).set(0)
        for market in self._markets:
            for label in get_args(Label):
                self._counters["energycomm_messages"].labels(market, label)
        for channel in channels:
            self._counters["energycomm_envelope_faults"].labels(channel)
            for outcome in ("done", "failed", "duplicate"):
                self._counters["energycomm_envelopes"].labels(channel, outcome)

    def _gauge(self, name: str, words: str, *labels: str) -> Gauge:
        return Gauge(name, words, labels, registry=self.registry)

    def take(self, report: Count | Timing) -> None:
        """Take in what a worker counted or measured."""
        if isinstance(report, Count):
            counter = self._counters[report.name]
            (counter.labels(*report.labels) if report.labels else counter).inc(report.value)
        elif report.name == "energycomm_envelope_seconds":
            self._seconds.observe(report.value)
        else:
            self._polled.labels(*report.labels).set(report.value)

    def show_workers(self, states: Iterable[str], ready: bool) -> None:
        """Set what is known of the workers."""
        self._workers.clear()
        for state in states:
            self._workers.labels(state).inc()
        self._ready.set(ready)

    def show_alarms(self, on: Iterable[str]) -> None:
        """Set which alarms are on."""
        codes = set(on)
        for code in ALARMS:
            self._alarms.labels(code.code).set(code.code in codes)

    def show_survey(self, survey: Survey) -> None:
        """Set what the store was found to hold."""
        self._waiting.set(survey.waiting)
        self._oldest.set(survey.oldest_notification)
        for gauge, values in (
            (self._messages, survey.messages),
            (self._outbox, survey.outbox),
            (self._overdue, survey.overdue),
            (self._answers, survey.answers_due),
        ):
            gauge.clear()
            none = dict.fromkeys(self._markets, 0) if gauge in (self._overdue, self._answers) else {}
            for name, number in (none | values).items():
                gauge.labels(name).set(number)
        self._requests.clear()
        for (market, state), number in survey.requests.items():
            self._requests.labels(market, state).set(number)

    def text(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self.registry)


class _Together:
    """What several registries hold, each sample with the name of its supplier."""

    def __init__(self, suppliers: Mapping[str, Metrics]) -> None:
        self.suppliers = suppliers

    def collect(self) -> Iterable[Metric]:
        families: dict[str, Metric] = {}
        for supplier, metrics in self.suppliers.items():
            for family in metrics.registry.collect():
                whole = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                whole.samples += [
                    sample._replace(labels={**sample.labels, "supplier": supplier}) for sample in family.samples
                ]
        return families.values()


def text_of_several(suppliers: Mapping[str, Metrics]) -> bytes:
    """The metrics of several suppliers in Prometheus' text format, with the label `supplier`."""
    registry = CollectorRegistry()
    registry.register(_Together(suppliers))
    return generate_latest(registry)
