"""Builds the CONTRL that answers an interchange: accepted, or which message is refused with which code (list 0085)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import IO, Any

from adapters.be_atrias.mapping import table
from adapters.be_atrias.times import belgian
from adapters.common.codes import Unreadable
from adapters.common.edifact.syntax import Interchange, Message, read
from adapters.common.table import Table
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage

ACCEPTED, REFUSED = "7", "4"
UNSPECIFIED = "18"
CONTENT_TYPE = "application/EDIFACT"
_SPECIAL = "?+:'"


def control_answer(
    content: IO[bytes], reference: str, created: datetime, mapping: Table | None = None
) -> OutgoingMessage | Refusal | None:
    """The CONTRL for an interchange.

    Args:
      content: the interchange that came.
      reference: our reference of the answer, at most 14 characters.
      created: when the answer is written.
      mapping: the mapping table; ours by default.

    Returns:
      An interchange with one CONTRL; None where nothing but CONTRL came, which is never answered; a
      refusal where not even the interchange's header can be read, so that nobody is there to be answered.
    """
    interchange: Interchange | None = None
    messages: list[Message] = []
    fault = ""
    try:
        for part in read(content):
            if isinstance(part, Interchange):
                interchange = part
            elif isinstance(part, Message):
                part.segments = []
                messages.append(part)
            else:
                fault = part.fault
    except Unreadable as unreadable:
        if interchange is None:
            return unreadable.refusal
        fault = UNSPECIFIED
    assert interchange is not None  # read gives it first, or raises
    if messages and all(message.type == "CONTRL" for message in messages):
        return None
    kind = (mapping or table()).raw["edifact"]["control"]
    written = _written(kind, interchange, messages, fault, reference, belgian(created))
    return OutgoingMessage(type=kind["type"], content=written, reference=reference, content_type=CONTENT_TYPE)


def _written(
    kind: Mapping[str, Any],
    interchange: Interchange,
    messages: list[Message],
    fault: str,
    reference: str,
    created: datetime,
) -> bytes:
    body = [_segment("UNH", "1", (kind["type"], kind["version"], str(kind["release"]), kind["agency"]))]
    action = REFUSED if fault else ACCEPTED
    body.append(
        _segment("UCI", interchange.reference, (interchange.sender, "14"), (interchange.receiver, "14"), action, fault)
    )
    for message in messages if not fault else ():
        name = tuple(
            part for part in (message.type, message.version, message.release, message.agency, message.association)
        )
        verdict = REFUSED if message.fault else ACCEPTED
        body.append(_segment("UCM", message.reference, name, verdict, message.fault))
    body.append(_segment("UNT", str(len(body) + 1), "1"))
    stamp = (created.strftime("%y%m%d"), created.strftime("%H%M"))
    head = _segment("UNB", ("UNOC", "3"), (interchange.receiver, "14"), (interchange.sender, "14"), stamp, reference)
    whole = ["UNA:+.? '", head, *body, _segment("UNZ", "1", reference)]
    return "".join(whole).encode("latin-1", "replace")


def _segment(tag: str, *elements: str | tuple[str, ...]) -> str:
    written = []
    for element in elements:
        parts = (element,) if isinstance(element, str) else element
        written.append(":".join(released(part) for part in parts).rstrip(":"))
    while written and not written[-1]:
        written.pop()
    return "+".join((tag, *written)) + "'"


def released(text: str) -> str:
    """A component with its separators released."""
    return "".join(f"?{figure}" if figure in _SPECIAL else figure for figure in text)
