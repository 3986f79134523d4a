"""Errors that a user can do something about, and the exit codes of the command line."""

from __future__ import annotations

from enum import IntEnum

from energycomm.masking import mask


class ExitCode(IntEnum):
    """The exit codes of commands."""

    OK = 0
    """Everything was done; every message was accepted."""
    REJECTED = 1
    """Everything was read; some messages were rejected or wait in quarantine."""
    UNREADABLE = 2
    """Some envelopes, members or messages could not be read, or a channel does not work."""
    USAGE = 3
    """The command or the configuration is wrong; nothing was done."""
    DATABASE = 4
    """The database cannot be reached, or `energycomm eis upgrade` has not been run."""
    INTERNAL = 5
    """EnergyComm itself failed; what was committed before stays."""


class UserError(Exception):
    """Something a user can put right: shown as words and advice, never as a traceback, and without secrets.

    Attributes:
      message: what is wrong, one sentence.
      advice: what to do about it.
      exit_code: exit code of the command line, one of `ExitCode`.
    """

    def __init__(self, message: str, advice: str = "", exit_code: int = ExitCode.USAGE) -> None:
        self.message = mask(message)
        self.advice = mask(advice)
        super().__init__(self.message)
        self.exit_code = int(exit_code)

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".rstrip()


class DamagedRow(Exception):
    """An encrypted row of the store cannot be decrypted: it was changed, or copied from another row.

    It concerns that row alone: whoever reads many goes on with the others, or says so and stops.

    Attributes:
      table, row: which row; the row as its primary key is written.
      reason: what is wrong with it.
    """

    code = "STORE_ROW_DAMAGED"
    advice = "restore that row from a backup; `energycomm eis verify` lists every such row"

    def __init__(self, table: str, row: str, reason: str) -> None:
        super().__init__(f"{self.code}: row {row} of {table} {reason}")
        self.table, self.row, self.reason = table, row, reason


class HistoryArchived(UserError):
    """A message takes effect where the history of its access point is not whole: part of it is in an archive, or was
    removed."""

    code = "CH_HISTORY_ARCHIVED"


class Absent(UserError):
    """Content that the store knows and does not hold now: it is in an archive, or was removed."""
