"""What French digesters share besides the common ones: versions told by content, references by the day, and labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lxml import etree

from adapters.common.outcome import Digested, Digester, Notes
from adapters.common.particulars import Particulars
from adapters.common.reading import Fields, leaf, nodes, read
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.header import Context

PARTICULARS = Particulars(Path(__file__).parent / "particulars.csv")
_MOJIBAKE = ("Ã", "Â", "â€", "Å")


def digester(
    digest: Callable[[Fields, Context, Notes], Digested],
    refer: Callable[[Fields, Context], tuple[str, str | None]],
    version: Callable[[Fields, str | None], str] | str,
    reading: Callable[[etree._Element], Fields] = read,
) -> Digester[Context]:
    """A digester of one element of a flux.

    Args:
      digest: Kernel messages of checked content; may raise `Unreadable`.
      refer: reference and access point of any content, however broken; never fails.
      version: version that content is of; the declared one where content and declaration agree. The only one known.
      reading: content of a checked element.
    """
    if isinstance(version, str):
        return Digester(digest, refer, reading, lambda fields, context: version)
    return Digester(digest, refer, reading, lambda fields, context: version(fields, context.declared))


def daily(fields: Fields, context: Context) -> tuple[str, str | None]:
    """Reference and point of daily measures: ``PRM:first day..last day``, or ``PRM:day`` where there is one."""
    point = leaf(fields, "Id_PRM")
    days = sorted({leaf(releve, "Date_Releve") or "-" for releve in nodes(fields, "Donnees_Releve")}) or ["-"]
    return f"{point or '-'}:{days[0] if len(days) == 1 else f'{days[0]}..{days[-1]}'}", point


def words(fields: Fields, tag: str, path: str, notes: Notes) -> str | None:
    """A label; one that was encoded in UTF-8 twice is repaired and noted."""
    text: str | None = fields.get(tag)
    if text is None or text.isascii() or not any(mark in text for mark in _MOJIBAKE):
        return text
    for encoding in ("cp1252", "latin-1"):
        try:
            repaired = text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        notes.append(refusal("NOTE_LABEL_REPAIRED", path=f"{path}/{tag}", value=text, expected=repaired))
        return repaired
    return text
