"""How far predictions are right: class, error codes, comments, all three together, and every code by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from assistant.classifier.calibration import calibration_error
from assistant.classifier.comments import Comments
from assistant.classifier.port import Example, Prediction
from assistant.evaluation.intervals import Mean, mean_of
from assistant.extras import need

LENGTHS = ((0, 0), (1, 5), (6, 20), (21, 1_000_000))
"""Ranges of the length of a history that are told apart."""


class Scores(Struct, frozen=True, kw_only=True):
    """What predictions of some messages reach.

    Attributes:
      n: how many messages.
      klass: share with the right class (A_class).
      exact: share with exactly the right codes (A_error).
      overlap: mean Jaccard index of the two sets of codes; two empty sets have 1 (A_error, set-based).
      rouge: mean ROUGE-L of the comments of refused messages, F measure (A_comment).
      bleu: corpus BLEU of them, from 0 to 1.
      triplet: mean of right codes times ROUGE-L, 1 for an acceptance foreseen (A_triplet).
      calibration: expected calibration error.
      coverage: share that is answered at the model's threshold.
      answered: share with exactly the right codes among those.
    """

    n: int
    klass: Mean
    exact: Mean
    overlap: Mean
    rouge: Mean
    bleu: float
    triplet: Mean
    calibration: float
    coverage: float
    answered: float

    def row(self) -> dict[str, Any]:
        """The scores under the names of the study."""
        return {
            "messages": self.n,
            "A_class": self.klass,
            "A_error exact": self.exact,
            "A_error set": self.overlap,
            "A_comment ROUGE-L": self.rouge if self.rouge.n else None,
            "BLEU": self.bleu if self.rouge.n else None,
            "A_triplet": self.triplet,
            "ECE": self.calibration,
            "coverage": self.coverage,
            "A_error answered": self.answered,
        }


MEASURES = (
    "messages",
    "A_class",
    "A_error exact",
    "A_error set",
    "A_comment ROUGE-L",
    "BLEU",
    "A_triplet",
    "ECE",
    "coverage",
    "A_error answered",
)


class CodeScore(Struct, frozen=True, kw_only=True):
    """One error code: precision and recall over all messages."""

    code: str
    messages: int
    precision: float
    recall: float


def scores(examples: Sequence[Example], predictions: Sequence[Prediction], comments: Comments) -> Scores:
    """What predictions reach; a model that writes no comment has it filled in by code."""
    klass, exact, overlap, rouge, triplet = [], [], [], [], []
    written: list[str] = []
    wanted: list[str] = []
    for example, said in zip(examples, predictions, strict=True):
        one, other = set(example.codes), set(said.codes)
        right = float(one == other)
        klass.append(float(example.klass == said.klass))
        exact.append(right)
        overlap.append(len(one & other) / len(one | other) if one | other else 1.0)
        alike = 1.0
        if example.codes:
            comment = comments.of(said, example)
            alike = rouge_l(example.comment, comment)
            rouge.append(alike)
            written.append(comment)
            wanted.append(example.comment)
        triplet.append(right * alike)
    given = [said for said in predictions if not said.abstained]
    hits = [float(e.codes == p.codes) for e, p in zip(examples, predictions, strict=True) if not p.abstained]
    return Scores(
        n=len(examples),
        klass=mean_of(klass),
        exact=mean_of(exact),
        overlap=mean_of(overlap),
        rouge=mean_of(rouge),
        bleu=bleu(wanted, written),
        triplet=mean_of(triplet),
        calibration=calibration_error([p.probability for p in predictions], [bool(hit) for hit in exact]),
        coverage=len(given) / len(examples) if examples else 0.0,
        answered=sum(hits) / len(hits) if hits else 0.0,
    )


def by_code(examples: Sequence[Example], predictions: Sequence[Prediction]) -> list[CodeScore]:
    """Precision and recall of every code, the worst by F1 first; what was never said has precision 0."""
    have: Counter[str] = Counter()
    said: Counter[str] = Counter()
    both: Counter[str] = Counter()
    for example, found in zip(examples, predictions, strict=True):
        have.update(example.codes)
        said.update(found.codes)
        both.update(set(example.codes) & set(found.codes))
    rows = [
        CodeScore(
            code=code,
            messages=have[code],
            precision=both[code] / said[code] if said[code] else 0.0,
            recall=both[code] / have[code] if have[code] else 0.0,
        )
        for code in sorted(have | said)
    ]
    return sorted(rows, key=lambda row: (row.precision + row.recall, row.code))


def confusions(examples: Sequence[Example], predictions: Sequence[Prediction]) -> Counter[tuple[str, str]]:
    """(label, said) -> how often, for the pairs that differ."""
    pairs = zip(examples, predictions, strict=True)
    return Counter(
        (example.label, ", ".join(said.codes) or "accepted") for example, said in pairs if example.codes != said.codes
    )


def grouped(examples: Sequence[Example], key: Callable[[Example], str]) -> dict[str, list[int]]:
    """Indexes of examples by a key, the keys in order."""
    found: dict[str, list[int]] = {}
    for number, example in enumerate(examples):
        found.setdefault(key(example), []).append(number)
    return dict(sorted(found.items()))


def length_range(example: Example) -> str:
    """The range that an example's history falls into."""
    low, high = next(pair for pair in LENGTHS if pair[0] <= example.history_length <= pair[1])
    return (
        f"{low:02d}" if low == high else f"{low:02d} and more" if high == LENGTHS[-1][1] else f"{low:02d} to {high:02d}"
    )


@lru_cache(maxsize=100_000)
def rouge_l(wanted: str, written: str) -> float:
    """ROUGE-L, F measure, of the library rouge-score, without stemming."""
    if wanted == written:
        return 1.0
    return float(_scorer().score(wanted, written)["rougeL"].fmeasure)


def bleu(wanted: Sequence[str], written: Sequence[str]) -> float:
    """Corpus BLEU of sacrebleu, from 0 to 1; 0 for no texts."""
    if not wanted:
        return 0.0
    need("sacrebleu")
    from sacrebleu.metrics import BLEU

    return float(BLEU().corpus_score(list(written), [list(wanted)]).score) / 100


@lru_cache(maxsize=1)
def _scorer() -> Any:
    need("rouge_score")
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"])
