"""Settings of the web services: where they listen, how people sign in, what a caller may take."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator, model_validator

from energycomm.transport.settings import ListenSettings, Settings, WebAddress

LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))

RoleName = Literal["back_office", "consultant", "operator", "administrator", "officer"]


class WebSettings(ListenSettings):
    """How `energycomm serve` runs."""

    host: str = Field(default="127.0.0.1", description="Address that the web services listen on.")
    port: int = Field(default=8080, ge=0, le=65_535, description="Port of the web services; 0 takes a free one.")
    certificate_file: Path | None = Field(
        default=None, description="Our certificate with its chain, in PEM: TLS without a proxy."
    )
    key_file: Path | None = Field(default=None, description="Its private key, in PEM.")
    proxies: tuple[str, ...] = Field(
        default=(),
        description="Addresses of the reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are used.",
    )
    public_url: WebAddress | None = Field(
        default=None,
        description="Public address of EnergyComm, for links and the sign-in: https://energycomm.example.org.",
    )
    session_hours: float = Field(default=10, gt=0, le=168, description="Hours after which a person must sign in again.")
    requests_per_minute: int = Field(
        default=600, ge=1, description="Requests of one person or program in a minute; then 429."
    )
    failures_per_minute: int = Field(
        default=30,
        ge=1,
        description="Wrong tokens and sign-ins of one address or account in a minute; then they get 429.",
    )
    body_bytes: int = Field(
        default=10_000_000,
        ge=1000,
        description="Largest body of an injection or a request to a market; other routes take less. Above it: 413.",
    )
    inject_messages: int = Field(default=1000, ge=1, le=10_000, description="Messages that one injection may hold.")
    token_sign_in: bool = Field(
        default=True, description="Whether an API token may be pasted into the sign-in page instead of a password."
    )
    password_sign_in: bool | None = Field(
        default=None,
        description="Whether people sign in by name and password; if not set, where no identity provider is set up.",
    )
    password_length: int = Field(
        default=15, ge=8, le=64, description="Characters that a new password must have; NIST SP 800-63B asks for 15."
    )
    second_factor_roles: tuple[RoleName, ...] = Field(
        default=("administrator", "officer"),
        description="Roles that need a one-time code besides a password; others may use one.",
    )

    zone: str = Field(
        default="Europe/Brussels", description="Legal time that the pages show instants and days in: Europe/Paris."
    )

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError(f"{value!r} is no time zone: Europe/Paris") from None
        return value

    @field_validator("public_url")
    @classmethod
    def _bare(cls, value: str | None) -> str | None:
        return value.rstrip("/") if value else value

    @model_validator(mode="after")
    def _both_files(self) -> WebSettings:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("certificate_file and key_file go together")
        return self


class OidcSettings(Settings):
    """How people sign in with OpenID Connect. Nobody does while `issuer` is not set."""

    issuer: str | None = Field(default=None, description="Address of the identity provider: https://login.example.org.")
    client_id: str | None = Field(default=None, description="Our client id at the provider.")
    secret_file: Path | None = Field(default=None, description="File that holds our secret at the provider.")
    secret_env: str | None = Field(default=None, description="Environment variable that holds our secret.")
    ca_file: Path | None = Field(default=None, description="Authorities of the provider's certificate, in PEM.")
    scopes: str = Field(default="openid profile email", description="Scopes that are requested from the provider.")
    name_claim: str = Field(
        default="preferred_username", description="Claim that names the person; else `email`, else `sub`."
    )
    roles_claim: str = Field(
        default="groups", description="Claim that lists the person's groups; dots lead into nested claims."
    )
    roles: dict[str, RoleName] = Field(
        default={}, description="Group -> role. A person in none of the groups may not sign in."
    )
    timeout: float = Field(default=10, gt=0, description="Seconds that an answer of the provider may take.")

    @model_validator(mode="after")
    def _whole(self) -> OidcSettings:
        if self.issuer is None:
            return self
        plain = urlsplit(self.issuer)
        if plain.scheme != "https" and not (plain.scheme == "http" and plain.hostname in LOOPBACK):
            raise ValueError("issuer: expected https://...; http only on this machine")
        if self.client_id is None:
            raise ValueError("client_id is needed with issuer")
        if (self.secret_file is None) == (self.secret_env is None):
            raise ValueError("the secret is needed in one place: secret_file or secret_env")
        if not self.roles:
            raise ValueError("roles is needed: which group has which role")
        return self
