"""Where notifications go: a webhook, or a folder."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile

from energycomm.backoffice.notification import Failure, Notification, Target
from energycomm.backoffice.webhook import Webhook
from energycomm.config import Config
from energycomm.transport.credentials import Secret
from energycomm.transport.folder_lock import write_whole


def open_target(config: Config) -> Target | None:
    """The target of the configuration; None when no target is configured."""
    notify = config.notify
    if notify.folder is not None:
        return FolderTarget(config.folder / notify.folder)
    if notify.url is None:
        return None
    file = config.folder / notify.secret_file if notify.secret_file else None
    secret = Secret("secret of the webhook", file, notify.secret_env)
    ca_file = config.folder / notify.ca_file if notify.ca_file else None
    return Webhook(notify.url, secret, timeout=notify.timeout, ca_file=ca_file)


class FolderTarget:
    """A folder: one file a notification, named by its key, whole or not there at all.

    Args:
      folder: the folder; whoever reads it removes the files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def unusable(self) -> str | None:
        """Why no file can be left; None where one can."""
        try:
            with TemporaryFile(dir=self.folder):
                return None
        except OSError as fault:
            return f"{self.folder}: {fault.strerror}"

    def tell(self, notification: Notification) -> Failure | None:
        """Leave the file; the same notification again writes the same file."""
        try:
            write_whole(self.folder / f"{notification.key}.json", notification.body)
        except OSError as fault:
            return Failure("target", f"{self.folder}: {fault.strerror}")
        return None
