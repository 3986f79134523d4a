"""From a channel's settings to the channel: each kind made, each with its patience."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from energycomm.errors import UserError
from energycomm.transport.channel import Incoming, Seen, Sending
from energycomm.transport.credentials import Secret
from energycomm.transport.folders import FolderIn, FolderOut
from energycomm.transport.httpqueue import HttpQueueNames, HttpQueueOut, HttpQueueService
from energycomm.transport.https import HttpsServer
from energycomm.transport.messagequeue import QueueIn, QueueNames, QueueOut, QueueService
from energycomm.transport.patience import GuardedIn, GuardedOut, SystemClock
from energycomm.transport.push import PushIn
from energycomm.transport.settings import (
    ChannelSetting,
    FolderSetting,
    HttpQueueSetting,
    HttpsSetting,
    PushSetting,
    QueueSetting,
    SftpSetting,
    SoapSetting,
)
from energycomm.transport.sftp import SftpIn, SftpOut
from energycomm.transport.sftp_session import SftpServer
from energycomm.transport.soap import Signatures, SoapOut
from energycomm.transport.tokens import ClientCredentials
from energycomm.transport.ws_security import Signer, Trust, Verifier


class Places:
    """Where channels find and lay their files.

    Args:
      folder: folder that relative paths of the configuration start from.
      spool: folder in which each channel has a spool.
      environ: environment that secrets are read from; the process's own by default.
      queue_names: market -> names of its message service, as its adapter knows them; settings go before them.
    """

    def __init__(
        self,
        folder: Path,
        spool: Path,
        environ: Mapping[str, str] | None = None,
        queue_names: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.folder, self.spool, self._environ = folder, spool, environ
        self.queue_names = dict(queue_names or {})

    def file(self, written: str | None) -> Path | None:
        """The path of a setting."""
        return None if written is None else self.folder / Path(written).expanduser()

    def secret(self, what: str, file: str | None, variable: str | None) -> Secret | None:
        """Where a secret is; None where the setting names no place."""
        if file is None and variable is None:
            return None
        return Secret(what, self.file(file), variable, self._environ)


def open_channel(
    setting: ChannelSetting,
    places: Places,
    seen: Seen | None = None,
    stop: threading.Event | None = None,
) -> GuardedIn | GuardedOut:
    """A channel with its patience. Nothing is connected before it is used.

    Args:
      setting: the entry of `[[channels]]`.
      places: where files are.
      seen: remembers the files of SFTP channels that keep them.
      stop: ends waits when it is set.

    Raises:
      ValueError: the settings do not go together.
    """
    channel = bare_channel(setting, places, seen)
    time = SystemClock(stop)
    return GuardedIn(channel, setting, time) if isinstance(channel, Incoming) else GuardedOut(channel, setting, time)


def bare_channel(setting: ChannelSetting, places: Places, seen: Seen | None = None) -> Incoming | Sending:
    """A channel without patience: each call is one attempt.

    Raises:
      ValueError: the settings do not go together.
    """
    match setting:
        case FolderSetting():
            return _folder(setting, places)
        case SftpSetting():
            return _sftp(setting, places, seen)
        case SoapSetting():
            return SoapOut(
                setting.name,
                setting.market,
                _https(setting, places),
                version=setting.soap,
                actions=setting.actions,
                paths=setting.paths,
                signatures=_signatures(setting, places),
            )
        case QueueSetting():
            return _queue(setting, places)
        case HttpQueueSetting():
            return _http_queue(setting, places)
        case PushSetting():
            return push_channel(setting, places)
        case _:
            raise ValueError(f"no channel of kind {type(setting).__name__}")


def _signatures(setting: SoapSetting, places: Places) -> Signatures | None:
    if not setting.signed:
        return None
    own = setting.signing_certificate_file is not None
    certificate = places.file(setting.signing_certificate_file or setting.certificate_file)
    key = places.file(setting.signing_key_file if own else setting.signing_key_file or setting.key_file)
    assert certificate is not None  # the setting was checked
    passphrase = places.secret("pass phrase", setting.passphrase_file, setting.passphrase_env)
    signers = places.file(setting.signers_file)
    trust = Trust(
        answers=setting.answers,
        seconds=setting.answer_seconds,
        skew=setting.clock_skew,
        algorithm=setting.signature,
    )
    return Signatures(
        setting.signs,
        Signer(certificate, key, passphrase, setting.signature),
        None if signers is None else Verifier(signers, trust),
    )


def push_channel(setting: PushSetting, places: Places) -> PushIn:
    """The channel of a push endpoint; its `endpoint` goes to `create_app`."""
    token = places.secret("token", setting.token_file, setting.token_env)
    assert token is not None  # the setting was checked
    return PushIn(
        setting.name,
        setting.market,
        places.spool / setting.name,
        token,
        max_bytes=setting.max_bytes,
        max_waiting=setting.max_waiting,
    )


def _folder(setting: FolderSetting, places: Places) -> FolderIn | FolderOut:
    path = places.folder / Path(setting.path).expanduser()
    if setting.direction == "out":
        return FolderOut(setting.name, setting.market, path)
    return FolderIn(
        setting.name,
        setting.market,
        path,
        include=setting.include,
        settle=setting.settle,
        max_bytes=setting.max_bytes,
        keep=setting.keep,
    )


def _sftp(setting: SftpSetting, places: Places, seen: Seen | None) -> SftpIn | SftpOut:
    server = SftpServer(
        host=setting.host,
        port=setting.port,
        user=setting.user,
        known_hosts=places.folder / Path(setting.known_hosts).expanduser(),
        password=places.secret("password", setting.password_file, setting.password_env),
        key_file=places.file(setting.key_file),
        passphrase=places.secret("pass phrase", setting.passphrase_file, setting.passphrase_env),
        connect_timeout=setting.connect_timeout,
        timeout=setting.timeout,
    )
    if setting.direction == "out":
        return SftpOut(setting.name, setting.market, server, setting.path)
    return SftpIn(
        setting.name,
        setting.market,
        server,
        setting.path,
        places.spool / setting.name,
        after=setting.after,
        move_to=setting.move_to,
        seen=seen,
        recursive=setting.recursive,
        include=setting.include,
        settle=setting.settle,
        max_bytes=setting.max_bytes,
        max_files=setting.max_files,
    )


_Names = TypeVar("_Names", QueueNames, HttpQueueNames)


def _names(setting: ChannelSetting, places: Places, kind: type[_Names], own: Mapping[str, str]) -> _Names:
    """The names of a market's service, as its adapter knows them; those of the setting go before them."""
    try:
        return msgspec.convert({**places.queue_names.get(setting.market, {}), **own}, kind)
    except msgspec.ValidationError as error:
        raise UserError(
            f"The names of the service of channel {setting.name} are not complete: {error}.",
            "Write them under [channels.names], or install an adapter of the market that knows them.",
        ) from None


