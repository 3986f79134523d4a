"""Nasty values wherever a value stands: a refusal or a verdict, the same on both databases, never a break."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from energycomm.eis import tables
from energycomm.kernel.family import KINDS
from energycomm.kernel.shape import shape_of
from tests.pipeline.desk import Desk
from tests.postgres import PostgresServer
from tests.sweep import fields, leaves
from tests.sweep.__main__ import compared, verdicts
from tests.sweep.twins import Made, Twin, fixtures, form_of


@pytest.fixture(scope="module")
def twins(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Twin, Twin]]:
    """A store on each database."""
    name = postgres.create_database()
    made = Twin(f"sqlite:///{tmp_path_factory.mktemp('sweep')}/eis.db"), Twin(postgres.url(name))
    yield made
    for twin in made:
        twin.desk.database.dispose()
        Desk.open.remove(twin.desk)
    postgres.drop_database(name)


@pytest.mark.thorough
def test_a_sample_of_all_cases_is_refused_or_judged_alike(twins: tuple[Twin, Twin]) -> None:
    """`python -m tests.sweep` runs every case."""
    number, wrong = 0, {}
    for name, said in verdicts(twins, 3, 997):
        number += 1
        if said:
            wrong[name] = said
    assert number > 300
    assert wrong == {}


@pytest.mark.slow
def test_many_cases_are_refused_or_judged_alike(twins: tuple[Twin, Twin]) -> None:
    wrong = {name: said for name, said in verdicts(twins, 5, 31) if said}
    assert wrong == {}


@pytest.mark.parametrize("path", fixtures(), ids=lambda path: path.name)
def test_every_fixture_has_leaves_to_be_changed(path: Path) -> None:
    """And the first change changes it."""
    content = path.read_bytes()
    first = next(leaves.cases(content, form_of(path)))()
    assert first.content != content
    assert sum(1 for _ in leaves.cases(content, form_of(path))) > 40


def test_the_cases_of_fields_are_of_every_field_of_every_kind() -> None:
    names = {case.name.split(" ")[0] for case in fields.cases()}
    assert names >= {f"{kind}.{one.field}" for kind, cls in KINDS.items() for one in shape_of(cls).attributes}


def test_a_break_would_be_found() -> None:
    """What is compared tells a break, a difference and silence from a refusal."""
    refused = Made((("SYN_VALUE", "x", "y"),), (), (("refused", 1),))
    assert compared(refused, refused) == []
    aside = Made((("CH_PUT_ASIDE", "x", "y"),), (), (("put-aside", 1),))
    assert compared(aside, aside)
    assert compared(refused, Made((), (), ()))
    assert compared(Made((), (), ()), Made((), (), ()))
    assert compared("ValueError: x", refused)
    broken = Made((), (("MeterReading", "engine_error", ""),), (("digested", 1),))
    assert compared(broken, broken)


def test_no_field_that_is_kept_in_a_column_has_wider_bounds_than_the_column() -> None:
    """Where both have one name; `reference` of the tables is that of the contract, request or reading."""
    wider = []
    for kind, cls in KINDS.items():
        for field in shape_of(cls).attributes:
            for table in (*tables.EFFECTS, *tables.ALONE, tables.kernel_message):
                length = getattr(table.c[field.field].type, "length", None) if field.field in table.c else None
                if field.field == "reference":
                    continue
                if length is not None and field.scalar.longest is not None and field.scalar.longest > length:
                    wider.append(f"{kind}.{field.field} {table.name}")
    assert wider == []
