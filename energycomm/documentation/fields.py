"""The page docs/fields.md: every field of every Kernel message, from its declaration."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from energycomm.kernel.declaration import Declared
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.requests import CustomerRequest, Request
from energycomm.kernel.schema import parts
from energycomm.kernel.shape import Scalar, shape_of

INTRODUCTION = """\
# Fields

Every field of the Kernel messages, as `energycomm/kernel` declares it. This page is written by `make docs`; do not edit
it. *Kept* is the column of the domain table that keeps the value of an accepted message, *history* the fact by which
rules read the value that was stated last. A required field is marked with *.
"""

HEAD = "| field | type | unit | English | French | kept | history |\n|---|---|---|---|---|---|---|"

SHARED: tuple[tuple[type[Struct], str], ...] = (
    (KernelMessage, "Every message"),
    (Request, "Every request"),
    (CustomerRequest, "Every request that names a customer"),
)


def page() -> str:
    """The page docs/fields.md."""
    pieces = [INTRODUCTION]
    for number, (cls, title) in enumerate(SHARED):
        pieces.append(_section(title, cls, SHARED[number - 1][0] if number else None))
    for name, kind in KINDS.items():
        base = next(cls for cls, _ in reversed(SHARED) if issubclass(kind, cls))
        pieces.append(_section(f"`{name}`", kind, base))
    pieces += [_section(f"Part `{part.__name__}`", part, None) for part in parts()]
    return "\n".join(pieces)


def _section(title: str, cls: type[Struct], base: type[Struct] | None) -> str:
    """The fields of a class that its base has not."""
    shared = set(base.__struct_fields__) if base is not None else set()
    rows = [row for name, row in _rows(cls) if name not in shared]
    table = f"\n\n{HEAD}\n" + "\n".join(rows) if rows else ""
    return f"## {title}\n\n{' '.join(shape_of(cls).about.split())}{_kept(cls)}{table}\n"


def _kept(cls: type[Struct]) -> str:
    """Where messages of a kind are kept, with the fields of the head that are kept with them."""
    if not issubclass(cls, KernelMessage) or cls.kept is None:
        return ""
    head = "".join(f", `{field}` as `{column}`" for column, field in cls.kept.head.items())
    return f" Kept in the table `{cls.kept.table}`{head}."


def _rows(cls: type[Struct]) -> Iterator[tuple[str, str]]:
    table = cls.kept.table if issubclass(cls, KernelMessage) and cls.kept is not None else ""
    shape = shape_of(cls)
    fields: list[tuple[str, str, Declared, bool]] = [
        (one.field, _type(one.scalar), one.declared, one.required) for one in shape.attributes
    ]
    for child in shape.children:
        several = f"up to {child.most} " if child.many else ""
        fields.append((child.field, f"{several}`{child.part.__name__}`", child.declared, child.required))
    for name, kind, declared, required in fields:
        cells = (
            f"`{name}`{' *' if required else ''}",
            kind,
            f"`{declared.unit}`" if declared.unit in cls.__struct_fields__ else declared.unit or "",
            declared.english,
            declared.french,
            f"`{table}.{declared.kept}`" if declared.kept else "",
            f"`history.{declared.known_as}`" if declared.known_as else "",
        )
        yield name, "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _type(scalar: Scalar) -> str:
    if scalar.words:
        return ", ".join(f"`{word}`" for word in scalar.words)
    if scalar.name == "text":
        return f"text, at most {scalar.longest}" if scalar.pattern is None else f"text, `{scalar.pattern}`"
    if scalar.name == "decimal":
        return f"decimal number, {scalar.whole}.{scalar.fraction} digits"
    if scalar.name == "integer":
        return f"whole number, {scalar.least} to {scalar.most}"
    return {"truth": "yes or no", "instant": "instant", "day": "civil day"}[scalar.name]
