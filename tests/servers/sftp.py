"""A real SFTP server on loopback that serves a folder, and fails when it is told to."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paramiko

USER, PASSWORD = "supplier", "correct horse"
BACKLOG = 10
ACCEPTED, REJECTED = 0, 2
"""Answers of an SSH server to logins and channels, as paramiko numbers them."""
OK, FAILURE, DENIED = 0, 4, 3
"""Answers of an SFTP server, draft-ietf-secsh-filexfer-02 section 7."""


class Faults:
    """What the server is to do wrong.

    Attributes:
      break_after: bytes of file content after which the connection is cut, once; None never.
      refuse: how many of the next connections are closed at once.
      denied: names of files that may be neither read nor removed.
      readable: those may be read, only not removed.
      failing: names of files that the server fails to open.
      vanish: names of files that are removed the moment they are opened.
      starts: where the reading of each opened file began.
      on_open: called with the path of each file that is opened for reading.
      on_break: called before the connection is cut, to wait until what was answered has arrived: a reset loses
        what is under way.
    """

    def __init__(self) -> None:
        self.break_after: int | None = None
        self.refuse = 0
        self.denied: set[str] = set()
        self.readable = False
        self.failing: set[str] = set()
        self.vanish: set[str] = set()
        self.on_open: Any = None
        self.on_break: Any = None
        self.bytes_read = 0
        self.starts: list[int] = []
        self.logins = 0


class _Server(paramiko.ServerInterface):
    def __init__(self, faults: Faults, key: paramiko.PKey | None) -> None:
        self._faults, self._key = faults, key

    def check_auth_password(self, username: str, password: str) -> int:
        self._faults.logins += 1
        good = (username, password) == (USER, PASSWORD)
        return ACCEPTED if good else REJECTED

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        self._faults.logins += 1
        good = username == USER and self._key is not None and key.asbytes() == self._key.asbytes()
        return ACCEPTED if good else REJECTED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return ACCEPTED

    def get_allowed_auths(self, username: str) -> str:
        return "password,publickey"


class _Handle(paramiko.SFTPHandle):
    def __init__(self, owner: _Files, file: Any, flags: int) -> None:
        super().__init__(flags)
        self._owner, self._file = owner, file
        self._first: int | None = None

    def read(self, offset: int, length: int) -> bytes | int:
        faults = self._owner.faults
        self._file.seek(offset)
        data = bytes(self._file.read(length))
        faults.bytes_read += len(data)
        self._first = offset if self._first is None else self._first
        if self._first == offset:
            faults.starts.append(offset)
        if faults.break_after is not None and faults.bytes_read > faults.break_after:
            faults.break_after = None
            if faults.on_break is not None:
                faults.on_break()
            self._owner.cut()
        return data

    def write(self, offset: int, data: Any) -> int:
        self._file.seek(offset)
        self._file.write(data)
        self._file.flush()
        return OK

    def stat(self) -> paramiko.SFTPAttributes | int:
        return paramiko.SFTPAttributes.from_stat(os.fstat(self._file.fileno()))

    def close(self) -> None:
        self._file.close()


class _Files(paramiko.SFTPServerInterface):
    def __init__(self, server: _Server, root: Path, faults: Faults, cut: Any) -> None:
        super().__init__(server)
        self.root, self.faults, self.cut = root, faults, cut

    def _local(self, path: str) -> Path:
        return self.root / self.canonicalize(path).lstrip("/")

    def list_folder(self, path: str) -> list[paramiko.SFTPAttributes] | int:
        try:
            found = []
            for entry in sorted(self._local(path).iterdir(), reverse=True):
                item = paramiko.SFTPAttributes.from_stat(entry.lstat())
                item.filename = entry.name
                found.append(item)
        except OSError as fault:
            return paramiko.SFTPServer.convert_errno(fault.errno or 0)
        return found

    def stat(self, path: str) -> paramiko.SFTPAttributes | int:
        try:
            return paramiko.SFTPAttributes.from_stat(self._local(path).stat())
        except OSError as fault:
            return paramiko.SFTPServer.convert_errno(fault.errno or 0)

    lstat = stat

    def open(self, path: str, flags: int, attr: paramiko.SFTPAttributes) -> paramiko.SFTPHandle | int:
        local = self._local(path)
        if local.name in self.faults.denied and not self.faults.readable:
            return DENIED
        if local.name in self.faults.failing:
            return FAILURE
        if local.name in self.faults.vanish:
            local.unlink(missing_ok=True)
        if self.faults.on_open is not None and not flags & os.O_WRONLY:
            self.faults.on_open(local)
        try:
            descriptor = os.open(local, flags, 0o600)
        except OSError as fault:
            return paramiko.SFTPServer.convert_errno(fault.errno or 0)
        return _Handle(self, os.fdopen(descriptor, "r+b" if flags & (os.O_WRONLY | os.O_RDWR) else "rb"), flags)

    def remove(self, path: str) -> int:
        if self._local(path).name in self.faults.denied:
            return DENIED
        return self._do(lambda: self._local(path).unlink())

    def rename(self, oldpath: str, newpath: str) -> int:
        if self._local(newpath).exists():
            return FAILURE
        return self._do(lambda: self._local(oldpath).rename(self._local(newpath)))

    def posix_rename(self, oldpath: str, newpath: str) -> int:
        return self._do(lambda: self._local(oldpath).replace(self._local(newpath)))

    def _do(self, action: Any) -> int:
        try:
            action()
        except OSError as fault:
            return paramiko.SFTPServer.convert_errno(fault.errno or 0)
        return OK


class SftpTestServer:
    """The server.

    Attributes:
      root: the folder it serves.
      host, port: where it listens.
      host_key: its key.
      faults: what it is to do wrong.
    """

    def __init__(self, root: Path, user_key: paramiko.PKey | None = None, host: str = "127.0.0.1") -> None:
        self.host, self.root, self.faults, self.user_key = host, root, Faults(), user_key
        self.host_key: paramiko.PKey = paramiko.ECDSAKey.generate()
        self._socket = socket.create_server((host, 0), backlog=BACKLOG)
        self.port = int(self._socket.getsockname()[1])
        self._transports: list[paramiko.Transport] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def known_hosts(self, file: Path, key: paramiko.PKey | None = None) -> Path:
        """Write a known hosts file with the server's key, or another."""
        shown = key or self.host_key
        file.write_text(f"[{self.host}]:{self.port} {shown.get_name()} {shown.get_base64()}\n")
        return file

    def cut(self) -> None:
        """Cut every connection."""
        for transport in list(self._transports):
            transport.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.cut()
        self._thread.join(10)
        for transport in self._transports:
            transport.join(10)

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            if self.faults.refuse > 0:
                self.faults.refuse -= 1
                connection.close()
                continue
            transport = paramiko.Transport(connection)
            transport.add_server_key(self.host_key)
            transport.set_subsystem_handler("sftp", paramiko.SFTPServer, _Files, self.root, self.faults, self.cut)
            self._transports.append(transport)
            try:
                transport.start_server(threading.Event(), _Server(self.faults, self.user_key))
            except paramiko.SSHException:
                continue


@contextmanager
def sftp_server(root: Path, user_key: paramiko.PKey | None = None, host: str = "127.0.0.1") -> Iterator[SftpTestServer]:
    """A running server for the folder."""
    server = SftpTestServer(root, user_key, host)
    try:
        yield server
    finally:
        server.close()
