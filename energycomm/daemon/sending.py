"""The sending duties: requests to the market, notifications to the back office."""

from __future__ import annotations

from io import BytesIO

from energycomm.backoffice.notification import Failure, Notification, Target, hurry_up, take_up, tell_all
from energycomm.backoffice.targets import FolderTarget
from energycomm.daemon.duties import Desk, OutsideDuty, Pause
from energycomm.eis import archive
from energycomm.eis.channels import BACK_OFFICE
from energycomm.eis.store import StoreTransaction
from energycomm.kernel.instants import now_micros
from energycomm.logs import Log
from energycomm.pipeline.acknowledgement import Owed, send_acknowledgements
from energycomm.pipeline.delivery import Again, Bundles, Parcel, Takes, about_channel, deliver, hurry
from energycomm.transport.channel import Sending, Sent, TechnicalError
from energycomm.transport.patience import try_now

log = Log()

PIECE = 20
"""Messages of one turn: a stop does not wait long."""


class Delivering(OutsideDuty):
    """Sends the requests of one market that go through one channel.

    Args:
      desk: what the worker shares.
      channel: the channel.
      takes: which requests of the market go through it; all of them by default.
      share: names that share of the market; the market by default.
      again: writes a further attempt anew, where the market wants that; the same bytes by default.
      bundles: which requests go out as one message; each alone by default.
    """

    def __init__(
        self,
        desk: Desk,
        channel: Sending,
        takes: Takes | None = None,
        share: str = "",
        again: Again | None = None,
        bundles: Bundles | None = None,
    ) -> None:
        # By what is sent, not by channel: one worker sends it, whatever its channel is named.
        every = desk.config.daemon.send_seconds
        super().__init__(desk, f"send/{share or channel.market}", every, channel.name)
        self.channel, self.takes, self.again, self.bundles = channel, takes, again, bundles

    def at_once(self) -> None:
        """What failed before is due again, and the channel is tried."""
        hurry(self.desk.store, self.channel.market, self.takes)
        try_now(self.channel)

    def work(self) -> float | None:
        """Send what is due: first acknowledgements of what came, then requests."""
        acknowledged = send_acknowledgements(
            self.desk.store, self.channel, self._answered, limit=PIECE, takes=self.takes, watch=self._watch_answer
        )
        counts = deliver(
            self.desk.store,
            {self.channel.market: self.channel},
            self._answered,
            limit=PIECE,
            takes=self.takes,
            watch=self._watch,
            again=self.again,
            bundles=self.bundles,
        )
        for outcome, number in counts.items():
            self.desk.report.count("energycomm_requests", self.channel.market, outcome, value=number)
        return 0.0 if PIECE in (counts["sent"], acknowledged) else None

    def rest(self) -> None:
        """Hang up."""
        self.channel.close()

    def _answered(self, tx: StoreTransaction, content: bytes, name: str, channel: str, request: int | None) -> None:
        """Archive an answer in the transaction that records the sending; a worker processes it."""
        archived = archive.archive(tx, name, BytesIO(content), channel, now_micros(), request)
        log.info("envelope.archived", envelope=archived.envelope_id, name=name, channel=channel, bytes=len(content))
        self.desk.arrived.set()

    def _watch(self, parcel: Parcel, outcome: Sent | TechnicalError) -> bool:
        return self._told("request", {"request": parcel.id, "reference": parcel.reference}, outcome)

    def _watch_answer(self, owed: Owed, outcome: Sent | TechnicalError) -> bool:
        return self._told("acknowledgement", {"envelope": owed.envelope_id, "reference": owed.reference}, outcome)

    def _told(self, what: str, about: dict[str, object], outcome: Sent | TechnicalError) -> bool:
        place = {**about, "channel": self.channel.name}
        if isinstance(outcome, Sent):
            self.works()
            log.info(f"{what}.sent", **place, receipt=outcome.receipt, again=outcome.duplicate)
        else:
            self.desk.report.count("energycomm_channel_errors", self.channel.name, outcome.code)
            log.warning(f"{what}.failed", **place, code=outcome.code, detail=outcome.detail)
            if about_channel(outcome):
                self.fails(str(outcome), for_a_person=not outcome.transient)
        return self.going()


class Notifying(OutsideDuty):
    """Tells the back office.

    Args:
      desk: what the worker shares.
      target: where to.
    """

    def __init__(self, desk: Desk, target: Target) -> None:
        every = desk.config.daemon.send_seconds
        super().__init__(desk, "notify", every, BACK_OFFICE, "OUTBOX_FAILING")
        self.target = target
        self._alone = Pause(1.0, 60.0)
        self._leads = False
        self._usable = not isinstance(target, FolderTarget)

    def at_once(self) -> None:
        """What waits for another attempt is due."""
        hurry_up(self.desk.store)

    def work(self) -> float | None:
        """Tell what is due; while nobody listens the pauses grow."""
        if not self._leads:
            take_up(self.desk.store)
            self._leads = True
        notify = self.desk.config.notify
        told = tell_all(
            self.desk.store,
            self.target,
            limit=5 * PIECE,
            attempts=notify.attempts,
            longest_pause=notify.longest_pause,
            watch=self._watch,
        )
        for outcome, number in (("sent", told.sent), ("put_off", told.put_off), ("dead", told.dead)):
            self.desk.report.count("energycomm_notifications", outcome, value=number)
        if told.trouble is not None:
            wait = max(self._alone.next(), told.trouble.retry_after or 0.0)
            self.fails(told.trouble.reason)
            return wait
        if told.sent:
            self._usable = True
            self._alone.reset()
            self.works()
        elif not self._usable:
            self._look()
        return 0.0 if told.sent else None

    def _look(self) -> None:
        """See whether the folder can be written to before there is something to tell: the alarm comes in time."""
        assert isinstance(self.target, FolderTarget)
        why = self.target.unusable()
        if why is None:
            self._usable = True
            self.works()
        else:
            self.fails(why, for_a_person=True)

    def rest(self) -> None:
        """Another worker may lead from now on."""
        self._leads = False

    def _watch(self, notification: Notification, failure: Failure | None) -> bool:
        place = {"notification": notification.key, "message": notification.message_id}
        if failure is None:
            log.info("notification.sent", **place)
        else:
            log.warning("notification.failed", **place, about=failure.trouble, reason=failure.reason)
        return self.going()
