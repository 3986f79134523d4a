"""Searching: words and meaning fused within a language, codes, filters."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.knowledge.concepts import concepts
from assistant.knowledge.documents import Metadata, Passage
from assistant.knowledge.index import open_index, update
from assistant.knowledge.lexical import Bm25, code_form, rule_codes, tokens
from assistant.knowledge.lexicon import Lexicon
from assistant.knowledge.loaders.folder import FolderLoader
from assistant.knowledge.loaders.rules import RuleLoader
from assistant.knowledge.vectors import VectorIndex
from assistant.retrieval.asking import Asked
from assistant.retrieval.fusion import reciprocal_ranks, weighted_sum
from assistant.retrieval.query import Filters, Method, Query
from assistant.retrieval.search import Search, is_slight
from tests.assistant.conftest import WordEmbedder


@pytest.mark.parametrize("written", ["FR-R03", "fr-r03", "FR_R03", "FR.R3", "FRR03"])
def test_all_ways_to_write_a_code_are_one(written: str) -> None:
    """People do not type hyphens."""
    assert code_form(written) == "frr3"


def test_codes_stay_whole_and_words_are_stemmed() -> None:
    """E17, MIG6 and C15 are found as such; `relevés` finds `relevé`."""
    found = tokens("Les relevés E17 du MIG6 et du C15", "fr")
    assert {"#e17", "#mig6", "#c15"} <= set(found)
    assert set(tokens("relevé", "fr")) <= set(found)


def test_a_question_names_rules_by_error_code_or_by_name() -> None:
    """Both kinds of codes; a plain word is none."""
    asked = "Why FR-R03 and common-index-goes-back, and VR.200, but not R151 of a well-known kind?"
    assert rule_codes(asked) >= {"frr3", "commonindexgoesback", "vr200"}
    assert "r151" not in rule_codes(asked)


def test_words_of_the_field_are_one_concept_in_every_language() -> None:
    """A question in French finds a rule in English."""
    assert "@decrease" in concepts("l'index diminue", "fr")
    assert "@decrease" in concepts("the index goes back", "en")
    assert "@decrease" in concepts("de stand is lager", "nl")


def test_fusion_trusts_words_only_within_a_language() -> None:
    """A passage in another language keeps its rank by meaning, whatever words it happens to share."""
    dense = np.array([0.9, 0.8, 0.7], dtype=np.float32)
    sparse = np.array([0.0, 1.0, 9.0], dtype=np.float32)
    everywhere = reciprocal_ranks(dense, sparse, np.array([True, True, True]))
    abroad = reciprocal_ranks(dense, sparse, np.array([False, False, False]))
    assert list(np.argsort(-abroad)) == [0, 1, 2]
    assert everywhere[2] > everywhere[0]
    assert list(np.argsort(-weighted_sum(dense, sparse, np.array([False] * 3), 0.5))) == [0, 1, 2]


def test_bm25_gives_rare_words_more_and_unknown_words_nothing(tmp_path: Path) -> None:
    """Also after it was written and read again."""
    texts = [["index", "rule"], ["index", "invoice"], ["index"]]
    Bm25.build(texts).save(tmp_path / "bm25")
    index = Bm25.load(tmp_path / "bm25", 3)
    assert index.scores(["rule"]).argmax() == 0
    assert index.scores(["unheard"]).sum() == 0
    assert index.rarity("unheard") > index.rarity("rule") > index.rarity("index")


@pytest.fixture
def vectors() -> NDArray[np.float32]:
    drawn = np.random.default_rng(5).normal(size=(2_000, 24)).astype(np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float32)


@pytest.mark.parametrize("flat_up_to", [2_000, 1_999])
def test_an_index_that_was_written_and_read_finds_the_same(
    vectors: NDArray[np.float32], flat_up_to: int, tmp_path: Path
) -> None:
    built = VectorIndex.build(vectors, flat_up_to)
    built.save(tmp_path)
    read = VectorIndex.load(tmp_path)
    assert (read.kind, read.size) == (built.kind, 2_000)
    found, again = built.nearest(vectors[7], 5), read.nearest(vectors[7], 5)
    assert [again[0].tolist(), again[1].tolist()] == [found[0].tolist(), found[1].tolist()]
    assert read.vectors(np.array([3, 1])).tolist() == vectors[[3, 1]].tolist()


def test_nearest_are_those_of_the_greatest_cosines(vectors: NDArray[np.float32]) -> None:
    """Best first, among all or some, never more than there are."""
    index = VectorIndex.build(vectors)
    cosines = vectors @ vectors[7]
    numbers, scores = index.nearest(vectors[7], 20)
    assert numbers.tolist() == sorted(range(2_000), key=lambda number: -cosines[number])[:20]
    assert scores.tolist() == pytest.approx(cosines[numbers].tolist(), abs=1e-6)
    some = np.array([9, 7, 1_999, 4])
    numbers, _ = index.nearest(vectors[7], 20, some)
    assert numbers.tolist() == sorted(some.tolist(), key=lambda number: -cosines[number])
    assert [len(found) for found in index.nearest(vectors[7], 5, some[:0])] == [0, 0]
    assert [len(found) for found in index.nearest(vectors[7], 0)] == [0, 0]


def test_an_index_of_before_is_read(vectors: NDArray[np.float32], tmp_path: Path) -> None:
    """FAISS held the vectors of every index."""
    faiss: Any = pytest.importorskip("faiss")
    old = faiss.IndexFlatIP(24)
    old.add(vectors)
    faiss.write_index(old, str(tmp_path / "vectors.faiss"))
    read, now = VectorIndex.load(tmp_path), VectorIndex.build(vectors)
    assert (read.kind, read.size) == ("flat", 2_000)
    assert read.nearest(vectors[3], 9)[0].tolist() == now.nearest(vectors[3], 9)[0].tolist()
    assert read.vectors(np.array([3, 1])).tolist() == vectors[[3, 1]].tolist()


def test_hnsw_finds_what_comparing_all_finds(vectors: NDArray[np.float32]) -> None:
    """Past a size the approximate index is used; on easy data it errs little."""
    flat, graph = VectorIndex.build(vectors), VectorIndex.build(vectors, flat_up_to=100)
    assert (flat.kind, graph.kind) == ("flat", "hnsw")
    same = sum(flat.nearest(v, 1)[0][0] == graph.nearest(v, 1)[0][0] for v in vectors[:200])
    assert same >= 195
    assert set(graph.nearest(vectors[0], 3, np.array([4, 5, 6]))[0]) <= {4, 5, 6}


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Search:
    root = tmp_path_factory.mktemp("rules") / "index"
    embedder = WordEmbedder()
    folder = Path(__file__).resolve().parents[2]
    update(root, [FolderLoader(folder / "docs"), RuleLoader(folder / "rules")], embedder)
    return Search(open_index(root), embedder)


@pytest.mark.parametrize("method", ["dense", "sparse", "hybrid", "weighted"])
@pytest.mark.parametrize(
    "question", ["Que dit FR-R03 ?", "explain fr_r03 please", "quid de la FR R03 ?", "fr-energy-above-power"]
)
def test_a_code_in_a_question_always_finds_its_rule(rules: Search, question: str, method: Method) -> None:
    """By every method, with an embedder that understands nothing."""
    found = rules.search(Query(text=question, method=method, limit=3))
    assert {item.passage.metadata.codes[0] for item in found} == {"FR-R03"}
    assert all(item.by_code for item in found)


def test_every_rule_is_found_by_its_code(rules: Search) -> None:
    """All of them, not only the known ones."""
    codes = sorted({p.metadata.codes[0] for p in rules.index.passages if p.metadata.codes})
    lost = [c for c in codes if rules.search(Query(text=f"What is {c}?", limit=1))[0].passage.metadata.codes[0] != c]
    assert len(codes) > 100
    assert lost == []


def test_filters_leave_only_what_they_name(rules: Search) -> None:
    """Market, language, source; a rule for all markets holds in each."""
    found = rules.search(
        Query(text="index reading", filters=Filters(markets=("FR",), languages=("fr",), sources=("rules",)), limit=50)
    )
    assert found
    for item in found:
        facts = item.passage.metadata
        assert facts.market in (None, "FR")
        assert (facts.language, facts.source) == ("fr", "rules")
    assert rules.search(Query(text="index", filters=Filters(sources=("nowhere",)))) == []


def test_a_date_finds_the_rules_of_that_day() -> None:
    """From the first day to the last, both included."""
    march = Metadata(source="r", address="a", valid_from=date(2026, 3, 1), valid_to=date(2026, 3, 31))
    for day, holds in (
        (date(2026, 2, 28), False),
        (date(2026, 3, 1), True),
        (date(2026, 3, 31), True),
        (date(2026, 4, 1), False),
    ):
        assert Filters(on=day).allow(march) is holds


def test_expansion_and_a_hypothetical_answer_are_switches(rules: Search) -> None:
    """Both change the vector that is searched with, and neither is on by default."""
    plain = [f.dense for f in rules.search(Query(text="energy above power", method="dense"))]
    wider = [f.dense for f in rules.search(Query(text="energy above power", method="dense", expand=3))]
    hyped = [
        f.dense
        for f in rules.search(
            Query(text="energy above power", method="dense", hyde="No point takes more than its power.")
        )
    ]
    assert plain != wider
    assert plain != hyped


def twin(code: str, english: str, french: str) -> list[Passage]:
    """A rule as it stands in two languages."""
    return [
        Passage(
            id=f"{code}{language}", document=code, start=0, end=len(text), text=text, context="", headings=(),
            metadata=Metadata(source="rules", address=code, language=language, codes=(code,)),
        )
        for language, text in (("en", f"{code} rejects: {english}"), ("fr", f"La règle {code} rejette : {french}"))
    ]  # fmt: skip


def test_a_lexicon_is_learned_from_rules_that_stand_in_two_languages(tmp_path: Path) -> None:
    """Words that go together in several rules stand for each other, in both directions, also when read again."""
    verdicts = [
        ("The register is missing.", "Le cadran manque."),
        ("The register is negative.", "Le cadran est négatif."),
        ("The invoice is missing.", "La facture manque."),
        ("The invoice is negative.", "La facture est négative."),
    ]
    passages = [p for n, (en, fr) in enumerate(verdicts) for p in twin(f"CO-X0{n}", en, fr)]
    Lexicon.of(passages).save(tmp_path / "lexicon.json")
    learned = Lexicon.load(tmp_path / "lexicon.json")
    assert learned.others("cadran", "fr", "en")[0][0] == "regist"
    assert learned.others("invoic", "en", "fr")[0][0] == "factur"
    assert learned.others("unheard", "fr", "en") == ()
    assert Lexicon.load(tmp_path / "nowhere.json").size == 0


def test_a_question_is_put_into_the_words_of_the_texts_language() -> None:
    """By the lexicon, by names that are written alike, and by codes; its own small words are left out."""
    passages = [p for n in range(3) for p in twin(f"CO-X0{n}", "The register of Enedis.", "Le cadran d'Enedis.")]
    texts = [tokens(passage.text, passage.metadata.language) for passage in passages]
    asked = Asked("Que montre le cadran d'Enedis en R151 ?", "fr", Bm25.build(texts), Lexicon.of(passages))
    wanted = asked.query("en")
    assert {"regist", "#r151"} <= set(wanted)
    assert "le" not in wanted
    named = [asked.named(frozenset(tokens(text, "en")), (), "en") for text in ("a register", "the files of a folder")]
    assert named[0] > named[1] == 0


def test_in_its_own_language_a_word_counts_more_than_the_concept_that_it_names() -> None:
    """Else texts with any other word of the concept crowd out the one that says it in the question's words."""
    asked = Asked("Why does an index go back?", "en", Bm25.build([["index"]]), Lexicon())
    own, other = asked.query("en"), asked.query("fr")
    assert own["index"] == 1 > own["@decrease"] > 0
    assert other["@decrease"] == 1