def _queue(setting: QueueSetting, places: Places) -> QueueIn | QueueOut:
    names = _names(setting, places, QueueNames, setting.names)
    service = QueueService(setting.name, _https(setting, places), names, setting.queue, setting.soap)
    if setting.direction == "out":
        return QueueOut(setting.name, setting.market, service)
    spool = places.spool / setting.name
    return QueueIn(setting.name, setting.market, service, spool, max_messages=setting.max_messages)


def _http_queue(setting: HttpQueueSetting, places: Places) -> QueueIn | HttpQueueOut:
    names = _names(setting, places, HttpQueueNames, {})
    server = msgspec.structs.replace(_https(setting, places), url=setting.url.rstrip("/") + "/")  # paths go below it
    credentials = None
    secret = places.secret("client secret", setting.client_secret_file, setting.client_secret_env)
    if setting.token_url is not None and setting.client_id is not None and secret is not None:
        there = msgspec.structs.replace(server, url=setting.token_url)
        credentials = ClientCredentials(setting.name, there, setting.client_id, secret, setting.scope)
    service = HttpQueueService(setting.name, server, names, setting.queues, setting.form, credentials)
    if setting.direction == "out":
        return HttpQueueOut(setting.name, setting.market, service)
    spool = places.spool / setting.name
    return QueueIn(setting.name, setting.market, service, spool, max_messages=setting.max_messages)


def _https(setting: HttpsSetting, places: Places) -> HttpsServer:
    return HttpsServer(
        url=setting.url,
        ca_file=places.file(setting.ca_file),
        certificate_file=places.file(setting.certificate_file),
        key_file=places.file(setting.key_file),
        passphrase=places.secret("pass phrase", setting.passphrase_file, setting.passphrase_env),
        connect_timeout=setting.connect_timeout,
        timeout=setting.timeout,
        max_answer=setting.max_bytes,
    )
