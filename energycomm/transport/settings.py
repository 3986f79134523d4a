"""The `[[channels]]` of the configuration: one model for each kind of channel, chosen by `kind`.

Secrets are never values here, only the file or the environment variable that holds them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

NAME = r"^[a-z0-9][a-z0-9_-]{0,39}$"


class Settings(BaseModel):
    """Settings of one subject: none that is not declared."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _web_address(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError("expected http://... or https://...")
    return value


WebAddress = Annotated[str, AfterValidator(_web_address)]


class ChannelSetting(Settings):
    """What every channel has."""

    model_config = ConfigDict(hide_input_in_errors=True)

    name: str = Field(pattern=NAME, description="Name of the channel: small letters, digits, - and _.")
    market: str = Field(pattern="^[A-Z]{2}$", description="Market it belongs to, by its ISO code.")
    direction: Literal["in", "out"] = Field(description="Whether envelopes come in or messages go out.")
    sends: tuple[str, ...] = Field(
        default=("*",),
        min_length=1,
        description="Out only: patterns of message types, or kinds of requests, that go out through it.",
    )
    attempts: int = Field(default=4, ge=1, le=20, description="Attempts in one go, including the first.")
    first_wait: float = Field(default=1.0, gt=0, le=3600, description="Seconds before the second attempt.")
    wait_factor: float = Field(default=3.0, ge=1, le=10, description="Factor between one wait and the next.")
    longest_wait: float = Field(default=60.0, gt=0, le=86_400, description="Longest wait between attempts, seconds.")
    jitter: float = Field(default=0.5, ge=0, le=1, description="Random share of each wait.")
    patience: float = Field(default=120.0, ge=0, le=86_400, description="Seconds that all waits may take together.")
    break_after: int = Field(default=5, ge=1, le=100, description="Failures in a row after which the channel pauses.")
    break_for: float = Field(default=30.0, gt=0, le=86_400, description="First pause of the channel, in seconds.")
    break_longest: float = Field(
        default=900.0, gt=0, le=86_400, description="Longest pause of the channel, in seconds."
    )
    per_minute: float | None = Field(default=None, gt=0, description="Most attempts a minute; no limit when not set.")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.direction == "in" and self.sends != ("*",):
            raise ValueError("sends belongs to a channel of direction out")
        return self

    @property
    def sends_all(self) -> bool:
        """Whether every message goes out through it that no channel before it takes."""
        return "*" in self.sends

    def takes(self, message_type: str, kind: str) -> bool:
        """Whether a message goes out through it.

        Args:
          message_type: the market's name of its type.
          kind: kind of the Kernel message that it was built from.
        """
        return any(fnmatchcase(name, pattern) for pattern in self.sends for name in (message_type, kind))


class FolderSetting(ChannelSetting):
    """A folder on our own disk."""

    kind: Literal["folder"] = Field(description="Kind of channel.")
    path: str = Field(min_length=1, description="The folder.")
    include: tuple[str, ...] = Field(default=("*",), description="Patterns of file names that are taken.")
    settle: float = Field(default=2.0, ge=0, description="Seconds that a file must not have changed.")
    max_bytes: int = Field(default=1 << 30, gt=0, description="Largest file in bytes.")
    keep: bool = Field(default=True, description="Keep files that are done or duplicate in folders of their own.")


