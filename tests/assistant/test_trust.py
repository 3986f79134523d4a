"""A model is opened when its SHA-256 is known: shipped, made here, or accepted by a person; all else is refused."""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assistant import trust
from assistant.knowledge import releasedvectors
from assistant.trust import checked, fingerprint, known, remember, shipped
from energycomm.errors import UserError


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder with the files of a model; nobody has written down their hashes."""
    folder = tmp_path / "model"
    (folder / "adapter").mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "adapter" / "config.json").write_text("{}", "utf-8")
    (folder / "README.md").write_text("notes", "utf-8")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "lock").write_text("", "utf-8")
    return folder


def accept(monkeypatch: pytest.MonkeyPatch, *hashes: str) -> None:
    monkeypatch.setenv("ASSISTANT_MODELS", json.dumps(hashes))


def test_a_model_that_nobody_knows_is_refused_with_its_hash_and_what_to_do(model: Path) -> None:
    found = fingerprint(model)
    with pytest.raises(UserError, match=f"has SHA-256 {found}, which is not known here") as refused:
        checked(model)
    assert f'models = ["{found}"]' in refused.value.advice


def test_a_model_that_was_made_here_is_opened_and_its_notes_may_change(model: Path) -> None:
    assert not known(model)
    remember(model)
    (model / "README.md").write_text("other notes", "utf-8")
    (model / "loss.png").write_bytes(b"a picture")
    assert known(model)
    assert checked(model) == model
    assert checked(model / "adapter") == model / "adapter"


@pytest.mark.parametrize("name", ["model.safetensors", "adapter/config.json"])
def test_a_file_that_was_changed_is_named_with_both_hashes(model: Path, name: str) -> None:
    remember(model)
    before, after = (hashlib.sha256(content).hexdigest() for content in ((model / name).read_bytes(), b"others"))
    (model / name).write_bytes(b"others")
    with pytest.raises(UserError, match=f"{name} has SHA-256 {after}, expected is {before}"):
        checked(model)
    assert not known(model)


def test_a_file_that_was_added_makes_it_another_model(model: Path) -> None:
    remember(model)
    (model / "model-00002.safetensors").write_bytes(b"more")
    with pytest.raises(UserError, match="not known"):
        checked(model)


def test_a_person_accepts_a_model_by_its_hash(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accept(monkeypatch, "0" * 64, fingerprint(model))
    assert checked(model) == model
    (model / "model.safetensors").write_bytes(b"others")
    with pytest.raises(UserError, match="not known"):
        checked(model)


def test_the_setting_stands_in_the_file_too(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    Path("assistant.toml").write_text(f'models = ["{fingerprint(model)}"]\n', "utf-8")
    assert checked("model") == Path("model")


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum here")
def test_the_hash_of_a_folder_is_what_ordinary_tools_say(model: Path) -> None:
    """So a person can check it without us, as docs/supply-chain.md tells."""
    command = "find . -type f -not -path '*/.*' -not -name '*.md' | LC_ALL=C sort | xargs sha256sum | sha256sum"
    said = subprocess.run(["sh", "-c", command], cwd=model, capture_output=True, text=True, check=True).stdout
    assert fingerprint(model) == said.split()[0]
    said = subprocess.run(["sha256sum", model / "model.safetensors"], capture_output=True, text=True, check=True).stdout
    assert fingerprint(model / "model.safetensors") == said.split()[0]


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.PKL", "judge.joblib", "adapter/model.pt", "modeling.py"])
def test_a_file_that_may_hold_code_is_never_opened(model: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where its hash is known."""
    (model / name).write_bytes(b"cos\nsystem\n")
    remember(model)
    accept(monkeypatch, fingerprint(model))
    with pytest.raises(UserError, match="may hold code"):
        checked(model)
    with pytest.raises(UserError, match="may hold code"):
        checked(model / name)


