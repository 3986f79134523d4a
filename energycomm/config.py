"""The configuration: `energycomm.toml`, overridden by environment variables ENERGYCOMM_*.

A wrong configuration is refused as a whole, with every mistake: file, field, value, what was expected. Secrets (the
database's password, decryption keys) are never shown.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from energycomm.alarm_settings import AlarmSettings
from energycomm.choices import advice_of
from energycomm.database_address import WrongAddress, read_address, show_address, sqlite_file
from energycomm.errors import UserError
from energycomm.fielderrors import in_words
from energycomm.kernel.tolerance import CURVE_TOLERANCE
from energycomm.masking import conceal, conceal_address, is_secret_name, mask
from energycomm.supplier_settings import NAME, SHARED, Supplier, SupplierSetting, is_party
from energycomm.tracker_settings import TrackerSetting
from energycomm.transport.keys import STORAGE
from energycomm.transport.limits import Limits
from energycomm.transport.settings import AnyChannel, EndpointSettings, Settings, WebAddress, one_place, variables
from energycomm.web_settings import OidcSettings, WebSettings

FILE_NAME = "energycomm.toml"
PREFIX = "ENERGYCOMM_"
FILE_VARIABLE = "ENERGYCOMM_CONFIG"
SUPPLIER_VARIABLE = "ENERGYCOMM_SUPPLIER"

Origin = Literal["default", "file", "environment"]


class KeySetting(Settings):
    """One key of the key ring: where it is found, never the key itself (see docs/configuration.md)."""

    label: str = Field(min_length=1, description="Name that reports use for the key.")
    scheme: Literal["aes-128-fixed-iv", "aes-256-iv-in-file", "aes-256-gcm"] = Field(
        description="How envelopes are encrypted; aes-256-gcm for a key of the store."
    )
    key_file: str | None = Field(default=None, description="File that holds the key in hexadecimal.")
    key_env: str | None = Field(default=None, description="Environment variable that holds the key in hexadecimal.")
    iv: SecretStr | None = Field(default=None, description="The fixed initialisation vector in hexadecimal.")
    iv_file: str | None = Field(default=None, description="File that holds the vector.")
    iv_env: str | None = Field(default=None, description="Environment variable that holds the vector.")
    since: date | None = Field(default=None, description="First day of the key's use.")
    until: date | None = Field(default=None, description="Last day of the key's use.")


class DaemonSettings(Settings):
    """How `energycomm daemon` runs."""

    workers: int = Field(default=2, ge=1, le=64, description="Worker processes; always one on SQLite.")
    poll_seconds: float = Field(
        default=10, gt=0, le=3600, description="Pause between two polls of a channel, in seconds."
    )
    send_seconds: float = Field(
        default=5, gt=0, le=3600, description="Pause between two searches for messages to send, in seconds."
    )
    tidy_seconds: float = Field(
        default=60,
        gt=0,
        le=86_400,
        description="Pause between two searches for time-outs, gaps and data to remove, in seconds.",
    )
    backlog: int = Field(
        default=500,
        ge=1,
        description="Largest backlog of archived, unprocessed envelopes; polling pauses while it is reached.",
    )
    attempts: int = Field(
        default=10,
        ge=1,
        le=1000,
        description="Number of workers that may die on one envelope before it is put aside as failed.",
    )
    gap_minutes: float = Field(
        default=60, ge=0, description="Minutes without a new file before gaps of a numbered series are reported."
    )
    host: str = Field(default="127.0.0.1", description="Address that metrics and health are served on.")
    port: int = Field(default=9464, ge=0, le=65_535, description="Port of metrics and health; 0 takes a free one.")
    token_file: Path | None = Field(
        default=None,
        description="File with the bearer tokens, one a line, for metrics and details of health; "
        "without tokens, only programs on this machine get them.",
    )
    token_env: str | None = Field(default=None, description="Environment variable that holds these tokens.")
    heartbeat: Path | None = Field(
        default=None, description="File with the state of the daemon as JSON, rewritten every few seconds."
    )
    hang_seconds: float = Field(
        default=600, gt=0, description="Seconds without a sign of life after which a worker is replaced."
    )
    stop_seconds: float = Field(default=60, gt=0, description="Time to finish batches when the daemon is stopped.")
    alarm_seconds: float = Field(default=60, ge=0, description="Seconds without its cause after which an alarm ends.")
    answer_hours: float = Field(
        default=24,
        ge=0,
        le=8760,
        description="Hours before an answer that we owe is due that its alarm begins.",
    )

    @model_validator(mode="after")
    def _one_token(self) -> DaemonSettings:
        one_place(None if self.token_file is None else str(self.token_file), self.token_env, "token")
        return self


class NotifySettings(Settings):
    """Target of the notifications. None is sent while neither a URL nor a folder is set."""

    url: WebAddress | None = Field(default=None, description="Address of the webhook, http or https.")
    folder: Path | None = Field(
        default=None, description="Instead of a URL: folder in which each notification is written as a file."
    )
    secret_file: Path | None = Field(
        default=None, description="File with the secret that notifications are signed with."
    )
    secret_env: str | None = Field(default=None, description="Environment variable with that secret.")
    ca_file: Path | None = Field(default=None, description="Authorities of the webhook's certificate, in PEM.")
    timeout: float = Field(default=10, gt=0, description="Seconds that an answer may take.")
    attempts: int = Field(
        default=40, ge=1, description="Number of refusals after which a notification is put aside as dead."
    )
    longest_pause: float = Field(default=3600, gt=0, description="Longest pause between two attempts, in seconds.")

    @model_validator(mode="after")
    def _one_way(self) -> NotifySettings:
        if self.url is not None and self.folder is not None:
            raise ValueError("url and folder exclude each other")
        if self.url is not None and (self.secret_file is None) == (self.secret_env is None):
            raise ValueError("a webhook needs its secret in one place: secret_file or secret_env")
        return self


class RetentionSettings(Settings):
    """After how long data is removed. Nothing is, unless a number of days is set."""

    raw_days: int | None = Field(
        default=None, ge=1, description="Days after which the bytes of processed envelopes are removed."
    )
    notification_days: int | None = Field(
        default=None, ge=1, description="Days after which notifications that were sent are removed."
    )
    change_days: int | None = Field(
        default=None,
        ge=1,
        description="Days after which the log of changes is removed; cursors of exports that are older are refused.",
    )
    prediction_days: int | None = Field(
        default=None, ge=1, description="Days after which second opinions of models are removed."
    )
    former_days: int | None = Field(
        default=None, ge=1, description="Days after which images of rows as they were before a change are removed."
    )
    note_days: int | None = Field(
        default=None, ge=1, description="Days after which notes (what was noticed and did no harm) are removed."
    )
    reading_days: int | None = Field(
        default=None,
        ge=1,
        description="Days after which settled indexes and energies are removed, with their messages.",
    )
    curve_days: int | None = Field(
        default=None, ge=1, description="Days after which settled curves are removed, with their messages."
    )
    customer_days: int | None = Field(
        default=None,
        ge=1,
        description="Days after the end of a supply after which the data of its customer are removed, with their "
        "messages.",
    )
    audit_days: int | None = Field(
        default=None,
        ge=1,
        description="Days after which lines of the audit are removed, the oldest first; its chain stays verifiable.",
    )
    evidence_days: int | None = Field(
        default=None,
        ge=1,
        description="Days after the end of a supply for which requests to the market keep the name of a customer who "
        "is erased: evidence of what the customer ordered. Without it they lose the name at once.",
    )
    copies_days: int | None = Field(
        default=None,
        ge=1,
        description="Days for which you keep copies outside of the store: backups, archived logs of the database, "
        "logs. The evidence of an erasure says on which day the last copy of the customer goes.",
    )
    archive: Path = Field(
        default=Path("archive"),
        description="Folder of the archives that `energycomm eis archive` writes; on storage that is backed up.",
    )


class CorrectionSettings(Settings):
    """How refused messages are corrected."""

    scripts: Path | None = Field(
        default=None, description="Folder of your own correction scripts, in addition to those shipped with EnergyComm."
    )
    four_eyes: bool = Field(default=False, description="A campaign runs only when a second person has approved it.")


class ClusterSettings(Settings):
    """Where bulk work is done. In processes of this machine, unless an address is set."""

    address: str | None = Field(
        default=None,
        pattern=r"^ray://[A-Za-z0-9.\-\[\]:]+:([1-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$",
        description="Client server of a Ray cluster: ray://HOST:10001.",
    )


class Config(BaseSettings):
    """Every setting. Make one with `load`; a value of the environment goes before one that is passed."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, hide_input_in_errors=True
    )

    database: SecretStr = Field(
        default=SecretStr("sqlite:///energycomm.db"),
        description="Address of the Energy Information Store: sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME; "
        "of several servers as HOST1:PORT,HOST2:PORT.",
    )
    rules: Path | None = Field(
        None, description="Folder of the rule files; those shipped with EnergyComm when not set."
    )
    engine: Literal["parallel", "durable-rules"] = Field(default="parallel", description="Rules engine.")
    batch_size: int = Field(default=2000, ge=1, le=10_000, description="Messages per transaction.")
    processes: int = Field(
        default=1, ge=1, le=64, description="Processes that share the work on one large file; more than 2 are not used."
    )
    parties: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Our own identifiers (EIC, GLN); in the environment separated by commas."
    )
    keys: tuple[KeySetting, ...] = Field(
        default=(), description="Keys that decrypt envelopes, and keys of the store; in the environment as JSON."
    )
    storage_key: str | None = Field(
        default=None,
        description="Label of the key, of scheme aes-256-gcm, that encrypts raw bytes and Kernel XML in the store; "
        "they are stored in plain text if no key is set.",
    )
    mappings: dict[str, Path] = Field(
        default={},
        description="Tables of names and codes, by market, that replace those of an adapter; "
        "ENERGYCOMM_MAPPINGS__BE in the environment.",
    )
    limits: Limits = Field(default=Limits(), description="How much an envelope may unpack to.")
    daemon: DaemonSettings = Field(default=DaemonSettings(), description="How the daemon runs.")
    notify: NotifySettings = Field(default=NotifySettings(), description="How the back office is notified.")
    alarms: AlarmSettings = Field(default=AlarmSettings(), description="What alarms, and who is told.")
    retention: RetentionSettings = Field(default=RetentionSettings(), description="After how long data is removed.")
    correction: CorrectionSettings = Field(
        default=CorrectionSettings(), description="How refused messages are corrected."
    )
    cluster: ClusterSettings = Field(default=ClusterSettings(), description="Where bulk work is done.")
    web: WebSettings = Field(default=WebSettings(), description="How the web services run.")
    oidc: OidcSettings = Field(default=OidcSettings(), description="How people sign in to the web services.")
    channels: tuple[AnyChannel, ...] = Field(
        default=(), description="Inbound and outbound channels; in the environment as JSON."
    )
    push: EndpointSettings = Field(
        default=EndpointSettings(), description="Endpoint of the daemon for channels of kind push."
    )
    trackers: tuple[TrackerSetting, ...] = Field(
        default=(), description="Trackers that tickets are exported to; in the environment as JSON."
    )
    spool: Path = Field(
        default=Path("spool"), description="Folder for received files and messages until they are in the store."
    )
    quarantine_days: int = Field(default=30, ge=0, description="Days after which a waiting message is given up.")
    curve_tolerance: Decimal = Field(
        default=CURVE_TOLERANCE,
        ge=0,
        le=100,
        description="Percent by which the sum of a curve may differ from the rise of the indexes of the same days.",
    )
    language: Literal["en", "fr", "nl"] = Field(
        default="en",
        description="Language of the console, the command line and tables, where the reader asks for none.",
    )
    log_format: Literal["text", "json"] = Field(default="text", description="Form of the log on standard error.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "warning", description="Lowest level that is logged."
    )

    suppliers: dict[str, SupplierSetting] = Field(
        default={}, description="The suppliers of an installation of several, by name: [suppliers.NAME]."
    )
    people: dict[str, tuple[str, ...]] = Field(
        default={}, description="Who works for several suppliers, and for which: the console leads them to the others."
    )

    _file: Path | None = None
    _origins: dict[str, Origin] = {}
    _supplier: Supplier | None = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment overrides the file, whose values are passed to the constructor."""
        return env_settings, init_settings

    @field_validator("parties", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("parties")
    @classmethod
    def _known_form(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for party in value:
            is_party(party)
        return value

    @model_validator(mode="after")
    def _apart(self) -> Config:
        for name in self.suppliers:
            if not NAME.fullmatch(name):
                raise ValueError(f"suppliers: {name!r} is no name: expected small letters, digits and -, 30 at most")
        marks = Counter(mark for one in self.suppliers.values() for mark in {*one.parties, str(one.file), one.host})
        for mark, number in marks.items():
            if mark and number > 1:
                raise ValueError(f"suppliers: {mark} is given to two suppliers; what each has is its own")
        unknown = {name for names in self.people.values() for name in names} - self.suppliers.keys()
        if unknown:
            raise ValueError(
                f"people: {min(unknown)!r} is none of the suppliers: {', '.join(self.suppliers) or 'none'}"
            )
        return self

    @field_validator("channels", "trackers")
    @classmethod
    def _one_name_each(cls, value: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
        for name, number in Counter(one.name for one in value).items():
            if number > 1:
                raise ValueError(f"{name!r} is the name of two {info.field_name}")
        return value

    @model_validator(mode="after")
    def _known_storage_key(self) -> Config:
        known = [key.label for key in self.keys if key.scheme == STORAGE]
        if self.storage_key is not None and self.storage_key not in known:
            raise ValueError(f"storage_key: expected the label of one of the keys of scheme {STORAGE}: {known}")
        return self

    @field_validator("database")
    @classmethod
    def _address(cls, value: SecretStr) -> SecretStr:
        written = value.get_secret_value()
        try:
            if sqlite_file(written) is None:
                read_address(written)
        except WrongAddress:
            raise ValueError("expected sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME") from None
        return value

    @property
    def file(self) -> Path | None:
        """The file that was read, None where there was none."""
        return self._file

    @property
    def folder(self) -> Path:
        """The folder that relative paths start from: the file's, else the working directory."""
        return self._file.parent if self._file else Path.cwd()

    @property
    def database_url(self) -> str:
        """Address of the database, with its password; a relative SQLite path of the file is relative to the file."""
        written = conceal_address(self.database.get_secret_value())
        if self._origins.get("database") != "file":
            return written
        url = read_address(written)
        if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).is_absolute():
            return url.set(database=str(self.folder / str(url.database))).render_as_string(hide_password=False)
        return written

    @property
    def database_shown(self) -> str:
        """Address of the database without its secrets, to show to people."""
        return mask(show_address(read_address(self.database_url)))

    @property
    def rules_folder(self) -> Path:
        """Folder of the rule files."""
        return Path(str(resources.files("rules"))) if self.rules is None else self.folder / self.rules

    @property
    def mapping_files(self) -> tuple[tuple[str, Path], ...]:
        """Markets, each with the table that takes the place of its adapter's own."""
        return tuple(sorted((market.upper(), self.folder / path) for market, path in self.mappings.items()))

    @property
    def scripts_folder(self) -> Path | None:
        """Folder of one's own correction scripts."""
        return None if self.correction.scripts is None else self.folder / self.correction.scripts

    @property
    def archive_folder(self) -> Path:
        """Folder of the archives."""
        return self.folder / self.retention.archive

    @property
    def spool_folder(self) -> Path:
        """Folder of the channels' spools."""
        return self.folder / self.spool

    @property
    def key_entries(self) -> tuple[dict[str, Any], ...]:
        """The keys as `energycomm.transport.keys.read_keys` takes them."""
        entries = [key.model_dump(exclude_none=True) for key in self.keys]
        for entry in entries:
            if "iv" in entry:
                entry["iv"] = conceal(entry["iv"].get_secret_value())
        return tuple(entries)

    @property
    def supplier(self) -> Supplier | None:
        """Which supplier of an installation of several this is the configuration of; None where there is one alone."""
        return self._supplier

    @property
    def foreign(self) -> frozenset[str]:
        """Identifiers of the other suppliers of the installation; none where there is one alone."""
        return frozenset() if self._supplier is None else self._supplier.foreign

    def origin(self, field: str) -> Origin:
        """Where the value of a setting comes from."""
        return self._origins.get(field, "default")


