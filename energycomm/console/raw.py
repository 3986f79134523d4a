"""The market's text of one message: its own piece of the member that it came in, with the values that rules refused."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from energycomm.config import Config
from energycomm.console.pieces import names_of, own_spans
from energycomm.eis.archive import open_raw
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.errors import Absent
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.gateway import open_keys
from energycomm.texts import wording
from energycomm.transport.envelopes import open_envelope

MOST_READ = 32 << 20
"""Bytes of a member that are looked through."""

SHOWN = 60_000
"""Characters that are shown; of a longer piece those around the first marked value."""

LONG_LINE = 400
"""Characters of a line that nobody reads; elements in it are put on lines of their own."""

MOST_MARKS = 100


class Leaves(NamedTuple):
    """Where a refused field is read from.

    Attributes:
      names: of elements, attributes (with ``@``) or keys.
      place: number of the item that is refused, where the field is one of a list.
    """

    names: Collection[str] = ()
    place: int | None = None


def nowhere(_label: str, _value: str) -> Leaves:
    """For what is read from no leaf that is known."""
    return Leaves()


_CH = (
    "SELECT c.reference, c.access_point, m.path, m.id, m.state, m.transactions, e.name, e.sha256, c.type, "
    "c.envelope_id FROM ch_message c JOIN member m ON m.id = c.member_id JOIN envelope e ON e.id = c.envelope_id "
    "WHERE c.id = ?"
)
_OTHERS = (
    "SELECT reference, access_point FROM ch_message WHERE envelope_id = ? AND member_id = ? AND id <> ? UNION ALL "
    "SELECT c.reference, c.access_point FROM ch_duplicate d JOIN ch_message c ON c.id = d.first_id "
    "WHERE d.member_id = ? AND c.id <> ?"
)
_DAYS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y%m%d%H%M%S", "%Y%m%d%H%M", "%Y-%m-%d", "%d/%m/%Y", "%Y%m%d")
"""How markets write instants, the exact forms first."""
_IN_UTC = re.compile(r"\bDTM\+735:\?\+0000:406")
"""How an EDIFACT message says that its instants are UTC."""
_NUMBER = re.compile(r"(?<![\w.,-])-?\d+(?:[.,]\d+)?(?![\w,])")


class Piece(Struct, frozen=True, kw_only=True):
    """What the market sent of one message.

    Attributes:
      parts: (text, whether it is a refused value), as it arrived; what stands in one line is broken into several.
      whole: it is all of the member.
      line: number of its first line in the member.
      more: characters of it that are not shown.
      trouble: why there is none.
    """

    parts: tuple[tuple[str, bool], ...] = ()
    whole: bool = False
    line: int = 1
    more: int = 0
    trouble: str = ""

    @property
    def text(self) -> str:
        """All that is shown."""
        return "".join(text for text, _ in self.parts)


def piece_of(
    config: Config,
    store: Store,
    ch_message_id: int,
    values: Sequence[str],
    zone: tzinfo,
    leaves: Callable[[str, str], Leaves] = nowhere,
) -> Piece:
    """The piece of a member that is one CH message.

    Args:
      config: its keys open encrypted envelopes.
      store: the EIS.
      ch_message_id: the CH message.
      values: of its fields that rules refused, as the Kernel writes them.
      zone: legal time of its market.
      leaves: (type of the CH message, value) -> where it is read from, for values that the market writes as a code
        of its own.
    """
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        rows = driver.rows(_CH, (ch_message_id,))
        if not rows:
            return Piece(trouble=wording("The CH message is not in the store."))
        reference, point, path, member_id, state, transactions, name, sha256, label, envelope_id = rows[0]
        others = driver.rows(_OTHERS, (envelope_id, member_id, ch_message_id, member_id, ch_message_id))
    alone = state == "done" and transactions == 1 and not others
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
                        read = content.read(MOST_READ)
                    beside = [(row[0], row[1]) for row in others]
                    return cut(read, reference, point, beside, values, zone, alone=alone, label=label, leaves=leaves)
    except (FileNotFoundError, LookupError, Absent) as error:
        return Piece(trouble=str(error))
    words = f"The envelope has no member {path} any more."
    return Piece(trouble=words)


def cut(
    content: bytes,
    reference: str,
    point: str | None,
    others: Iterable[tuple[str, str | None]] = (),
    values: Sequence[str] = (),
    zone: tzinfo = UTC,
    *,
    alone: bool = False,
    label: str = "",
    leaves: Callable[[str, str], Leaves] = nowhere,
) -> Piece:
    """The piece of a member that is one message, and nothing of its neighbours.

    Args:
      content: the member, or as much of it as is looked through.
      reference: the market's reference of the message.
      point: its access point.
      others: references and access points of the other messages of the member.
      values: that rules refused.
      zone: legal time of the market.
      alone: the member is this one message.
      label: type of the CH message.
      leaves: (type, value) -> where it is read from.
    """
    text = _decoded(content)
    spans = [(0, len(text))] if alone else own_spans(text, names_of(reference, point, others))
    if not spans:
        return Piece(trouble=wording("The place of the message was not found in its member."))
    piece = "".join(text[begin:end] for begin, end in spans)
    line = text.count("\n", 0, spans[-1][0]) + 1
    first = UTC if _IN_UTC.search(text) else zone
    marks = sorted(_marks(piece, values, (zone, first), partial(leaves, label)))[:MOST_MARKS]
    low = 0
    if len(piece) > SHOWN:
        low = max(0, min(marks[0][0] - SHOWN // 2, len(piece) - SHOWN)) if marks else 0
    high = min(low + SHOWN, len(piece))
    parts, at = [], low
    for begin, end in marks:
        if at <= begin and end <= high:
            parts += [(piece[at:begin], False), (piece[begin:end], True)]
            at = end
    parts.append((piece[at:high], False))
    form = text.lstrip("\ufeff \t\r\n")[:1]
    long = max((len(one) for one in piece[low:high].splitlines()), default=0) >= LONG_LINE
    shown = tuple((broken(words, form) if long and not mark else words, mark) for words, mark in parts if words)
    return Piece(parts=shown, whole=spans == [(0, len(text))], line=line, more=len(piece) - (high - low))


def broken(text: str, form: str = "<") -> str:
    """What stands in one long line on lines of its own, so that it can be read.

    Args:
      text: without a marked value.
      form: first character of the member: of an element, an object, or of a segment.
    """
    if form == "<":
        return re.sub(r">\s*<", ">\n<", text)
    if form in "{[":
        return re.sub(r'("(?:[^"\\]|\\.)*")|([{\[,])(?=\S)', lambda found: found[1] or f"{found[2]}\n", text)
    return re.sub(r"(\?.)|'(?=\S)", lambda found: found[1] or "'\n", text)


def _marks(
    text: str, values: Sequence[str], zones: tuple[tzinfo, tzinfo], leaves: Callable[[str], Leaves]
) -> Iterator[tuple[int, int]]:
    """Where the values stand, without overlaps: as they are, as numbers of equal size, as the same instant, or in the
    market's own code."""
    taken: list[tuple[int, int]] = []
    for value in dict.fromkeys(value for value in values if value.strip()):
        for span in _written(text, value, zones) or _coded(text, leaves(value)):
            if all(span[1] <= begin or end <= span[0] for begin, end in taken):
                taken.append(span)
                yield span


