"""Reads one element by a table into values, says everything that is wrong with it in one walk, and makes the Kernel
messages that the table says.

The order of elements is not judged, empty elements count as absent, and what the table does not know is left out and
noted: a document of a newer version is read as far as it can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

from msgspec import Struct

from adapters.common.codes import refusal
from adapters.common.places import HEAD, Place, places, required
from adapters.common.shapes import Way
from adapters.common.table import Leaf, Node, Piece, Table, Target, Told
from adapters.common.times import Moment
from adapters.common.values import Step, has_fraction
from adapters.common.views import View
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import particulars_of
from energycomm.kernel.verdicts import Refusal

Values: TypeAlias = dict[str, Any]
"""What an element holds: name of a field -> its value; name of a part, a kind or a group -> its `Values`, or a list of
them."""
_LONGEST_TEXT = 400
_MOST_REMEMBERED = 8192
_NOTHING: Any = object()


class Reading:
    """The walk through one element.

    Attributes:
      values: what was read, by the fields it goes to.
      raw: path of a leaf -> its text.
      particulars: what no field has a place for, by its path.
      refusals: what forbids digestion.
      notes: what was noticed besides.
    """

    def __init__(self, table: Table, view: View) -> None:
        self._table, self._view = table, view
        self.values: Values = {}
        self.raw: dict[str, str] = {}
        self.particulars: dict[str, Any] = {}
        self.refusals: list[Refusal] = []
        self.notes: list[Refusal] = []

    def walk(self, content: Any, node: Node, path: str | None = None) -> None:
        """Read what stands for a node of the table.

        Args:
          content: as the view knows it.
          node: of the table.
          path: of the content, for refusals; the node's tag by default.
        """
        self._walk(content, node, self.values, node.tag if path is None else path, self.particulars)

    def take(self, name: str, content: Any, node: Node, path: str) -> None:
        """Read one child of a node, where the others are not at hand: a field of a flat header."""
        child = node.children[name]
        if child.leaf is not None:
            self._leaf_of(content, child, child.leaf, self.values, f"{path}/{name}", self.particulars)
        elif child.group is None:
            self._walk(content, child, self.values, f"{path}/{name}", self.particulars)

    def follow(self, way: Way, texts: Sequence[str]) -> None:
        """`walk` through an element whose shape is known.

        Args:
          way: of its shape.
          texts: of all its elements, without outer white space; one for each that has to have one.
        """
        slots, kept = [self.values], [self.particulars]
        for name, within, fixed in way.groups:
            item = fixed.copy()
            slots[within].setdefault(name, []).append(item)
            slots.append(item)
            kept.append({})
        raw, remembered = self.raw, self._table.remembered
        for at, leaf, slot, path in way.steps:
            text = texts[at]
            if not text:
                continue
            told = remembered.get((id(leaf), text))
            if told is None:
                self.leaf(text, leaf, slots[slot], path, kept[slot])
            else:
                raw[leaf.path] = text
                store_all(told, slots[slot])
        for item, own in zip(slots[1:], kept[1:], strict=True):
            if own:
                item["particulars"] = own

    def _walk(self, content: Any, node: Node, into: Values, path: str, particulars: dict[str, Any]) -> None:
        seen: set[str] = set()
        children, plain, remembered = node.children, self._view.plain, self._table.remembered
        for name, child in self._view.items(content, node):
            known = children.get(name)
            if known is None:
                self.notes.append(refusal("NOTE_ELEMENT_UNKNOWN", f"{path}/{name}", self._shown(child)))
                continue
            leaf = known.leaf
            if leaf is not None:
                if leaf.left_out is not None:
                    continue  # whatever stands there, however often
                if name not in seen and not known.attributes and known.group is None:
                    text = plain(child)
                    told = remembered.get((id(leaf), text)) if text else None
                    if text and told is not None:
                        seen.add(name)
                        self.raw[leaf.path] = text
                        store_all(told, into)
                        continue
            here = f"{path}/{name}"
            again = name in seen
            seen.add(name)
            if known.group is not None:
                item: Values = dict(known.fixed)
                own: dict[str, Any] = {}
                self._walk(child, known, item, here, own)
                if own:
                    item["particulars"] = own
                into.setdefault(known.group, []).append(item)
            elif again and not known.many:
                self.refusals.append(refusal("SYN_UNEXPECTED", here, self._shown(child) or name, "this element once"))
            elif leaf is not None:
                self._leaf_of(child, known, leaf, into, here, particulars)
            else:
                self._walk(child, known, into, here, particulars)
        for name, known in children.items():
            if known.needed and name not in seen:
                self.refusals.append(refusal("SYN_MISSING", f"{path}/{name}", expected="an element with a value"))

    def _leaf_of(
        self, content: Any, node: Node, leaf: Leaf, into: Values, path: str, particulars: dict[str, Any]
    ) -> None:
        if leaf.left_out is not None:
            return
        inner = self._view.inner(content)
        if inner is not None:
            self.refusals.append(refusal("SYN_UNEXPECTED", path, inner, "a value, no elements"))
            return
        text = self._view.text(content)
        if text is not None:
            self.leaf(text, leaf, into, path, particulars)
        elif node.needed:
            self.refusals.append(refusal("SYN_MISSING", path, expected="an element with a value"))
        if node.attributes:
            self._walk(content, node, into, path, particulars)

    def leaf(self, text: str, leaf: Leaf, into: Values, path: str, particulars: dict[str, Any]) -> None:
        """Read the text of a leaf.

        Args:
          text: without outer white space, not empty.
          leaf: of the table.
          into: takes its values.
          path: for refusals.
          particulars: take it, where it is one.
        """
        if self._view.unsafe(text):
            self.refusals.append(refusal("SYN_VALUE", path, repr(text), "a text without control characters"))
            return
        self.raw[leaf.path] = text
        remembered = self._table.remembered.get((id(leaf), text))
        if remembered is not None:
            store_all(remembered, into)
            return
        said = len(self.refusals) + len(self.notes)
        if leaf.codes is not None:
            value, known = self._translated(text, leaf, path)
            if not known and value is None:
                for target in leaf.targets:
                    if target.raw and (fitted := self._fitted(text, target, path, text)) is not _NOTHING:
                        _store(fitted, target, into)
                return
        else:
            kind = self._table.types[leaf.type] if leaf.type != "code" else self._table.types["text"]
            try:
                value = kind.convert(text)
            except (ValueError, ArithmeticError):
                self.refusals.append(refusal("SYN_VALUE", path, text, kind.expected))
                return
            if isinstance(value, Moment):
                if value.naive:
                    self.notes.append(refusal("NOTE_TIME_NAIVE", path, text, value.at.isoformat()))
                value = value.at
            elif leaf.type == "index" and has_fraction(text):
                self.notes.append(refusal("NOTE_INDEX_FRACTION", path, text, str(value)))
        longest = self._table.longest.get(leaf.type)
        if type(value) is str and leaf.particular:
            longest = min(longest or _LONGEST_TEXT, _LONGEST_TEXT)
        if longest is not None and type(value) is str and len(value) > longest:
            self.refusals.append(refusal("SYN_VALUE", path, text, f"at most {longest} characters"))
            return
        if leaf.particular:
            particulars[leaf.name] = value
            return
        told: list[Told] = []
        for target in leaf.targets:
            fitted = self._fitted(text if target.raw else value, target, path, text)
            if fitted is not _NOTHING:
                _store(fitted, target, into)
                simple = target.kind is None and len(target.path) == 1 and not (target.place and target.place.many)
                told.append((target.path[0] if simple else None, target, fitted))
        if len(self.refusals) + len(self.notes) == said:
            if len(self._table.remembered) >= _MOST_REMEMBERED:
                self._table.remembered.clear()
            self._table.remembered[id(leaf), text] = told

    def _translated(self, text: str, leaf: Leaf, path: str) -> tuple[Any, bool]:
        """The word of a code and whether it is known; the code itself where its list does not bind."""
        codes = self._table.codes[leaf.codes or ""]
        if text in codes.words:
            return codes.words[text], True
        if any(target.place is not None and target.place.form in ("word", "flag") for target in leaf.targets):
            if not codes.open:
                self.refusals.append(refusal("SYN_CODE", path, text, "one of " + ", ".join(codes.words)))
            elif not any(target.raw for target in leaf.targets):
                self.notes.append(refusal("NOTE_CODE_UNKNOWN", path, text, "one of " + ", ".join(codes.words)))
            return None, False
        return " ".join(text.split()), True

    def _fitted(self, value: Any, target: Target, path: str, text: str) -> Any:
        """The value as the target holds it; `_NOTHING` where there is none for it, or a refusal."""
        place = target.place
        if type(value) is Step:  # in minutes or in months: each field takes its own
            value = value.months if target.path[-1].endswith("_months") else value.minutes
            if value is None:
                return _NOTHING
        if place is not None:
            value = self._fitting(value, place, text)
            expected = place.fault(value) if value is not None else _WORDS.get(place.form, place.form)
            if expected is not None:
                self.refusals.append(refusal("SYN_VALUE", path, text, expected))
                return _NOTHING
        return value

    def _fitting(self, value: Any, place: Place, text: str) -> Any:
        """The value as the place wants it; None where it cannot be that."""
        wanted = place.form
        if wanted == "text":
            return value if type(value) is str else text
        if wanted == "instant":
            return self._table.legal.start_of_day(value) if type(value) is date else _if(value, datetime)
        if wanted == "day":
            return self._table.legal.here(value).date() if type(value) is datetime else _if(value, date)
        if wanted == "number":
            return Decimal(value) if type(value) is int else _if(value, Decimal)
        if wanted == "whole":
            return int(value) if type(value) is Decimal and value == value.to_integral_value() else _if(value, int)
        if wanted == "flag":
            return _if(value, bool)
        return value if value in place.words else None

    def _shown(self, content: Any) -> str | None:
        return None if self._view.inner(content) is not None else self._view.text(content)


_WORDS = {
    "instant": "a date-time",
    "day": "a day",
    "number": "a decimal number",
    "whole": "a whole number",
    "flag": "true or false",
    "word": "a word of the list",
}


def store_all(told: list[Told], into: Values) -> None:
    """Put what a text tells into the values that it is part of."""
    for name, target, value in told:
        if name is not None:
            into[name] = value
        else:
            _store(value, target, into)


def _store(value: Any, target: Target, into: Values) -> None:
    held = into if target.kind is None else into.setdefault(target.kind, {})
    for name in target.path[:-1]:
        held = held.setdefault(name, {})
    if target.place is not None and target.place.many:
        held.setdefault(target.path[-1], []).append(value)
    else:
        held[target.path[-1]] = value


def _if(value: Any, kind: type) -> Any:
    return value if type(value) is kind else None


def messages_of(piece: Piece, values: Values, particulars: dict[str, Any], head: Values) -> list[KernelMessage]:
    """The Kernel messages that the table makes of a piece.

    Args:
      piece: of the table.
      values: what was read of it, without refusals.
      particulars: what was kept beside; they go with the first message.
      head: what the header gives to every message.
    """
    made: list[KernelMessage] = []
    for number, kind in enumerate(piece.makes):
        name = kind.__name__
        items = values.get(name, {})
        for item in items if isinstance(items, list) else [items]:
            own = item.pop("particulars", {}) if isinstance(items, list) else {}
            fields = _fields(kind, [head, piece.fixed, _first(piece.fixed, name), values, item])
            if number and not (required(kind) <= set(fields) and _tells(kind, fields, values, item)):
                continue
            kept = {**(particulars if not made else {}), **own}
            if kept:
                fields["particulars"] = particulars_of(kept)
            made.append(kind(**fields))
    return made


def _first(fixed: Any, kind: str) -> Values:
    """The fixed values that are meant for one kind."""
    return {key.removeprefix(f"{kind}."): value for key, value in fixed.items() if key.startswith(f"{kind}.")}


def _tells(kind: type[KernelMessage], fields: Values, values: Values, item: Values) -> bool:
    """Whether something of the piece itself stands in a further message."""
    return any(name in item or name in values for name in fields if name not in HEAD)


def _fields(cls: type[Struct], sources: list[Any]) -> Values:
    """The fields of a class that the sources give, the later ones first, with their parts made."""
    known = places(cls)
    found: Values = {}
    for source in sources:
        for key, value in source.items():
            first, _, inner = key.partition(".")
            place = known.get(first)
            if place is None:
                continue
            if inner:  # registers.grid: the same in the one part
                found.setdefault(first, {})
                found[first] = {**found[first], inner: value} if isinstance(found[first], dict) else found[first]
            elif isinstance(value, dict) and isinstance(found.get(first), dict):
                found[first] = {**found[first], **value}
            else:
                found[first] = value
    for name, value in found.items():
        place = known[name]
        if place.part is not None and place.many:
            listed = value if isinstance(value, list) else [value] if isinstance(value, dict) else None
            if listed is not None:
                found[name] = tuple(place.part(**item) for item in listed)
        elif place.part is not None and isinstance(value, dict):
            found[name] = place.part(**value)
        elif place.many and isinstance(value, list):
            found[name] = tuple(value)
    return found
