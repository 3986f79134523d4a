"""The models that a language model has to beat: the majority, and one small classifier for every error code.

Of each code it is asked separately whether a message has it, among the messages of the markets and kinds in which the
code occurs; so several codes at once need no class of their own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct

from assistant.classifier.calibration import Calibration, calibrate
from assistant.classifier.features import Columns, Features, WordCounts, encoded, place_of
from assistant.classifier.port import Example, Form, Prediction, with_opinion
from assistant.classifier.storage import read_model, write_model
from assistant.extras import need

Kind = Literal["tfidf", "boosting"]
_FEATURES: dict[Kind, type[Features]] = {"tfidf": WordCounts, "boosting": Columns}
_ROUNDS, _LEAVES = 40, 8
_WIDTH = 120
HALF = 0.5
"""An answer that is likelier wrong than right is not given."""
ROOM = 1e-4
"""No code is surer than this, so that a product of many does not lose its meaning."""


class Majority:
    """Always answers what is most frequent: accepted or one code."""

    def __init__(self) -> None:
        self.name = "majority"
        self.form: Form = "facts"
        self._codes: tuple[str, ...] = ()
        self._share = 1.0

    def fit(self, train: Sequence[Example], valid: Sequence[Example], budget: float | None = None) -> None:
        """Count."""
        labels = [one.codes for one in train]
        self._codes = max(sorted(set(labels)), key=labels.count, default=())
        self._share = labels.count(self._codes) / len(labels) if labels else 1.0

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        """The same for every text."""
        return [Prediction(codes=self._codes, probability=self._share, model=self.name) for _ in texts]

    def save(self, folder: Path) -> None:
        """Write the answer."""
        write_model(folder, {"kind": "majority", "codes": self._codes, "share": self._share})

    def load(self, folder: Path) -> None:
        """Read the answer."""
        state = read_model(folder)
        self._codes, self._share = tuple(state["codes"]), float(state["share"])


class _Judge(Struct):
    """What decides on one code: linear weights, or trees, over some columns.

    Attributes:
      places: markets and kinds in which the code occurs.
      columns: of the features.
    """

    places: tuple[str, ...]
    columns: Any
    weights: Any = None
    intercept: float = 0.0
    forest: Any = None

    def log_odds(self, rows: Any) -> Any:
        part = rows[:, self.columns]
        part = part.toarray()
        if self.forest is not None:
            return self.forest.log_odds(part.astype(np.float32))
        return part @ self.weights + self.intercept


class PerCode:
    """One classifier for every code.

    Args:
      kind: `tfidf` with logistic regression, or `boosting` (trees).
      form: of the texts.
    """

    def __init__(self, kind: Kind = "boosting", form: Form = "facts") -> None:
        self.kind: Kind = kind
        name = {"tfidf": "TF-IDF + LR", "boosting": "boosted trees"}[kind]
        self.name = name if form == "facts" else f"{name} ({form})"
        self.form: Form = form
        self.features: Features = _FEATURES[kind]()
        self.calibration = Calibration()
        self.version = ""
        self.unlearned: list[str] = []
        self._judges: dict[str, _Judge] = {}
        self._places: frozenset[str] = frozenset()

    def fit(self, train: Sequence[Example], valid: Sequence[Example], budget: float | None = None) -> None:
        """Learn code by code.

        Args:
          train: what is learnt from.
          valid: what is calibrated on.
          budget: seconds; codes that do not get their turn are not learnt.
        """
        need("numpy", "sklearn", "scipy")
        end = time.monotonic() + (budget or 1e9)
        texts = [one.text(self.form) for one in train]
        self.features.fit(texts)
        rows = self.features.rows(texts).tocsr()
        places = np.asarray([place_of(text) for text in texts])
        self._places = frozenset(places.tolist())
        with one_thread():
            self._learn(train, rows, places, end)
        known = with_opinion(valid, train)
        found = self.predict([one.text(self.form) for one in known])
        right = [told.codes == one.codes for told, one in zip(found, known, strict=True)]
        self.calibration = calibrate([told.probability for told in found], right)

    def _learn(self, train: Sequence[Example], rows: Any, places: Any, end: float) -> None:
        of_code: dict[str, list[int]] = {}
        for number, one in enumerate(train):
            for code in one.codes:
                of_code.setdefault(code, []).append(number)
        self._judges = {}
        for code, positive in sorted(of_code.items(), key=lambda pair: -len(pair[1])):
            if time.monotonic() > end:
                self.unlearned = sorted(set(of_code) - set(self._judges))
                break
            own = sorted(set(places[positive].tolist()))
            chosen = np.flatnonzero(np.isin(places, own))
            wanted = np.isin(chosen, positive).astype(int)
            self._judges[code] = self._judge(rows[chosen], wanted, tuple(own))

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        """The codes that are likelier than not, with the probability that all of them and no others hold."""
        if not texts:
            return []
        rows = self.features.rows(texts)
        places = np.asarray([place_of(text) for text in texts])
        codes: list[list[str]] = [[] for _ in texts]
        sure = np.zeros(len(texts))
        for code, judge in self._judges.items():
            chosen = np.flatnonzero(np.isin(places, judge.places))
            if not len(chosen):
                continue
            p = np.clip(1 / (1 + np.exp(-np.clip(judge.log_odds(rows[chosen]), -40, 40))), ROOM, 1 - ROOM)
            sure[chosen] += np.log(np.maximum(p, 1 - p))
            for number in chosen[p > 0.5]:
                codes[number].append(code)
        found = []
        for number, own in enumerate(codes):
            known = places[number] in self._places
            probability = self.calibration(float(np.exp(sure[number]))) if known else 0.0
            found.append(
                Prediction(
                    codes=tuple(sorted(own)),
                    probability=probability,
                    abstained=not known or probability < max(self.calibration.threshold, HALF),
                    model=f"{self.name} {self.version}".strip(),
                )
            )
        return found

    def save(self, folder: Path) -> None:
        """Write arrays and names; nothing that would be run when it is read."""
        arrays: dict[str, Any] = {}
        judges = []
        for number, (code, judge) in enumerate(self._judges.items()):
            arrays[f"{number}.columns"] = judge.columns
            about = {"code": code, "places": judge.places, "intercept": judge.intercept}
            if judge.forest is None:
                arrays[f"{number}.weights"] = judge.weights
            else:
                about |= {"base": judge.forest.base, "depth": judge.forest.depth}
                for name in ("roots", "feature", "threshold", "left", "right", "value"):
                    arrays[f"{number}.{name}"] = getattr(judge.forest, name)
            judges.append(about)
        folder.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(folder / "judges.npz", **arrays)
        (folder / "features.json").write_bytes(encoded(self.features.state()))
        state = {"kind": self.kind, "form": self.form, "version": self.version, "judges": judges}
        state |= {"calibration": msgspec.to_builtins(self.calibration), "places": sorted(self._places)}
        write_model(folder, state)

    def load(self, folder: Path) -> None:
        """Become the model of a folder."""
        need("numpy", "scipy")
        from assistant.rationale.trees import Forest

        state = read_model(folder)
        self.form, self.version = state["form"], state["version"]
        self.calibration = msgspec.convert(state["calibration"], Calibration)
        self._places = frozenset(state["places"])
        self.features.restore(msgspec.json.decode((folder / "features.json").read_bytes()))
        self._judges = {}
        with np.load(folder / "judges.npz", allow_pickle=False) as arrays:
            for number, about in enumerate(state["judges"]):
                judge = _Judge(tuple(about["places"]), arrays[f"{number}.columns"])
                if "depth" in about:
                    nodes = {
                        name: arrays[f"{number}.{name}"]
                        for name in ("roots", "feature", "threshold", "left", "right", "value")
                    }
                    judge.forest = Forest(**nodes, base=about["base"], depth=about["depth"])
                else:
                    judge.weights, judge.intercept = arrays[f"{number}.weights"], about["intercept"]
                self._judges[about["code"]] = judge

    def _judge(self, rows: Any, wanted: Any, places: tuple[str, ...]) -> _Judge:
        """Learn one code."""
        if wanted.all():  # every message of its places has it: nothing to tell apart
            return _Judge(places, np.zeros(0, np.int32), np.zeros(0), 4.0)
        if self.kind == "boosting":
            return self._grown(rows, wanted, places)
        from sklearn.linear_model import LogisticRegression

        columns = np.flatnonzero(np.asarray(rows.getnnz(axis=0)) > 1)
        # Few words matter for one code: L1 finds them, and gives .965 where L2 gave .951 of the codes.
        model = LogisticRegression(
            C=100.0,
            l1_ratio=1.0,
            solver="liblinear",
            max_iter=3000,
            random_state=0,  # the order of its steps: the same messages give the same model
        )
        model.fit(rows[:, columns], wanted)
        return _Judge(places, columns, model.coef_[0], float(model.intercept_[0]))

    def _grown(self, rows: Any, wanted: Any, places: tuple[str, ...]) -> _Judge:
        from sklearn.ensemble import HistGradientBoostingClassifier

        from assistant.rationale.trees import Forest

        # Trees look at every column: the few that go with the code at all take a tenth of the time.
        columns = np.sort(np.argsort(-_association(rows, wanted), kind="stable")[:_WIDTH])
        part = rows[:, columns].toarray()
        model = HistGradientBoostingClassifier(
            max_iter=_ROUNDS, max_leaf_nodes=_LEAVES, min_samples_leaf=4, learning_rate=0.2, early_stopping=False
        )
        model.fit(part, wanted)
        return _Judge(places, columns, forest=Forest.from_fitted(model))


def _association(rows: Any, wanted: Any) -> Any:
    """How far each column goes with the code: the larger correlation of its value's sign and of its value."""
    best = np.zeros(rows.shape[1])
    away = wanted - wanted.mean()
    for part in (rows, rows.sign()):
        mean = np.asarray(part.mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(np.asarray(part.multiply(part).mean(axis=0)).ravel() - mean**2, 1e-12))
        best = np.maximum(best, np.abs(part.T @ away) / (len(away) * spread * (away.std() or 1.0)))
    return np.where(np.asarray(rows.getnnz(axis=0)) > 2, best, 0.0)


def one_thread() -> AbstractContextManager[Any]:
    """Small trees are grown ten times faster by one thread than by two that wait for each other."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits
