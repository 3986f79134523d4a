"""Rules told in the prompt: which a message concerns, and in what words, so that a model can use a rule it never saw.

A told rule has a slot, `<rule-1>`, and the slot is what the answer names. In training any rule may be told under any
slot, so what is learnt is to read the note, not to know the code.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from assistant.classifier.answers import SLOTS
from assistant.classifier.facts import atom_name, atoms, reads_of
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.terms import Condition

AT_ONCE = 2
"""Rules that one prompt tells at most."""


class Note(Struct, frozen=True, kw_only=True):
    """One rule as prompts tell it.

    Attributes:
      code: its error code.
      markets: markets whose messages it judges.
      facts: kind -> the facts that speak against a message of that kind when it violates the rule.
      sentence: what the catalogue says.
    """

    code: str
    markets: tuple[str, ...]
    facts: dict[str, str]
    sentence: str

    def concerns(self, market: str, kind: str) -> bool:
        """Whether it judges messages of a market and kind."""
        return market in self.markets and kind in self.facts

    def text(self, kind: str) -> str:
        """The text of the rule in the prompt of a message of a kind."""
        return f"{self.facts[kind]} : {self.sentence}"

    def cards(self) -> list[str]:
        """The shortest messages that violate it, one for each market and kind: their facts and nothing else."""
        return [f"{market} {kind} | facts {facts}" for market in self.markets for kind, facts in self.facts.items()]


class Told(Struct, frozen=True, kw_only=True):
    """What a prompt tells before the message.

    Attributes:
      text: the notes with their slots; empty when nothing is told.
      slots: slot -> error code.
    """

    text: str = ""
    slots: dict[str, str] = {}

    def named(self, codes: Iterable[str]) -> list[str]:
        """Codes with the slots of those that are told in place of them."""
        slot_of = {code: slot for slot, code in self.slots.items()}
        return [slot_of.get(code, code) for code in codes]

    def codes(self, named: Iterable[str]) -> tuple[str, ...]:
        """The codes again, sorted."""
        return tuple(sorted(self.slots.get(name, name) for name in named))


NOTHING = Told()


def notes_of(catalogue: Catalogue, markets: Sequence[str], codes: Iterable[str] | None = None) -> dict[str, Note]:
    """The notes of the rules of severity error: error code -> note.

    Args:
      catalogue: the rules.
      markets: markets whose messages are judged.
      codes: only these; all when None.

    Where several rules have one error code, the note is of the first one.
    """
    wanted = None if codes is None else set(codes)
    found: dict[str, Note] = {}
    for rule in catalogue.rules:
        if rule.rule_set != "validation_in" or rule.severity != "error" or not rule.complete:
            continue
        if rule.error_code in found or (wanted is not None and rule.error_code not in wanted):
            continue
        held = tuple(m for m in markets if rule.market in (m, "common") and rule.judges_market(m))
        if held:
            facts = {kind: " ".join(_facts(*rule.conditions[kind])) for kind in rule.applies_to}
            found[rule.error_code] = Note(code=rule.error_code, markets=held, facts=facts, sentence=rule.sentence)
    return found


def _facts(scope: Condition, violation: Condition) -> list[str]:
    """The facts that texts show of a condition: those of the violation, and those of the scope that ask the history."""
    found: dict[str, None] = {}
    for part, violating in ((scope, False), (violation, True)):
        for atom, wanted in atoms(part):
            if violating or any(read.path[0] in ("history", "previous") for read in reads_of(atom)):
                found[atom_name(atom, wanted)] = None
    return list(found)


def tell(notes: Sequence[Note], kind: str, slots: Sequence[str] = SLOTS) -> Told:
    """The notes under slots, in their order."""
    named = list(zip(slots, notes, strict=False))
    text = " ".join(f"{slot} {note.text(kind)} |" for slot, note in named)
    return Told(text=text, slots={slot: note.code for slot, note in named})


def retrieve(notes: Mapping[str, Note], text: str) -> Told:
    """Tell the rules that concern a text: of its market and kind, those that share most facts with it."""
    market, kind = place_of(text)
    words = set(text.split())
    near = [note for note in notes.values() if note.concerns(market, kind)]
    near.sort(key=lambda note: (-len(words & set(note.facts[kind].split())), note.code))
    return tell(near[:AT_ONCE], kind)


def draw_notes(notes: Mapping[str, Note], text: str, codes: Sequence[str], share: float, draw: random.Random) -> Told:
    """What a training prompt tells: mostly nothing; else one or two rules of the message's kind, often one it breaks.

    Args:
      notes: every rule that may be told.
      text: the message.
      codes: its error codes.
      share: of prompts that tell anything.
      draw: of chance.
    """
    if draw.random() >= share:
        return NOTHING
    market, kind = place_of(text)
    near = [note for note in notes.values() if note.concerns(market, kind)]
    broken = [note for note in near if note.code in codes]
    chosen: list[Note] = []
    if broken and draw.random() < 0.6:
        chosen.append(draw.choice(broken))
    others = [note for note in near if note not in chosen]
    while others and len(chosen) < draw.randint(1, AT_ONCE):
        chosen.append(others.pop(draw.randrange(len(others))))
    draw.shuffle(chosen)
    return tell(chosen, kind, draw.sample(SLOTS, len(chosen)))


def place_of(text: str) -> tuple[str, str]:
    """Market and kind of a serialised message: its first two words."""
    market, kind, *_ = [*text.split(" ", 2), "", ""]
    return market, kind