_chosen: ContextVar[str | None] = ContextVar("supplier", default=None)


@contextmanager
def choosing(supplier: str | None) -> Iterator[None]:
    """A block in which `load` reads the configuration of this supplier; None leaves it to ENERGYCOMM_SUPPLIER."""
    token = _chosen.set(supplier)
    try:
        yield
    finally:
        _chosen.reset(token)


def load(folder: Path | None = None, environ: Mapping[str, str] | None = None) -> Config:
    """Read the configuration: of the supplier that was chosen, where several are declared.

    Args:
      folder: folder whose `energycomm.toml` is read, if it is there; the working directory by default. The environment
        variable ENERGYCOMM_CONFIG names another file.
      environ: the environment, to look for ENERGYCOMM_CONFIG, ENERGYCOMM_SUPPLIER and unknown names; the process's own
        by default.

    Raises:
      UserError: the file cannot be read, a value is wrong (every mistake is listed), or no supplier was chosen.
    """
    environ = os.environ if environ is None else environ
    config, suppliers = load_all(folder, environ, wanted=True)
    return next(iter(suppliers.values()), config)


def own_folder() -> Path | None:
    """The folder of the chosen supplier, for what lies beside its configuration; None where one supplier is alone.

    Raises:
      UserError: as of `load`, where several suppliers are declared.
    """
    try:
        content = _read_file(Path.cwd(), os.environ)[1]
    except UserError:
        return None  # whoever needs the configuration tells it
    return load().folder if content.get("suppliers") else None


