"""Templates of the texts in code: what is put together with values, its values as `{0}`, `{1}`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import count


def templates_of(node: ast.expr) -> list[str]:
    """The templates of a text in code; of a choice those of both; none where it is no text."""
    match node:
        case ast.IfExp():
            return templates_of(node.body) + templates_of(node.orelse)
        case ast.Subscript():
            return templates_of(node.value)
        case ast.Constant(value=str(text)):
            return [text]
    numbers = count()
    text = "".join(piece if piece is not None else f"{{{next(numbers)}}}" for piece in _pieces(node))
    return [text] if text.strip("{0}") else []


def _pieces(node: ast.expr) -> Iterator[str | None]:
    """The words of a text in code, None for each value."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            for one in values:
                yield str(one.value) if isinstance(one, ast.Constant) else None
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            yield from _pieces(left)
            yield from _pieces(right)
        case _:
            yield None
