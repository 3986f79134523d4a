"""What differs between two catalogues of rules, in words: rules, code lists, and the functions that rules call."""

from __future__ import annotations

import ast
import difflib
import re
import textwrap
from collections.abc import Iterator

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.predicates import Predicate
from energycomm.engine.rule import Rule
from energycomm.engine.wording import condition_in_words


def differences(old: Catalogue, new: Catalogue) -> list[tuple[str, str, str]]:
    """What differs between two catalogues, in words: (added | removed | changed, what, how)."""
    found = [*_rules(old, new), *_predicates(old, new)]
    entries = {(e.market, e.list, e.code, e.since, e.until): e for e in old.codes.entries}
    others = {(e.market, e.list, e.code, e.since, e.until): e for e in new.codes.entries}
    for sign, keys in (("added", others.keys() - entries.keys()), ("removed", entries.keys() - others.keys())):
        for market, name, code, since, until in sorted(keys, key=str):
            days = f" from {since or 'ever'} to {until or 'ever'}" if since or until else ""
            found.append((sign, f"code {market} {name}", f"{code}{days}"))
    return found


def _rules(old: Catalogue, new: Catalogue) -> Iterator[tuple[str, str, str]]:
    before = {(rule.code, rule.since): rule for rule in old.rules}
    after = {(rule.code, rule.since): rule for rule in new.rules}
    for key in sorted(before.keys() | after.keys(), key=str):
        one, other = before.get(key), after.get(key)
        if one is None and other is not None:
            yield "added", _name(other), f"{other.sentence} {condition_in_words(other)}"
        elif other is None and one is not None:
            yield "removed", _name(one), one.sentence
        elif one is not None and other is not None:
            told, tells = _facts(one), _facts(other)
            for name in told:
                if told[name] != tells[name]:
                    yield "changed", _name(other), f"{name}: {told[name]} -> {tells[name]}"


def _name(rule: Rule) -> str:
    return f"{rule.error_code} {rule.code}".strip()


def _facts(rule: Rule) -> dict[str, str]:
    return {
        "error code": rule.error_code,
        "demands": condition_in_words(rule),
        "applies to": " ".join(rule.applies_to),
        "markets": " ".join(rule.markets) or "all",
        "severity": rule.severity,
        "class": rule.error_class,
        "repaired by": " ".join(rule.repair),
        "until": str(rule.until or "open"),
        "does": " ".join((*rule.do, rule.notify or "", rule.wait or "")).strip(),
        "sentence": rule.sentence,
    }


def _predicates(old: Catalogue, new: Catalogue) -> Iterator[tuple[str, str, str]]:
    """Functions that rules call: a change of one changes every rule that calls it."""
    for name in sorted(old.predicates.keys() | new.predicates.keys()):
        one, other = old.predicates.get(name), new.predicates.get(name)
        if one is None and other is not None:
            yield "added", f"predicate {name}", f"{other.signature}: {other.description.splitlines()[0]}"
        elif other is None and one is not None:
            yield "removed", f"predicate {name}", f"{one.signature}: {one.description.splitlines()[0]}"
        elif one is not None and other is not None:
            calling = _callers(new, name)
            for how in _changes(one, other):
                yield "changed", f"predicate {name}", f"{how}; {calling}"


def _changes(old: Predicate, new: Predicate) -> Iterator[str]:
    if _signature(old) != _signature(new):
        yield f"takes and gives: {_signature(old)} -> {_signature(new)}"
    told, tells = old.description.splitlines()[0], new.description.splitlines()[0]
    if told != tells:
        yield f"says: {told} -> {tells}"
    if _code(old.source) != _code(new.source):
        yield f"its code: {_lines(old.source, new.source)}"
    for name in sorted(old.helpers.keys() | new.helpers.keys()):
        before, after = old.helpers.get(name, ""), new.helpers.get(name, "")
        if _code(before) != _code(after):
            yield f"{name}, which it uses: {_lines(before, after)}"


def _signature(predicate: Predicate) -> str:
    parameters = ", ".join(f"{name}: {kind}" for name, kind in predicate.parameters)
    return f"{predicate.name}({parameters}) -> {predicate.returns}, {predicate.required} required"


def _code(source: str) -> str:
    """What a definition does: its text without documentation, comments and layout."""
    tree = ast.parse(textwrap.dedent(source))
    for node in ast.walk(tree):
        first = node.body[0] if isinstance(node, ast.FunctionDef) and node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body = node.body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _lines(old: str, new: str) -> str:
    """The lines that differ, without documentation and layout, in one line."""
    changes = difflib.unified_diff(_code(old).splitlines(), _code(new).splitlines(), n=0, lineterm="")
    shown = [f"{line[0]} {line[1:].strip()}" for line in list(changes)[2:] if line[0] in "+-"]
    more = f" and {len(shown) - 6} lines more" if len(shown) > 6 else ""
    return "; ".join(shown[:6]) + more


def _callers(catalogue: Catalogue, name: str) -> str:
    """The rules that call a function, in words."""
    call = re.compile(rf"\b{re.escape(name)}\(")
    codes = [
        _name(rule)
        for rule in catalogue.rules
        if any(call.search(text) for text in (rule.when, rule.holds, rule.violated_when) if text)
    ]
    if not codes:
        return "no rule calls it"
    more = f" and {len(codes) - 8} more" if len(codes) > 8 else ""
    return f"called by {', '.join(codes[:8])}{more}"
