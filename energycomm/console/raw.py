"""The market's text: the member that a message came from, around the message's place."""

from __future__ import annotations

import io
import re

from msgspec import Struct

from energycomm.config import Config
from energycomm.eis.archive import open_raw
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.errors import Absent
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.gateway import open_keys
from energycomm.transport.envelopes import open_envelope

MOST_READ = 32 << 20
"""Bytes of a member that are looked through."""

SHOWN = 6_000
"""Characters that are shown before and after the place."""

LONG_LINE = 400
"""Characters of a line that nobody reads; elements in it are put on lines of their own."""

_CH = (
    "SELECT c.reference, m.path, e.name, e.sha256 FROM ch_message c JOIN member m ON m.id = c.member_id "
    "JOIN envelope e ON e.id = c.envelope_id WHERE c.id = ?"
)


class Piece(Struct, frozen=True, kw_only=True):
    """A piece of a member.

    Attributes:
      text: as it arrived; elements that stand in one line are broken into several.
      whole: it is all of the member.
      line: number of its first line in the member.
      trouble: why there is none.
    """

    text: str = ""
    whole: bool = False
    line: int = 1
    trouble: str = ""


def piece_of(config: Config, store: Store, ch_message_id: int, access_point: str | None) -> Piece:
    """The piece of a member that a CH message is in.

    Args:
      config: its keys open encrypted envelopes.
      store: the EIS.
      ch_message_id: the CH message.
      access_point: identifier to look for, where the reference of the message is not in the text.
    """
    with reading(store.engine) as connection:
        rows = driver_of(connection).rows(_CH, (ch_message_id,))
    if not rows:
        return Piece(trouble="The CH message is not in the store.")
    reference, path, name, sha256 = rows[0]
    try:
        with (
            open_raw(store.engine, bytes(sha256)) as raw,
            open_envelope(raw, name, open_keys(config), config.limits) as opened,
        ):
            for member in opened:
                if isinstance(member, Refusal):
                    return Piece(trouble=str(member))
                if member.path == path:
                    with member.open() as content:
                        return cut(content.read(MOST_READ), reference, access_point)
    except (FileNotFoundError, LookupError, Absent) as error:
        return Piece(trouble=str(error))
    return Piece(trouble=f"The envelope has no member {path} any more.")


def cut(content: bytes, reference: str, access_point: str | None) -> Piece:
    """The text around the first place that names the message, or its access point; the beginning where none does."""
    text = _decoded(content)
    if len(text) <= 2 * SHOWN:
        return Piece(text=broken(text), whole=len(content) < MOST_READ)
    at = next((found for name in _names(reference, access_point) if (found := text.find(name)) >= 0), 0)
    begin, end = max(0, at - SHOWN), min(len(text), at + SHOWN)
    line = text.rfind("\n", 0, begin) + 1
    begin = line if begin - line < LONG_LINE else max(text.rfind("><", 0, begin) + 1, line)
    return Piece(text=broken(text[begin:end]), line=text.count("\n", 0, begin) + 1)


def broken(text: str) -> str:
    """Elements that stand in one long line on lines of their own, so that they can be read."""
    if max((len(line) for line in text.splitlines()), default=0) < LONG_LINE:
        return text
    return re.sub(r">\s*<", ">\n<", text)


def _names(reference: str, access_point: str | None) -> list[str]:
    """What to look for: the parts of the reference that are long enough to be nobody else's."""
    parts = [reference, *sorted(re.split(r"[|/;# ]", reference), key=len, reverse=True)]
    return [name for name in (*parts, access_point or "") if len(name) > 5]


def _decoded(content: bytes) -> str:
    declared = re.search(rb"encoding=[\"']([A-Za-z0-9._-]+)", content[:200])
    for name in (declared.group(1).decode() if declared else "utf-8", "utf-8", "iso-8859-1"):
        try:
            return io.TextIOWrapper(io.BytesIO(content), encoding=name).read()
        except (UnicodeDecodeError, LookupError):
            continue
    return content.decode("utf-8", "replace")
