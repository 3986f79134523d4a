"""The codec of Kernel messages: Kernel XML, which is stored and what the rules see, and JSON for programs.

An object written and read again is equal; Kernel XML that was written here, read and written again is the same text.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from functools import cache, reduce
from typing import Any

import msgspec

from energycomm.kernel.decoder import decode_element, decode_xml
from energycomm.kernel.encoder import Encoder, encoder_of, fault_of
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.safexml import shorten
from energycomm.kernel.verdicts import Refusal

__all__ = [
    "Unwritable",
    "decode",
    "decode_element",
    "decode_json",
    "decode_several",
    "encode",
    "encode_bounded",
    "encode_json",
    "encode_several",
]


class _Encoders(dict[type, Encoder]):
    """Kind -> its encoder, generated when first asked for: most runs meet few kinds."""

    def __init__(self, *, bounded: bool) -> None:
        self._bounded = bounded

    def __missing__(self, cls: type) -> Encoder:
        encoder = self[cls] = encoder_of(
            cls, _NAMES[cls], root=True, bounded=self._bounded, head=KernelMessage if self._bounded else None
        )
        return encoder


_NAMES: dict[type, str] = {cls: kind for kind, cls in KINDS.items()}
_ENCODERS = _Encoders(bounded=False)
_BOUNDED = _Encoders(bounded=True)


class Unwritable(ValueError):
    """A message that Kernel XML cannot hold.

    Attributes:
      refusal: which field, the value found and what was expected.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


def encode(message: KernelMessage) -> str:
    """A message as Kernel XML, on one line, without XML declaration.

    Raises:
      Unwritable: a field holds what it must not or what XML cannot hold. Lengths, patterns and bounds are the schema's
        work (`energycomm.kernel.check`).
    """
    try:
        return _ENCODERS[type(message)](message)
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        kind = type(message).__name__
        if type(message) not in _NAMES:
            wrong = Refusal(code="KERNEL_XML_KIND", value=kind, expected="a kind of Kernel message")
        else:
            wrong = fault_of(message, f"/{kind}") or Refusal(
                code="KERNEL_XML_VALUE", path=f"/{kind}", value=shorten(str(error)), expected="values of their types"
            )
        raise Unwritable(wrong) from error


def encode_bounded(message: KernelMessage) -> str | None:
    """A message as Kernel XML that kernel.xsd accepts, as `encode` writes it; None where that is not sure, and the
    schema decides."""
    try:
        return _BOUNDED[type(message)](message)
    except (KeyError, AttributeError, TypeError, ValueError):
        return None


def decode(xml: str | bytes, *, bounded: bool = False) -> KernelMessage | Refusal:
    """The message that a Kernel XML document holds.

    Arguments:
      xml: the document; bytes in the encoding they declare (UTF-8 without declaration).
      bounded: mind the bounds of the fields too. What is stored was written under the bounds of its day, and stays
        readable when they become narrower.

    Returns:
      The message, or a refusal: XML_* where it is no XML, KERNEL_XML_NAMESPACE, _KIND, _ELEMENT, _ATTRIBUTE, _VALUE,
      _MISSING, _TEXT where it is no Kernel XML, with path, value and what was expected.
    """
    return decode_xml(xml, bounded=bounded)


_JSON_ENCODER = msgspec.json.Encoder()


@cache
def _json_decoder() -> msgspec.json.Decoder[Any]:
    """Made when first asked for: it takes as long as starting a command."""
    return msgspec.json.Decoder(reduce(operator.or_, KINDS.values()))


@cache
def _several_decoder() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(list[reduce(operator.or_, KINDS.values())])  # type: ignore[misc]


_JSON_PATH = re.compile(r" - at `\$?\.?(?P<path>[^`]*)`$")


def encode_json(message: KernelMessage) -> bytes:
    """A message as JSON (UTF-8): its fields by name, and `kind`.

    Raises:
      ValueError: a text holds what UTF-8 cannot hold.
    """
    return _JSON_ENCODER.encode(message)


def decode_json(content: str | bytes) -> KernelMessage | Refusal:
    """The message that a JSON text holds, or a refusal: KERNEL_JSON_SYNTAX, KERNEL_JSON_VALUE."""
    try:
        message: KernelMessage = _json_decoder().decode(content)
    except msgspec.ValidationError as error:
        words = str(error)
        where = _JSON_PATH.search(words)
        return Refusal(
            code="KERNEL_JSON_VALUE",
            path=where["path"] if where else "",
            expected=shorten(words[: where.start()] if where else words) or "",
        )
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        return Refusal(code="KERNEL_JSON_SYNTAX", value=shorten(str(error)), expected="one JSON object with `kind`")
    return message


def encode_several(messages: Sequence[KernelMessage]) -> bytes:
    """Messages as one JSON array, for another process: a third of what pickling them costs.

    Raises:
      ValueError: a text holds what UTF-8 cannot hold.
    """
    return _JSON_ENCODER.encode(messages)


def decode_several(content: bytes) -> list[KernelMessage]:
    """The messages of `encode_several`.

    Raises:
      ValueError: one of them is not within the bounds of its fields.
    """
    messages: list[KernelMessage] = _several_decoder().decode(content)
    return messages
