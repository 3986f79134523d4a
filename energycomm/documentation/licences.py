"""The licence of everything that is installed or shipped along, from the packages' own metadata, and which are allowed.

What is pinned in constraints*.txt is looked up among the installed packages. A pinned package that is not installed
here (the assistant's, mostly) keeps its row of the page, as long as the version is the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import NamedTuple

PARTS = {
    "The gateway": ("constraints.txt",),
    "The assistant, an extra": (
        "constraints-assistant.txt",
        "constraints-assistant-training.txt",
        "constraints-torch.txt",
        "constraints-reranker.txt",
    ),
}
"""Heading -> files with the pins."""

LIBRARY = "copyleft of the library, which we import unchanged and which anyone can replace by another version"

ALLOWED = {
    "0BSD": "asks for nothing",
    "Apache-2.0": "permissive; our own",
    "Apache-2.0 WITH LLVM-exception": "permissive",
    "BSD-2-Clause": "permissive",
    "BSD-3-Clause": "permissive",
    "BSL-1.0": "permissive",
    "CC0-1.0": "asks for nothing",
    "FTL": "permissive; asks to be named",
    "IJG": "permissive; asks to be named",
    "Unicode-3.0": "permissive",
    "libpng-2.0": "permissive",
    "libtiff": "permissive",
    "CNRI-Python": "permissive; of parts that come from Python itself",
    "ISC": "permissive",
    "LGPL-2.0-or-later": LIBRARY,
    "LGPL-2.1": LIBRARY,
    "LGPL-3.0-only": LIBRARY,
    "MIT": "permissive",
    "MIT-0": "asks for nothing",
    "MIT-CMU": "permissive",
    "MPL-2.0": "copyleft of single files, which we leave unchanged",
    "PSF-2.0": "permissive; Python's own",
    "Zlib": "permissive",
}
"""SPDX identifier -> why it may stand beside our Apache-2.0."""

PDFIUM = (
    "Apache-2.0 AND BSD-2-Clause AND BSD-3-Clause AND FTL AND IJG AND MIT AND Unicode-3.0 AND Zlib AND libpng-2.0 AND "
    "libtiff"
)
"""Of PDFium with what is built into it: abseil, FreeType, ICU, lcms, libjpeg, libpng, OpenJPEG, libtiff, zlib."""

WORDS = {
    "BSD-3-Clause, Apache-2.0, dependency licenses": PDFIUM,
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.0-or-later",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""What older metadata call a licence -> its SPDX identifier."""

UNKNOWN = "unknown"


class Package(NamedTuple):
    """One package and its licence, an SPDX expression or `unknown`."""

    name: str
    version: str
    licence: str


class Script(NamedTuple):
    """A file of somebody else that we ship: of which npm package, in which version."""

    path: str
    package: str
    version: str
    licence: str


def pins(file: Path) -> dict[str, str]:
    """Package -> pinned version, of a file with constraints."""
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", file.read_text("utf-8"), re.MULTILINE))


def packages(root: Path) -> dict[str, list[Package]]:
    """Heading -> what is pinned there.

    Args:
      root: folder of constraints*.txt and docs.
    """
    page = root / "docs" / "licences.md"
    kept = _rows(page.read_text("utf-8")) if page.is_file() else {}
    return {
        part: [
            Package(name, version, licence_of(name, version) or kept.get((name, version), UNKNOWN))
            for file in files
            for name, version in pins(root / file).items()
        ]
        for part, files in PARTS.items()
    }


def licence_of(name: str, version: str) -> str | None:
    """Licence of an installed package; None where that version is not installed."""
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return None
    if about["Version"].partition("+")[0] != version:
        return None
    given, older = (str(about.json.get(field) or "") for field in ("license_expression", "license"))
    expression = given or older
    if given or allowed(expression):
        return expression
    classifiers = [text.split(" :: ")[-1] for text in about.get_all("Classifier") or () if text.startswith("License")]
    found = [WORDS.get(text, text) for text in classifiers] or [WORDS.get(expression, expression.partition("\n")[0])]
    return " AND ".join(sorted(set(found))) or UNKNOWN


def allowed(expression: str) -> bool:
    """Whether an SPDX expression without brackets is satisfied by allowed licences."""
    return any(all(part in ALLOWED for part in choice.split(" AND ")) for choice in expression.split(" OR "))


def refused(root: Path) -> list[Package]:
    """Packages whose licence is not on the list."""
    return [one for part in packages(root).values() for one in part if not allowed(one.licence)]


def scripts(root: Path) -> list[Script]:
    """Files of others that we ship, from the VENDORED.txt beside them."""
    found = []
    for note in sorted(root.glob("*/*/static/VENDORED.txt")):
        text = note.read_text("utf-8")
        licence = re.search(r"licence (\S+?);", text)
        assert licence is not None, note
        for name, version, package in re.findall(r"(\S+\.js) (\S+) of the npm package ([^\s,]+)", text):
            path = (note.parent / name).relative_to(root).as_posix()
            found.append(Script(path, package, version, licence[1]))
    return found


def page(root: Path) -> str:
    """The page of the licences."""
    lines = [
        "# Licences",
        "",
        "What EnergyComm installs and ships, by package. Written by `make docs` from the packages' metadata; a test",
        "compares it with what is pinned, and fails on a licence that is not on the list at the end.",
    ]
    for part, content in packages(root).items():
        lines += ["", f"## {part}", "", *_table(("package", "version", "licence"), sorted(content))]
    shown = [(one.path, f"{one.package} {one.version}", one.licence) for one in scripts(root)]
    lines += ["", "## Files of others that are shipped along", "", *_table(("file", "package", "licence"), shown)]
    lines += ["", "## Licences that are allowed", "", *_table(("licence", "why"), sorted(ALLOWED.items()))]
    return "\n".join(lines) + "\n"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)]


def _rows(page: str) -> Mapping[tuple[str, str], str]:
    found = re.findall(r"^\| (\S+) \| (\S+) \| ([^|]+) \|$", page, re.MULTILINE)
    return {(name, version): licence for name, version, licence in found}
