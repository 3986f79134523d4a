"""A field is declared once: words in two languages, unit, column, fact; everything else follows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest
from msgspec import Struct
from sqlalchemy import BigInteger, Boolean, Integer, String, Text

from energycomm.eis import domain
from energycomm.kernel import history
from energycomm.kernel.declaration import Declared, Kept, field
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import Part
from energycomm.kernel.schema import parts
from energycomm.kernel.shape import shape_of
from energycomm.kernel.vocabulary import Amount, CivilDay, Code, Instant, WholeNumber


class Leaf(Part, frozen=True, kw_only=True):
    """A leaf of a tree."""

    length: Annotated[WholeNumber, field("Length.", "Longueur.", unit="cm")]
    colour: Annotated[Code | None, field("Colour.", "Couleur.")] = None


class Tree(KernelMessage, frozen=True, kw_only=True, tag=True):
    """A tree at the access point."""

    kept: ClassVar[Kept | None] = Kept("tree", "arbre", head={"source": "market_type"})

    sort: Annotated[Code, field("Sort of tree, in Latin.", "Essence, en latin.", kept="sort", known_as="tree")]
    height: Annotated[Amount | None, field("Height.", "Hauteur.", unit="m", kept="height", known_as="tree_height")] = (
        None
    )
    planted: Annotated[CivilDay | None, field("Day of planting.", "Jour de plantation.", kept="planted_on")] = None
    felled: Annotated[Instant | None, field("When it was felled.", "Abattage.", kept="felled_at")] = None
    age: Annotated[WholeNumber | None, field("Age.", "Âge.", unit="years", kept="age")] = None
    fruit: Annotated[bool | None, field("It bears fruit.", "Arbre fruitier.", kept="fruit")] = None
    health: Annotated[
        Literal["good", "bad"] | None, field("Health.", "Santé.", kept="health", known_as="tree_health")
    ] = None
    top: Annotated[Leaf | None, field("The leaf at the top.", "Feuille du sommet.", kept="top")] = None
    owner: Annotated[Code | None, field("Owner.", "Propriétaire.")] = None


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tree]:
    """A message of a kind that was declared, and no more than that."""
    monkeypatch.setitem(KINDS, "Tree", Tree)
    told: dict[str, Any] = {"market": "FR", "market_type": "T1", "reference": "1"}
    at = datetime(2026, 1, 2, tzinfo=UTC)
    yield Tree(
        **told,
        created=at,
        effective=at,
        sort="Quercus",
        height=Decimal("1E+1"),
        planted=date(1990, 5, 1),
        felled=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        fruit=False,
        health="good",
        top=Leaf(length=4),
    )
    domain.declarations.cache_clear()


def test_the_columns_of_a_kind_follow_from_its_fields(tree: Tree) -> None:
    """Types and lengths are the bounds of the fields; what a message must say may not be empty."""
    columns = {one.name: one for one in domain.columns("tree")}
    types = {name: (type(one.type), getattr(one.type, "length", None)) for name, one in columns.items()}
    assert types == {
        "source": (String, 64),
        "sort": (String, 64),
        "height": (String, 24),
        "planted_on": (String, 10),
        "felled_at": (BigInteger, None),
        "age": (Integer, None),
        "fruit": (Boolean, None),
        "health": (String, 24),
        "top": (Text, None),
    }
    assert {name for name, one in columns.items() if not one.nullable} == {"source", "sort"}


def test_the_row_of_a_message_follows_from_its_fields(tree: Tree) -> None:
    assert domain.row_of(tree) == {
        "source": "T1",
        "sort": "Quercus",
        "height": "10",
        "planted_on": "1990-05-01",
        "felled_at": 1_000_000,
        "age": None,
        "fruit": False,
        "health": "good",
        "top": '{"length":4}',
    }


def test_rules_see_what_a_field_says_they_see(tree: Tree) -> None:
    facts = {fact.name: fact.field for fact in history.stated_facts() if fact.kind is Tree}
    assert facts == {"tree": "sort", "tree_height": "height", "tree_health": "health"}
    seen = history.with_stated("Seen", history.ComputedFacts, closed=True, frozen=True)
    assert msgspec.convert({"tree_height": "2.5", "tree_health": "bad"}, seen).tree_height == Decimal("2.5")
    with pytest.raises(msgspec.ValidationError, match="tree_health"):
        msgspec.convert({"tree_health": "so-so"}, seen)


def test_two_kinds_cannot_keep_values_of_different_types_in_one_column(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bush(KernelMessage, frozen=True, kw_only=True, tag=True):
        """A bush."""

        kept: ClassVar[Kept | None] = Kept("tree", "un arbre")
        sort: Annotated[WholeNumber, field("Sort.", "Sorte.", kept="sort")]

    monkeypatch.setitem(KINDS, "Bush", Bush)
    with pytest.raises(TypeError, match=r"tree\.sort"):
        domain.columns("tree")


@pytest.mark.parametrize("cls", [*KINDS.values(), *parts()], ids=lambda cls: cls.__name__)
def test_every_field_has_words_in_both_languages(cls: type[Struct]) -> None:
    shape = shape_of(cls)
    fields = [(one.field, one.declared) for one in shape.attributes] + [
        (one.field, one.declared) for one in shape.children
    ]
    for name, told in fields:
        assert told.english, name
        assert told.french, name
        assert told.english[-1] in ".)", told.english
        assert told.french[-1] in ".)", told.french
        assert told.english != told.french, name


@pytest.mark.parametrize(
    ("words", "label"),
    [
        ("Subscribed power, in `power_unit`.", "Subscribed power"),
        ("Access point: PRM, EAN-GSRN, ...; absent where none is concerned.", "Access point"),
        ("The market's kind of contract (GRD-F, CU, ...).", "The market's kind of contract"),
        ("Serial number.", "Serial number"),
    ],
)
def test_the_label_of_a_field_is_the_beginning_of_its_words(words: str, label: str) -> None:
    assert Declared(english=words).label("en") == label
    assert Declared(french=words).label("fr") == label
