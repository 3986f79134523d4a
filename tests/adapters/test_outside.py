"""A market in a package outside this repository: found by its entry point, held to the contract, measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from adapters.common.draft import write_draft
from energycomm.errors import ExitCode

ROOT = Path(__file__).resolve().parents[2]
FICTIVE = ROOT / "fixtures" / "fictive"
SAMPLES = [FICTIVE / "envelopes" / "RUR_LUMINARIA_00001_20260302060000.xml", FICTIVE / "envelopes" / "reply.xml"]


class Outside:
    """A place of its own, with packages whose entry points are on the path."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, [ROOT]

    def install(self, package: Path, described: Path) -> None:
        """Put a package on the path, with the metadata that its project file gives.

        Args:
          package: folder of the package.
          described: its pyproject.toml.
        """
        project = tomllib.loads(described.read_text())["project"]
        site = self.folder / f"site-{package.name}"
        metadata = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        metadata.mkdir(parents=True)
        about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        (metadata / "METADATA").write_text(about)
        (points,) = project["entry-points"].items()
        lines = [f"{name} = {target}" for name, target in points[1].items()]
        (metadata / "entry_points.txt").write_text("\n".join([f"[{points[0]}]", *lines, ""]))
        self.path += [site, package.parent]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`energycomm` in the folder."""
        return subprocess.run(
            [sys.executable, "-c", "import sys; from energycomm.cli import main; sys.exit(main())", *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, self.path))},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def outside(tmp_path: Path) -> Outside:
    return Outside(tmp_path)


def drafted(outside: Outside) -> Path:
    """The package of a draft of Ruritania, installed."""
    draft = write_draft(
        "zz", [FICTIVE / "ruritania" / "dispatch.xsd"], SAMPLES, outside.folder, package="zz_post", zone="Europe/Prague"
    )
    outside.install(draft.folder, draft.folder.parent / "pyproject.toml")
    return draft.folder


def answers(run: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run.stdout)
    return found


@pytest.mark.thorough
def test_the_suite_runs_on_a_package_that_is_not_ours(outside: Outside) -> None:
    outside.install(FICTIVE / "ruritania", FICTIVE / "pyproject.toml")
    run = outside.run("adapter", "check", "zz", "--fixtures", str(FICTIVE / "envelopes"), "--json")
    assert run.returncode == ExitCode.OK, run.stderr
    found = answers(run)
    assert {one["outcome"] for one in found} == {"passed", "not shown"}
    assert {one["check"] for one in found if one["outcome"] == "not shown"} == {"answer"}
    built = {one["of"] for one in found if one["check"] == "complete request"}
    assert built == {"SupplierSwitchRequest", "EndOfSupplyRequest", "ReceivedRequestAnswer"}
    schemas = {one["found"] for one in found if one["check"] == "request schema"}
    assert schemas == {"petition.xsd, Petition"}


@pytest.mark.thorough
def test_a_draft_passes_the_suite_and_its_leaves_are_counted(outside: Outside) -> None:
    drafted(outside)
    run = outside.run("adapter", "check", "zz")
    assert run.returncode == ExitCode.OK, run.stdout
    assert run.stdout.splitlines()[-1].endswith(", 0 failed, 0 not shown")
    counted = outside.run("adapter", "coverage", "zz")
    lines = [line.split("\t") for line in counted.stdout.splitlines()]
    # By dispatch.xsd: three leaves of the header and 5, 5 and 7 of the pieces; three, and seven of a verdict.
    assert [line[:3] for line in lines] == [["ZZ", "Dispatch", "20"], ["ZZ", "Reply", "10"], ["ZZ", "all", "30"]]
    assert {line[-1] for line in lines} == {"0"}


@pytest.mark.thorough
def test_what_is_wrong_in_a_package_is_told_and_ends_in_1(outside: Outside) -> None:
    table = drafted(outside) / "table.yaml"
    written = table.read_text()
    table.write_text("\n".join(line for line in written.splitlines() if "Why: [particular" not in line) + "\n")
    run = outside.run("adapter", "check", "zz", "--json")
    assert run.returncode == ExitCode.REJECTED
    failed = {one["check"]: one for one in answers(run) if one["outcome"] == "failed"}
    assert "Begin/Why is neither carried nor left out with a reason" in failed["ledger"]["found"]
    assert failed["ledger"]["advice"]
    table.write_text(written.replace("makes: AccessPointData", "makes: AccessPointDate", 1))
    broken = outside.run("adapter", "check", "zz")
    assert broken.returncode == ExitCode.USAGE
    assert "table.yaml:" in broken.stderr
    assert "there is no Kernel kind 'AccessPointDate'" in broken.stderr
    assert "Traceback" not in broken.stderr


@pytest.mark.thorough
def test_a_type_without_a_fixture_is_not_shown(outside: Outside) -> None:
    package = drafted(outside)
    (package.parent / "fixtures" / "reply.xml").unlink()
    run = outside.run("adapter", "check", "zz")
    assert run.returncode == ExitCode.OK, run.stdout
    assert "not shown: type Reply: no fixture is of this type" in run.stdout.splitlines()


@pytest.mark.thorough
def test_what_has_to_be_refused_stands_in_a_folder_of_its_own(outside: Outside) -> None:
    package = drafted(outside)
    refused = package.parent / "fixtures" / "refused"
    refused.mkdir()
    (refused / "letter.xml").write_text("<Letter/>")
    (refused / "good.xml").write_bytes(SAMPLES[0].read_bytes())
    found = [one for one in answers(outside.run("adapter", "check", "zz", "--json")) if one["check"] == "refused"]
    assert {one["of"]: one["outcome"] for one in found} == {"letter.xml": "passed", "good.xml": "failed"}


@pytest.mark.thorough
def test_two_packages_of_one_market_are_refused_with_both_names(outside: Outside) -> None:
    outside.install(FICTIVE / "ruritania", FICTIVE / "pyproject.toml")
    drafted(outside)
    run = outside.run("adapter", "check", "zz")
    assert run.returncode == ExitCode.USAGE
    assert "Two adapters are of the market ZZ: " in run.stderr
    assert {"ruritania:adapter", "zz_post:adapter"} <= set(run.stderr.replace(".", " ").split())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("adapter", "check", "qq"), "The market QQ is not installed."),
        (("adapter", "check", "zz", "--fixtures", "none"), "There are no fixtures in none."),
    ],
)
def test_what_cannot_be_checked_is_told(outside: Outside, arguments: tuple[str, ...], said: str) -> None:
    drafted(outside)
    run = outside.run(*arguments)
    assert (run.returncode, said in run.stderr) == (ExitCode.USAGE, True)


@pytest.mark.thorough
def test_a_market_whose_schema_is_not_known_is_told(outside: Outside) -> None:
    table = drafted(outside) / "table.yaml"
    lines = [line for line in table.read_text().splitlines() if "schema:" not in line]
    table.write_text("\n".join(lines) + "\n")
    run = outside.run("adapter", "coverage", "zz")
    assert run.returncode == ExitCode.USAGE
    assert "No schema of what ZZ sends is known" in run.stderr
    checked = outside.run("adapter", "check", "zz")
    assert "not shown: ledger: no schema is known of Dispatch, Reply" in checked.stdout.splitlines()
