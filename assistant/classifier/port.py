"""What every model of the Kernel's verdicts is given and answers: examples, predictions, and the port between.

A data set is a file of JSON lines: the first line is its card, every other line an example.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import structs

from energycomm.errors import UserError

Form: TypeAlias = Literal["raw", "deltas", "facts"]
FORMS: tuple[Form, ...] = ("raw", "deltas", "facts")
"""How much is worked out for the model: the fields and the history alone; with differences and days between them; with
the truth of every comparison that a rule makes."""

Klass: TypeAlias = Literal["accepted", "rejected"]
Split: TypeAlias = Literal["train", "valid", "points", "months"]
SPLITS: tuple[Split, ...] = ("train", "valid", "points", "months")
"""To learn from; to choose and calibrate by; access points never seen; months never seen."""

NO_OPINION = "no opinion"
"""The class of an answer that is none."""

LEAST_ACCEPTED = 30
"""Accepted messages of a flow that a model must have seen to say anything of it."""

SEPARATOR = ", "
"""Between the error codes of one message, in the one string `error_code`; codes are sorted."""


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One message with its history, and what the Kernel said of it.

    Attributes:
      id: what the example is called in reports: `eis-17` for Kernel message 17.
      market, kind: of the message.
      access_point: pseudonym of its access point, equal for equal points, without the number itself.
      at: effective instant, ISO 8601 in UTC.
      codes: error codes of the rules of severity error that it violates, sorted; empty exactly when it was accepted.
      comment: the rules' own sentences about it, in English, in the order of the codes.
      forms: form -> the message and its history written out.
      values: what the sentences of its rules show -> the value in words, for filling in the card's `comments`.
      history_length: accepted messages of its access point before it.
      rules_version: rules that judged it.
      split: what it may be used for.
      origin: where it comes from: `eis`, `simulated`, `rule` for what was made around one rule's condition.
    """

    id: str
    market: str
    kind: str
    access_point: str
    at: str
    codes: tuple[str, ...] = ()
    comment: str = ""
    forms: dict[Form, str]
    values: dict[str, str] = {}
    history_length: int = 0
    rules_version: str = ""
    split: Split = "train"
    origin: Literal["eis", "simulated", "rule"] = "simulated"

    @property
    def klass(self) -> Klass:
        """Whether the Kernel accepted it."""
        return "rejected" if self.codes else "accepted"

    @property
    def label(self) -> str:
        """The codes as one string, `accepted` where there are none."""
        return label_of(self.codes)

    def text(self, form: Form = "facts") -> str:
        """What a model reads."""
        return self.forms[form]


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What a model says of a message.

    Attributes:
      codes: error codes, sorted; empty when it thinks that the message is accepted.
      comment: why, in words; empty when accepted or when the model writes none.
      probability: that the codes are exactly right, calibrated.
      abstained: the probability is below the model's threshold: the answer counts as "I do not know".
      model: name and version.
    """

    codes: tuple[str, ...] = ()
    comment: str = ""
    probability: float = 1.0
    abstained: bool = False
    model: str = ""

    @property
    def klass(self) -> Klass:
        """The class, which follows from the codes: the two never contradict one another."""
        return "rejected" if self.codes else "accepted"

    def answer(self) -> str:
        """The answer as the JSON object `class`, `error_code`, `comment`."""
        told = {"class": self.klass, "error_code": SEPARATOR.join(self.codes), "comment": self.comment}
        return msgspec.json.encode(told).decode()


class Predictor(Protocol):
    """A model of the verdicts.

    Attributes:
      name: what it is called in tables.
      form: the form of the texts that it wants.
    """

    name: str
    form: Form

    def fit(self, train: Sequence[Example], valid: Sequence[Example], budget: float | None = None) -> None:
        """Learn; calibrate the probabilities and the threshold on `valid`; stop within `budget` seconds."""

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        """One prediction for each text, which is in this model's form."""

    def save(self, folder: Path) -> None:
        """Write everything that `load` needs, with a `model.json` that says what it is and was made of."""

    def load(self, folder: Path) -> None:
        """Become the model of a folder that `save` wrote."""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a data set: what it is.

    Attributes:
      rules_versions: rules that judged its examples.
      codes: error code -> how many examples have it.
      counts: split -> examples.
      tokens: token budget of a text, in words and signs.
      comments: error code -> the template of its sentence in English, with `{...}` for the values.
      made: how it was made: arguments, seeds, sources.
      flows: flow -> accepted messages of it that there are to learn from.
    """

    rules_versions: tuple[str, ...] = ()
    codes: dict[str, int] = {}
    counts: dict[str, int] = {}
    tokens: int = 0
    comments: dict[str, str] = {}
    made: dict[str, Any] = {}
    flows: dict[str, int] = {}


def flow_of(text: str) -> str:
    """The flow of a text: market, kind and the market's message type."""
    return " ".join(text.split(" ", 3)[:3])


