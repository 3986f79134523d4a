"""The duty that requests a market's lists and processes the answers."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO

from energycomm.config import Config
from energycomm.daemon.duties import Desk, OutsideDuty
from energycomm.eis import archive
from energycomm.errors import UserError
from energycomm.kernel.instants import now_micros
from energycomm.kernel.verdicts import Refusal
from energycomm.logs import Log
from energycomm.market.contract import Adapter, OutgoingMessage, Pollable
from energycomm.transport.channel import Sending, Sent, TechnicalError
from energycomm.transport.opening import Places, open_channel
from energycomm.transport.patience import try_now
from energycomm.transport.settings import SoapSetting

log = Log()


class Asking(OutsideDuty):
    """Asks one channel's service for what waits, list by list.

    An answer is committed before the next list is asked for. What a service takes off its list while the line breaks
    only the service can give again; what it gives twice is known as a duplicate.

    Args:
      desk: what the worker shares.
      channel: the channel; no other thread uses it.
      adapter: writes the questions.
      setting: which lists, how often, and who asks.
    """

    def __init__(self, desk: Desk, channel: Sending, adapter: Pollable, setting: SoapSetting) -> None:
        super().__init__(desk, f"ask/{setting.name}", setting.poll_seconds, channel.name)
        self.channel, self.adapter, self.setting = channel, adapter, setting

    def at_once(self) -> None:
        """Ask in this turn, also where the channel is left alone after failures."""
        try_now(self.channel)

    def work(self) -> float | None:
        """Ask for every list once."""
        for name in self.setting.polls:
            if not self.going():
                break
            now = datetime.now(UTC).replace(microsecond=0)
            question = question_of(self.adapter, self.setting, name, now, str(uuid.uuid4()))
            self._take(name, now, self.channel.send(question))
        return None

    def rest(self) -> None:
        """Hang up."""
        self.channel.close()

    def _take(self, name: str, now: datetime, outcome: Sent | TechnicalError) -> None:
        report, channel = self.desk.report, self.channel.name
        if isinstance(outcome, TechnicalError):
            report.count("energycomm_channel_errors", channel, outcome.code)
            self.fails(str(outcome), for_a_person=not outcome.transient)
            write = log.debug if outcome.code == "CHANNEL_OPEN" else log.warning
            write("poll.failed", channel=channel, list=name, code=outcome.code, detail=outcome.detail)
            return
        self.works()
        if outcome.answer is None:
            return
        file = f"{name}_{now:%Y%m%dT%H%M%SZ}.xml"
        with self.desk.store.transaction() as tx:
            archived = archive.archive(tx, file, BytesIO(outcome.answer), channel, now_micros())
        log.info("envelope.archived", envelope=archived.envelope_id, name=file, channel=channel)
        self.desk.arrived.set()


def question_of(adapter: Pollable, setting: SoapSetting, name: str, now: datetime, reference: str) -> OutgoingMessage:
    """The message that asks for a list.

    Raises:
      UserError: the market has no such list, or our identifier does not fit.
    """
    question = adapter.poll(name, setting.party or "", now, reference)
    if isinstance(question, Refusal):
        raise UserError(
            f"The channel {setting.name} cannot ask for {name}: {question}.", "Correct its settings polls and party."
        )
    return question


def asking_duties(
    desk: Desk, config: Config, adapters: Mapping[str, Adapter], places: Places, stop: threading.Event
) -> list[Asking]:
    """The duties of all channels that are set to ask.

    Raises:
      UserError: the settings of a channel do not fit its market.
    """
    duties = []
    for setting in config.channels:
        if not isinstance(setting, SoapSetting) or not setting.polls:
            continue
        adapter: object = adapters.get(setting.market)
        if not isinstance(adapter, Pollable):
            raise UserError(f"{setting.market} has no lists that {setting.name} could ask for.", "Leave polls out.")
        for name in setting.polls:
            question_of(adapter, setting, name, datetime.now(UTC), str(uuid.uuid4()))
        channel = open_channel(setting, places, None, stop)
        assert isinstance(channel, Sending)  # a SOAP channel sends
        duties.append(Asking(desk, channel, adapter, setting))
    return duties
