"""Splits an XML document into its header and its CH messages, one at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import IO

from lxml import etree

from adapters.common.codes import Unreadable, refusal
from adapters.common.reading import local, namespace_of
from energycomm.kernel import safexml


def split(
    stream: IO[bytes], root: str, namespaces: Collection[str | None], header: Collection[str],
    pieces: Collection[tuple[str, ...]], *, closed: bool = False,
) -> Iterator[tuple[tuple[str, ...], etree._Element]]:  # fmt: skip
    """The header's elements of a document, then its pieces, with their paths below the root.

    What stands in the header has to stand before the first piece.

    Args:
      stream: the bytes; read once.
      root: local name of the root element.
      namespaces: those that the document may have; None for none.
      header: names of the root's children that make the header.
      pieces: paths of the elements that are CH messages; an empty one for the document itself, which is then held
        whole.
      closed: whether what stands beside header and pieces is told too, in its place: children of the root that are
        unknown, those of another namespace by their whole name, and those of the header behind a piece.

    Raises:
      Unreadable: the root is another (ROOT_UNEXPECTED).
      safexml.Unreadable: the document is broken.
    """
    spaces = ["" if space is None else f"{{{space}}}" for space in namespaces]
    # The root comes last: where there is no piece, its children are the header still.
    tags = [space + name for space in spaces for name in {root, *(path[-1] for path in pieces if path)}]
    deepest = max(len(path) for path in pieces)
    first_names = {path[0] for path in pieces if path}
    begun = False
    for element in safexml.iterate(stream, tags):
        path, top = _path(element, deepest)
        if not begun:
            begun = True
            yield from _header(element, root, None if closed else header)
        elif closed:
            yield from _strangers(element, first_names)
        if top is None or path not in pieces:
            continue  # one wanted element inside another: the outer one's reading tells it
        _check_root(top, element, root)
        yield path, element


def _header(
    first: etree._Element, root: str, header: Collection[str] | None
) -> Iterator[tuple[tuple[str, ...], etree._Element]]:
    """The children of the root before the first piece, or all of them where the root itself is all there is; those that
    are named, or all for None."""
    top = first.getroottree().getroot()
    _check_root(top, first, root)
    for child in top.iterchildren(etree.Element):
        if child is first or any(above is child for above in first.iterancestors()):
            return
        name = _name(child, top)
        if header is None or name in header:
            yield (name,), child


def _strangers(element: etree._Element, pieces: Collection[str]) -> Iterator[tuple[tuple[str, ...], etree._Element]]:
    """The children of the root between the last wanted element and this one that are no pieces."""
    top = element.getroottree().getroot()
    for child in top.iterchildren(etree.Element):
        if child is element or any(above is child for above in element.iterancestors()):
            return
        name = _name(child, top)
        if name not in pieces:
            yield (name,), child


def _name(child: etree._Element, top: etree._Element) -> str:
    """Local name of a child of the root; the whole one where it has another namespace than the root."""
    tag = str(child.tag)
    return local(tag) if namespace_of(tag) == namespace_of(str(top.tag)) else tag


def _check_root(top: etree._Element, element: etree._Element, root: str) -> None:
    space = namespace_of(str(element.tag))
    if str(top.tag) != (f"{{{space}}}{root}" if space else root):
        raise Unreadable(refusal("ROOT_UNEXPECTED", value=str(top.tag), expected=root))


def _path(element: etree._Element, deepest: int) -> tuple[tuple[str, ...], etree._Element | None]:
    """Local names from the root's child to an element, and the root; no root where it stands too deep."""
    names: list[str] = []
    while (parent := element.getparent()) is not None:
        if len(names) == deepest:
            return (), None
        names.append(str(element.tag).rpartition("}")[2])
        element = parent
    return tuple(reversed(names)), element
