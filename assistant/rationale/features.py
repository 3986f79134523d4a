"""What the light model sees of a sentence: its words and its vector beside the question, its place, its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assistant.knowledge.embedding import Embedder
from assistant.rationale.port import Question
from assistant.rationale.terms import Weights, content, dot, fold, grams, stem, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

LEXICAL = (
    "tfidf", "tfidf_stems", "characters", "covered", "covered_stems", "density", "numbers", "rare", "bigrams", "run",
)  # fmt: skip
"""Features of words, one group for each of the texts of `asked_texts`."""

EMBEDDED = ("cosine",)
"""Features of vectors, one group for each of the texts of `asked_texts`."""

PLACE = ("position", "from_end", "first", "last", "log_length", "log_sentences", "share", "words", "heading")
"""Features of the sentence by itself."""

_SPREAD = ("raw", "to_best", "z", "rank", "previous", "next")
"""Every word and vector feature is given as such, against the best of its context, standardised within the context, by
rank, and with the values of the sentences before and after."""

_TEXTS = ("all", "question", "answer")


def names(*, lexical: bool = True, embedded: bool = True) -> tuple[str, ...]:
    """Names of the columns, in their order."""
    single = [f"{text}.{name}" for text in _TEXTS for name in LEXICAL] if lexical else []
    single += [f"{text}.{name}" for text in _TEXTS for name in EMBEDDED] if embedded else []
    spread = [f"{name}.{form}" for name in single for form in _SPREAD]
    centre = ["to_centre"] if embedded else []
    place = [name for name in PLACE if lexical or name != "heading"]
    return tuple(spread + centre + place)


def asked_texts(item: Question) -> tuple[str, str, str]:
    """What a sentence is compared with: question and answer together, the question, the answer; never empty."""
    answer = item.answer or ""
    joined = f"{item.question} {answer}".strip()
    return joined, item.question or answer, answer or item.question


def matrix(items: Sequence[Question], embedder: Embedder | None, *, lexical: bool = True) -> list[Matrix]:
    """The features of every sentence of every item.

    Args:
      items: contexts with what is asked of them.
      embedder: where vectors come from; None leaves their features out.
      lexical: whether features of words are wanted; not across languages.

    Returns:
      One array per item, shape (sentences, len(names(...))).
    """
    vectors = _vectors(items, embedder) if embedder is not None else None
    found = []
    for number, item in enumerate(items):
        single: list[Matrix] = []
        if lexical:
            single.append(_lexical(item))
        centre: list[Matrix] = []
        if vectors is not None:
            asked, sentences = vectors[number]
            single.append(np.asarray(sentences @ asked.T, dtype=np.float32))
            mean = sentences.mean(axis=0) if len(sentences) else np.zeros(sentences.shape[1], dtype=np.float32)
            centre.append(np.asarray(sentences @ mean, dtype=np.float32)[:, None])
        spread = _spread(np.concatenate(single, axis=1)) if single else np.zeros((len(item.sentences), 0), np.float32)
        found.append(np.concatenate([spread, *centre, _place(item, lexical=lexical)], axis=1))
    return found


def _vectors(items: Sequence[Question], embedder: Embedder) -> list[tuple[Matrix, Matrix]]:
    """Vectors of what is asked (3 rows) and of the sentences, every different text embedded once."""
    asked = {text: 0 for item in items for text in asked_texts(item)}
    sentences = {text: 0 for item in items for text in item.sentences}
    asked_vectors = embedder.embed_queries(list(asked))
    sentence_vectors = embedder.embed_passages(list(sentences))
    asked.update(zip(asked, range(len(asked)), strict=True))
    sentences.update(zip(sentences, range(len(sentences)), strict=True))
    return [
        (
            asked_vectors[[asked[text] for text in asked_texts(item)]],
            sentence_vectors[[sentences[text] for text in item.sentences]],
        )
        for item in items
    ]


def _lexical(item: Question) -> Matrix:
    tokens = [words(sentence) for sentence in item.sentences]
    contents = [content(sentence) for sentence in item.sentences]
    stems = [[stem(word) for word in line] for line in contents]
    weights = Weights(grams(line) for line in tokens)
    stem_weights = Weights(grams(line) for line in stems)
    character_weights = Weights(_characters(sentence) for sentence in item.sentences)
    columns = []
    done: dict[str, Matrix] = {}
    for text in asked_texts(item):
        if text not in done:
            done[text] = _against(text, contents, stems, weights, stem_weights, character_weights)
        columns.append(done[text])
    return np.concatenate(columns, axis=1)


def _against(
    text: str,
    contents: list[tuple[str, ...]],
    stems: list[list[str]],
    weights: Weights,
    stem_weights: Weights,
    character_weights: Weights,
) -> Matrix:
    asked = content(text)
    asked_set, asked_stems = set(asked), {stem(word) for word in asked}
    asked_grams = set(grams([stem(word) for word in asked], 2, 2))
    asked_numbers = {word for word in asked if any(c.isdigit() for c in word)}
    total = sum(weights.idf(word) for word in asked_set) or 1.0
    total_stems = sum(stem_weights.idf(word) for word in asked_stems) or 1.0
    vector = weights.vector(grams(words(text)))
    stem_vector = stem_weights.vector(grams([stem(word) for word in asked]))
    character_vector = character_weights.vector(_characters(text))
    rows = np.zeros((len(contents), len(LEXICAL)), dtype=np.float32)
    for row, (line, line_stems) in enumerate(zip(contents, stems, strict=True)):
        here, here_stems = set(line), set(line_stems)
        shared, shared_stems = here & asked_set, here_stems & asked_stems
        shared_numbers = len(here & asked_numbers)
        rows[row] = (
            dot(vector, weights.vectors[row]),
            dot(stem_vector, stem_weights.vectors[row]),
            dot(character_vector, character_weights.vectors[row]),
            sum(weights.idf(word) for word in shared) / total,
            sum(stem_weights.idf(word) for word in shared_stems) / total_stems,
            len(shared_stems) / (len(here_stems) or 1),
            shared_numbers / len(asked_numbers) if asked_numbers else -1.0,
            max((stem_weights.idf(word) for word in shared_stems), default=0.0),
            len(asked_grams & set(grams(line_stems, 2, 2))) / (len(asked_grams) or 1),
            _longest_run(line_stems, [stem(word) for word in asked]) / (len(asked) or 1),
        )
    return rows


def _characters(text: str) -> list[str]:
    plain = " " + " ".join(words(text)) + " "
    return [plain[i : i + 4] for i in range(len(plain) - 3)]


def _longest_run(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest run of words that both have."""
    best = 0
    before = [0] * (len(b) + 1)
    for word in a:
        row = [0] * (len(b) + 1)
        for j, other in enumerate(b, start=1):
            if word == other:
                row[j] = before[j - 1] + 1
                best = max(best, row[j])
        before = row
    return best


def _spread(values: Matrix) -> Matrix:
    """Each column in its six forms, column by column."""
    rows, columns = values.shape
    if not rows:
        return np.zeros((0, columns * len(_SPREAD)), dtype=np.float32)
    best = values.max(axis=0)
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    ranks = (values[None, :, :] > values[:, None, :]).sum(axis=1)
    edge = np.zeros((1, columns), dtype=np.float32)
    forms = (
        values,
        values - best,
        (values - mean) / np.maximum(deviation, 1e-6),
        1.0 / (1.0 + ranks),
        np.concatenate([edge, values[:-1]]),
        np.concatenate([values[1:], edge]),
    )
    return np.asarray(np.stack(forms, axis=2).reshape(rows, columns * len(_SPREAD)), dtype=np.float32)


def _place(item: Question, *, lexical: bool) -> Matrix:
    count = len(item.sentences)
    lengths = [len(sentence) for sentence in item.sentences]
    whole = sum(lengths) or 1
    heading = {stem(word) for word in content(item.context)}
    rows = []
    for index, sentence in enumerate(item.sentences):
        row = [
            index / max(count - 1, 1),
            (count - 1 - index) / max(count - 1, 1),
            float(index == 0),
            float(index == count - 1),
            float(np.log1p(lengths[index])),
            float(np.log1p(count)),
            lengths[index] / whole,
            float(np.log1p(len(words(sentence)))),
        ]
        if lexical:
            stems = {stem(word) for word in content(fold(sentence))}
            row.append(len(stems & heading) / (len(heading) or 1))
        rows.append(row)
    return np.asarray(rows, dtype=np.float32).reshape(count, len(PLACE) - (0 if lexical else 1))