@pytest.mark.parametrize(
    ("text", "held_back"),
    [("Limits of every channel", True), ("He died in 1741.", False), ('"Now I am neither."', False), ("3, 1", True)],
)
def test_a_caption_is_held_back_and_a_short_sentence_is_not(text: str, held_back: bool) -> None:
    """A few words that say nothing are near to every question; a short sentence can be the answer."""
    assert is_slight(text) is held_back


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("What is the outbox?", "outbox"),
        ("What is an entity in the model of sign-in?", "entity"),
        ("Que signifie ENV_CRC ?", "env_crc"),
        ("Why is it rejected?", ""),
    ],
)
def test_a_question_for_a_meaning_names_what_it_wants_explained(question: str, subject: str) -> None:
    asked = Asked(question, None, Bm25.build([["outbox"]]), Lexicon())
    assert asked.subject.replace(" ", "_") == subject


def test_a_french_question_finds_the_english_page_of_its_rule(rules: Search) -> None:
    """And an English question finds no French text of a rule."""
    found = rules.search(Query(text="Le cadran affiche un index négatif", limit=8))
    assert any("not-negative" in code or "R03" in code for item in found for code in item.passage.metadata.codes)
    found = rules.search(Query(text="May an index be negative?", limit=8))
    assert {item.passage.metadata.language for item in found if item.passage.metadata.codes} == {"en"}