def load_all(
    folder: Path | None = None, environ: Mapping[str, str] | None = None, *, wanted: bool = False
) -> tuple[Config, dict[str, Config]]:
    """Read the configuration of an installation, and those of its suppliers: of the chosen one alone, if one was.

    Args:
      folder, environ: as of `load`.
      wanted: whether one of several suppliers must have been chosen.

    Returns:
      The configuration of the file, and those of the suppliers that it declares by name; none where it declares none.

    Raises:
      UserError: as of `load`.
    """
    environ = os.environ if environ is None else environ
    file, content = _read_file(folder or Path.cwd(), environ)
    chosen = _chosen.get() or environ.get(SUPPLIER_VARIABLE)
    declared = content.get("suppliers")
    if not declared or not isinstance(declared, dict):
        if chosen is not None:
            raise UserError(
                f"There is no supplier {chosen!r}: {file or FILE_NAME} declares none.",
                f"Leave out --supplier, and unset {SUPPLIER_VARIABLE}; or see docs/suppliers.md.",
            )
        return _made(file, content, environ), {}
    installation = _made(file, _of_the_installation(file, content), environ, several=True)
    known = ", ".join(installation.suppliers)
    if chosen is not None and chosen not in installation.suppliers:
        raise UserError(f"There is no supplier {chosen!r} in {file}.", f"There is: {known}.")
    if chosen is None and wanted:
        raise UserError(
            f"{file} declares several suppliers, and none was chosen.",
            f"Choose with --supplier or {SUPPLIER_VARIABLE}: {known}.",
        )
    names = installation.suppliers if chosen is None else (chosen,)
    return installation, {name: _of_supplier(installation, content, name, environ) for name in names}


