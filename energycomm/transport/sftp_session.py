"""A connection to an SFTP server whose host key we know, and what its faults mean."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NoReturn, TypeVar

import paramiko
from msgspec import Struct

from energycomm.transport.channel import TechnicalError
from energycomm.transport.credentials import Secret, SecretUnreadableError

Result = TypeVar("Result")

FAULTS: Final = (OSError, EOFError, UnicodeError, paramiko.SSHException, SecretUnreadableError)
"""Everything that working with a session may raise."""


PIECE: Final = 1 << 18
AHEAD: Final = 1 << 21
"""Bytes that are asked for at one time: 64 requests, which every server allows."""


class SftpServer(Struct, frozen=True, kw_only=True):
    """Where a server is and who we are there.

    Attributes:
      host: its name or address.
      user: our name.
      known_hosts: file with its host key, in the form of OpenSSH. Without an entry there no connection is made.
      port: its port.
      password: our password, or
      key_file: file with our private key.
      passphrase: opens `key_file`; None where it is not encrypted.
      connect_timeout: seconds for the connection and for the login.
      timeout: seconds of silence after which a transfer is given up.
    """

    host: str
    user: str
    known_hosts: Path
    port: int = 22
    password: Secret | None = None
    key_file: Path | None = None
    passphrase: Secret | None = None
    connect_timeout: float = 20.0
    timeout: float = 60.0


class UnknownHostKeyError(paramiko.SSHException):
    """The known hosts file has no key for the server."""


class _RefuseUnknown(paramiko.MissingHostKeyPolicy):
    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> NoReturn:
        raise UnknownHostKeyError(f"no key of {hostname} is known; it shows {key.get_name()} {key.fingerprint}")


class SftpSession:
    """A connection that is opened when it is needed and again after it was lost.

    Args:
      channel: name of the channel, for errors.
      server: the server.
    """

    def __init__(self, channel: str, server: SftpServer) -> None:
        self.channel, self.server = channel, server
        self._client: paramiko.SSHClient | None = None
        self._sftp: paramiko.SFTPClient | None = None

    def sftp(self) -> paramiko.SFTPClient:
        """The open connection.

        Raises:
          one of `FAULTS`; `fault` says what it means.
        """
        transport = self._client.get_transport() if self._client is not None else None
        if self._sftp is not None and transport is not None and transport.is_active():
            return self._sftp
        self.close()
        self._client = client = paramiko.SSHClient()
        try:
            return self._connected(client)
        except BaseException:
            self.close()
            raise

    def _connected(self, client: paramiko.SSHClient) -> paramiko.SFTPClient:
        server = self.server
        client.load_host_keys(str(server.known_hosts))
        client.set_missing_host_key_policy(_RefuseUnknown())
        client.connect(
            server.host,
            port=server.port,
            username=server.user,
            password=server.password.read() if server.password is not None else None,
            pkey=private_key(server.key_file, server.passphrase) if server.key_file is not None else None,
            timeout=server.connect_timeout,
            banner_timeout=server.connect_timeout,
            auth_timeout=server.connect_timeout,
            channel_timeout=server.connect_timeout,
            # Only what is configured is offered: no agent, no keys that lie about in a home folder.
            allow_agent=False,
            look_for_keys=False,
        )
        self._sftp = sftp = client.open_sftp()
        channel = sftp.get_channel()
        assert channel is not None
        channel.settimeout(server.timeout)
        return sftp

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        client, self._client, self._sftp = self._client, None, None
        if client is not None:
            client.close()

    def attempt(
        self, action: Callable[[paramiko.SFTPClient], Result], item: str | None = None
    ) -> Result | TechnicalError:
        """Do something with the connection.

        Args:
          action: what to do.
          item: the file it is about.

        Returns:
          What the action returns, or the error. After an error of the connection the next attempt opens another.
        """
        try:
            return action(self.sftp())
        except FAULTS as fault:
            return self.fault(fault, item)

    def fault(self, fault: BaseException, item: str | None = None) -> TechnicalError:
        """What a fault means. A connection that is not to be used any more is closed."""
        code, detail = explain(fault)
        if code not in ("CHANNEL_DENIED", "CHANNEL_REFUSED"):
            self.close()
        where = f"{self.server.host}:{self.server.port}"
        # A fault of the connection is about the channel, whichever file was being read.
        about = item if code in ("CHANNEL_DENIED", "CHANNEL_REFUSED") else None
        return TechnicalError(code=code, channel=self.channel, detail=f"{where}: {detail}", item=about)


def private_key(file: Path, passphrase: Secret | None) -> paramiko.PKey:
    """Our private key.

    Raises:
      SecretUnreadableError: it cannot be read or opened; nothing of it is told.
    """
    words = passphrase.read() if passphrase is not None else None
    try:
        # The library hands this on to one that takes bytes only, whatever its own signature says.
        return paramiko.PKey.from_path(file, words.encode() if words else None)  # type: ignore[arg-type]
    except OSError as fault:
        raise SecretUnreadableError(f"private key {file}: {fault.strerror}") from None
    except (TypeError, paramiko.PasswordRequiredException):
        raise SecretUnreadableError(f"private key {file}: it is encrypted and no pass phrase is configured") from None
    except Exception:  # each kind of key complains in its own way
        raise SecretUnreadableError(f"private key {file}: no private key, or not with this pass phrase") from None


def pieces(remote: paramiko.SFTPFile, start: int, size: int) -> Iterator[bytes]:
    """The content of a file, asked for many pieces at a time: else each would wait for the one before.

    Args:
      remote: the open file.
      start: where to begin, in bytes.
      size: the file's size in bytes; the iteration ends earlier where the file does.
    """
    asking: Callable[..., None] = getattr(remote, "_prefetch_thread")  # noqa: B009

    def asking_quietly(*requests: object) -> None:
        # A thread does this. When the connection breaks the reader is told; the thread need not print it as well.
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            asking(*requests)

    setattr(remote, "_prefetch_thread", asking_quietly)  # noqa: B010
    remote.seek(start)
    while start < size:
        end = min(start + AHEAD, size)
        remote.prefetch(end)
        while start < end:
            chunk = remote.read(min(PIECE, end - start))
            if not chunk:
                return
            start += len(chunk)
            yield chunk


def explain(fault: BaseException) -> tuple[str, str]:
    """The code of a fault and words for it, without secrets."""
    words = str(fault) or type(fault).__name__
    match fault:
        case SecretUnreadableError():
            return "CHANNEL_CONFIG", words
        case UnicodeError():
            return "CHANNEL_ANSWER", "the server lists a file name that is not UTF-8"
        case paramiko.BadHostKeyException():
            return "CHANNEL_HOST_KEY", "the server shows another key than the known one"
        case UnknownHostKeyError():
            return "CHANNEL_HOST_KEY", words
        case paramiko.AuthenticationException():
            return "CHANNEL_LOGIN", "the login was refused"
        case TimeoutError():
            return "CHANNEL_TIMEOUT", "no answer in time"
        case socket.gaierror() | ConnectionRefusedError():
            return "CHANNEL_UNREACHABLE", words
        case paramiko.ssh_exception.NoValidConnectionsError():
            # Its own words begin with "[Errno None]" and say of no address why.
            return "CHANNEL_UNREACHABLE", ", ".join(sorted({str(one) for one in fault.errors.values()}))
        case ConnectionError() | EOFError():
            return "CHANNEL_BROKEN", "the connection was lost"
        case paramiko.SSHException():
            return "CHANNEL_BROKEN", words
        case FileNotFoundError() if fault.filename is not None:
            return "CHANNEL_CONFIG", f"{fault.filename} is not there"  # a local file: known hosts or a key
        case PermissionError() if fault.filename is not None:
            return "CHANNEL_CONFIG", f"{fault.filename} cannot be read"
        case PermissionError():
            return "CHANNEL_DENIED", "the server does not allow it"
        case FileNotFoundError():
            return "CHANNEL_REFUSED", "the server has no such file or folder"
        case _:
            return ("CHANNEL_BROKEN" if "closed" in words.lower() else "CHANNEL_REFUSED"), words
