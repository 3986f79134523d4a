"""What is installed is what was written down: versions, hashes, licences, the bill of materials, the base image."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from energycomm.documentation.licences import UNKNOWN, allowed, licence_of, packages, page, pins, refused, scripts
from tests.machine import lacks

EXTRAS = {
    "durable": ("durable",),
    "cluster": ("cluster",),
    "assistant": ("assistant",),
    "assistant-training": ("assistant", "assistant-training", "torch"),
    "test": ("test",),
    "lint": ("lint",),
}
"""Extra -> endings of the constraints files that are installed beside constraints.txt."""

PIN = re.compile(r"^([a-z0-9.-]+)==([^\s;\\]+)[^\n\\]*((?:\\\n[^\n\\]*)*)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}(?= |$)", re.MULTILINE)


def files(root: Path) -> list[Path]:
    return sorted(root.glob("constraints*.txt"))


def without_hash(text: str) -> list[str]:
    """Lines of packages that pip would not check."""
    found = [f"{name}=={version}" for name, version, hashes in PIN.findall(text) if not HASH.search(hashes)]
    rest = PIN.sub("", text)
    return found + [line for line in rest.splitlines() if line.strip() and not line.lstrip().startswith("#")]


@pytest.fixture
def project(project_root: Path) -> dict[str, Any]:
    return tomllib.loads((project_root / "pyproject.toml").read_text("utf-8"))


def pinned(root: Path, *endings: str) -> dict[str, str]:
    """Package -> version, of constraints.txt and further files."""
    found = pins(root / "constraints.txt")
    for ending in endings:
        found |= pins(root / f"constraints-{ending}.txt")
    return found


def uncovered(requirements: list[str], held: dict[str, str]) -> list[str]:
    """Requirements for this machine that no pin satisfies."""
    wanted = [Requirement(text) for text in requirements]
    return [
        str(one)
        for one in wanted
        if (one.marker is None or one.marker.evaluate({"extra": ""}))
        and not one.specifier.contains(held.get(canonicalize_name(one.name), "0.dev0"), prereleases=True)
    ]


def test_every_pinned_package_has_hashes(project_root: Path) -> None:
    """What has none would be installed unseen."""
    assert {file.name: without_hash(file.read_text("utf-8")) for file in files(project_root)} == {
        file.name: [] for file in files(project_root)
    }
    assert sum(len(pins(file)) for file in files(project_root)) > 150


def test_a_pin_without_hash_or_version_is_found() -> None:
    """The check above finds what it looks for."""
    sha = "0" * 64
    good = f"a-b==1.0 ; python_version < '3.13' \\\n    --hash=sha256:{sha} \\\n    --hash=sha256:{sha}\n"
    assert without_hash(good) == []
    assert without_hash(good + "c==2\n") == ["c==2"]
    assert without_hash(f"d==2 \\\n    --hash=sha256:{sha[1:]}\n") == ["d==2"]
    assert without_hash(f"e==2 \\\n    --hash=md5:{sha[:32]}\n") == ["e==2"]
    assert without_hash("f>=2\n") == ["f>=2"]


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_what_the_package_asks_for_is_pinned(project: dict[str, Any], project_root: Path, extra: str) -> None:
    """Each dependency, and each extra's, within its range."""
    asked = project["project"]["optional-dependencies"][extra] if extra else project["project"]["dependencies"]
    assert uncovered(asked, pinned(project_root, *EXTRAS.get(extra, ()))) == []
    assert uncovered(["nowhere>=1", "lxml<1"], pinned(project_root)) == ["nowhere>=1", "lxml<1"]


