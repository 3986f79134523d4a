"""Secrets of channels: passwords, tokens and pass phrases, read when they are used, from a file or the environment.

They stand in no configuration, representation, log or error: what was read is masked wherever it appears.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from energycomm.masking import conceal

LONGEST = 1 << 16


class SecretUnreadableError(ValueError):
    """A secret is not where the configuration says; the message names the place, never the secret."""


class Secret:
    """The place of a secret. It is read at each use, so that a new one takes effect without a restart.

    Args:
      what: name for errors: ``password``.
      file: file that holds it, or
      variable: environment variable that does.
      environ: the environment; the process's own by default.

    Raises:
      ValueError: not exactly one place is given.
    """

    __slots__ = ("__environ", "_file", "_variable", "what")

    def __init__(
        self,
        what: str,
        file: Path | None = None,
        variable: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        if (file is None) == (variable is None):
            raise ValueError(f"the {what} needs one place: a file or an environment variable")
        self.what, self._file, self._variable = what, file, variable
        self.__environ = os.environ if environ is None else environ

    def __repr__(self) -> str:
        return f"Secret({self.what!r}, {self.place})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not serialised")

    @property
    def place(self) -> str:
        """Where it is found, in words."""
        return f"file {self._file}" if self._file is not None else f"environment variable {self._variable}"

    def read(self) -> str:
        """The secret, without white space around it.

        Raises:
          SecretUnreadableError: it is not there, empty, or no text.
        """
        text: str | None
        if self._file is not None:
            try:
                with self._file.open("rb") as file:
                    text = file.read(LONGEST).decode("utf-8")
            except OSError as fault:
                raise SecretUnreadableError(f"{self.what}: {self.place}: {fault.strerror}") from None
            except UnicodeDecodeError:
                raise SecretUnreadableError(f"{self.what}: {self.place}: not UTF-8 text") from None
        else:
            text = self.__environ.get(self._variable or "")
            if text is None:
                raise SecretUnreadableError(f"{self.what}: {self.place} is not set")
        text = text.strip()
        if not text:
            raise SecretUnreadableError(f"{self.what}: {self.place} is empty")
        return conceal(text)

    def accepts(self, offered: str) -> bool:
        """Whether an offered secret is one of ours, one a line: two hold while one replaces the other.

        The time it takes tells nothing about ours.

        Raises:
          SecretUnreadableError: ours cannot be read.
        """
        found = False
        for line in self.read().splitlines():
            if line.strip():
                found |= hmac.compare_digest(line.strip().encode(), offered.encode())
        return found
