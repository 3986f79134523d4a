"""Settings of alarms: thresholds, who is told, when, and how."""

from __future__ import annotations

import re
from datetime import time
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from energycomm.transport.settings import Settings, WebAddress, one_place

_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")
_ADDRESS = r"^[^\s@<>,;]+@[^\s@<>,;]+$"


class AlarmSettings(Settings):
    """What alarms, and who is told. Nobody is while neither `email_to` nor `url` is set."""

    email_to: tuple[str, ...] = Field(default=(), description="Addresses that alarms are mailed to.")
    email_from: str | None = Field(default=None, pattern=_ADDRESS, description="Address that they are mailed from.")
    smtp_host: str = Field(default="localhost", description="Mail server.")
    smtp_port: int = Field(default=587, ge=1, le=65_535, description="Its port.")
    smtp_security: Literal["starttls", "tls", "none"] = Field(
        default="starttls", description="How the connection to it is encrypted; `none` only goes without a password."
    )
    smtp_ca_file: Path | None = Field(default=None, description="Authorities of its certificate, in PEM.")
    smtp_user: str | None = Field(default=None, description="User name there; no login if not set.")
    smtp_password_file: Path | None = Field(default=None, description="File with the password.")
    smtp_password_env: str | None = Field(default=None, description="Environment variable with the password.")
    url: WebAddress | None = Field(default=None, description="Address of a webhook that alarms are posted to.")
    secret_file: Path | None = Field(default=None, description="File with the secret that they are signed with.")
    secret_env: str | None = Field(default=None, description="Environment variable with that secret.")
    ca_file: Path | None = Field(default=None, description="Authorities of the webhook's certificate, in PEM.")
    language: Literal["en", "fr", "nl"] | None = Field(
        default=None, description="Language of the mails and posts; `language` if not set."
    )
    after_minutes: float = Field(default=2, ge=0, description="An alarm is told when it has lasted so long.")
    reminder_hours: float = Field(default=24, gt=0, description="An alarm that goes on is told again after so long.")
    quiet: str | None = Field(
        default=None,
        description="Hours without messages but for urgent alarms, in the legal time of [web] zone: 22:00-06:30. "
        "What began meanwhile is told at their end.",
    )
    leave_out: tuple[str, ...] = Field(default=(), description="Codes of alarms that nobody is told of.")
    backlog_minutes: float = Field(default=60, gt=0, description="BACKLOG_OLD: an envelope waits for so long.")
    paused_hours: float = Field(default=24, gt=0, description="CHANNEL_PAUSED: a channel was paused for so long.")
    disk_percent: float = Field(default=10, ge=0, lt=100, description="DISK_LOW: less than this is free.")
    certificate_days: float = Field(default=30, ge=0, description="CERTIFICATE_ENDS: a certificate ends in so many.")
    key_days: float | None = Field(
        default=None, gt=0, description="KEY_OLD: the data key was wrapped so long ago; no alarm if not set."
    )

    @field_validator("email_to")
    @classmethod
    def _addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            if not re.fullmatch(_ADDRESS, one):
                raise ValueError(f"{one!r} is no e-mail address")
        return value

    @field_validator("quiet")
    @classmethod
    def _hours(cls, value: str | None) -> str | None:
        if value is not None and not _HOURS.fullmatch(value):
            raise ValueError("expected hours like 22:00-06:30")
        if value is not None and value[:5] == value[6:]:
            raise ValueError(f"{value} is no time at all; expected hours like 22:00-06:30")
        return value

    @model_validator(mode="after")
    def _together(self) -> AlarmSettings:
        if self.email_to and self.email_from is None:
            raise ValueError("email_to needs email_from")
        if self.url is not None and (self.secret_file is None) == (self.secret_env is None):
            raise ValueError("a webhook needs its secret in one place: secret_file or secret_env")
        file = None if self.smtp_password_file is None else str(self.smtp_password_file)
        one_place(file, self.smtp_password_env, "smtp_password")
        if (self.smtp_user is None) != (file is None and self.smtp_password_env is None):
            raise ValueError("smtp_user and its password go together")
        if self.smtp_user is not None and self.smtp_security == "none":
            raise ValueError("a password goes over an encrypted connection only: smtp_security")
        return self

    def is_quiet(self, at: time) -> bool:
        """Whether a time of the day is within the quiet hours."""
        found = _HOURS.fullmatch(self.quiet or "")
        if found is None:
            return False
        begins, ends = time(int(found[1]), int(found[2])), time(int(found[3]), int(found[4]))
        return begins <= at < ends if begins <= ends else at >= begins or at < ends
