"""A draft of the rule that is missing: a rule file that `energycomm rules check` accepts, for an analyst to take.

Its examples are messages of the store, reduced to what the condition reads. A person decides whether the market demands
it; no draft is in force before it is put into the folder of rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import count
from typing import Any

import msgspec
import yaml

from assistant.invariants.contents import Contents, places
from assistant.invariants.ranking import Group
from assistant.invariants.vocabulary import scope_of
from energycomm.engine import terms
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.expressions import lists_of, parse_condition
from energycomm.engine.interpretation import contexts, value_of
from energycomm.engine.wording import Tongue

EXAMPLES = 2
"""Messages of each side that are shown."""

SOURCE = "DRAFT of the assistant: no market document was read; name the section that demands this, or drop the rule."


def draft(group: Group, catalogue: Catalogue, number: int = 1) -> str:
    """A rule file with one rule, of the severity warning.

    Args:
      group: messages that break an invariant.
      catalogue: the rules, whose codes are taken.
      number: of the draft among several, so that their codes differ.
    """
    missing = group.missing
    scope = scope_of(catalogue, missing.market, missing.kind, missing.each)
    conditions = [parse_condition(text, scope) for text in (missing.when, missing.holds) if text]
    tongue = Tongue("en", missing.kind)
    words = [tongue.words(one) for one in conditions]
    sentence = words[0] if len(words) == 1 else f"When {words[0]}, then {words[1]}"
    error_code = _free(catalogue, missing.market, number)
    item = f"{lists_of(missing.kind)[missing.each]}." if missing.each else ""
    reads = list(dict.fromkeys(read for one in conditions for read in _reads(one)))
    field = next((read.name for read in reversed(reads) if not read.name.startswith(("history", "previous"))), "")
    rule: dict[str, Any] = {
        "code": f"{missing.market.lower()}-draft-{error_code[-3:].lower()}",
        "error_code": error_code,
        "title": sentence[0].upper() + sentence[1:],
        "sentence": f"{sentence[0].upper()}{sentence[1:]}.",
        "applies_to": [missing.kind],
    }
    if missing.each:
        rule["each"] = missing.each
    if missing.when:
        rule["when"] = missing.when
    rule |= {
        "holds": missing.holds,
        "field": _field(field, item),
        "comment": {
            "en": f"Unlike {missing.support} others: {sentence}.".replace("{", "(").replace("}", ")"),
            "fr": f"À la différence de {missing.support} autres : {missing.holds}.".replace("{", "(").replace("}", ")"),
        },
        "severity": "warning",
        "error_class": "grid_operator",
        "source": SOURCE,
        "examples": [*_examples(group, catalogue, reads, "passes"), *_examples(group, catalogue, reads, "fails")],
    }
    head = {"rule_set": "validation_in", "market": missing.market, "rules": [rule]}
    told = f"# {missing.why}.\n# Messages that break it: {', '.join(map(str, missing.messages))}.\n"
    return told + yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=120)


def _field(name: str, item: str) -> str:
    """What a finding points at: a field of the message, or of the item."""
    if name.startswith("particular("):
        return "market_type"
    return name if item and name.startswith(item) else name.partition(".")[0] or "market_type"


def _free(catalogue: Catalogue, market: str, number: int) -> str:
    """The n-th error code of the market that no rule has."""
    taken = {rule.error_code for rule in catalogue.rules}
    free = (f"{market}-X{place:02d}" for place in count(1) if f"{market}-X{place:02d}" not in taken)
    return next(code for place, code in enumerate(free, 1) if place == number)


def _reads(term: terms.Value | terms.Condition) -> Iterator[terms.Read]:
    if isinstance(term, terms.Read):
        yield term
    for child in terms.children(term):
        yield from _reads(child)


def _examples(group: Group, catalogue: Catalogue, reads: Sequence[terms.Read], verdict: str) -> list[dict[str, Any]]:
    invariant, contents = group.invariant, group.mined.contents
    rows = (invariant.broken if verdict == "fails" else invariant.met) & contents.accepted
    found: list[dict[str, Any]] = []
    for place in places(rows, 10 * EXAMPLES):
        one = {verdict: _example(contents, place, catalogue, reads, invariant.each)}
        if one not in found and len(found) < EXAMPLES:
            found.append(one)
    return found


def _example(
    contents: Contents, place: int, catalogue: Catalogue, reads: Sequence[terms.Read], each: str | None
) -> dict[str, Any]:
    """What the condition reads of one row, in the form of an example."""
    owner = contents.owners[place]
    case = contents.cases[owner]
    number = place - contents.owners.index(owner)
    context = contexts(case.message, case.history, catalogue.codes, frozenset(), each)[number][1]
    found: dict[str, Any] = {}
    item: dict[str, Any] = {}
    previous: dict[str, Any] = {}
    history: dict[str, Any] = {}
    for read in reads:
        value = _written(value_of(read, context))
        if value is not None:
            _put(read.path, value, found, item, previous, history)
    if each is not None:
        found[each] = [item]
    if previous:
        history["registers"] = [previous]
    if history:
        found["history"] = history
    return found


def _put(
    path: tuple[str, ...],
    value: Any,
    found: dict[str, Any],
    item: dict[str, Any],
    previous: dict[str, Any],
    history: dict[str, Any],
) -> None:
    match path:
        case ("history", fact):
            history[fact] = value
        case ("previous", fact):
            previous[fact] = value
        case ("item", name):
            item[name] = value
        case ("particular", kind, called):
            found.setdefault("particulars", []).append({"name": called, kind: value})
        case (owner, name):
            found.setdefault(owner, {})[name] = value
        case (name,):
            found[name] = value


def _written(value: Any) -> Any:
    """A value as an example writes it."""
    if isinstance(value, tuple):
        return msgspec.to_builtins(value, builtin_types=(), str_keys=True) if value else None
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value
