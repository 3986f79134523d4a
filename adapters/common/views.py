"""How the content of a CH message is looked at, whatever form it is written in: elements of XML, or plain dictionaries.

JSON, CSV and EDIFACT are read as plain dictionaries: name -> a text, a number, another dictionary, or a list of these.
What stands in a list stands there several times under the one name, as elements of XML do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Protocol

from lxml import etree

from adapters.common.table import Node

VALUE = "value"
"""Member that holds the value of an object which stands for an element with attributes, as in the JSON of CIM."""
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LARGEST_EXPONENT = 40


class View(Protocol):
    """What can be asked of content."""

    def items(self, content: Any, node: Node) -> Iterator[tuple[str, Any]]:
        """Name and content of what stands inside, in its order; attributes (``@name``) where the table reads some."""

    def text(self, content: Any) -> str | None:
        """The text of a leaf without outer white space, None where there is none."""

    def plain(self, content: Any) -> str | None:
        """The text of a leaf where it is seen at once that nothing stands inside; else `text` and `inner` tell more."""

    def inner(self, content: Any) -> str | None:
        """The name of something that stands inside what should be a leaf, None where nothing does."""

    def unsafe(self, text: str) -> bool:
        """Whether a text has characters that no message can hold."""

    def identity(self, content: Any, seed: blake2b, attributes: frozenset[str]) -> bytes:
        """Sixteen bytes that are equal exactly for equal content after an equal seed.

        Args:
          content: one CH message.
          seed: hash of what its header brings into it; left as it is.
          attributes: names of the attributes that belong to the content.
        """


class XmlView:
    """Elements of XML; what is of another namespace than the element it stands in has its full name."""

    def items(self, content: Any, node: Node) -> Iterator[tuple[str, Any]]:
        """See `View`."""
        space = _space(content.tag)
        cut = len(space)
        if node.attributes:
            for name, value in content.attrib.items():
                if f"@{name}" in node.children:
                    yield f"@{name}", value
        for child in content:
            tag = child.tag
            yield (tag[cut:] if tag.startswith(space) else tag), child

    def text(self, content: Any) -> str | None:
        """See `View`."""
        text = content if type(content) is str else content.text
        return text.strip() or None if text else None

    def plain(self, content: Any) -> str | None:
        """See `View`."""
        if type(content) is str:
            return content.strip()
        text = content.text
        return text.strip() if text and not len(content) else None

    def inner(self, content: Any) -> str | None:
        """See `View`."""
        return str(content[0].tag) if type(content) is not str and len(content) else None

    def unsafe(self, text: str) -> bool:
        """XML itself holds no others."""
        return False

    def identity(self, content: Any, seed: blake2b, attributes: frozenset[str]) -> bytes:
        """See `View`: the text of all elements in their order, whatever white space stands around it."""
        state, told = seed.copy(), []
        for part in content.iter(etree.Element):
            told.append(f"{part.tag}\x1f{len(part)}\x1f{(part.text or '').strip()}\x1e")
            for name in sorted(attributes.intersection(part.attrib)) if attributes else ():
                told.append(f"{name}\x1f{part.attrib[name].strip()}\x1e")
        state.update("".join(told).encode("utf-8", "surrogatepass"))
        return state.digest()


@lru_cache(maxsize=4096)
def _space(tag: str) -> str:
    """The namespace of a tag with its braces, empty where it has none."""
    return tag[: tag.rindex("}") + 1] if tag.startswith("{") else ""


class PlainView:
    """Plain dictionaries: JSON, CSV, EDIFACT."""

    def items(self, content: Any, node: Node) -> Iterator[tuple[str, Any]]:
        """See `View`."""
        if not isinstance(content, dict):
            return
        for name, held in content.items():
            if node.leaf is not None:  # an object for a leaf: its other members are attributes
                if f"@{name}" in node.children:
                    yield f"@{name}", held
                continue
            for one in held if isinstance(held, list) else (held,):
                if one is not None:
                    yield name, one

    def text(self, content: Any) -> str | None:
        """See `View`."""
        if isinstance(content, dict):
            content = content.get(VALUE)
        if content is None:
            return None
        if isinstance(content, bool):
            return "true" if content else "false"
        if isinstance(content, Decimal) and abs(int(content.as_tuple().exponent)) < _LARGEST_EXPONENT:
            return format(content, "f")
        return str(content).strip() or None

    def plain(self, content: Any) -> str | None:
        """See `View`."""
        return content.strip() if type(content) is str else None

    def inner(self, content: Any) -> str | None:
        """See `View`."""
        if isinstance(content, list):
            return "an array"
        if isinstance(content, dict) and (VALUE not in content or isinstance(content[VALUE], dict | list)):
            return next(iter(content), "an object")
        return None

    def unsafe(self, text: str) -> bool:
        """See `View`."""
        return _NO_TEXT.search(text) is not None

    def identity(self, content: Any, seed: blake2b, attributes: frozenset[str]) -> bytes:
        """See `View`: whatever the order of an object's members."""
        state = seed.copy()
        state.update(repr(_ordered(content)).encode("utf-8", "backslashreplace"))
        return state.digest()


def _ordered(content: Any) -> Any:
    kind = type(content)
    if kind is str:
        return content.strip()
    if kind is dict:
        return [(name, _ordered(content[name])) for name in sorted(content) if content[name] is not None]
    return [_ordered(one) for one in content] if kind is list else content


XML, PLAIN = XmlView(), PlainView()
