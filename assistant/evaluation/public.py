"""Public sets in the folder form in which their publishers give them, read into the forms of this package.

None of them is part of EnergyComm: the folder is named on the command line (`--data`). Licences: SciFact claims and
annotations CC BY 4.0, abstracts ODC-By 1.0; WiCE CC BY-SA; QED CC BY-SA 3.0; XQuAD-R CC BY-SA 4.0.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assistant.evaluation.forms import RationaleItem, RetrievalSet
from energycomm.errors import UserError


def scifact_rationales(folder: Path) -> list[RationaleItem]:
    """SciFact's training claims beside each abstract that has evidence; every evidence set is a complete rationale."""
    abstracts = {row["_id"]: row for row in _rows(folder / "beir_scifact" / "corpus.jsonl.gz")}
    claims = {row["_id"]: row["text"] for row in _rows(folder / "beir_scifact" / "queries.train.jsonl")}
    return [
        RationaleItem(
            id=f"{row['_id']}/{abstract}",
            question="",
            answer=claims[row["_id"]],
            sentences=tuple(abstracts[abstract]["sentences"]),
            gold=tuple(tuple(evidence["sentences"]) for evidence in sets),
            context=abstracts[abstract]["title"],
        )
        for row in _rows(folder / "beir_scifact" / "rationales.train.jsonl")
        for abstract, sets in row["evidence"].items()
    ]


def wice(folder: Path) -> list[RationaleItem]:
    """WiCE's development claims that have supporting sentences."""
    return [
        RationaleItem(
            id=str(number),
            question="",
            answer=row["claim"],
            sentences=tuple(row["evidence"]),
            gold=tuple(tuple(found) for found in row["supporting_sentences"] if found),
        )
        for number, row in enumerate(_rows(folder / "wice" / "claim.dev.jsonl.gz"))
        if any(row["supporting_sentences"])
    ]


def qed(folder: Path, *, with_answer: bool) -> list[RationaleItem]:
    """QED's questions that one sentence answers; with or without the short answer."""
    found = []
    for row in _rows(folder / "qed" / "qed-dev.jsonlines.gz"):
        if row["annotation"]["explanation_type"] != "single_sentence":
            continue
        starts, text = row["sentence_starts"], row["paragraph_text"]
        ends = [*starts[1:], len(text)]
        gold = starts.index(row["annotation"]["selected_sentence"]["start"])
        found.append(
            RationaleItem(
                id=str(row["example_id"]),
                question=row["question_text"],
                answer=row["original_nq_answers"][0][0]["string"] if with_answer else None,
                sentences=tuple(text[start:end].strip() for start, end in zip(starts, ends, strict=True)),
                gold=((gold,),),
                context=row["title_text"],
            )
        )
    return found


def xquad_rationales(folder: Path, question_language: str = "en", text_language: str = "en") -> list[RationaleItem]:
    """XQuAD-R's questions beside their paragraph: the sentence with the answer is the rationale."""
    questions = {
        qa["id"]: qa["question"] for _, paragraph in _xquad(folder, question_language) for qa in paragraph["qas"]
    }
    found = []
    for title, paragraph in _xquad(folder, text_language):
        breaks = paragraph["sentence_breaks"]
        sentences = tuple(paragraph["context"][start:end] for start, end in breaks)
        for qa in paragraph["qas"]:
            gold = _sentence_at(breaks, qa["answers"][0]["answer_start"])
            found.append(
                RationaleItem(
                    id=qa["id"], question=questions[qa["id"]], sentences=sentences, gold=((gold,),), context=title
                )
            )
    return found


def scifact_retrieval(folder: Path) -> RetrievalSet:
    """SciFact as in BEIR: the training claims with relevant abstracts against the whole corpus."""
    relevant: dict[str, dict[str, float]] = {}
    for line in (folder / "beir_scifact" / "qrels" / "train.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        claim, abstract, grade = line.split("\t")
        relevant.setdefault(claim, {})[abstract] = float(grade)
    corpus = {
        row["_id"]: f"{row['title']}\n{row['text']}" for row in _rows(folder / "beir_scifact" / "corpus.jsonl.gz")
    }
    queries = {row["_id"]: row["text"] for row in _rows(folder / "beir_scifact" / "queries.train.jsonl")}
    return RetrievalSet(
        name="SciFact, training claims",
        corpus=corpus,
        queries={key: queries[key] for key in relevant},
        relevant=relevant,
        query_language="en",
        corpus_language="en",
    )


def xquad_retrieval(
    folder: Path, question_language: str = "en", text_language: str = "en", *, every: int = 1
) -> RetrievalSet:
    """XQuAD-R: the sentence with the answer among all sentences of all paragraphs.

    Args:
      every: takes one paragraph of so many, with its questions and its sentences: a smaller and easier task.
    """
    corpus: dict[str, str] = {}
    places: dict[str, str] = {}
    relevant: dict[str, dict[str, float]] = {}
    for number, (_, paragraph) in enumerate(_xquad(folder, text_language)):
        if number % every:
            continue
        breaks = paragraph["sentence_breaks"]
        keys = []
        for start, end in breaks:
            sentence = paragraph["context"][start:end]
            keys.append(places.setdefault(sentence, str(len(places))))
            corpus[keys[-1]] = sentence
        for qa in paragraph["qas"]:
            relevant[qa["id"]] = {keys[_sentence_at(breaks, qa["answers"][0]["answer_start"])]: 1.0}
    queries = {
        qa["id"]: qa["question"] for _, paragraph in _xquad(folder, question_language) for qa in paragraph["qas"]
    }
    part = f", one paragraph of {every}" if every > 1 else ""
    return RetrievalSet(
        name=f"XQuAD-R, {question_language} questions, {text_language} sentences{part}",
        corpus=corpus,
        queries={key: queries[key] for key in relevant},
        relevant=relevant,
        query_language=question_language,
        corpus_language=text_language,
    )


def _xquad(folder: Path, language: str) -> Iterator[tuple[str, dict[str, Any]]]:
    path = _existing(folder / "xquad_r" / f"{language}.json.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for article in json.load(file)["data"]:
            for paragraph in article["paragraphs"]:
                yield str(article.get("title", "")), paragraph


def _sentence_at(breaks: list[list[int]], offset: int) -> int:
    return max(index for index, (start, _) in enumerate(breaks) if start <= offset)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with (
        gzip.open(_existing(path), "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else _existing(path).open(encoding="utf-8") as file
    ):
        for line in file:
            yield json.loads(line)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise UserError(
            f"There is no {path}.",
            "Name the folder with the public sets by --data; docs/assistant-results.md lists them.",
        )
    return path