def with_opinion(examples: Iterable[Example], train: Iterable[Example]) -> list[Example]:
    """Those of flows that a model says anything of, since it has enough to learn from: only these tell how sure it is.

    Args:
      examples: what is calibrated on.
      train: what is learnt from.

    Returns:
      All examples where there is no such flow.
    """
    accepted = Counter(flow_of(one.text()) for one in train if not one.codes)
    found = list(examples)
    return [one for one in found if accepted[flow_of(one.text())] >= LEAST_ACCEPTED] or found


def without_opinion(
    predictions: Iterable[Prediction], examples: Iterable[Example], flows: Mapping[str, int]
) -> list[Prediction]:
    """Predictions that abstain on flows of which too little was there to learn from.

    Args:
      predictions: of a model.
      examples: what they are about.
      flows: of the card of the data set; empty where it does not tell them.
    """
    return [
        structs.replace(said, abstained=True) if flows and flows.get(flow_of(one.text()), 0) < LEAST_ACCEPTED else said
        for said, one in zip(predictions, examples, strict=True)
    ]


def label_of(codes: Iterable[str]) -> str:
    """Codes as one label."""
    return SEPARATOR.join(codes) or "accepted"


def codes_of(label: str) -> tuple[str, ...]:
    """The codes of a label, sorted, each once."""
    return () if label == "accepted" else tuple(sorted({code.strip() for code in label.split(",") if code.strip()}))


def write_dataset(path: Path, card: Card, examples: Iterable[Example]) -> None:
    """Write a data set; a file that is there is replaced at once when everything is written."""
    encoder = msgspec.json.Encoder(order="deterministic")
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    with new.open("wb") as file:
        file.write(encoder.encode(card) + b"\n")
        for example in examples:
            file.write(encoder.encode(example) + b"\n")
    new.replace(path)


def read_card(path: Path) -> Card:
    """The card of a data set.

    Raises:
      UserError: there is no such file, or it is none.
    """
    found: Card = next(_lines(path, cards=True))
    return found


def read_dataset(path: Path, *splits: Split) -> list[Example]:
    """The examples of a data set, of the splits named or all.

    Raises:
      UserError: there is no such file, or a line is wrong.
    """
    found: Iterator[Example] = _lines(path, cards=False)
    return [example for example in found if not splits or example.split in splits]


def dataset_hash(path: Path) -> str:
    """SHA-256 of the file, the first 16 hexadecimal digits: what a trained model writes down."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _lines(path: Path, *, cards: bool) -> Iterator[Any]:
    card, decoder = msgspec.json.Decoder(Card), msgspec.json.Decoder(Example)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if number == 1:
                    found = card.decode(line)
                    if cards:
                        yield found
                        return
                else:
                    yield decoder.decode(line)
    except OSError as error:
        raise UserError(
            f"The data set {path} cannot be read: {error.strerror}.", "`energycomm assistant dataset build` makes one."
        ) from None
    except msgspec.MsgspecError as error:
        raise UserError(
            f"Line {number} of {path} is no line of a data set: {error}.", "Build the data set again."
        ) from None
    if cards:
        raise UserError(f"The data set {path} is empty.", "Build the data set again.")
