"""What a message keeps beside its fields: names that repeat or are too long, values that are too many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from adapters.common.particulars import Particulars, kept
from energycomm.kernel.check import explain
from energycomm.kernel.codec import encode
from energycomm.kernel.instants import EPOCH
from energycomm.kernel.messages import ErrorReport

LONGEST = 120
"""Characters of a particular's name, as kernel.xsd has it."""
MOST = 1000


def _report(**fields: object) -> ErrorReport:
    head = {"market": "QQ", "market_type": "T", "reference": "1", "created": EPOCH, "effective": EPOCH}
    return ErrorReport(**{**head, "sender": "A", "receiver": "B", "code": "1", **fields})  # type: ignore[arg-type]


def test_the_second_of_a_name_has_a_number_and_what_is_empty_is_left_out() -> None:
    made, notes = kept([("A", "1"), ("A", "2"), ("B", None), ("C", ""), ("D", False)])
    assert {one.name: one.value for one in made} == {"A": "1", "A[2]": "2", "D": False}
    assert notes == ()


def test_a_name_that_is_too_long_loses_its_first_steps() -> None:
    path = "/".join(["head", "y" * 60, "z" * 50, "end"])
    made, _ = kept([(path, "1"), (f"other/{path}", "2"), ("x" * 130, "3"), ("a b=c", "4")])
    names = [one.name for one in made]
    assert f"{'y' * 60}/{'z' * 50}/end" in names
    assert "a_b_c" in names
    assert len(set(names)) == 4
    assert all(len(name) <= LONGEST for name in names)
    assert explain(encode(_report(particulars=made))) == []


def test_more_than_a_message_holds_is_noted_with_the_first_that_is_left() -> None:
    made, [note] = kept((f"P{number}", str(number)) for number in range(MOST + 5))
    assert len(made) == MOST
    assert (note.code, note.path, note.value) == ("NOTE_PARTICULARS", f"P{MOST}", str(MOST + 5))
    assert explain(encode(_report(particulars=made))) == []


@pytest.fixture
def table(tmp_path: Path) -> Particulars:
    path = tmp_path / "particulars.csv"
    path.write_text("document,path,type\nQ,Day,day\nQ,Box/Sum,number\nQ,Open,text\n", encoding="utf-8")
    return Particulars(path)


XML = "<P><Day>2026-03-01</Day><Box><Sum>1.50</Sum></Box><Box><Sum>x</Sum></Box><Open a='1'><I>2</I></Open></P>"
BORNE = {"Day": date(2026, 3, 1), "Box/Sum": Decimal("1.50"), "Box[2]/Sum": "x", "Open/I": "2"}


def test_an_element_and_what_was_read_of_it_give_the_same_but_attributes(table: Particulars) -> None:
    read = {"Day": "2026-03-01", "Box": [{"Sum": "1.50"}, {"Sum": "x"}], "Open": [{"I": "2"}], "More": "7"}
    for content, more in ((etree.fromstring(XML), {"Open/@a": "1"}), (read, {})):
        (first, other), notes = table.added((_report(), _report()), "Q", content)
        assert {one.name: one.value for one in first.particulars} == {**BORNE, **more}
        assert (other.particulars, notes) == ((), ())


ROWS = (("Day", "day"), ("Box/Sum", "number"), ("Box/In/Flag", "truth"), ("Box2", "text"), ("Open", "text"))
LEAVES = st.sampled_from(["", "x", "0", "true", "1.50", "2026-03-01", "y" * 400, "z" * 401])
TREES: st.SearchStrategy[dict[str, Any]] = st.deferred(
    lambda: st.dictionaries(
        st.sampled_from(["Day", "Box", "In", "Sum", "Flag", "Box2", "Open", "Other"]),
        st.one_of(LEAVES, st.lists(TREES, min_size=1, max_size=3)),
        max_size=5,
    )
)


def _at(fields: dict[str, Any], steps: Sequence[str], before: str = "") -> Iterator[tuple[str, str]]:
    """What stands at a path, with the path of each; the second of a name is numbered."""
    held = fields.get(steps[0])
    if isinstance(held, str):
        if len(steps) == 1:
            yield before + steps[0], held
        return
    for number, inner in enumerate(held or (), 1):
        path = f"{before}{steps[0]}" + (f"[{number}]" if number > 1 else "")
        for below in steps[1:2] or list(inner):
            yield from _at(inner, [below, *steps[2:]], f"{path}/") if steps[1:] else _all(inner, below, f"{path}/")


def _all(fields: dict[str, Any], name: str, before: str) -> Iterator[tuple[str, str]]:
    held = fields[name]
    if isinstance(held, str):
        yield before + name, held
        return
    for number, inner in enumerate(held, 1):
        for below in inner:
            yield from _all(inner, below, f"{before}{name}" + (f"[{number}]/" if number > 1 else "/"))


@pytest.mark.thorough
@settings(max_examples=200, deadline=None)
@given(TREES)
def test_what_a_table_says_is_kept_wherever_it_stands(fields: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "particulars.csv"
        path.write_text("document,path,type\n" + "".join(f"Q,{name},{kind}\n" for name, kind in ROWS), "utf-8")
        table = Particulars(path)
    (first,), notes = table.added((_report(),), "Q", fields)
    wanted = {
        name: written
        for path, _ in ROWS
        for name, written in _at(fields, path.split("/"))
        if len(written) in range(1, 401)
    }
    told = {one.name: one.value for one in first.particulars}
    assert notes == ()
    assert [one.name for one in first.particulars] == sorted(told)
    assert {name for name in told if told[name] not in ("z" * 400, "z")} == set(wanted)
    values = {"true": {True, "true"}, "0": {False, Decimal(0), "0"}, "1.50": {Decimal("1.50"), "1.50"}}
    for name, written in wanted.items():
        days = {"2026-03-01": {date(2026, 3, 1), "2026-03-01"}}
        assert told[name] in {**values, **days}.get(written, {written})


def test_what_a_message_bears_already_stays(table: Particulars) -> None:
    borne, _ = kept((f"P{number}", str(number)) for number in range(MOST - 1))
    (first,), [note] = table.added((_report(particulars=borne),), "Q", etree.fromstring(XML))
    assert first.particulars[:-1] == borne
    assert len(first.particulars) == MOST
    assert note.code == "NOTE_PARTICULARS"