def _of_the_installation(file: Path | None, content: dict[str, Any]) -> dict[str, Any]:
    """The content of a file that declares suppliers; it holds nothing that one of them has for itself."""
    wrong = [name for name in content if name in Config.model_fields and name not in ("suppliers", "people", *SHARED)]
    for name, shared in SHARED.items():
        given = content.get(name)
        if shared is not None and isinstance(given, dict):
            wrong += [f"{name}.{inner}" for inner in given if inner not in shared]
    if wrong:
        lines = "".join(f"\n  {file}: {name}: belongs to the file of each supplier" for name in wrong)
        raise UserError(f"The configuration is wrong.{lines}\n", "See docs/suppliers.md.")
    return content


def _of_supplier(installation: Config, content: dict[str, Any], name: str, environ: Mapping[str, str]) -> Config:
    """The configuration of one supplier: its own file, with what the installation has for all."""
    setting = installation.suppliers[name]
    whole = installation.folder / setting.file
    file, own = _read_file(whole.parent, {FILE_VARIABLE: str(whole)})
    wrong = [inner for inner in own if inner in ("suppliers", "people", "parties")]
    for section, shared in SHARED.items():
        given = own.get(section)
        if shared is None:
            wrong += [section] if given is not None else []
        elif isinstance(given, dict):
            wrong += [f"{section}.{inner}" for inner in given if inner in (*shared, "public_url")]
    if wrong:
        lines = "".join(f"\n  {file}: {one}: belongs to {installation.file}" for one in wrong)
        raise UserError(f"The configuration of the supplier {name} is wrong.{lines}\n", "See docs/suppliers.md.")
    merged = dict(own)
    for section, shared in SHARED.items():
        given = content.get(section)
        if given is None:
            continue
        if shared is None:
            merged[section] = given
            continue
        # What is a file there is one beside that configuration.
        there = {k: str(installation.folder / v) if k.endswith("_file") else v for k, v in given.items()}
        merged[section] = {**own.get(section, {}), **there}
    if setting.url is not None:
        merged["web"] = {**merged.get("web", {}), "public_url": setting.url}
    if "database" not in own:
        merged["database"] = Config.model_fields["database"].default.get_secret_value()
    config = _made(file, {**merged, "parties": setting.parties}, environ, several=True)
    others = {other: one for other, one in installation.suppliers.items() if other != name}
    config._supplier = Supplier(
        name=name,
        title=setting.title or name,
        others={other: (one.title or other, one.url or "") for other, one in others.items()},
        people=installation.people,
        foreign=frozenset(party for one in others.values() for party in one.parties),
    )
    return config


