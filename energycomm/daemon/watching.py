"""What alarms besides the survey, by the thresholds of the settings: waits, pauses, keys, disks, certificates."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from cryptography import x509
from sqlalchemy import Engine, make_url

from energycomm.alarm_settings import AlarmSettings
from energycomm.config import Config
from energycomm.eis.bulk import driver_of
from energycomm.eis.channels import channel_states
from energycomm.eis.database import reading
from energycomm.eis.datakeys import data_keys
from energycomm.kernel.instants import instant, micros
from energycomm.transport.settings import FolderSetting

SECOND = 1_000_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR

OF_THE_STORE = ("BACKLOG_OLD", "CHANNEL_PAUSED", "KEY_OLD")
OF_THE_HOST = ("DISK_LOW", "CERTIFICATE_ENDS")

Found = dict[tuple[str, str], str]
"""Code and subject of an alarm -> detail."""


def watch_store(engine: Engine, settings: AlarmSettings, now: int) -> Found:
    """What of the store alarms.

    Args:
      engine: the database.
      settings: the thresholds.
      now: the present, microseconds since the epoch.

    Raises:
      UserError: the database was lost.
    """
    found: Found = {}
    with reading(engine) as connection:
        sql = "SELECT id, received_at FROM envelope WHERE state IN ('archived', 'processing') ORDER BY id LIMIT 1"
        oldest = driver_of(connection).rows(sql)
    for number, received_at in oldest:
        if (waits := now - received_at) > settings.backlog_minutes * 60 * SECOND:
            found["BACKLOG_OLD", "envelopes"] = f"envelope {number} has waited for {waits // (60 * SECOND)} minutes"
    for name, known in channel_states(engine).items():
        if known.paused_at is not None and now - micros(known.paused_at) > settings.paused_hours * HOUR:
            why = f": {known.why}" if known.why else ""
            found["CHANNEL_PAUSED", name] = f"{name} was paused by {known.paused_by} at {known.paused_at:%F %R}Z{why}"
    if settings.key_days is not None:
        for key in data_keys(engine):
            if key.current and now - key.wrapped_at > settings.key_days * DAY:
                found["KEY_OLD", key.label] = f"{key.label} has been in use since {instant(key.wrapped_at):%F}"
    return found


def watch_host(config: Config, now: int) -> Found:
    """What of this host alarms: disks and certificates of the configuration.

    Args:
      config: the configuration.
      now: the present, microseconds since the epoch.
    """
    found: Found = {}
    for folder in _folders(config):
        usage = shutil.disk_usage(folder)
        free = 100 * usage.free / usage.total
        if free < config.alarms.disk_percent:
            found["DISK_LOW", str(folder)] = f"{free:.1f} % of {folder} are free, {usage.free // 1_000_000} MB"
    for path in _certificates(config):
        try:
            ends = x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc
        except (OSError, ValueError):
            continue  # `energycomm channel check` says what is wrong with it
        if micros(ends) - now < config.alarms.certificate_days * DAY:
            over = micros(ends) < now
            words = f"{path} ended at {ends:%F %R}Z" if over else f"{path} ends at {ends:%F %R}Z"
            found["CERTIFICATE_ENDS", path.name] = words
    return found


def _folders(config: Config) -> Iterator[Path]:
    """Where the daemon writes, one folder for each disk; of folders that are not there yet the nearest that is."""
    places = [config.spool_folder]
    if config.database_url.startswith("sqlite"):
        places.insert(0, Path(str(make_url(config.database_url).database)).absolute().parent)
    if config.notify.folder is not None:
        places.append(config.folder / config.notify.folder)
    places += [config.folder / channel.path for channel in config.channels if isinstance(channel, FolderSetting)]
    disks: dict[int, Path] = {}
    for place in places:
        try:
            while not place.is_dir():
                place = place.parent
            disks.setdefault(place.stat().st_dev, place)
        except OSError:
            continue  # a channel whose folder cannot be looked at has an alarm of its own
    yield from disks.values()


def _certificates(config: Config) -> Iterator[Path]:
    """The certificates that we show, of the push endpoint, the web services and channels."""
    names: set[str | Path | None] = {config.push.certificate_file, config.web.certificate_file}
    for channel in config.channels:
        names |= {getattr(channel, name, None) for name in ("certificate_file", "signing_certificate_file")}
    yield from sorted({config.folder / name for name in names if name is not None})