class SftpSetting(ChannelSetting):
    """A folder on an SFTP server."""

    kind: Literal["sftp"] = Field(description="Kind of channel.")
    host: str = Field(min_length=1, description="Name or address of the server.")
    port: int = Field(default=22, ge=1, le=65_535, description="Port of the server.")
    user: str = Field(min_length=1, description="Our user name on the server.")
    known_hosts: str = Field(min_length=1, description="File with the server's host key, in the form of OpenSSH.")
    path: str = Field(min_length=1, description="The folder on the server.")
    password_file: str | None = Field(default=None, description="File that holds our password.")
    password_env: str | None = Field(default=None, description="Environment variable that holds our password.")
    key_file: str | None = Field(default=None, description="File with our private key.")
    passphrase_file: str | None = Field(default=None, description="File that holds the key's pass phrase.")
    passphrase_env: str | None = Field(default=None, description="Environment variable that holds the pass phrase.")
    after: Literal["delete", "move", "keep"] = Field(
        default="delete", description="What happens on the server to a file that is in the store."
    )
    move_to: str | None = Field(default=None, description='Folder on the server for `after = "move"`.')
    recursive: bool = Field(default=False, description="Include subfolders, at most 8 deep.")
    include: tuple[str, ...] = Field(default=("*",), description="Patterns of file names that are taken.")
    settle: float = Field(default=10.0, ge=0, description="Seconds that a file must not have changed.")
    max_bytes: int = Field(default=1 << 30, gt=0, description="Largest file in bytes.")
    max_files: int = Field(default=1000, ge=1, description="Largest number of files in one poll.")
    connect_timeout: float = Field(default=20.0, gt=0, description="Seconds for the connection and the login.")
    timeout: float = Field(default=60.0, gt=0, description="Seconds without data after which a transfer is aborted.")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        secret = one_place(self.password_file, self.password_env, "password")
        if secret == (self.key_file is not None):
            raise ValueError("either a password (password_file or password_env) or a key_file is needed")
        if one_place(self.passphrase_file, self.passphrase_env, "passphrase") and self.key_file is None:
            raise ValueError("a pass phrase without a key_file")
        if (self.after == "move") != (self.move_to is not None):
            raise ValueError('move_to goes with after = "move", and only with it')
        return self


class HttpsSetting(ChannelSetting):
    """What channels over HTTPS have."""

    url: str = Field(pattern="^https://", description="Address of the service; https only.")
    ca_file: str | None = Field(
        default=None, description="Authorities of the server's certificate, in PEM; those of the system if not set."
    )
    certificate_file: str | None = Field(default=None, description="Our client certificate with its chain, in PEM.")
    key_file: str | None = Field(
        default=None, description="Our private key, in PEM; if not set, it is in the file of the certificate."
    )
    passphrase_file: str | None = Field(default=None, description="File that holds the key's pass phrase.")
    passphrase_env: str | None = Field(default=None, description="Environment variable that holds the pass phrase.")
    connect_timeout: float = Field(default=10.0, gt=0, description="Seconds for the connection.")
    timeout: float = Field(default=60.0, gt=0, description="Seconds for the whole exchange.")
    max_bytes: int = Field(default=64 << 20, gt=0, description="Largest answer in bytes.")

    @model_validator(mode="after")
    def _certified(self) -> Self:
        one_place(self.passphrase_file, self.passphrase_env, "passphrase")
        if self.key_file is not None and self.certificate_file is None:
            raise ValueError("a key_file without a certificate_file")
        return self


class TlsSetting(HttpsSetting):
    """What channels of SOAP have."""

    soap: Literal["1.1", "1.2"] = Field(default="1.1", description="SOAP version.")


class SoapSetting(TlsSetting):
    """A SOAP service that answers at once. Its direction is out."""

    kind: Literal["soap"] = Field(description="Kind of channel.")
    direction: Literal["out"] = Field(default="out", description="Always out; answers are taken in with the request.")
    actions: dict[str, str] = Field(default={}, description="Message type -> SOAPAction.")
    paths: dict[str, str] = Field(default={}, description="Message type -> path on the server.")
    signed: tuple[str, ...] = Field(
        default=(), description="Patterns of message types whose body is signed (WS-Security) with our certificate."
    )
    signature: Literal["rsa-sha1", "rsa-sha256"] = Field(
        default="rsa-sha256", description="How it is signed; some markets still ask for rsa-sha1."
    )
    signing_certificate_file: str | None = Field(
        default=None, description="Certificate of the signature, in PEM; certificate_file if not set."
    )
    signing_key_file: str | None = Field(
        default=None, description="Its private key, in PEM; key_file, or with the certificate, if not set."
    )
    signers_file: str | None = Field(
        default=None, description="Certificates, in PEM: answers to signed messages must be signed by one of them."
    )
    answers: Literal["bound", "timed", "signed"] = Field(
        default="bound",
        description="What must be signed in answers: which request they answer and when they "
        "were made (bound), when (timed), neither (signed: then an old answer may be replayed).",
    )
    answer_seconds: float = Field(default=300, gt=0, le=86_400, description="How old a signed answer may be, seconds.")
    clock_skew: float = Field(
        default=60, ge=0, le=3600, description="Seconds by which the market's clock may differ from ours."
    )
    polls: tuple[str, ...] = Field(
        default=(), description="Message types that the daemon sends regularly to fetch waiting messages."
    )
    poll_seconds: float = Field(
        default=300.0, gt=0, le=86_400, description="Pause between two rounds of polls, in seconds."
    )
    party: str | None = Field(default=None, description="Our GLN in polls.")

    @model_validator(mode="after")
    def _signable(self) -> Self:
        if self.signed and not (self.signing_certificate_file or self.certificate_file):
            raise ValueError("signed needs a certificate: signing_certificate_file or certificate_file")
        if not self.signed and (self.signing_certificate_file or self.signing_key_file or self.signers_file):
            raise ValueError("a certificate of signatures without signed")
        if self.polls and self.party is None:
            raise ValueError("polls needs party: our GLN, who asks")
        return self

    def signs(self, message_type: str) -> bool:
        """Whether messages of a type are signed."""
        return any(fnmatchcase(message_type, pattern) for pattern in self.signed)


