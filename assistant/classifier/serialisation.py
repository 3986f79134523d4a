"""A message and its history written out for a model: compact, equal for equal content, without names and addresses.

    BE MeterReading MeterReading periodic original | facts register.value<0 | registers 2 register.value=-4..17 ... |
    history.known=yes ... | before MeterReading/-31d ...

Only what the rules read is written. A text stands as it is when the rules or code lists know it as a code; of any
other text its shape stands, `A.ax4._.9x4` for a customer's `Smith 1204`: no name, address, telephone number or
identifier of a point gets into a text. Instants are written as days from the message's effective instant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any, get_args

from msgspec import Struct

from assistant.classifier.facts import Reader, ask, constants_of
from assistant.classifier.port import Form
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.interpretation import contexts, value_of
from energycomm.engine.report import show
from energycomm.engine.terms import Read
from energycomm.kernel import vocabulary
from energycomm.kernel.history import History
from energycomm.kernel.messages import KernelMessage

BUDGET = 160
"""Maximum number of words of a text."""
FACTS = 24
"""Facts of a text at most."""
EARLIER = 3
"""Earlier messages that are named."""
_PLAIN = 12
"""A code is at most so long."""


class Serialiser:
    """Writes messages out.

    Args:
      catalogue: the rules: what they read is written, what they name is a code.
      budget: words of a text at most; what comes last is cut off.
      left_out: error codes of rules that shall not be known.
    """

    def __init__(self, catalogue: Catalogue, budget: int = BUDGET, left_out: frozenset[str] = frozenset()) -> None:
        self.reader = Reader(catalogue, left_out)
        self.catalogue, self.budget = catalogue, budget
        self.codes = known_codes(catalogue)

    def forms(self, message: KernelMessage, history: History, earlier: Sequence[KernelMessage] = ()) -> dict[Form, str]:
        """Every form of a message.

        Args:
          message: the message.
          history: what was known of its access point when it was judged.
          earlier: accepted messages before it, the latest last; only kinds, types and times are told.
        """
        head = self._head(message)
        fields = self._fields(message, history)
        before = self._before(message, earlier)
        deltas = self._deltas(message, history)
        facts = self._facts(message, history)
        return {
            "raw": self._text(head, fields, before),
            "deltas": self._text(head, deltas, fields, before),
            "facts": self._text(head, facts, deltas, fields, before),
        }

    def values(self, message: KernelMessage, history: History) -> dict[str, str]:
        """What the sentences of the rules in force show of a message: placeholder -> words, private texts as shapes.

        Of items, those of the first one against which any fact speaks, or the first.
        """
        found: dict[str, str] = {}
        kind = type(message).__name__
        for rule in self.reader.inventory(message).rules:
            template = rule.comment.get("en")
            if template is None:
                continue
            context = self._pointed(message, history, rule.each)
            if context is not None:
                for name, value in zip(placeholders(template.text), template.values[kind], strict=False):
                    shown = value_of(value, context)
                    if name not in found and shown is not None:
                        found[name] = self._sayable(shown)
        return found

    def shape(self, text: str) -> str:
        """A text as it may be told: itself when it is a code, else what kind of signs it is made of."""
        return text.replace(" ", "_") if text in self.codes else shape_of(text)

    def masked(self, comment: str, message: KernelMessage, history: History) -> str:
        """A comment of a message with the private texts that it shows replaced by their shapes."""
        private = {text for text in (*_texts(message), *_texts(history)) if len(text) > 2 and text not in self.codes}
        for text in sorted(private, key=len, reverse=True):
            if text in comment:
                comment = comment.replace(text, shape_of(text))
        return comment

    def _pointed(self, message: KernelMessage, history: History, each: str | None) -> Any:
        first = None
        asked = [one for one in self.reader.inventory(message).questions if one.each == each and one.told]
        for _, context in contexts(message, history, self.catalogue.codes, frozenset(), each):
            first = first or context
            if any(ask(one.atom, context) is one.wanted for one in asked):
                return context
        return first

    def _sayable(self, value: Any) -> str:
        if isinstance(value, str):
            return value if value in self.codes else shape_of(value)
        return show(value)

    def _head(self, message: KernelMessage) -> list[str]:
        words = [message.market, type(message).__name__, message.market_type, message.market_reason or "-"]
        words += [message.reason or "-", message.function]
        return [self.shape(word) if index > 1 else word for index, word in enumerate(words)]

    def _facts(self, message: KernelMessage, history: History) -> list[str]:
        whole, items = self.reader.spoken(message, history)
        words = whole + [word for names in items for word in ["item", *names]]
        return ["facts", *(words[:FACTS] or ["none"])]

    def _deltas(self, message: KernelMessage, history: History) -> list[str]:
        found = self.reader.deltas(message, history)
        return ["deltas", *(f"{name}={_span(low, high)}" for name, (low, high) in found.items())]

    def _fields(self, message: KernelMessage, history: History) -> list[str]:
        own: list[str] = ["fields"]
        past: list[str] = ["history"]
        items: list[str] = []
        reads = self.reader.inventory(message).reads
        lists = dict.fromkeys(each for each, _ in reads)
        for each in lists:
            chosen = [read for list_, read in reads if list_ == each and read.path[0] not in _HEAD]
            told: dict[str, list[Any]] = {read.name: [] for read in chosen}
            count = 0
            for _, context in contexts(message, history, self.catalogue.codes, frozenset(), each):
                count += 1
                for read in chosen:
                    value = value_of(read, context)
                    if value is not None and value is not False and value != ():
                        told[read.name].append(value)
            where = {read.name: read for read in chosen}
            for name, values in told.items():
                if values:
                    word = f"{name.removeprefix('history.')}={self._several(values, message, where[name])}"
                    (past if name.startswith("history.") else own if each is None else items).append(word)
            if each is not None:
                items.insert(0, f"{each}={count}")
        return [*own, *items, *past]

    def _several(self, values: Sequence[Any], message: KernelMessage, read: Read) -> str:
        """One value; of several items the smallest and the largest number, or the different words."""
        if isinstance(values[0], int | float | Decimal) and not isinstance(values[0], bool):
            return _span(float(min(values)), float(max(values)))
        if isinstance(values[0], tuple):
            return str(len(values[0]))
        told = dict.fromkeys(self._word(value, message, read) for value in values)
        return "|".join(list(told)[:4])

    def _word(self, value: Any, message: KernelMessage, read: Read) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, datetime):
            if read.path == ("effective",):
                return value.date().isoformat()
            return f"{_number((value - message.effective) / timedelta(days=1))}d"
        if isinstance(value, date):
            return f"{(value - message.effective.date()).days}d"
        return self.shape(str(value))

    def _before(self, message: KernelMessage, earlier: Sequence[KernelMessage]) -> list[str]:
        told = ["before"]
        for one in reversed(earlier[-EARLIER:]):
            days = round((one.effective - message.effective) / timedelta(days=1))
            told.append(f"{type(one).__name__}/{self.shape(one.market_reason or one.market_type)}/{days}d")
        return told if len(told) > 1 else ["before", "nothing"]

    def _text(self, *parts: Sequence[str]) -> str:
        words: list[str] = []
        for part in parts:
            words += [*part, "|"] if part else []
        return " ".join(words[:-1][: self.budget])


_HEAD = frozenset(("market", "market_type", "market_reason", "reason", "function"))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from _texts(getattr(value, name))


def known_codes(catalogue: Catalogue) -> frozenset[str]:
    """Every text that is a code: named by a rule, in a code list, or a word of the Kernel."""
    found: set[str] = set()
    for rule in catalogue.rules:
        for trigger in rule.triggers.values():
            found.update(value for value in constants_of(trigger) if isinstance(value, str))
    found.update(entry.code for entry in catalogue.codes.entries if len(entry.code) <= _PLAIN * 4)
    for name in vars(vocabulary).values():
        found.update(word for word in get_args(name) if isinstance(word, str))
    return frozenset(found)


def shape_of(text: str) -> str:
    """What kind of signs a text is made of: `9x14`, `A2.9x5`, runs of letters, digits and others with their lengths."""
    runs = ["".join(run) for _, run in groupby(text, key=_sort)]
    shown = [f"{_sort(run[0])}x{len(run)}" if len(run) > 1 else _sort(run[0]) for run in runs[:5]]
    return ".".join(shown) + ("+" if len(runs) > 5 else "") if text else "empty"


def placeholders(template: str) -> list[str]:
    """What stands between braces in a rule's comment, in order."""
    return re.findall(r"\{([^{}]+)\}", template)


def fill(template: str, values: dict[str, str]) -> str:
    """A rule's comment with values in its placeholders; what is not known stands as `(absent)`."""
    return re.sub(r"\{([^{}]+)\}", lambda found: values.get(found[1], "(absent)"), template)


def _sort(sign: str) -> str:
    if sign.isdigit():
        return "9"
    if sign.isalpha():
        return "A" if sign.isupper() else "a"
    return "_" if sign.isspace() else sign


def _span(low: float, high: float) -> str:
    one, other = _number(low), _number(high)
    return one if one == other else f"{one}..{other}"


def _number(value: float) -> str:
    """A number in at most three significant digits: a model sees sizes, not meters."""
    if value == int(value) and abs(value) < 10_000:
        return str(int(value))
    return format(value, ".3g") if abs(value) < 1000 else format(value, ".2e").replace("e+0", "e")
