"""`python -m energycomm.documentation.sbom FILE`: the bill of materials (SBOM) of this version, as CycloneDX JSON.

It names what the wheel needs (required), what the assistant adds (optional), and the files of others that are shipped
along, with licences and who needs whom. It is checked against CycloneDX's own schema before it is written.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from energycomm.documentation.licences import PARTS, Package, Script, packages, scripts

ROOT = Path(__file__).resolve().parents[2]
"""The source: constraints and the package's definition lie there, not in a wheel."""
VERSION = SchemaVersion.V1_6


def bill(root: Path) -> str:
    """The SBOM as JSON.

    Args:
      root: folder of pyproject.toml and constraints*.txt.

    Raises:
      ValueError: what was made does not follow the schema of CycloneDX.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    bom = Bom()
    own = Component(
        name=project["name"],
        version=project["version"],
        type=ComponentType.APPLICATION,
        purl=PackageURL("pypi", None, project["name"], project["version"]),
        licenses=[LicenseFactory().make_from_string(project["license"])],
    )
    bom.metadata.component = own
    required, *_ = PARTS
    made: dict[str, Component] = {}
    for part, content in packages(root).items():
        scope = ComponentScope.REQUIRED if part == required else ComponentScope.OPTIONAL
        made |= {package.name: _library(package, scope) for package in content}
    shipped = [_script(root, script) for script in scripts(root)]
    for component in (*made.values(), *shipped):
        bom.components.add(component)
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["assistant"], *extras["assistant-training"]]
    bom.register_dependency(own, [*_named(asked, made), *shipped])
    for name, component in made.items():
        bom.register_dependency(component, _named(_requirements(name), made))
    text = make_outputter(bom, OutputFormat.JSON, VERSION).output_as_string(indent=1)
    trouble = problem(text)
    if trouble is not None:
        raise ValueError(f"the SBOM does not follow the schema: {trouble}")
    return text


def problem(text: str) -> Any | None:
    """What is wrong with a CycloneDX document by its schema; None where nothing is."""
    return JsonStrictValidator(VERSION).validate_str(text)


def _library(package: Package, scope: ComponentScope) -> Component:
    return Component(
        name=package.name,
        version=package.version,
        type=ComponentType.LIBRARY,
        scope=scope,
        bom_ref=package.name,
        purl=PackageURL("pypi", None, package.name, package.version),
        licenses=[LicenseFactory().make_from_string(package.licence)],
    )


def _script(root: Path, script: Script) -> Component:
    content = (root / script.path).read_bytes()
    return Component(
        name=script.package,
        version=script.version,
        type=ComponentType.LIBRARY,
        scope=ComponentScope.REQUIRED,
        bom_ref=script.path,
        purl=PackageURL("npm", None, script.package, script.version, subpath=script.path),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(content).hexdigest())],
        licenses=[LicenseFactory().make_from_string(script.licence)],
    )


def _requirements(name: str) -> list[str]:
    try:
        return [text for text in requires(name) or () if "extra ==" not in text]
    except PackageNotFoundError:
        return []


def _named(requirements: Iterable[str], made: dict[str, Component]) -> list[Component]:
    names = [re.split(r"[^A-Za-z0-9._-]", text)[0] for text in requirements]
    known = (re.sub(r"[._-]+", "-", name).lower() for name in names)
    return [made[name] for name in dict.fromkeys(known) if name in made]


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(bill(ROOT) + "\n", "utf-8")
    sys.stdout.write(f"{target} was written\n")