class QueueSetting(TlsSetting):
    """A message service that is polled, as in Belgium."""

    kind: Literal["message-queue"] = Field(description="Kind of channel.")
    queue: str | None = Field(default=None, description="Name of our queue; left out when not set.")
    names: dict[str, str] = Field(
        default={}, description="Names of the service's elements that differ from the assumed ones: docs/channels.md."
    )
    max_messages: int = Field(default=500, ge=1, description="Largest number of messages in one poll.")

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        unknown = sorted(set(self.names) - QUEUE_NAMES)
        if unknown:
            raise ValueError(f"names has no {unknown[0]}; it has {', '.join(sorted(QUEUE_NAMES))}")
        if self.names.get("payload", "base64") not in ("base64", "xml"):
            raise ValueError("names.payload is base64 or xml")
        wrong = [name for key, name in self.names.items() if key not in FREE_NAMES and not ELEMENT.fullmatch(name)]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is no name of an element")
        return self


class HttpQueueSetting(HttpsSetting):
    """A queue over HTTP whose first document is removed by its identifier, as in Denmark."""

    kind: Literal["http-queue"] = Field(description="Kind of channel.")
    queues: tuple[Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,64}$")], ...] = Field(
        min_length=1, description="Names of the queues that are emptied, one after the other."
    )
    form: Literal["xml", "json"] = Field(default="xml", description="In which form documents are asked for.")
    token_url: str | None = Field(
        default=None, pattern="^https://", description="Address that gives access tokens (OAuth 2, client credentials)."
    )
    client_id: str | None = Field(default=None, min_length=1, description="Our identifier there.")
    client_secret_file: str | None = Field(default=None, description="File that holds our secret there.")
    client_secret_env: str | None = Field(default=None, description="Environment variable that holds our secret there.")
    scope: str | None = Field(default=None, description="Scope that is asked for; left out when not set.")
    max_messages: int = Field(default=500, ge=1, description="Largest number of documents in one poll.")

    @model_validator(mode="after")
    def _credible(self) -> Self:
        secret = one_place(self.client_secret_file, self.client_secret_env, "client_secret")
        told = (self.token_url is not None, self.client_id is not None, secret)
        if any(told) and not all(told):
            raise ValueError("token_url, client_id and a client_secret (file or env) go together")
        if not any(told) and self.certificate_file is None:
            raise ValueError("either a token_url or a certificate_file is needed")
        if self.scope is not None and self.token_url is None:
            raise ValueError("a scope without a token_url")
        return self


