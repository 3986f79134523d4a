"""What can be said of messages of a kind in the language of rules: fields, facts, counts, particulars and predicates.

Nothing of a rule is read here but the names of the predicates and code lists that it uses: what only a rule left out
uses is left out with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from energycomm.engine import terms
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.codes import CodeLists
from energycomm.engine.expressions import PARTICULARS, Scope, lists_of, parse_value
from energycomm.engine.predicates import Predicate
from energycomm.engine.rule import Rule
from energycomm.engine.valuetypes import ValueType, accepts, fields_of
from energycomm.kernel.family import KINDS
from energycomm.kernel.shape import shape_of

DAYS = frozenset(("date", "datetime"))
_SCALARS = frozenset(("str", "int", "decimal", "float", "bool")) | DAYS
_UNTOLD = frozenset(("market", "opening_facts"))
"""Values of which nothing is to be learned: equal in all messages, or words about other facts."""


@dataclass(frozen=True)
class Told:
    """A value that can be said of a message, or of an item of one of its lists.

    Attributes:
      text: the value as a rule writes it.
      term: the value.
      personal: it tells of a person: whether it is there and its form are looked at, never what it is.
    """

    text: str
    term: terms.Value
    personal: bool = False

    @property
    def type(self) -> ValueType:
        """Its type."""
        return self.term.type

    @property
    def last(self) -> str:
        """The last part of its name: `value` of `register.value`."""
        return self.text.rpartition(".")[2]

    @property
    def past(self) -> bool:
        """Whether it is known of the access point, not told by the message."""
        return self.text.startswith(("history.", "previous."))

    @property
    def measure(self) -> str:
        """What a number counts, by the last word of its name: `wh` of `previous.index_wh` and of `wh(...)`."""
        name = self.term.predicate.name if isinstance(self.term, terms.Call) else self.last
        return name.rpartition("_")[2]


def scope_of(catalogue: Catalogue, market: str, kind: str, each: str | None) -> Scope:
    """What a rule of a market may name that judges a kind, or the items of one of its lists."""
    return Scope(
        kind,
        catalogue.predicates,
        each,
        frozenset(catalogue.codes.shared([market])),
        False,
        catalogue.particulars.get(market, {}),
        market,
    )


def told_of(catalogue: Catalogue, market: str, kind: str, each: str | None) -> list[Told]:
    """Every value that can be said of messages of a kind, or of the items of a list: fields, facts, then predicates."""
    scope = scope_of(catalogue, market, kind, each)
    personal = {one.field for one in shape_of(KINDS[kind]).attributes if one.declared.personal is not None}
    personal |= {one.field for one in shape_of(KINDS[kind]).children if one.declared.personal is not None}
    found: list[Told] = []
    lists: list[Told] = []
    for name, kept in fields_of(KINDS[kind]).items():
        if name in _UNTOLD or name == PARTICULARS:
            continue
        if kept.bases <= _SCALARS:
            found.append(Told(name, parse_value(name, scope), name in personal))
        elif kept.bases == {"struct"} and kept.struct is not None and each is None:
            inner = [one for one, of in fields_of(kept.struct).items() if of.bases <= _SCALARS]
            found += [Told(f"{name}.{one}", parse_value(f"{name}.{one}", scope), name in personal) for one in inner]
        elif kept.bases == {"list"} and each is None:
            lists.append(Told(name, parse_value(name, scope)))
            found.append(Told(f"count({name})", parse_value(f"count({name})", scope)))
    for name, struct in scope.names.items():
        inner = [one for one, of in fields_of(struct).items() if of.bases <= _SCALARS and one not in _UNTOLD]
        found += [Told(f"{name}.{one}", parse_value(f"{name}.{one}", scope)) for one in inner]
    if each is None:
        found += [
            Told(f"particular({name!r})", parse_value(f"particular({name!r})", scope)) for name in scope.particulars
        ]
    return found + list(_called(found + lists, scope))


def _called(told: list[Told], scope: Scope) -> Iterator[Told]:
    """Predicates of the values: one argument is any value of its type, of several each bears its name."""
    for predicate in scope.predicates.values():
        taken = [_fitting(told, predicate, place) for place in range(len(predicate.parameters))]
        for chosen in product(*taken):
            if len(set(chosen)) == len(chosen) and any(_own(one, scope) for one in chosen):
                text = f"{predicate.name}({', '.join(one.text for one in chosen)})"
                value = parse_value(text, scope)
                if value.type.bases <= _SCALARS:
                    yield Told(text, value, any(one.personal for one in chosen))


def _own(one: Told, scope: Scope) -> bool:
    """Whether a value is of what is judged: of the item in a rule of items, else anything."""
    return scope.each is None or one.text.startswith((f"{lists_of(scope.kind)[scope.each]}.", "previous."))


def _fitting(told: list[Told], predicate: Predicate, place: int) -> list[Told]:
    """The values that a parameter may take."""
    name, wanted = predicate.parameters[place]
    fitting = [one for one in told if accepts(wanted, one.type) and "any" not in wanted.bases]
    alone = len(predicate.parameters) == 1 and predicate.returns.bases == {"bool"}
    if alone and wanted.bases.isdisjoint(("list", "bool")):
        return [one for one in fitting if not one.past and one.type.words is None]
    return [one for one in fitting if _named(one, name)]


def _named(one: Told, parameter: str) -> bool:
    """Whether a value bears the name of a parameter: `power` is `subscribed_power`, `previous_unit_wh` the previous
    `unit_wh`."""
    if parameter.startswith("previous_"):
        return one.text == parameter.replace("_", ".", 1)
    return one.last == parameter or (one.last.endswith(f"_{parameter}") and len(parameter) > 2)


def without(catalogue: Catalogue, error_codes: frozenset[str]) -> Catalogue:
    """The rules without some, and without the predicates and code lists that no other rule uses."""
    kept = tuple(rule for rule in catalogue.rules if rule.error_code not in error_codes)
    gone = tuple(rule for rule in catalogue.rules if rule.error_code in error_codes)
    predicates, lists = (one - other for one, other in zip(_used(gone), _used(kept), strict=True))
    return replace(
        catalogue,
        rules=kept,
        predicates={name: one for name, one in catalogue.predicates.items() if name not in predicates},
        codes=CodeLists(tuple(entry for entry in catalogue.codes.entries if entry.list not in lists)),
    )


def _used(rules: tuple[Rule, ...]) -> tuple[set[str], set[str]]:
    """Names of the predicates and of the code lists that rules use."""
    predicates: set[str] = set()
    lists: set[str] = set()
    for rule in rules:
        stack: list[Any] = list(rule.triggers.values())
        while stack:
            term = stack.pop()
            if isinstance(term, terms.Call):
                predicates.add(term.predicate.name)
            if isinstance(term, terms.InList):
                lists.add(term.list)
            stack += terms.children(term)
    return predicates, lists