FOR_ALL = frozenset({"log_format", "log_level"})
"""Settings that the environment may give to all suppliers of an installation."""


def _made(file: Path | None, content: dict[str, Any], environ: Mapping[str, str], *, several: bool = False) -> Config:
    """The configuration that a file and the environment make.

    Args:
      file: where it was read; None where there is none.
      content: of the file.
      environ: the environment.
      several: the installation has several suppliers: what the environment sets would hold for each of them.

    Raises:
      UserError: a value is wrong; every mistake is listed.
    """
    named = {name for name in environ if name.startswith(PREFIX) and name not in (FILE_VARIABLE, SUPPLIER_VARIABLE)}
    from_environment = {name.removeprefix(PREFIX).split("__")[0].lower() for name in named}
    for_all = sorted((from_environment & Config.model_fields.keys()) - FOR_ALL)
    if several and for_all:
        raise UserError(
            f"{PREFIX}{for_all[0].upper()} would hold for every supplier of the installation.",
            "Unset it, and write the setting into the file of the supplier that it is for.",
        )
    try:
        config = Config(**content)
    except ValidationError as error:
        raise UserError(_explain(error, file, from_environment), "See docs/configuration.md.") from None
    except ValueError as error:  # a value of the environment that is not JSON where JSON is expected
        raise UserError(f"The environment holds a wrong setting: {error}.", "See docs/configuration.md.") from None
    # That of the API's own examples: whoever exports it for a client goes on using the commands.
    places = {"ENERGYCOMM_TOKEN"}
    places |= {place for key in config.keys for place in (key.key_env, key.iv_env) if place}
    places |= {place for place in (config.notify.secret_env, config.oidc.secret_env, config.daemon.token_env) if place}
    places |= {place for channel in config.channels for place in variables(channel)}
    places |= {place for place in (config.alarms.secret_env, config.alarms.smtp_password_env) if place}
    places |= {tracker.token_env for tracker in config.trackers if tracker.token_env}
    unknown = sorted(
        n for n in named - places if n.removeprefix(PREFIX).split("__")[0].lower() not in Config.model_fields
    )
    # Of several suppliers each names its own secrets; what is none of one may be another's.
    if unknown and not several:
        meant = _meant(unknown[0], [f"{PREFIX}{name.upper()}" for name in Config.model_fields])
        raise UserError(
            f"{unknown[0]} is no setting of EnergyComm{meant or '.'}",
            "`energycomm config show` lists the settings; unset it or rename it.",
        )
    if not several and (config.suppliers or config.people):
        raise UserError("`suppliers` and `people` are declared in a file, as [suppliers.NAME] and [people].")
    _conceal(config)
    origins: dict[str, Origin] = dict.fromkeys(content, "file")
    config._file = file
    config._origins = origins | dict.fromkeys(from_environment & set(Config.model_fields), "environment")
    return config


