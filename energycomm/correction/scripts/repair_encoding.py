"""Repairs text that was read in the wrong encoding: "DorÃ©e" for "Dorée", "1011Â AB" for "1011 AB".

A file in UTF-8 that is read as Latin-1 shows two or three odd characters for each letter with an accent, and for each
blank that is not to be broken. Where the text can be turned back and has fewer such signs then, it is; a mark of the
order of bytes at its beginning goes. What is not damaged is left alone, names with accents among it.
"""

from __future__ import annotations

from collections.abc import Mapping

from energycomm.correction.cases import Case
from energycomm.correction.neighbours import change_texts, content_of, rebuilt
from energycomm.correction.script import Modify, Script, Selection

SCRIPT = Script(
    title="Text in the wrong encoding",
    selection=Selection(states=("rejected", "ticketed", "delegated")),
)

_SIGNS = "ÃÂâï"
"""Characters that letters and marks of UTF-8 begin with when they are read as Latin-1."""

_BLANKS = {"\u00a0": " ", "\ufeff": "", "\u202f": " "}


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The message with its texts turned back."""
    content = content_of(case.message)
    if not change_texts(content, set(), repaired):
        return None
    return Modify(rebuilt(content), "text read in the wrong encoding")


def repaired(text: str) -> str:
    """A text as it was before it was read in the wrong encoding; itself where it was not."""
    found = text
    for _ in range(2):  # twice wrong happens: a file that was converted again
        if not any(sign in found for sign in _SIGNS):
            break
        turned = _turned(found)
        if turned is None:
            break
        found = turned
    if found != text:
        for odd, plain in _BLANKS.items():
            found = found.replace(odd, plain)
    return found.strip() if found != text else text


def _turned(text: str) -> str | None:
    for encoding in ("cp1252", "latin-1"):
        try:
            return text.encode(encoding).decode("utf-8")
        except (UnicodeEncodeError, UnicodeDecodeError):
            continue
    return None