def test_what_builds_the_package_is_pinned(project: dict[str, Any], project_root: Path) -> None:
    """The build backend is no less trusted than what it builds."""
    asked = [*project["build-system"]["requires"], *project["dependency-groups"]["build"]]
    assert uncovered(asked, pins(project_root / "constraints-build.txt")) == []


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_nothing_that_is_pinned_needs_what_is_not(project_root: Path, extra: str) -> None:
    """The files are complete: pip finds nothing else to fetch. Packages that are not installed here cannot be asked."""
    held = pinned(project_root, *EXTRAS.get(extra, ()))
    missing = {}
    for name in held:
        try:
            needs = requires(name) or []
        except PackageNotFoundError:
            continue
        # Some builds of torch bring libraries for GPUs, which are the one thing that is not pinned.
        rest = [need for need in uncovered(needs, held) if not re.match(r"nvidia|cuda|triton", need)]
        if rest:
            missing[name] = rest
    assert missing == {}


def test_one_package_has_one_version(project_root: Path) -> None:
    """In whatever file it stands."""
    versions: dict[str, set[str]] = {}
    for file in files(project_root):
        for name, version in pins(file).items():
            versions.setdefault(name, set()).add(version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def test_every_install_checks_hashes_or_fetches_nothing(project_root: Path) -> None:
    """Of the Makefile and the image; torch's libraries for GPUs are the exception that the documentation names."""
    text = "".join((project_root / name).read_text("utf-8") for name in ("Makefile", "deploy/Containerfile"))
    installs = [line for line in text.splitlines() if re.search(r"(\$\(PIP\)|bin/pip) (install|wheel)", line)]
    odd = [line.strip() for line in installs if "--require-hashes" not in line and "--no-index" not in line]
    assert len(installs) >= 6
    assert len(odd) == 1
    assert odd[0].startswith("@$(PIP) install --quiet $(TORCH)")


def test_no_package_has_a_licence_that_is_not_allowed(project_root: Path) -> None:
    """Each of the gateway's and the assistant's."""
    assert refused(project_root) == []


@pytest.mark.parametrize(
    ("expression", "fine"),
    [
        ("MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND BSD-3-Clause", True),
        ("MIT AND GPL-3.0-only", False),
        ("AGPL-3.0-or-later", False),
        (UNKNOWN, False),
        ("", False),
    ],
)
def test_a_licence_is_allowed_when_one_of_its_choices_is(expression: str, *, fine: bool) -> None:
    """All parts of a choice have to be."""
    assert allowed(expression) is fine


def test_a_package_without_known_licence_is_refused(tmp_path: Path) -> None:
    """A new dependency, whose row is not there yet."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "constraints.txt").write_text("never-heard-of==1.0 \\\n    --hash=sha256:00\n", "utf-8")
    for name in ("assistant", "assistant-training", "torch", "reranker"):
        (tmp_path / f"constraints-{name}.txt").write_text("", "utf-8")
    (found,) = refused(tmp_path)
    assert found == ("never-heard-of", "1.0", UNKNOWN)
    # What another environment wrote down of this very version is kept, and not of another.
    (tmp_path / "docs" / "licences.md").write_text("| never-heard-of | 1.0 | MIT |\n", "utf-8")
    assert refused(tmp_path) == []
    assert "| never-heard-of | 1.0 | MIT |" in page(tmp_path)
    (tmp_path / "docs" / "licences.md").write_text("| never-heard-of | 0.9 | MIT |\n", "utf-8")
    assert len(refused(tmp_path)) == 1


def test_licences_are_those_of_the_packages(project_root: Path) -> None:
    """Some that are known by heart, each said in another field of the metadata."""
    known = {"lxml": "BSD-3-Clause", "paramiko": "LGPL-2.1", "certifi": "MPL-2.0", "jinja2": "BSD-3-Clause"}
    versions = pinned(project_root)
    assert {name: licence_of(name, versions[name]) for name in known} == known
    assert licence_of("lxml", "0.1") is None


def test_every_script_of_others_is_told(project_root: Path) -> None:
    """A .js file beside a VENDORED.txt that does not name it, or in a folder without one, would be missed."""
    shipped = {path.relative_to(project_root).as_posix() for path in project_root.glob("*/*/static/*.min.js")}
    assert shipped <= {script.path for script in scripts(project_root)}
    assert len(scripts(project_root)) == 3


@pytest.mark.thorough
def test_the_bill_of_materials_names_every_pin_and_follows_the_schema(project_root: Path) -> None:
    """By the validator of CycloneDX."""
    if find_spec("cyclonedx") is None:
        lacks("the lint tools are not installed (make lint)")
    from energycomm.documentation.sbom import bill, problem

    text = bill(project_root)
    content = json.loads(text)
    assert content["bomFormat"] == "CycloneDX"
    named = {(one["name"], one["version"]) for one in content["components"] if one["purl"].startswith("pkg:pypi/")}
    assert named == set(pinned(project_root, "assistant", "assistant-training", "torch", "reranker").items())
    required = {one["name"] for one in content["components"] if one["scope"] == "required"}
    assert required == {*pins(project_root / "constraints.txt"), "htmx.org", "htmx-ext-sse"}
    assert all(one["licenses"] for one in content["components"])
    needs = {one["ref"]: one.get("dependsOn", []) for one in content["dependencies"]}
    assert {"sqlalchemy", "mako"} <= set(needs["alembic"])
    content["components"][0]["type"] = "nonsense"
    assert problem(json.dumps(content)) is not None


@pytest.mark.parametrize(
    ("base", "taken"),
    [
        ("example.org/python@sha256:" + "0a" * 32, True),
        ("example.org/python:3.11-slim@sha256:" + "0a" * 32, True),
        ("example.org/python:3.11-slim", False),
        ("example.org/python@sha256:" + "0a" * 31, False),
        ("example.org/python@sha256:" + "0A" * 32, False),
        ("", False),
    ],
)
def test_the_image_is_built_on_a_digest_alone(project_root: Path, base: str, *, taken: bool) -> None:
    """The first step of the build ends it when the base is named by a tag."""
    text = (project_root / "deploy" / "Containerfile").read_text("utf-8")
    begun, stages = zip(*re.findall(r"^FROM (\S+) AS (\S+)$", text, re.MULTILINE), strict=True)
    assert len(begun) == len(re.findall("^FROM ", text, re.MULTILINE))
    assert set(begun) - set(stages) == {"${BASE}"}
    assert re.search(r"^ARG BASE=", text, re.MULTILINE) is None
    (step,) = re.findall(r"^RUN (expr .*)$", text, re.MULTILINE)
    done = subprocess.run(["sh", "-c", step], env={**os.environ, "BASE": base}, capture_output=True, check=False)
    assert (done.returncode == 0) is taken


def test_every_exception_to_a_rule_of_security_has_its_reason(project_root: Path, project: dict[str, Any]) -> None:
    """`noqa: S...` of ruff and `nosec` of bandit are followed by words."""
    bare = []
    for folder in ("energycomm", "adapters", "rules", "assistant", "benchmarks"):
        for path in sorted((project_root / folder).rglob("*.py")):
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                marked = re.search(r"#\s*(?:ruff: )?noqa: [^-#]*\bS\d{3}(.*)|#\s*nosec\b(?: B\d{3})?(.*)", line)
                if marked and not re.search(r"[-#] \w+", marked[1] or marked[2] or ""):
                    bare.append(f"{path.relative_to(project_root)}:{number}")
    assert bare == []


def test_what_bandit_leaves_out_is_checked_by_ruff(project: dict[str, Any]) -> None:
    """B102 is S102 there; assert and the mere import of subprocess are no danger by themselves."""
    lint = project["tool"]["ruff"]["lint"]
    assert "S" in lint["select"]
    left = {f"S{code[1:]}" for code in project["tool"]["bandit"]["skips"]} - {"S101", "S404"}
    assert left.isdisjoint(lint["ignore"])
    assert not any(code.startswith("S") and code[1:].isdigit() and code != "S101" for code in lint["ignore"])


def test_the_tables_of_licences_are_of_what_is_pinned(project_root: Path) -> None:
    """As many rows as pins, in each part."""
    found = {part: len(content) for part, content in packages(project_root).items()}
    assert found == {
        "The gateway": len(pins(project_root / "constraints.txt")),
        "The assistant, an extra": len(pinned(project_root, "assistant", "assistant-training", "torch", "reranker"))
        - len(pins(project_root / "constraints.txt")),
    }