def _conceal(config: Config) -> None:
    """Mask from now on what addresses of the configuration hold."""
    conceal_address(config.database.get_secret_value())
    if config.notify.url is not None:
        conceal_address(config.notify.url, path=True)
    if config.alarms.url is not None:
        conceal_address(config.alarms.url, path=True)
    for tracker in config.trackers:
        conceal_address(tracker.url, path=tracker.kind == "webhook")
    for channel in config.channels:
        conceal_address(getattr(channel, "url", ""))


def _read_file(folder: Path, environ: Mapping[str, str]) -> tuple[Path | None, dict[str, Any]]:
    named = environ.get(FILE_VARIABLE)
    file = Path(named).resolve() if named else (folder / FILE_NAME).resolve()
    try:
        return file, tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        if named is None:
            return None, {}
        raise UserError(f"The file {file} that {FILE_VARIABLE} names does not exist.", "Correct or unset it.") from None
    except UnicodeDecodeError:
        raise UserError(f"The file {file} is not UTF-8 text.", "Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"The file {file} is not TOML: {error}.", "Correct that line.") from None
    except OSError as error:
        raise UserError(f"The file {file} cannot be read: {error.strerror}.", "Check its permissions.") from None


def _explain(error: ValidationError, file: Path | None, from_environment: set[str]) -> str:
    lines = []
    for mistake in error.errors(include_url=False):
        field = str(mistake["loc"][0]) if mistake["loc"] else ""
        path = ".".join(str(part + 1) if isinstance(part, int) else part for part in mistake["loc"])
        place = f"{PREFIX}{field.upper()}" if field in from_environment else str(file)
        wrong = in_words(mistake).removesuffix(".")
        if mistake["type"] == "extra_forbidden":
            wrong = f"no such setting{_meant(str(mistake['loc'][-1]), _beside(mistake['loc']))}"
        # A password under a name that is no setting is a password all the same.
        showable = mistake["type"] != "extra_forbidden" and _showable(mistake["loc"], mistake["input"])
        value = mistake["input"] if showable else None
        found = f" (found {value!r})" if value is not None else ""
        lines.append(f"{place}: {path}: {wrong}{found}")
    return "The configuration is wrong.\n  " + "\n  ".join(lines) + "\n"


def _meant(name: str, known: Iterable[str]) -> str:
    """The setting that a wrong name looks like, to be put behind what is wrong; nothing where none does."""
    close = advice_of(name, known)
    return f"; {close[0].lower()}{close[1:]}" if close.startswith("Did") else ""


def _beside(place: tuple[int | str, ...]) -> set[str]:
    """The names of settings that there are at a place of the configuration."""
    models: set[type[BaseModel]] = {Config}
    for step in place[:-1]:
        fields = [model.model_fields[step] for model in models if step in model.model_fields]
        # A number of a list is no name; the kind of a channel stands for the model of that kind.
        found = {inner for field in fields for inner in _models(field.annotation)}
        models = found or {model for model in models if step in _kinds(model)} or models
    return {name for model in models for name in model.model_fields}


def _kinds(model: type[BaseModel]) -> tuple[Any, ...]:
    return get_args(model.model_fields["kind"].annotation) if "kind" in model.model_fields else ()


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def _showable(place: tuple[int | str, ...], value: object) -> bool:
    """Whether a wrong value may be repeated: nothing that could be a secret, and nothing long."""
    secret = place[:1] in (("database",), ("keys",)) or any(is_secret_name(str(step)) for step in place)
    return isinstance(value, str | int | float) and not secret and len(str(value)) <= 60
