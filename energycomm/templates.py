"""Pages are written by templates: everything in them is escaped, and a name that is not there is a fault."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup, escape


@cache
def templates(folder: Path) -> jinja2.Environment:
    """The templates of a folder, with the filter `marked`."""
    loader = jinja2.FileSystemLoader(folder)
    made = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    made.filters["marked"] = marked
    return made


def marked(text: str) -> Markup:
    """A text as HTML: what stands between backticks as code."""
    pieces = [escape(piece) for piece in text.split("`")]
    if len(pieces) % 2 == 0:
        return escape(text)
    wrapped = (f"<code>{piece}</code>" if number % 2 else str(piece) for number, piece in enumerate(pieces))
    return Markup("".join(wrapped))  # noqa: S704 - every piece is escaped
