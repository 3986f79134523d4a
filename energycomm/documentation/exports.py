"""The columns of exports: the generated part of docs/export.md."""

from __future__ import annotations

from energycomm.export.subjects import HEAD, SCHEMA, Column, subjects

TABLE = "| column | type | unit | filled | holds |\n|---|---|---|---|---|"


def reference() -> str:
    """Every subject with its columns."""
    pieces = [f"Schema version: {SCHEMA}.\n\n### Every subject\n\n{TABLE}\n" + _rows(HEAD)]
    for subject in subjects().values():
        own = subject.columns[len(HEAD) :]
        pieces.append(f"### {subject.name}\n\nA row is {subject.about}.\n\n{TABLE}\n{_rows(own)}")
    return "\n\n".join(pieces)


def _rows(columns: tuple[Column, ...]) -> str:
    return "\n".join(
        f"| `{column.name}` | {type_of(column)} | {_unit(column)} | {'yes' if column.filled else ''} | {column.about} |"
        for column in columns
    )


def type_of(column: Column) -> str:
    """The type of a column in words: decimal(18, 12) has at most so many digits before and after the point."""
    return f"decimal({column.digits[0]}, {column.digits[1]})" if column.digits is not None else column.type


def _unit(column: Column) -> str:
    return f"`{column.unit}`" if column.unit in ("unit", "power_unit", "currency") else column.unit
