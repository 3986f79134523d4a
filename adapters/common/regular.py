"""Reads content in which everything is as the table and the market's schema have it, without asking the schema.

What a schema says of the elements of a document is made into plain lookups once: in which order they stand, which of
them have to be there, what their values and attributes may be. Content that passes them would pass the schema too, and
its values are read in the same walk. Anything else, right or wrong, is left to `pieces.Reading.walk` and to the schema,
which alone refuse and note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from hashlib import blake2b
from typing import Any, NamedTuple

from lxml import etree

from adapters.common.declared import Attribute, Declared
from adapters.common.pieces import Reading, Values, store_all
from adapters.common.simpletypes import Takes
from adapters.common.table import Leaf, Node, Table, Told
from adapters.common.views import PLAIN, VALUE, XML

_MOST_KNOWN = 1024
"""Values of a leaf that are known; all of them are forgotten then."""
_LONGEST_KNOWN = 24
"""Characters of a value that may come again: a code, a day, an amount."""
_BLANKS = dict.fromkeys(map(ord, " \t\r\n"))
_count_attributes = etree.XPath("count(descendant-or-self::*/@*)")


class Part(NamedTuple):
    """An element of XML, or a member of an object of JSON, that may stand in another.

    Attributes:
      place: among the others: each stands behind those of smaller places.
      needed: something has to stand in that place.
      many: it may stand several times.
      inner: what may stand in it; None of a leaf.
      leaf: of the table, where its value is kept.
      group: the list that it is an item of.
      fixed: what such an item always holds.
      form: of a leaf in JSON: ``text``, ``number`` or ``flag``.
      wrapped: a leaf in JSON is an object with `value`.
      takes: what takes its values.
      attributes: by name.
      attributes_needed: how many of them have to be there.
      attributes_kept: leaves of the table, by name of the attribute.
      known: text -> what it tells, of values that were taken before.
    """

    place: int
    needed: bool
    many: bool
    inner: Content | None
    leaf: Leaf | None
    group: str | None
    fixed: dict[str, Any]
    form: str
    wrapped: bool
    takes: Takes | None
    attributes: Mapping[str, Attribute]
    attributes_needed: int
    attributes_kept: Mapping[str, Leaf]
    known: dict[str, list[Told]]


class Content(NamedTuple):
    """What may stand in an element.

    Attributes:
      elements: by tag.
      members: the same by name, of JSON; none where some stand for each other.
      needed: how many places have to be filled.
    """

    elements: dict[str, Part]
    members: dict[str, Part]
    needed: int


def content_of(node: Node | None, declared: Declared, space: str | None) -> Content:
    """What may stand in an element. What the table does not know, or what only the schema can judge, may not.

    Args:
      node: of the table; None where nothing is kept of the element.
      declared: of the schema.
      space: namespace of the document.
    """
    members: dict[str, Part] = {}
    for name, inner in declared.children.items():
        known = None if node is None else node.children.get(name)
        part = None if node is not None and known is None else _part(known, inner, space)
        if part is not None:
            members[name] = part
    places = [inner.place for inner in declared.children.values()]
    needed = {inner.place for inner in declared.children.values() if inner.place_needed}
    needed |= {part.place for part in members.values() if part.needed}
    tag = f"{{{space}}}" if space else ""
    elements = {tag + name: part for name, part in members.items()}
    return Content(elements, members if len(set(places)) == len(places) else {}, len(needed))


def _part(node: Node | None, declared: Declared, space: str | None) -> Part | None:
    if node is not None and node.leaf is not None and node.leaf.left_out is not None:
        node = None
    kept = {} if node is None else {name[1:]: child.leaf for name, child in node.children.items() if name[:1] == "@"}
    leaf = None if node is None else node.leaf
    if declared.place is None or (declared.children and (leaf is not None or declared.attributes)):
        return None
    if not declared.children and (declared.takes is None or (node is not None and (leaf is None or node.group))):
        return None
    if declared.many and not (node is None or node.many or node.group):
        return None
    return Part(
        place=declared.place,
        needed=declared.place_needed or (node is not None and node.needed),
        many=declared.many,
        inner=content_of(node, declared, space) if declared.children else None,
        leaf=leaf,
        group=None if node is None else node.group,
        fixed={} if node is None else node.fixed,
        form=declared.form,
        wrapped=declared.wrapped,
        takes=declared.takes,
        attributes=declared.attributes,
        attributes_needed=sum(one.needed for one in declared.attributes.values()),
        attributes_kept={name: one for name, one in kept.items() if one is not None and one.left_out is None},
        known={},
    )


class Walk:
    """The walk through one content. What it has read is right only where it came to the end.

    Attributes:
      reading: what was read.
    """

    def __init__(self, table: Table, attributes: frozenset[str] = frozenset()) -> None:
        """Args:
        table: whose leaves are read.
        attributes: names of those that belong to the identity.
        """
        self._table, self._identifying = table, attributes
        self._said: list[str] = []
        self._texts: list[str] = []
        self._attributes = 0
        self.reading: Reading

    def element(self, element: etree._Element, content: Content, seed: blake2b) -> bytes | None:
        """Read an element of XML; its identity as `XmlView.identity` tells it, None where it is to be read
        otherwise."""
        self.reading = reading = Reading(self._table, XML)
        self._said.append(f"{element.tag}\x1f{len(element)}\x1f\x1e")
        if not self._elements(element, content, reading.values, reading.particulars) or not self._all_of(element):
            return None
        if reading.refusals or reading.notes:
            return None
        state = seed.copy()
        state.update("".join(self._said).encode("utf-8", "surrogatepass"))
        return state.digest()

    def object(self, held: Any, content: Content, seed: blake2b) -> bytes | None:
        """Read an object of JSON; its identity as `PlainView.identity` tells it, None where it is to be read
        otherwise."""
        self.reading = reading = Reading(self._table, PLAIN)
        said = self._members(held, content, reading.values, reading.particulars)
        if said is None or reading.refusals or reading.notes:
            return None
        state = seed.copy()
        state.update(said.encode("utf-8", "backslashreplace"))
        return state.digest()

    def header(self, name: str, held: Any, content: Content) -> bool:
        """Whether a part of a header is as the schema has it; False also where that is to be found out otherwise.

        Args:
          name: local, of the part.
          held: its element, or its value in JSON.
          content: of the header.
        """
        part = content.members.get(name)
        if part is None:
            return False
        if _is_known(held, part):
            return True
        single = Content(content.elements, content.members, part.needed)
        if isinstance(held, etree._Element):
            self.reading = Reading(self._table, XML)
            passed = self._elements((held,), single, {}, {}) and self._all_of(held)
        else:
            self.reading = Reading(self._table, PLAIN)
            passed = self._members({name: held}, single, {}, {}) is not None
        return passed and not self.reading.refusals and not self.reading.notes

    def _all_of(self, element: etree._Element) -> bool:
        """Whether all attributes and texts in an element were seen."""
        if not len(element):
            return len(element.attrib) == self._attributes
        if _count_attributes(element) != self._attributes:
            return False
        written = etree.tostring(element, method="text", encoding="unicode", with_tail=False)
        return written.translate(_BLANKS) == "".join(self._texts).translate(_BLANKS)

    def _elements(
        self, elements: Iterable[etree._Element], content: Content, into: Values, particulars: dict[str, Any]
    ) -> bool:
        parts, say, last, filled = content.elements, self._said.append, -1, 0
        for child in elements:
            tag = child.tag
            part = parts.get(tag)
            if part is None:
                return False
            if part.place > last:
                last = part.place
                filled += part.needed
            elif part.place < last or not part.many:
                return False
            inside = len(child)
            if part.inner is None:
                text = child.text
                text = text.strip() if text and not inside else ""
                self._texts.append(text)
                say(f"{tag}\x1f0\x1f{text}\x1e")
                told = part.known.get(text)
                if told is not None:
                    store_all(told, into)
                elif not self._learned(text, part, into, particulars):
                    return False
                if part.attributes and not self._attributed(child, part, into, particulars):
                    return False
                continue
            say(f"{tag}\x1f{inside}\x1f\x1e")
            if part.group is None:
                if not self._elements(child, part.inner, into, particulars):
                    return False
                continue
            item, own = part.fixed.copy(), dict[str, Any]()
            if not self._elements(child, part.inner, item, own):
                return False
            if own:
                item["particulars"] = own
            into.setdefault(part.group, []).append(item)
        return filled == content.needed

    def _attributed(self, element: etree._Element, part: Part, into: Values, particulars: dict[str, Any]) -> bool:
        """Read the attributes of an element; whether it has those that it may and must have."""
        given = [(str(name), str(value)) for name, value in element.items()]
        self._attributes += len(given)
        for name, value in sorted(given):
            if name in self._identifying:
                self._said.append(f"{name}\x1f{value.strip()}\x1e")
        return self._attached(given, part, into, particulars)

    def _attached(
        self, given: Iterable[tuple[str, Any]], part: Part, into: Values, particulars: dict[str, Any]
    ) -> bool:
        """Read attributes; whether they are those that there may and must be."""
        needed = 0
        for name, value in given:
            declared = part.attributes.get(name)
            text = value.strip() if type(value) is str else ""
            if declared is None or declared.takes is None or not text or not declared.takes(text):
                return False
            needed += declared.needed
            kept = part.attributes_kept.get(name)
            if kept is not None:
                self.reading.leaf(text, kept, into, kept.path, particulars)
        return needed == part.attributes_needed

    def _learned(self, text: str, part: Part, into: Values, particulars: dict[str, Any]) -> bool:
        """Read a value that is not known; whether its type takes it, and the table without a word."""
        leaf, known, reading = part.leaf, part.known, self.reading
        assert part.takes is not None
        if not text or not part.takes(text):
            return False
        told: list[Told] | None = []
        if leaf is not None:
            reading.leaf(text, leaf, into, leaf.path, particulars)
            if reading.refusals or reading.notes:
                return False
            told = self._table.remembered.get((id(leaf), text))
        if told is not None and len(text) <= _LONGEST_KNOWN:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[text] = told
        return True

    def _members(self, held: Any, content: Content, into: Values, particulars: dict[str, Any]) -> str | None:
        """Read the members of an object of JSON; what they say, None where they are to be read otherwise."""
        if type(held) is not dict:
            return None
        parts, filled, said = content.members, 0, []
        for name, inside in held.items():
            part = parts.get(name)
            if part is None:
                return None
            filled += part.needed
            if not part.many:
                text = self._member(inside, part, into, particulars)
            elif type(inside) is list and inside:
                text = self._listed(inside, part, into, particulars)
            else:
                return None
            if text is None:
                return None
            said.append((name, text))
        return _object(said) if filled == content.needed else None

    def _listed(self, held: list[Any], part: Part, into: Values, particulars: dict[str, Any]) -> str | None:
        said = []
        for one in held:
            text = self._member(one, part, into, particulars)
            if text is None:
                return None
            said.append(text)
        return "[" + ", ".join(said) + "]"

    def _member(self, held: Any, part: Part, into: Values, particulars: dict[str, Any]) -> str | None:
        if part.inner is not None:
            if part.group is None:
                return self._members(held, part.inner, into, particulars)
            item, own = part.fixed.copy(), dict[str, Any]()
            said = self._members(held, part.inner, item, own)
            if own:
                item["particulars"] = own
            into.setdefault(part.group, []).append(item)
            return said
        value = held
        if part.wrapped:
            if type(held) is not dict:
                return None
            value = held.get(VALUE)
        kind = type(value)
        if kind is str:
            form, text = "text", value.strip()
            said = repr(text)
        elif kind is int or kind is Decimal:
            form, text = "number", str(value)
            said = text if kind is int else f"Decimal('{text}')"
        elif kind is bool:
            form, text, said = "flag", "true" if value else "false", repr(value)
        else:
            return None
        if form != part.form:
            return None
        told = part.known.get(text)
        if told is not None:
            store_all(told, into)
        elif not self._learned(text, part, into, particulars):
            return None
        if not part.wrapped:
            return said
        if len(held) == 1 and not part.attributes_needed:
            return _object([(VALUE, said)])
        beside = [(name, one) for name, one in held.items() if name != VALUE]
        if not self._attached(beside, part, into, particulars):
            return None
        return _object([(name, repr(one.strip())) for name, one in beside] + [(VALUE, said)])


def _is_known(held: Any, part: Part) -> bool:
    """Whether a leaf has a text that was taken before, and nothing beside it."""
    if part.inner is not None or part.attributes:
        return False
    if isinstance(held, etree._Element):
        return (held.text or "").strip() in part.known and not len(held) and not held.attrib
    if part.wrapped and type(held) is dict and len(held) == 1:
        held = held.get(VALUE)
    elif part.wrapped:
        return False
    return type(held) is str and part.form == "text" and held in part.known


def _object(said: list[tuple[str, str]]) -> str:
    """What an object says, whose members say this."""
    said.sort()
    return "[" + ", ".join([f"({name!r}, {text})" for name, text in said]) + "]"