class PushSetting(ChannelSetting):
    """An endpoint that the market pushes to. Its direction is in."""

    kind: Literal["push"] = Field(description="Kind of channel.")
    direction: Literal["in"] = Field(default="in", description="Always in.")
    token_file: str | None = Field(default=None, description="File that holds the tokens, one a line.")
    token_env: str | None = Field(default=None, description="Environment variable that holds the tokens, one a line.")
    max_bytes: int = Field(default=64 << 20, gt=0, description="Largest message in bytes.")
    max_waiting: int = Field(default=10_000, ge=1, description="Largest number of messages that wait to be processed.")

    @model_validator(mode="after")
    def _with_token(self) -> Self:
        if not one_place(self.token_file, self.token_env, "token"):
            raise ValueError("token_file or token_env is needed")
        return self


class ListenSettings(Settings):
    """How many connections and how slow ones are taken."""

    connections: int = Field(
        default=512,
        ge=16,
        le=10_000,
        description="Open connections; beyond it the oldest silent one is closed. Two fifths of them may be "
        "processed at once; then 503.",
    )
    connections_per_address: int = Field(
        default=100, ge=1, le=10_000, description="Connections of one address; the configured proxies have no limit."
    )
    header_seconds: float = Field(
        default=10, gt=0, le=300, description="Longest time for the head of a request to arrive, in seconds."
    )


class EndpointSettings(ListenSettings):
    """Where the daemon takes what is pushed; used as soon as a channel is of kind push."""

    serve: bool = Field(
        default=True, description="Whether the daemon serves the endpoint; false if another process does."
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="Address of the endpoint.")
    port: int = Field(default=8443, ge=0, le=65_535, description="Port of the endpoint; 0 takes a free one.")
    certificate_file: Path | None = Field(default=None, description="Our server certificate with its chain, in PEM.")
    key_file: Path | None = Field(
        default=None,
        description="Private key of the certificate, in PEM; if not set, it is in the file of the certificate.",
    )
    client_ca_file: Path | None = Field(
        default=None,
        description="Authorities, in PEM, of the certificates that clients must show; none are asked for if not set.",
    )
    behind_proxy: bool = Field(
        default=False, description="Plain HTTP behind a proxy that terminates TLS; never on an open network."
    )

    @model_validator(mode="after")
    def _certified(self) -> Self:
        if self.behind_proxy and (self.certificate_file or self.key_file or self.client_ca_file):
            raise ValueError("behind_proxy = true goes without certificates: the proxy has them")
        if self.certificate_file is None and (self.key_file or self.client_ca_file):
            raise ValueError("a key_file or client_ca_file without a certificate_file")
        return self


ELEMENT = re.compile(r"[A-Za-z_][\w.-]*")
FREE_NAMES = frozenset({"namespace", "action", "payload"})
QUEUE_NAMES = FREE_NAMES | {
    "send", "get", "count", "available", "confirm", "queue", "message", "identifier", "kind", "total", "state",
}  # fmt: skip
"""What `names` of a queue may hold: the fields of `energycomm.transport.messagequeue.QueueNames`."""

AnyChannel = Annotated[
    FolderSetting | SftpSetting | SoapSetting | QueueSetting | HttpQueueSetting | PushSetting,
    Field(discriminator="kind"),
]
"""An entry of `[[channels]]`."""

KINDS: tuple[type[ChannelSetting], ...] = (
    FolderSetting, SftpSetting, SoapSetting, QueueSetting, HttpQueueSetting, PushSetting,
)  # fmt: skip


def one_place(file: str | None, variable: str | None, what: str) -> bool:
    """Whether a secret has a place.

    Raises:
      ValueError: it has two.
    """
    if file is not None and variable is not None:
        raise ValueError(f"either {what}_file or {what}_env, not both")
    return file is not None or variable is not None


def variables(setting: ChannelSetting) -> frozenset[str]:
    """The environment variables that hold secrets of a channel."""
    named = (
        getattr(setting, name, None) for name in ("password_env", "passphrase_env", "token_env", "client_secret_env")
    )
    return frozenset(name for name in named if name)


def first_of(setting: ChannelSetting, earlier: tuple[ChannelSetting, ...]) -> Callable[[str, str], bool]:
    """Which messages go through a channel: those that no earlier one of its market takes.

    Args:
      setting: of the channel.
      earlier: the outgoing channels of its market before it.
    """

    def takes(message_type: str, kind: str) -> bool:
        return setting.takes(message_type, kind) and not any(one.takes(message_type, kind) for one in earlier)

    return takes
