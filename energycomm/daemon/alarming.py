"""Telling people of alarms: once when one lasts, again while it goes on, and once when it is over.

Any process may do it at any time: what was told is in the store (`energycomm.eis.alarm_states`). Of a database that is
lost, and of what else a daemon knows meanwhile, its supervisor tells from its own memory.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

from energycomm.backoffice import mail
from energycomm.backoffice.notification import Notification
from energycomm.backoffice.webhook import Webhook
from energycomm.choices import one_of
from energycomm.config import Config
from energycomm.daemon.alarms import BY_CODE
from energycomm.daemon.operations import names
from energycomm.daemon.survey import survey
from energycomm.daemon.watching import watch_store
from energycomm.eis.alarm_states import Key, Known, claim, look, settle, standing
from energycomm.eis.channels import channel_states, daemon_states
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.kernel.instants import instant, now_micros
from energycomm.logs import Log
from energycomm.masking import mask
from energycomm.texts import wording
from energycomm.texts.catalogues import QUOTED, is_foreign, translate, translate_sentence
from energycomm.transport.credentials import Secret, SecretUnreadableError

log = Log()

SECOND = 1_000_000
HOUR = 3_600 * SECOND
OUTSIDE = frozenset({"CHANNEL_FAILING", "OUTBOX_FAILING"})
"""Alarms of what a daemon knows only after it has tried a few times."""

What = Literal["on", "goes on", "over"]

WHAT: dict[What, str] = {
    "on": wording("on (since {since})"),
    "goes on": wording("goes on (since {since})"),
    "over": wording("over (since {since})"),
}
"""How it is with an alarm -> its words in a mail."""


class Told(Struct, frozen=True, kw_only=True):
    """An alarm as people are told of it.

    Attributes:
      code, subject: which, and what it is about.
      what: it is on, goes on, or is over.
      since: when it was first seen, UTC.
      detail: in words.
      meaning, advice: what the code means, and what to do.
    """

    code: str
    subject: str
    what: What
    since: str
    detail: str
    meaning: str
    advice: str


class Ways(NamedTuple):
    """How people are told."""

    config: Config

    def send(self, alarms: Sequence[Told]) -> bool:
        """Tell of alarms by every way of the settings; whether one of them worked. The log has what did not."""
        settings, good, language = self.config.alarms, False, language_of(self.config)
        if settings.email_to:
            subject, text = subject_of(alarms, language), text_of(alarms, language)
            good = self._report("mail", mail.send(settings, self.config.folder, subject, text))
        if settings.url is not None:
            good = self._report("webhook", self._post(alarms)) or good
        return good

    def _report(self, way: str, trouble: str | None) -> bool:
        if trouble is not None:
            log.error("alarm.not_told", way=way, why=mask(trouble))
        return trouble is None

    def _post(self, alarms: Sequence[Told]) -> str | None:
        settings, folder, secret = self.config.alarms, self.config.folder, _secret_of_hook(self.config)
        assert secret is not None
        key = f"energycomm-alarm-{secrets.token_hex(8)}"
        body = msgspec.json.encode({"id": key, "host": socket.gethostname(), "alarms": alarms})
        ca_file = folder / settings.ca_file if settings.ca_file else None
        with closing(Webhook(str(settings.url), secret, ca_file=ca_file)) as hook:
            failure = hook.tell(Notification(0, key, 0, 0, False, body))
        return None if failure is None else failure.reason


def check_ways(config: Config) -> None:
    """Refuse now what would keep people from being told later.

    Raises:
      UserError: a code of `leave_out` is none, or a secret cannot be read.
    """
    settings = config.alarms
    for code in settings.leave_out:
        one_of("leave_out", code, BY_CODE, "alarm (leave_out of [alarms])")
    for secret in (_secret_of_hook(config), mail.password_of(settings, config.folder)):
        try:
            if secret is not None:
                secret.read()
        except SecretUnreadableError as fault:
            raise UserError(
                f"Nobody would be told of alarms: {fault}.", "See [alarms] in docs/configuration.md."
            ) from None


def _secret_of_hook(config: Config) -> Secret | None:
    settings = config.alarms
    if settings.url is None:
        return None
    file = config.folder / settings.secret_file if settings.secret_file else None
    return Secret("secret of the webhook of alarms", file, settings.secret_env)


def language_of(config: Config) -> str:
    """The language of those who are told of alarms."""
    return config.alarms.language or config.language


def is_told(config: Config) -> bool:
    """Whether anybody is told of alarms."""
    return bool(config.alarms.email_to) or config.alarms.url is not None


def current(store: Store, config: Config, now: int) -> dict[Key, str]:
    """Every alarm that is on: of the store, and of the daemons of all hosts; with its detail.

    Raises:
      UserError: the database was lost.
    """
    found: dict[Key, str] = {}
    daemons = daemon_states(store.engine, now)
    for daemon in daemons:
        if not daemon.silent:
            found.update({(one["alarm"], one["subject"]): one["detail"] for one in daemon.facts["alarms"]})
    if daemons and all(daemon.silent for daemon in daemons):
        last = max(daemons, key=lambda daemon: daemon.seen_at)
        found["NO_DAEMON", "daemon"] = f"the last sign was of {last.name} at {last.seen_at:%F %R}Z"
    for code, subject, number, words in survey(store.engine, now, config.daemon.answer_hours).alarms():
        if number:
            found[code, subject] = words
    found.update(watch_store(store.engine, config.alarms, now))
    found.update((key, detail) for key, detail in _failing_since_before(store, config).items() if key not in found)
    # A newer daemon on another host may know more codes.
    known = {key: detail for key, detail in sorted(found.items()) if key[0] in BY_CODE}
    return {(code, subject[:200]): mask(detail).replace("\0", " ") for (code, subject), detail in known.items()}


def _failing_since_before(store: Store, config: Config) -> dict[Key, str]:
    """What failed for a daemon that has ended and has not worked since: the next one has yet to find out."""
    before = {key: detail for key, detail in standing(store).items() if key[0] in OUTSIDE}
    if not before:
        return {}
    states, known = channel_states(store.engine), set(names(config))
    failing = {name for name, one in states.items() if one.error is not None and one.paused_at is None}
    return {key: detail for key, detail in before.items() if key[1] in failing & known}


def due(config: Config, known: Mapping[Key, Known], now: int) -> list[tuple[Key, What]]:
    """Which alarms are to be told now, and how.

    Args:
      config: delays, quiet hours, what is left out.
      known: the alarms as they are kept.
      now: the present, microseconds since the epoch.
    """
    settings, found = config.alarms, list[tuple[Key, What]]()
    quiet = settings.is_quiet(instant(now).astimezone(ZoneInfo(config.web.zone)).time())
    for key, one in known.items():
        if key[0] in settings.leave_out or (quiet and not BY_CODE[key[0]].urgent):
            continue
        if one.over:
            found.append((key, "over"))
        elif one.told_at is None:
            if now - one.since >= settings.after_minutes * 60 * SECOND:
                found.append((key, "on"))
        # A time in the future was told by a clock that was put back since.
        elif now - one.told_at >= settings.reminder_hours * HOUR or one.told_at > now + HOUR:
            found.append((key, "goes on"))
    return found


def turn(store: Store, config: Config, now: int | None = None) -> int:
    """Tell of what is due; how many alarms were told.

    Args:
      store: the EIS.
      config: the configuration.
      now: the present, microseconds since the epoch.

    Raises:
      UserError: the database was lost.
    """
    now = now_micros() if now is None else now
    known = look(store, current(store, config, now), now)
    ours = [(key, what) for key, what in due(config, known, now) if claim(store, key, now)]
    if not ours:
        return 0
    good = Ways(config).send([told(key, what, known[key], language_of(config)) for key, what in ours])
    for key, what in ours:
        settle(store, key, now if good else None, over=what == "over")
    return len(ours) if good else 0


def told(key: Key, what: What, known: Known, language: str = "en") -> Told:
    """An alarm in words of a language."""
    code, subject = key
    meaning, advice = (translate(text, language) for text in (BY_CODE[code].meaning, BY_CODE[code].advice))
    since = f"{instant(known.since):%Y-%m-%dT%H:%M:%SZ}"
    detail = mask(known.detail)
    if is_foreign(detail, language):
        detail = translate(QUOTED, language).format(detail)
    else:
        detail = translate_sentence(detail, language)
    return Told(code=code, subject=subject, what=what, since=since, detail=detail, meaning=meaning, advice=advice)


def subject_of(alarms: Sequence[Told], language: str = "en") -> str:
    """The subject of a mail: how many of what."""
    on = [one for one in alarms if one.what != "over"]
    shown = ", ".join(f"{one.code} {one.subject}" for one in (on or alarms)[:3])
    if len(on or alarms) > 3:
        shown = translate(wording("{named} and {n} more"), language).format(named=shown, n=len(on or alarms) - 3)
    return "EnergyComm: " + (shown if on else translate(wording("{named} over"), language).format(named=shown))


def text_of(alarms: Sequence[Told], language: str = "en") -> str:
    """A mail: each alarm with what it means and what to do."""
    parts = []
    for one in alarms:
        what = translate(WHAT[one.what], language).format(since=one.since)
        lines = [f"{one.code} {one.subject}: {what}", one.detail, one.meaning]
        do = [translate(wording("Do: {advice}"), language).format(advice=one.advice)] if one.what != "over" else []
        parts.append("\n".join([*lines, *do]))
    end = translate(wording("EnergyComm on {host}; `energycomm alarm list` shows what is on."), language)
    return "\n\n".join([*parts, f"-- \n{end.format(host=socket.gethostname())}\n"])


class OwnMemory:
    """What a supervisor tells of while the database is lost, and with it what was told before.

    Args:
      config: the configuration.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._known: dict[Key, Known] = {}

    def turn(self, alarms: Mapping[Key, str], now: int) -> None:
        """Tell of what is due.

        Args:
          alarms: the supervisor's own, with their detail.
          now: the present, microseconds since the epoch.
        """
        for key in self._known.keys() - alarms.keys():
            one = self._known[key]
            if one.told_at is None:
                del self._known[key]
            else:
                self._known[key] = msgspec.structs.replace(one, over=True)
        for key, detail in alarms.items():
            before = self._known.get(key)
            if before is None:
                self._known[key] = Known(since=now, detail=detail)
            elif before.over or before.detail != detail:
                self._known[key] = msgspec.structs.replace(before, over=False, detail=detail)
        ours = due(self._config, self._known, now)
        if ours and Ways(self._config).send(
            [told(key, what, self._known[key], language_of(self._config)) for key, what in ours]
        ):
            for key, what in ours:
                if what == "over":
                    del self._known[key]
                else:
                    self._known[key] = msgspec.structs.replace(self._known[key], told_at=now)
