"""Rules told in the prompt: which a message concerns, and in what words, so that a model can use a rule it never saw.

A told rule has a slot, `<rule-1>`, and the slot is what the answer names. In training any rule may be told under any
slot, so what is learnt is to read the note, not to know the code.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from assistant.classifier.answers import SLOTS
from assistant.classifier.facts import atom_name, atoms
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.rule import Rule

AT_ONCE = 2
"""Rules that one prompt tells at most."""


class Note(Struct, frozen=True, kw_only=True):
    """One rule as prompts tell it.

    Attributes:
      code: its error code.
      scope: beginnings of the texts that it may concern: market and kind, `FR MeterReading`.
      text: what is said of it.
    """

    code: str
    scope: tuple[str, ...]
    text: str


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
        held = [m for m in markets if rule.market in (m, "common") and rule.judges_market(m)]
        scope = tuple(f"{market} {kind}" for market in held for kind in rule.applies_to)
        if scope:
            found[rule.error_code] = Note(code=rule.error_code, scope=scope, text=note_text(rule))
    return found


def note_text(rule: Rule) -> str:
    """A rule in words: what speaks against a message, as the facts of texts name it, and its sentence."""
    facts: dict[str, None] = {}
    for trigger in rule.triggers.values():
        facts.update(dict.fromkeys(atom_name(atom, wanted) for atom, wanted in atoms(trigger)))
    return f"{' '.join(facts)} : {rule.sentence}"


def tell(notes: Sequence[Note], slots: Sequence[str] = SLOTS) -> Told:
    """The notes under slots, in their order."""
    named = list(zip(slots, notes, strict=False))
    text = " ".join(f"{slot} {note.text} |" for slot, note in named)
    return Told(text=text, slots={slot: note.code for slot, note in named})


def retrieve(notes: Mapping[str, Note], text: str) -> Told:
    """Tell the rules that concern a text: of its market and kind, those that share most words with it."""
    words = set(text.split())
    near = [note for note in notes.values() if any(text.startswith(scope + " ") for scope in note.scope)]
    near.sort(key=lambda note: (-len(words & set(note.text.split())), note.code))
    return tell(near[:AT_ONCE])


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
    near = [note for note in notes.values() if any(text.startswith(scope + " ") for scope in note.scope)]
    broken = [note for note in near if note.code in codes]
    chosen: list[Note] = []
    if broken and draw.random() < 0.6:
        chosen.append(draw.choice(broken))
    others = [note for note in near if note not in chosen]
    while others and len(chosen) < draw.randint(1, AT_ONCE):
        chosen.append(others.pop(draw.randrange(len(others))))
    draw.shuffle(chosen)
    return tell(chosen, draw.sample(SLOTS, len(chosen)))
