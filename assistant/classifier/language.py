"""The language model of the verdicts behind the classifier's port: it reads a text and writes the answer's JSON."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from assistant.classifier.answers import OPEN, AnswerForm, Decoding, answer_form
from assistant.classifier.bases import load_model, make_room, new_model, opening, save_model
from assistant.classifier.calibration import Calibration, calibrate
from assistant.classifier.comments import Comments
from assistant.classifier.constraint import Constraint, Grammar, LabelTrie, allowed_of
from assistant.classifier.decoding import Prompt, Written, judge, write_answers
from assistant.classifier.notes import NOTHING, Note, Told, draw_notes, place_of, retrieve
from assistant.classifier.port import Example, Form, Prediction, with_opinion
from assistant.classifier.recipe import Recipe
from assistant.classifier.record import Record, read_record, write_record
from assistant.classifier.tokenizer import ANSWER, add_codes, compact, encode
from assistant.classifier.training import Course, Lesson, train
from assistant.trust import checked

RESERVED, AT_MOST = 0.12, 40.0
"""Share of the budget that calibration may take, and seconds."""
CALIBRATED = 1500
"""Validation messages that the calibration is learnt from, at most; fewer where the time is over before."""
HALF = 0.5
SOME = 64


class LanguageModel:
    """A causal language model that answers with codes of a closed list.

    Args:
      recipe: how it is made.
      titles: code -> title of its rule, for labels in words.
      notes: the rules, by error code: which codes a kind can have, the cards, what training prompts tell.
      comments: the sentences of the codes.
      course: checkpoints and reports of the training; its budget is that of `fit`.
    """

    def __init__(
        self,
        recipe: Recipe | None = None,
        *,
        titles: Mapping[str, str] | None = None,
        notes: Mapping[str, Note] | None = None,
        comments: Comments | None = None,
        course: Course | None = None,
    ) -> None:
        self.recipe = recipe or Recipe()
        self.titles, self.notes = dict(titles or {}), dict(notes or {})
        self.comments, self.course = comments, course or Course(budget=0)
        self.decoding: Decoding = "labels"
        self.told: dict[str, Note] = {}
        """Rules that prompts tell: those made after the model was."""
        self.calibration = Calibration()
        self.record = Record(recipe=self.recipe)
        self._model: Any = None
        self._tokenizer: Any = None
        self._answers = AnswerForm(form=self.recipe.labels, names={})
        self._constraints: dict[Decoding, Constraint] = {}
        self._read: dict[str, list[int]] = {}
        self._walks: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[Sequence[int], Sequence[Sequence[int]]]] = {}
        self._trie: Any = None

    @property
    def name(self) -> str:
        """What tables call it."""
        base = "own language model" if self.recipe.own else f"LoRA {Path(self.recipe.base).name}"
        return base + (" 4 bit" if self.recipe.four_bit else "")

    @property
    def form(self) -> Form:
        """The form of the texts that it wants."""
        return self.recipe.form

    def fit(self, train: Sequence[Example], valid: Sequence[Example], budget: float | None = None) -> None:
        """Learn from examples, and calibrate on `valid`.

        Args:
          train: what is learnt from.
          valid: what the best state, the calibration and the threshold are chosen on.
          budget: seconds in all; twenty minutes when None.

        Raises:
          UserError: packages are missing, or the base cannot be opened.
        """
        codes = sorted({code for example in (*train, *valid) for code in example.codes} | self._card_codes())
        notes = [note.text(kind) for note in self.notes.values() for kind in note.facts] if self.recipe.told else []
        texts = [*(self._reading(example.text(self.form)) for example in train), *notes]
        self._model, self._tokenizer = new_model(self.recipe, texts, codes)
        self._answers = answer_form(self.recipe.labels, codes, self.titles)
        self._learn(train, valid, budget or 1200.0, self.recipe)

    def update(self, train: Sequence[Example], valid: Sequence[Example], budget: float) -> None:
        """Learn more, new codes too, from where the model is; old messages among `train` keep the old codes alive."""
        seen = {code for example in (*train, *valid) for code in example.codes}
        codes = sorted(seen | self._card_codes() | set(self._answers.names))
        if self.recipe.labels == "token":
            add_codes(self._tokenizer, codes)
            make_room(self._model, len(self._tokenizer))
        new = answer_form(self.recipe.labels, codes, self.titles)
        self._answers = replace(new, names=new.names | self._answers.names)
        self._learn(train, valid, budget, self.recipe)

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        """One prediction for each text; comments are filled in by code, from the message, for all models alike."""
        told = [retrieve(self.told, text) if self.told else NOTHING for text in texts]
        written = self.write(texts, told)
        found = []
        for notes, answer in zip(told, written, strict=True):
            codes = notes.codes(self.read(answer))
            probability = self.calibration(answer.probability)
            found.append(
                Prediction(
                    codes=codes,
                    probability=probability,
                    abstained=probability < self.calibration.threshold,
                    model=f"{self.name} {self.record.version}".strip(),
                )
            )
        return found

    def write(self, texts: Sequence[str], told: Sequence[Told] = ()) -> list[Written]:
        """The answers as they are written, under the constraint in force."""
        notes = list(told) or [NOTHING] * len(texts)
        prompts = [
            Prompt(tokens=self._prompt(text, one), names=self._names(text, one))
            for text, one in zip(texts, notes, strict=True)
        ]
        if self.decoding == "judged":
            return self._judged(prompts)
        return write_answers(self._model, prompts, self._constraint(), pad=self._pad)

    def _judged(self, prompts: Sequence[Prompt]) -> list[Written]:
        """The answers that name the codes which are likelier than not."""
        codes = [self._codes_of(prompt.names) for prompt in prompts]
        found = []
        for prompt, chances in zip(
            prompts, judge(self._model, [one.tokens for one in prompts], codes, pad=self._pad), strict=True
        ):
            named = [name for name, chance in zip(prompt.names, chances, strict=True) if chance > HALF]
            sure = math.prod(max(chance, 1 - chance) for chance in chances)
            found.append(Written(tokens=self._written(named), probability=sure))
        return found

    def _written(self, codes: Sequence[str]) -> tuple[int, ...]:
        return tuple(token for piece in self._answers.pieces(codes) for token in encode(self._tokenizer, piece))

    def json(self, answer: Written) -> str:
        """A written answer as text."""
        text: str = self._tokenizer.decode(answer.tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return OPEN + text

    def read(self, answer: Written) -> tuple[str, ...]:
        """The codes of a written answer, slots as they stand."""
        return self._answers.read(self.json(answer))

    def save(self, folder: Path) -> None:
        """Write weights, tokenizer and record."""
        save_model(self._model, self._tokenizer, folder)
        record = replace(
            self.record,
            recipe=self.recipe,
            comments=self.comments.templates if self.comments else self.record.comments,
            calibration=self.calibration,
        )
        write_record(folder, record)

    def load(self, folder: Path) -> None:
        """Become the model of a folder.

        Raises:
          UserError: there is none, or packages are missing.
        """
        self.record = read_record(folder)
        checked(folder)
        self.recipe, self._answers, self.decoding = self.record.recipe, self.record.answers, self.record.decoding
        self.calibration, self.comments = self.record.calibration, Comments(self.record.comments)
        self._model, self._tokenizer = load_model(self.recipe, folder, trainable=True)
        self._model.eval()
        self._constraints = {}

    def _learn(self, examples: Sequence[Example], valid: Sequence[Example], budget: float, recipe: Recipe) -> None:
        began = self.course.clock()
        self.record = replace(
            self.record, recipe=self.recipe, form=self.form, answers=self._answers, places=self._places(examples)
        )
        self._constraints, self._walks, self._trie = {}, {}, LabelTrie(self._tokenizer)
        draw = random.Random(self.recipe.seed)  # noqa: S311 - a sample, not a secret
        known = [example for example in valid if set(example.codes) <= set(self._answers.names)]
        checked = draw.sample(known, min(len(known), recipe.checked))
        self.calibration, self.decoding = Calibration(), "judged" if recipe.judges else "labels"
        texts = {one.text(self.form) for one in (*examples, *checked)}
        # The same messages are read in every epoch, and at every evaluation.
        self._read = {one: encode(self._tokenizer, self._reading(one))[: self.recipe.max_tokens] for one in texts}

        def lessons(epoch: int) -> list[Lesson]:
            chance = random.Random(f"notes {self.recipe.seed} {epoch}")  # noqa: S311 - a sample
            return [*(self._lesson(example, chance) for example in examples), *self._cards()]

        course = replace(self.course, budget=budget - min(budget * RESERVED, AT_MOST))
        marks = train(
            self._model,
            lessons,
            [self._lesson(example) for example in checked],
            lambda: self._exact(checked),
            recipe,
            course,
            pad=self._pad,
        )
        self._read = {}
        calibrating = with_opinion(valid, examples)
        sample = draw.sample(calibrating, min(len(calibrating), CALIBRATED))
        self.calibration = self._calibrated(sample, began + budget)
        # Of a training that was resumed the marks know the seconds before.
        spent = max(self.course.clock() - began, marks[-1].seconds)
        self.record = self.record.after(marks, self.calibration, examples, valid, spent)

    def _calibrated(self, examples: Sequence[Example], until: float) -> Calibration:
        """The calibration on as many examples as can be answered in time, some always; and how answers are found."""
        ways: tuple[Decoding, ...] = ("judged", "labels") if self.recipe.judges else ("labels",)
        said: dict[Decoding, list[float]] = {way: [] for way in ways}
        right: dict[Decoding, list[bool]] = {way: [] for way in ways}
        for at in range(0, len(examples), SOME):
            if at and self.course.clock() > until:
                break
            part = examples[at : at + SOME]
            for way in ways:
                self.decoding = way
                for answer, example in zip(self.write([one.text(self.form) for one in part]), part, strict=True):
                    said[way].append(answer.probability)
                    right[way].append(self.read(answer) == example.codes)
        self.decoding = max(ways, key=lambda way: sum(right[way]))
        self.record = replace(self.record, decoding=self.decoding)
        return calibrate(said[self.decoding], right[self.decoding])

    def _exact(self, examples: Sequence[Example]) -> float:
        written = self.write([example.text(self.form) for example in examples]) if examples else []
        right = [self.read(answer) == example.codes for answer, example in zip(written, examples, strict=True)]
        return sum(right) / len(right) if right else 0.0

    def _lesson(self, example: Example, chance: random.Random | None = None) -> Lesson:
        text, told = example.text(self.form), NOTHING
        if chance is not None and self.recipe.told and self.notes:
            told = draw_notes(self.notes, text, example.codes, self.recipe.told, chance)
        return self._asked(text, told, told.named(example.codes))

    def _asked(self, text: str, told: Told, codes: Sequence[str]) -> Lesson:
        """A text with the answer that is wanted of it, and what else might be answered."""
        names, written = self._names(text, told), self._answers.names
        if not {written[code] for code in codes if code in written} <= set(names):
            # No message that is learnt from had this code there.
            names = (*sorted(told.slots), *(written[code] for code in self._answers.codes))
        key = (names, tuple(codes))
        if key not in self._walks:
            answer = self._written(codes)
            self._walks[key] = answer, allowed_of(self._trie, key[0], answer)
        walk = self._walks[key]
        return Lesson(prompt=self._prompt(text, told), answer=walk[0], allowed=walk[1], judged=self._codes_of(key[0]))

    def _codes_of(self, names: Sequence[str]) -> list[int]:
        """The tokens of names, where each is one."""
        if not self.recipe.judges:
            return []
        found: list[int] = self._tokenizer.convert_tokens_to_ids(list(names))
        return found

    def _card_codes(self) -> set[str]:
        return set(self.notes) if self.recipe.cards else set()

    def _cards(self) -> list[Lesson]:
        """The rules as messages that break nothing else."""
        if not self.recipe.cards:
            return []
        found = []
        for note in self.notes.values():
            if note.code in self._answers.names:
                found += [self._asked(card, NOTHING, [note.code]) for card in note.cards()]
        return found

    def _places(self, examples: Sequence[Example]) -> dict[str, tuple[str, ...]]:
        """Market and kind -> the codes that its messages can have: those of its rules, and those that were seen."""
        found = {place: set(codes) for place, codes in self.record.places.items()}
        for example in examples:
            found.setdefault(f"{example.market} {example.kind}", set()).update(example.codes)
        for note in self.notes.values():
            for market in note.markets:
                for kind in note.facts if note.code in self._answers.names else ():
                    found.setdefault(f"{market} {kind}", set()).add(note.code)
        return {place: tuple(sorted(codes)) for place, codes in sorted(found.items())}

    def _names(self, text: str, told: Told) -> tuple[str, ...]:
        """What an answer about a text may name; every code where its market and kind are not known."""
        codes = self.record.places.get(" ".join(place_of(text)), self._answers.codes)
        return (*sorted(told.slots), *(self._answers.names[code] for code in codes if code in self._answers.names))

    def _prompt(self, text: str, told: Told) -> list[int]:
        notes = encode(self._tokenizer, told.text) if told.text else []
        ids = self._read.get(text) or encode(self._tokenizer, self._reading(text))[: self.recipe.max_tokens]
        end = [self._tokenizer.convert_tokens_to_ids(ANSWER)] if self.recipe.own else encode(self._tokenizer, "\n")
        return [*opening(self._tokenizer, own=self.recipe.own), *notes, *ids, *end, *encode(self._tokenizer, OPEN)]

    def _reading(self, text: str) -> str:
        """A text as the model reads it."""
        return compact(text) if self.recipe.signs else text

    @property
    def _pad(self) -> int:
        return int(self._tokenizer.pad_token_id)

    def _constraint(self) -> Constraint:
        if self.decoding not in self._constraints:
            self._constraints[self.decoding] = (
                Grammar(self._tokenizer) if self.decoding == "grammar" else LabelTrie(self._tokenizer)
            )
        return self._constraints[self.decoding]