def _written(text: str, value: str, zones: tuple[tzinfo, tzinfo]) -> list[tuple[int, int]]:
    found = [one.span() for one in re.finditer(rf"(?<![\w.]){re.escape(value)}(?!\w)", text)]
    if found:
        return found
    for form in _instants(value, *zones):
        # EDIFACT writes a period as two instants without a sign between (DTM 324, 718, 719).
        other = rf"\d{{{len(form)}}}" if form.isdigit() else "(?!)"
        pattern = rf"(?<![\w.])(?:{other})?({re.escape(form)})(?:{other})?(?!\w)"
        if found := [one.span(1) for one in re.finditer(pattern, text)]:
            return found
    try:
        number = Decimal(value)
    except InvalidOperation:
        return []
    return [one.span() for one in _NUMBER.finditer(text) if Decimal(one[0].replace(",", ".")) == number]


def _coded(text: str, leaves: Leaves) -> list[tuple[int, int]]:
    """The content of a field's leaves: of its item, where that is told from the others; else what differs from most."""
    found: list[tuple[int, int]] = []
    for name in leaves.names:
        bare = re.escape(name.removeprefix("@"))
        forms = (
            rf"""(?<![\w:.-])(?:\w+:)?{bare}\s*=\s*["']([^"'<>]+)"""
            if name.startswith("@")
            else rf"<(?:[\w.-]+:)?{bare}(?:\s[^<>]*)?>\s*([^<>]*[^<>\s])\s*</",
            rf'"{bare}"\s*:\s*"?([^"\[\]{{}},\s](?:[^"\[\]{{}},]*[^"\[\]{{}},\s])?)',
        )
        found += [one.span(1) for form in forms for one in re.finditer(form, text)]
    found.sort()
    told = [text[begin:end].strip() for begin, end in found]
    ranked = Counter(told).most_common(2)
    if len(ranked) < 2 or ranked[0][1] == ranked[1][1]:
        return found
    rare = [number for number, words in enumerate(told) if words != ranked[0][0]]
    own = (leaves.place or 0) - 1
    return [found[number] for number in ([own] if own in rare else rare)]


def _instants(value: str, zone: tzinfo, first: tzinfo) -> Iterator[str]:
    """How a market may have written an instant of legal time: as such or in UTC, the one that it says first."""
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return
    at = at if at.tzinfo else at.replace(tzinfo=zone)  # the value of a finding is in legal time
    for form in _DAYS:
        yield from (at.astimezone(one).strftime(form) for one in (first, UTC if first is zone else zone))


def _decoded(content: bytes) -> str:
    declared = re.search(rb"encoding=[\"']([A-Za-z0-9._-]+)", content[:200])
    for name in (declared.group(1).decode() if declared else "utf-8", "utf-8", "iso-8859-1"):
        try:
            return io.TextIOWrapper(io.BytesIO(content), encoding=name, newline="").read()
        except (UnicodeDecodeError, LookupError):
            continue
    return content.decode("utf-8", "replace")
