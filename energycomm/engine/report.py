"""Findings: the comment of a violated rule with the values it read, in English and French."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from typing import Any

from energycomm.engine import terms
from energycomm.engine.codes import CodeLists
from energycomm.engine.emission import Emitter
from energycomm.engine.rule import Language, Rule
from energycomm.engine.terms import Value
from energycomm.kernel.history import History, RegisterFacts
from energycomm.kernel.instants import EPOCH, legal
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.opening import is_opening
from energycomm.kernel.verdicts import Finding
from energycomm.kernel.vocabulary import FRENCH

COMMENT_WORDS: dict[Language, dict[Any, str]] = {
    "en": {None: "(absent)", True: "yes", False: "no", EPOCH: "(no time)"},
    "fr": {None: "(absent)", True: "oui", False: "non", EPOCH: "(sans date)"},
}
"""How comments say what has no words of its own."""

OPENING_WORDS: dict[Language, str] = {
    "en": " What was known of it comes from the opening balance, which it contradicts.",
    "fr": " Ce qui en était connu vient de l'état d'ouverture, qu'il contredit.",
}
"""What a comment adds where the message contradicts the opening balance and its rule is of every source."""

_SUPPLY = frozenset(("supply_start", "supply_reference", "supplier"))
_OPENING_FACTS = frozenset(("history.opening_at", "history.opening_facts", "history.supply_from_opening"))

Reading = Callable[[KernelMessage, History, Any, RegisterFacts], tuple[Any, ...]]


class Reporter:
    """Builds the findings of one rule for one kind.

    Args:
      rule: the rule.
      kind: name of the message kind.
      market: the market, upper case.
      codes: code lists.
      zone: legal time of the market: comments show instants in it.
    """

    def __init__(self, rule: Rule, kind: str, market: str, codes: CodeLists, zone: tzinfo = UTC) -> None:
        self.rule = rule
        self.zone = zone
        self._context = (kind, market, codes)
        self._read: dict[str, Reading] = {}
        self._names: frozenset[str] | None = None

    def __call__(self, message: KernelMessage, history: History, index: int | None) -> Finding:
        """The finding of a message, or of one item of it."""
        rule = self.rule
        item: Any = None
        previous = NO_FACTS
        where = rule.field
        if rule.each is not None and index is not None:
            item = getattr(message, rule.each)[index]
            if index < len(history.registers):
                previous = history.registers[index]
            if "." in where:
                where = f"{rule.each}[{index + 1}].{where.partition('.')[2]}"
        kind = self._context[0]
        read = self._reading("field", (rule.pointed[kind],))(message, history, item, previous)[0]
        told = OPENING_WORDS if self._against_opening(message, history, previous) else {}
        comments = {}
        for language, template in rule.comment.items():
            terms = template.values[kind]
            values = self._reading(language, terms)(message, history, item, previous)
            shown = [template.pieces[0]]
            for term, value, words, piece in zip(terms, values, template.counted, template.pieces[1:], strict=True):
                if language == "fr" and (term.type.words is not None or _is_kernel_word(value)):
                    value = FRENCH.get(value, value)
                shown.append(show(value, language, self.zone))
                if words is not None:
                    shown.append(" " + words[_several(value, language)])
                shown.append(piece)
            comments[language] = "".join(shown) + told.get(language, "")
        return Finding(
            error_code=rule.error_code,
            rule=rule.code,
            field=where,
            value=None if read is None else show(read, "en", self.zone),
            comment=comments["en"],
            comment_fr=comments["fr"],
            severity=rule.severity,
            error_class=rule.error_class,
        )

    def _against_opening(self, message: KernelMessage, history: History, previous: RegisterFacts) -> bool:
        """Whether what the rule compares the message with was told by the opening balance. Rules that are about the
        opening balance say so by themselves."""
        if history.opening_at is None or is_opening(message):
            return False
        names = self._names
        if names is None:
            kind = self._context[0]
            scope, violation = self.rule.conditions[kind]
            names = frozenset(terms.reads(violation))
            if _OPENING_FACTS & names.union(terms.reads(scope)):
                names = frozenset()
            self._names = names
        if previous.from_opening and any(name.startswith("previous.") for name in names):
            return True
        facts = {name.removeprefix("history.") for name in names if name.startswith("history.")}
        return bool(facts.intersection((history.opening_facts or "").split())) or (
            history.supply_from_opening and bool(facts & _SUPPLY)
        )

    def _reading(self, name: str, values: tuple[Value, ...]) -> Reading:
        """A function that reads values for a comment, absent ones as None. Compiled on first use."""
        found = self._read.get(name)
        if found is None:
            _, market, codes = self._context
            found = self._read[name] = compile_reading(values, market, codes)
        return found


NO_FACTS = RegisterFacts()


def compile_reading(values: tuple[Value, ...], market: str, codes: CodeLists) -> Reading:
    """A function (message, history, item, previous) -> the values, absent ones as None."""
    emitter = Emitter(market, codes)
    shown = "".join(f"{emitter.optional(value)}, " for value in values)
    lines = ["def read(message, history, item, previous):"]
    lines += [f"    {name} = {code}" for name, code in {**emitter.locals, **emitter.item_locals}.items()]
    lines.append(f"    return ({shown})")
    namespace: dict[str, Any] = dict(emitter.names)
    exec(compile("\n".join(lines), "<comment>", "exec"), namespace)  # noqa: S102 - generated from checked terms only
    reading: Reading = namespace["read"]
    return reading


def show(value: Any, language: Language = "en", zone: tzinfo = UTC) -> str:
    """A value as comments show it: instants in the legal time of the market, numbers with the sign of the language.

    Args:
      value: the value; None where it is absent.
      language: of the comment.
      zone: legal time of the market.
    """
    if value is None or isinstance(value, bool):
        return COMMENT_WORDS[language][value]
    if isinstance(value, Decimal | float):
        if isinstance(value, Decimal) or abs(value) >= 1e6:
            text = format(value, "f")
        else:
            text = format(round(value, 3), "g")
        return text.replace(".", ",") if language == "fr" else text
    if isinstance(value, datetime):
        return COMMENT_WORDS[language][EPOCH] if value == EPOCH else legal(value, zone)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, tuple):
        return ("{} items" if language == "en" else "{} éléments").format(len(value))
    return str(value)


def _is_kernel_word(value: Any) -> bool:
    """Whether it can be a word of ours where the field allows others too, such as a product: no market writes so."""
    return isinstance(value, str) and "-" in value and value.islower()


def _several(value: Any, language: Language) -> bool:
    """Whether the words for several follow a number: in French from 2 on, in English wherever it is not 1."""
    if value is None:
        return True
    return bool(abs(value) >= 2 if language == "fr" else value != 1)
