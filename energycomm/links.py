"""Addresses that people may follow from our pages: of the web, with a host, and of bounded length."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from energycomm.texts import wording

LONGEST: Final = 400
"""Characters of a link that is stored."""

_HOST: Final = re.compile(
    r"\[[0-9A-Fa-f:.]{2,45}\]|(?=[^:]{1,253}\Z)[A-Za-z0-9\u00a1-\uffff](?:[A-Za-z0-9.\-\u00a1-\uffff]*[A-Za-z0-9\u00a1-\uffff])?\.?"
)
# What no address holds, and what browsers read otherwise than they show it: blanks, controls, marks of direction.
_UNFIT: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\<>\"`{}|^\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def fault_of_link(text: str) -> str | None:
    """The reason why a link is refused; None if a page may link to it.

    Args:
      text: the address.
    """
    if (number := len(text)) > LONGEST:
        return wording("it has {0} characters, at most {1} are kept").format(number, LONGEST)
    if _UNFIT.search(text):
        return wording("it holds a blank or another sign that no address holds")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return wording("its host or port cannot be read")
    if parts.scheme not in ("http", "https") or not text.lower().startswith(f"{parts.scheme}://"):
        return wording("it does not begin with https:// or http://")
    if parts.username is not None or parts.password is not None:
        return wording("it names a user before its host")
    host = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc.removesuffix(":")
    return None if _HOST.fullmatch(host) else wording("it names no host")


def is_link(text: object) -> bool:
    """Whether a value may be the target of a link; other values are shown as text."""
    return isinstance(text, str) and fault_of_link(text) is None
