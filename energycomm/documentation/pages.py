"""Which pages are generated, whole or in part, and how a generated block is put into a page that people write.

`make docs` writes them anew; a test compares them with what the program says.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from energycomm.cli import app
from energycomm.config import Config
from energycomm.documentation import codes, commands, exports, fields, licences, portfolio, routes, settings
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import load_catalogue


def generated(folder: Path, catalogue: Catalogue) -> dict[str, str]:
    """Name of each page that is generated or holds a generated block -> its text as it should be.

    Args:
      folder: the folder of the documentation, for what people wrote around the blocks.
      catalogue: the rules whose error codes are listed.
    """
    return {
        "codes.md": codes.page(catalogue),
        "fields.md": fields.page(),
        "export.md": with_block((folder / "export.md").read_text("utf-8"), "columns", exports.reference()),
        "cli.md": with_block((folder / "cli.md").read_text("utf-8"), "commands", commands.reference(app)),
        "api.md": with_block((folder / "api.md").read_text("utf-8"), "routes", routes.reference()),
        "configuration.md": with_block(
            (folder / "configuration.md").read_text("utf-8"), "settings", settings.reference()
        ),
        "portfolio.md": with_block((folder / "portfolio.md").read_text("utf-8"), "columns", portfolio.reference()),
        "licences.md": licences.page(folder.parent),
    }


def with_block(page: str, name: str, content: str) -> str:
    """The page with what stands between `<!-- NAME ... -->` and `<!-- end of NAME -->` replaced.

    Raises:
      ValueError: the page has no such block.
    """
    pattern = re.compile(rf"(<!-- {name}\b[^>]*-->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page has no block {name}")
    return pattern.sub(lambda found: f"{found[1]}{content.rstrip()}\n{found[2]}", page)


def write(folder: Path) -> None:
    """Write what is generated, with the shipped rules; files that would not change are left alone."""
    catalogue = load_catalogue(Config.model_construct().rules_folder, check_examples=False)
    for name, text in generated(folder, catalogue).items():
        path = folder / name
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            sys.stdout.write(f"{path} was written anew\n")
