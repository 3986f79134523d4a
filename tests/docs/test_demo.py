"""The demonstration of `make demo` runs to its end and shows what it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_four_markets_are_shown_in_both_directions(project_root: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ENERGYCOMM_")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    shown = subprocess.run(
        ["sh", "docs/demo.sh", str(tmp_path)],
        cwd=project_root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    answered = shown.stdout.rpartition("== 3.")[2].partition("== 4.")[0]
    for market, state in (("FR", "done"), ("NL", "done"), ("BE", "acknowledged"), ("DK", "done")):
        row = next(line.split() for line in answered.splitlines() if line.split()[1:2] == [market] and "\t" in line)
        assert state in row
    for point in ("99000000000303", "871999910000000065", "541449000000001079", "571313199900000053"):
        assert f"access point:       {point}" in shown.stdout
    assert "Traceback" not in shown.stdout + shown.stderr


def test_the_requests_of_the_demonstration_are_of_every_market(project_root: Path) -> None:
    names = {path.stem for path in (project_root / "fixtures" / "requests").glob("*.json")}
    script = (project_root / "docs" / "demo.sh").read_text()
    assert names == {"be", "dk", "fr", "nl"}
    assert "for market in fr nl be dk" in script
    assert all(f"fixtures/{name}" in script for name in names)
