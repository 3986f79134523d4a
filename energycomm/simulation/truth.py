"""Compares the EIS with the truth file of a simulation; returns the differences in words.

The EIS is read by SQL of its own, so that a mistake in the product's reading side cannot hide one in its verdicts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from sqlalchemy import Connection, Engine, text

from energycomm.kernel.counting import counted
from energycomm.simulation.expectation import Truth

Place: TypeAlias = tuple[str, str, int]
"""Envelope, path of the member in it, position of the CH message."""


class Difference(NamedTuple):
    """One thing that is not as it should be.

    Attributes:
      what: what is compared.
      truth: the line of the truth file, None for a message that it does not know.
      expected, found: the two sides.
    """

    what: str
    truth: Truth | None
    expected: str
    found: str

    def __str__(self) -> str:
        if self.truth is None:
            return f"{self.what}: expected {self.expected}, found {self.found}"
        fault = self.truth.outcome.fault or "no fault"
        where = f"{self.truth.envelope} {self.truth.member} #{self.truth.position}"
        return (
            f"{self.what} of {self.truth.reference} ({fault}): expected {self.expected}, found {self.found} [{where}]"
        )


class _Judged(NamedTuple):
    """One Kernel message of the EIS."""

    kind: str
    state: str
    errors: tuple[str, ...]
    warnings: tuple[str, ...]


class _Arrived(NamedTuple):
    """One CH message of the EIS."""

    outcome: str
    messages: list[_Judged]


_MESSAGES = """
SELECT e.name, m.path, c.position, c.outcome, k.id, k.kind, k.state
  FROM ch_message c
  JOIN envelope e ON e.id = c.envelope_id
  JOIN member m ON m.id = c.member_id
  LEFT JOIN kernel_message k ON k.ch_message_id = c.id AND k.version = 1
 ORDER BY c.id, k.position
"""
_FINDINGS = 'SELECT message_id, error_code, severity FROM finding WHERE "current"'
_DUPLICATES = """
SELECT e.name, m.path, d.position
  FROM ch_duplicate d JOIN envelope e ON e.id = d.envelope_id JOIN member m ON m.id = d.member_id
"""
_DUPLICATE_MEMBERS = """
SELECT e.name, m.path FROM member m JOIN envelope e ON e.id = m.envelope_id WHERE m.state = 'duplicate'
"""
_DUPLICATE_ENVELOPES = "SELECT name FROM envelope WHERE state = 'duplicate'"


def compare_truth(engine: Engine, truth: Iterable[Truth], *, warnings: bool = True) -> list[Difference]:
    """Compare an EIS with the truth of the simulation that was processed into it.

    Args:
      engine: of an EIS that holds nothing but the simulation.
      truth: all lines of the truth file.
      warnings: compare warnings too, not states and errors only.

    Returns:
      Every difference; empty when the EIS is right. Of messages of equal content exactly one must have been judged, and
      each other one be on record as a duplicate.
    """
    with engine.connect() as connection:
        arrived = _arrived(connection)
        duplicates = {(name, path, position) for name, path, position in connection.execute(text(_DUPLICATES))}
        members = {(name, path) for name, path in connection.execute(text(_DUPLICATE_MEMBERS))}
        envelopes = {name for (name,) in connection.execute(text(_DUPLICATE_ENVELOPES))}
    twins: dict[str | Place, list[Truth]] = defaultdict(list)
    for line in truth:
        twins[line.twin or _place(line)].append(line)
    differences: list[Difference] = []
    for lines in twins.values():
        judged = [line for line in lines if _place(line) in arrived]
        if len(judged) != 1:
            differences.append(Difference("judged copies", lines[0], "1", str(len(judged))))
            continue
        differences += _compare(judged[0], arrived.pop(_place(judged[0])), warnings)
        for line in lines:
            place = _place(line)
            told = place in duplicates or place[:2] in members or place[0] in envelopes
            if line is not judged[0] and not told:
                differences.append(Difference("arrival", line, "a duplicate on record", "nothing"))
    differences += [Difference("a CH message", None, "none", " ".join(map(str, place))) for place in arrived]
    return differences


def _place(line: Truth) -> Place:
    return line.envelope, line.member, line.position


def _arrived(connection: Connection) -> dict[Place, _Arrived]:
    codes: dict[int, dict[str, set[str]]] = defaultdict(lambda: {"error": set(), "warning": set()})
    for message_id, code, severity in connection.execute(text(_FINDINGS)):
        codes[message_id][severity].add(code)
    found: dict[Place, _Arrived] = {}
    for name, path, position, outcome, message_id, kind, state in connection.execute(text(_MESSAGES)):
        arrived = found.setdefault((name, path, position), _Arrived(outcome, []))
        if message_id is not None:
            own = codes.get(message_id, {"error": (), "warning": ()})
            arrived.messages.append(_Judged(kind, state, tuple(sorted(own["error"])), tuple(sorted(own["warning"]))))
    return found


def _compare(line: Truth, arrived: _Arrived, with_warnings: bool) -> list[Difference]:
    """One CH message against its line."""
    if line.outcome.state.get("*") == "refused":
        return [] if arrived.outcome == "refused" else [Difference("outcome", line, "refused", arrived.outcome)]
    if arrived.outcome != "digested":
        return [Difference("outcome", line, "digested", arrived.outcome)]
    differences: list[Difference] = []
    kinds = tuple(sorted(message.kind for message in arrived.messages))
    if line.kinds is not None and line.kinds != kinds:
        differences.append(Difference("kinds", line, " ".join(line.kinds), " ".join(kinds)))
    numbers: Counter[str] = Counter()
    for message in arrived.messages:
        numbers[message.kind] += 1
        state, errors, warnings = line.outcome.of(message.kind, numbers[message.kind])
        expected = _words(state, errors, warnings if with_warnings else ())
        found = _words(message.state, message.errors, message.warnings if with_warnings else ())
        if expected != found:
            differences.append(Difference(message.kind, line, expected, found))
    return differences


def _words(state: str, errors: Sequence[str], warnings: Sequence[str]) -> str:
    codes = [*sorted(errors), *(f"{code} (warning)" for code in sorted(warnings))]
    return f"{state} {' '.join(codes)}".rstrip()


def describe(differences: Sequence[Difference], limit: int = 20) -> str:
    """Differences for a person: how many of which sort, and the first ones in full."""
    sorts = Counter(
        f"{each.what} ({each.truth.outcome.fault if each.truth else 'unknown message'})" for each in differences
    )
    lines = [counted(len(differences), "difference")]
    lines += [f"  {number} x {sort}" for sort, number in sorts.most_common(limit)]
    return "\n".join([*lines, *map(str, differences[:limit])])
