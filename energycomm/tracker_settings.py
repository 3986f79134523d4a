"""Settings of the trackers that tickets are exported to: Jira, GitLab, or a webhook of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from energycomm.transport.settings import Settings, WebAddress

TrackerKind = Literal["jira", "gitlab", "webhook"]


class TrackerSetting(Settings):
    """One tracker; the token is found in a file or the environment, never in the configuration."""

    name: str = Field(min_length=1, max_length=60, description="Name for commands: jira.")
    kind: TrackerKind = Field(description="jira, gitlab or webhook.")
    url: WebAddress = Field(description="Address of Jira or GitLab, or of the webhook.")
    project: str | None = Field(
        default=None, description="Key of the Jira project, or number or path of the GitLab project."
    )
    issue_type: str = Field(default="Task", description="Jira: type of the issues.")
    user: str | None = Field(
        default=None,
        description="Jira Cloud: e-mail address that the token belongs to; if not set, the token is a bearer token.",
    )
    token_file: Path | None = Field(
        default=None, description="File with the token; of a webhook, the secret that requests are signed with."
    )
    token_env: str | None = Field(default=None, description="Environment variable with the token or secret.")
    labels: tuple[str, ...] = Field(default=("energycomm",), description="Labels of every issue.")
    ca_file: Path | None = Field(default=None, description="Authorities of the tracker's certificate, in PEM.")
    timeout: float = Field(default=20, gt=0, le=300, description="Seconds that an answer may take.")

    @field_validator("url")
    @classmethod
    def _bare(cls, value: str) -> str:
        return value.rstrip("/")

    @field_validator("labels")
    @classmethod
    def _one_word_each(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for label in value:
            if not label or any(sign.isspace() or sign == "," for sign in label):
                raise ValueError(f"{label!r} is no label: one word, without comma")
        return value

    @model_validator(mode="after")
    def _whole(self) -> TrackerSetting:
        if (self.token_file is None) == (self.token_env is None):
            raise ValueError("a tracker needs its token in one place: token_file or token_env")
        if self.kind != "webhook" and not self.project:
            raise ValueError(f"a tracker of kind {self.kind} needs its project")
        return self