@pytest.mark.parametrize("name", ["nowhere", "intfloat/multilingual-e5-small", ""])
def test_a_name_of_a_hub_is_no_model(name: str, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is fetched when a model is opened; no name is not the folder one stands in."""
    monkeypatch.chdir(model)
    with pytest.raises(UserError, match="no such file"):
        checked(name)


def test_a_shipped_model_that_was_changed_is_refused(tmp_path: Path, project_root: Path) -> None:
    ours = project_root / "assistant" / "rationale" / "models" / "light.npz"
    assert shipped(ours) == ours
    other = tmp_path / "light.npz"
    other.write_bytes(ours.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError, match=f"expected is {trust.SHIPPED['light.npz']}"):
        shipped(other)


def test_every_shipped_model_has_the_hash_that_is_written_down(project_root: Path) -> None:
    """Whoever trains one again writes its hash beside the others; vectors of texts are no model."""
    found = (project_root / "assistant").rglob("*.np[zy]")
    files = {path.name: path for path in found if path.name != releasedvectors.FILE}
    assert files.keys() <= trust.SHIPPED.keys()
    assert [shipped(path).name for path in files.values()] == list(files)


def test_a_changed_file_is_read_again_though_its_size_is_the_same(model: Path) -> None:
    remember(model)
    file = model / "model.safetensors"
    assert known(model)
    file.write_bytes(b"WEIGHTS")
    assert not known(model)


def test_the_registry_is_ours_alone_and_forgets_what_is_gone(model: Path, registry: Path) -> None:
    remember(model)
    assert registry.stat().st_mode & 0o777 == 0o600
    assert str(model / "model.safetensors") in json.loads(registry.read_bytes())
    (model / "model.safetensors").unlink()
    remember(model / "adapter")
    assert str(model / "model.safetensors") not in json.loads(registry.read_bytes())


def test_a_registry_that_is_broken_is_told_in_words(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "_own_registry", lambda: tmp_path / "broken.json")
    (tmp_path / "broken.json").write_text("{", "utf-8")
    with pytest.raises(UserError, match=r"broken.json cannot be read"):
        checked(model)


def test_trainings_that_end_together_are_all_written_down(tmp_path: Path, project_root: Path) -> None:
    """Several processes write the one registry."""
    code = (
        "import os, sys, pathlib; from assistant.trust import remember\n"
        "for n in range(20):\n"
        "    file = pathlib.Path(f'{sys.argv[1]}-{n}.npz'); file.write_text(str(file)); remember(file)\n"
    )
    environment = {"ASSISTANT_FOLDER": str(tmp_path / "index"), "PYTHONPATH": str(project_root), "HOME": str(tmp_path)}
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / f"model{n}")], cwd=tmp_path, env=environment)
        for n in range(3)
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(json.loads((tmp_path / "index" / "models.json").read_bytes())) == 60


def test_a_cross_encoder_that_nobody_knows_is_not_opened(tmp_path: Path) -> None:
    """Before the file reaches the engine that runs it."""
    from assistant.retrieval.reranker import open_reranker

    (tmp_path / "model.onnx").write_bytes(b"no ONNX at all")
    (tmp_path / "tokenizer.json").write_text("{}", "utf-8")
    with pytest.raises(UserError, match="not known here"):
        open_reranker(str(tmp_path))


LOADERS = {
    ("assistant/chat/generators.py", "Llama"): "checked in the call",
    ("assistant/classifier/baselines.py", "load"): "of a folder that open_model checked",
    ("assistant/classifier/bases.py", "from_pretrained"): "checked in the call",
    ("assistant/classifier/training.py", "load"): "checked in the call; a checkpoint, weights alone",
    ("assistant/knowledge/bundled.py", "InferenceSession"): "made here, of weights that Packed checked",
    ("assistant/knowledge/embedding.py", "SentenceTransformer"): "checked in the call",
    ("assistant/knowledge/lexical.py", "load"): "counts of words, no model; without pickle",
    ("assistant/knowledge/projection.py", "load"): "checked in the call",
    ("assistant/knowledge/releasedvectors.py", "load"): "vectors of texts, no model; without pickle",
    ("assistant/knowledge/vectors.py", "load"): "vectors of passages, no model; without pickle",
    ("assistant/operations/likeness.py", "load"): "checked in the call",
    ("assistant/rationale/classifier.py", "from_pretrained"): "checked in the call",
    ("assistant/rationale/light.py", "load"): "of a file that Light.load checked",
    ("assistant/retrieval/reranker.py", "InferenceSession"): "of a folder that is checked before",
    ("assistant/trust.py", "from_pretrained"): "checked there",
}
"""Where a library opens a model: file and call -> why what it opens is known."""


def test_no_library_opens_a_model_that_was_not_checked(project_root: Path) -> None:
    """A new place has to be thought of, and written into the table above."""
    found = set()
    for path in sorted((project_root / "assistant").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            of = getattr(getattr(node.func, "value", None), "id", "")
            if name in ("from_pretrained", "InferenceSession", "Llama", "SentenceTransformer", "load_file") or (
                name == "load" and of in ("np", "numpy", "torch", "joblib", "pickle")
            ):
                found.add((path.relative_to(project_root).as_posix(), name))
    assert found == set(LOADERS)
