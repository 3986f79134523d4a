"""Which model files may be opened: those whose SHA-256 is written down.

Three places hold such hashes: this module, for what goes along with EnergyComm; `models.json`, which is written when a
model was trained or written here; and the setting `models` of assistant.toml, for what a person took from elsewhere.
A model is a file or a folder; of a folder every file counts but hidden ones, pictures and notes.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from energycomm.errors import UserError

SHIPPED = {
    "e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    "light.npz": "a335bc36f410ba8ad823869a137906153a7f83fd04eade2fcc1845eb3ef05f26",
    "likeness.npz": "b6768ddaccd343104954be097bb74a99a16e903ef52dfeced802b041901cbf6b",
    "projection.npz": "d6b0776a42507f23c0c457061dc5bb7832b8f3211e0c187021cf7d362d7b2407",
    "reranker_en/model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    "reranker_en/tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
"""Models that come with EnergyComm or a package that it pins: file -> its SHA-256."""

REGISTRY = "models.json"
UNSAFE = frozenset((".bin", ".ckpt", ".h5", ".joblib", ".pickle", ".pkl", ".pt", ".pth", ".py"))
"""Files that hold, or may hold, code: never opened, whatever their hash."""
NOTES = frozenset((".md", ".png", ".svg"))
"""Files beside a model that no loader reads."""
CHECKPOINT = "checkpoint.pt"
"""The state of a training, of numbers alone; it is opened by itself, never as part of a model."""


def shipped(path: Path, name: str = "") -> Path:
    """A model file that comes with EnergyComm or a package.

    Args:
      path: the file.
      name: its name in `SHIPPED`; that of the file when empty.

    Raises:
      UserError: it is another one.
    """
    found, expected = _sha256(path), SHIPPED[name or path.name]
    if found != expected:
        raise UserError(f"{path} has SHA-256 {found}, expected is {expected}.", "Install EnergyComm's assistant again.")
    return path


def checked(model: str | Path) -> Path:
    """A model that may be opened: trained here, or accepted in assistant.toml.

    Args:
      model: file or folder.

    Raises:
      UserError: there is none, it may hold code, or its hash is not known.
    """
    path = Path(model)
    hashes = _hashes(path)
    _refuse_code(path, hashes)
    remembered = _remembered()
    if all(sha in remembered for sha in hashes.values()):
        return path
    whole = fingerprint(path)
    from assistant.config import load_config

    if whole in load_config().models:
        return path
    odd = next(file for file, sha in hashes.items() if sha not in remembered)
    expected = next((sha for sha, names in remembered.items() if str(odd.resolve()) in names), None)
    changed = f" {odd} has SHA-256 {hashes[odd]}, expected is {expected}." if expected else ""
    raise UserError(
        f"The model {model} has SHA-256 {whole}, which is not known here.{changed}",
        f'Where you trust it, write models = ["{whole}"] into assistant.toml; else train or fetch it again.',
    )


def pretrained(kind: Any, model: str | Path, **options: Any) -> Any:
    """A model, tokenizer or configuration of transformers, from a checked folder; nothing is fetched, no code is run.

    Args:
      kind: class with `from_pretrained`.
      model: the folder.
      options: for `from_pretrained`.

    Raises:
      UserError: it may not be opened.
      OSError: transformers cannot read it; or ValueError.
    """
    folder = str(checked(model))
    safe = {"local_files_only": True, "trust_remote_code": False}
    return kind.from_pretrained(folder, **safe, **options)


def remember(model: Path) -> None:
    """Write down that a model was made here: its files may be opened from now on."""
    registry = _registry(model)
    _make_folder(registry.parent)
    made = {str(file.resolve()): sha for file, sha in _hashes(model).items()}
    with _locked(registry):
        known = {file: sha for file, sha in _read(registry).items() if file in made or Path(file).exists()}
        descriptor, draft = tempfile.mkstemp(prefix=f".{REGISTRY}-", dir=registry.parent)  # readable by us alone
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(known | made, file, indent=1, sort_keys=True)
        Path(draft).replace(registry)


def known(model: Path) -> bool:
    """Whether a model is there as it was made here."""
    remembered = _remembered()
    return model.exists() and all(sha in remembered for sha in _hashes(model).values())


def fingerprint(model: Path) -> str:
    """The SHA-256 of a file; of a folder, that of the lines `SHA-256, two spaces, ./name`, in the order of names."""
    hashes = _hashes(model)
    if model.is_file():
        return hashes[model]
    lines = sorted((f"./{file.relative_to(model).as_posix()}", sha) for file, sha in hashes.items())
    return hashlib.sha256("".join(f"{sha}  {name}\n" for name, sha in lines).encode()).hexdigest()


def _hashes(path: Path) -> dict[Path, str]:
    """File -> SHA-256, of a model's files.

    Raises:
      UserError: there are none.
    """
    if path == Path():
        raise UserError("No model is named: there is no such file.", "Name the file or folder of a model.")
    files = [path] if path.is_file() else [file for file in sorted(path.rglob("*")) if _counts(file, path)]
    if not files:
        raise UserError(
            f"The model {path} cannot be opened: there is no such file, or folder with files.",
            "Name a file or folder; a model of a hub is downloaded first, into a folder.",
        )
    return {file: _sha256(file) for file in files}


def _counts(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return file.is_file() and not hidden and file.suffix.lower() not in NOTES and file.name != CHECKPOINT


def _refuse_code(path: Path, files: dict[Path, str]) -> None:
    for file in files:
        if file.suffix.lower() in UNSAFE and file.name != CHECKPOINT:
            raise UserError(
                f"The model {path} holds {file.name}, a kind of file that may hold code.",
                "Use safetensors, npz, ONNX or GGUF; if there is such a file too, remove this one.",
            )


def _sha256(path: Path) -> str:
    about = path.stat()
    return _hashed(path, about.st_size, about.st_mtime_ns, about.st_ino)


@lru_cache(maxsize=4096)
def _hashed(path: Path, _size: int, _changed: int, _inode: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cache_folder() -> Path:
    """Where models lie that are written from a package: the same for all of a user's indexes."""
    from platformdirs import user_cache_path

    return user_cache_path("energycomm") / "models"


def _registry(model: Path) -> Path:
    if model.resolve().is_relative_to(cache_folder().resolve()):
        return cache_folder() / REGISTRY
    return _own_registry()


def _own_registry() -> Path:
    """The registry of the index that the configuration names."""
    from assistant.config import load_config

    return load_config().folder / REGISTRY


def _remembered() -> dict[str, list[str]]:
    """SHA-256 -> files that had it when they were made here."""
    found: dict[str, list[str]] = {}
    for registry in {_own_registry(), cache_folder() / REGISTRY}:
        for file, sha in _read(registry).items():
            found.setdefault(sha, []).append(file)
    return found


def _read(registry: Path) -> dict[str, str]:
    try:
        content = json.loads(registry.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"{registry} cannot be read: {error}.", "Remove it and train the models again.") from None
    return {str(file): str(sha) for file, sha in content.items()} if isinstance(content, dict) else {}


def _make_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


@contextmanager
def _locked(registry: Path) -> Iterator[None]:
    """One process at a time: two trainings that end together are both written down."""
    with registry.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
