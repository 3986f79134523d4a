"""The sender of an EDIFACT interchange is told what was read of it, by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.end_to_end.conftest import Place


def test_an_interchange_is_answered_by_a_contrl_and_a_document_by_nothing(
    place: Callable[..., Place], project_root: Path, tmp_path: Path
) -> None:
    here = place()
    folder = project_root / "fixtures" / "be"
    here.process(folder / "utilmd_start_and_data.edi")
    here.process(folder / "responses.xml")
    out = tmp_path / "contrl.edi"
    assert here("envelope", "acknowledge", 1, "--out", out).code == 0
    text = out.read_text("latin-1")
    assert text.startswith("UNA:+.? 'UNB+UNOC:3+")
    assert "CONTRL" in text
    assert text.count("UCM+") >= 1
    assert "exists already" in here("envelope", "acknowledge", 1, "--out", out).err
    assert "wants no such answer" in here("envelope", "acknowledge", 2).err
    assert "no envelope 9" in here("envelope", "acknowledge", 9).err
