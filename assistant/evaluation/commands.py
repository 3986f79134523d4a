"""`energycomm assistant evaluate ...`: the measurements, each one command."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from assistant.evaluation.options import CACHE, Cache, Data, Out, command_line, configured, show_report, told
from assistant.extras import need
from energycomm.commands.output import say
from energycomm.errors import UserError

app = typer.Typer(
    name="evaluate", no_args_is_help=True, help="Measure the assistant, on public sets and on our own questions."
)

Root = Annotated[Path, typer.Option(help="The checkout: the folder with docs and rules.")]
Questions = Annotated[Path | None, typer.Option(help="File of questions in JSON lines; our own when not set.")]
Language = Annotated[str, typer.Option(help="Only questions in this language.")]
Market = Annotated[str, typer.Option(help="Market filter for questions that name no market, such as FR.")]
Sample = Annotated[int, typer.Option(help="Only so many questions, evenly picked; 0 takes all.")]

Indexed = Annotated[
    Path | None, typer.Option("--index", help="Folder of an index that was made of other documents; ours when not set.")
]

OWN = Path(__file__).parent / "questions" / "own.jsonl"
DEVELOPMENT = Path(__file__).parent / "questions" / "development.jsonl"


def _picked(questions: list[Any], language: str, market: str, sample: int) -> list[Any]:
    """The questions of a language, so many of them, asked with a market's filter."""
    import msgspec

    # A set that goes question by question through its languages would else be sampled in one of them only.
    found = sorted((q for q in questions if not language or q.language == language), key=lambda q: q.language)
    if sample and found:
        found = [found[number * len(found) // sample] for number in range(min(sample, len(found)))]
    return [msgspec.structs.replace(q, market=q.market or market or None) for q in found]


def _index(root: Path, indexed: Path | None, embedder: Any, config: Any) -> Any:
    """The corpus that is asked: our own, or an index on disk."""
    from assistant.evaluation.corpus import own_index
    from assistant.knowledge.index import open_index

    return open_index(indexed) if indexed else own_index(root, embedder, config.chunk_tokens).as_index


def _house() -> Any:
    """Rules, store and documentation of the working directory."""
    from assistant.config import load_config
    from assistant.operations.house import House
    from assistant.operations.likeness import Likeness
    from energycomm.config import load

    return House(load(), likeness=Likeness.of(load_config()))


@app.command()
def retrieval(
    data: Data,
    set_: Annotated[
        str, typer.Option("--set", help="scifact, xquad-en, xquad-de (German questions, English text).")
    ] = "xquad-en",
    expand: Annotated[
        list[int] | None, typer.Option(help="Neighbours averaged into the question (AQE); may be given again.")
    ] = None,
    interaction: Annotated[bool, typer.Option(help="Also compared token by token.")] = True,
    rerank: Annotated[bool, typer.Option(help="Also with the configured reranker.")] = False,
    hyde: Annotated[bool, typer.Option(help="Also with the configured generator's hypothetical answers.")] = False,
    sample: Sample = 0,
    every: Annotated[int, typer.Option(min=1, help="XQuAD-R: only one paragraph of so many, the corpus too.")] = 1,
    also: Annotated[
        list[str] | None, typer.Option(help="Further embedders: model folders, alone and concatenated.")
    ] = None,
    out: Out = None,
    cache: Cache = CACHE,
) -> None:
    """Retrieval on a public set: sparse, dense, hybrid, weighted; several embedders; late interaction; AQE; reranking.

    Example: energycomm assistant evaluate retrieval --data sets --set scifact
    """
    from assistant.evaluation import public
    from assistant.evaluation.retrieval import evaluate, grid
    from assistant.evaluation.vector_cache import Keeping
    from assistant.knowledge.embedding import Concatenated, SentenceTransformerEmbedder, token_embedder
    from assistant.retrieval.reranker import open_reranker

    sets = {
        "scifact": lambda: public.scifact_retrieval(data),
        "xquad-en": lambda: public.xquad_retrieval(data, every=every),
        "xquad-de": lambda: public.xquad_retrieval(data, "de", "en", every=every),
    }
    if set_ not in sets:
        raise UserError(f"There is no set {set_}.", f"Name one of {', '.join(sets)}.")
    if every > 1 and set_ == "scifact":
        raise UserError("SciFact has no paragraphs of which --every could leave some out.", "Use --sample.")
    found = sets[set_]()
    config, embedder = configured(cache)
    embedders: dict[str, Any] = {embedder.name: embedder}
    for folder in also or []:
        model = SentenceTransformerEmbedder(folder, name=Path(folder).name, threads=config.threads)
        other = Keeping(model, cache, told)
        embedders[other.name] = other
        embedders[f"{embedder.name} + {other.name}"] = Concatenated([embedder, other])
    reranker = open_reranker(config.reranker or "features", config.threads) if rerank else None
    tokens = [name for name, one in embedders.items() if interaction and token_embedder(one)]
    settings = grid(embedders, expand=expand or (), rerank=rerank, hyde=hyde, tokens=tokens)
    if sample:
        found = found.sampled(sample)
    written = _hypothetical(config, found.queries) if hyde else None
    report = evaluate(
        found, embedders, settings, reranker=reranker, hypothetical=written, command=command_line(), told=told
    )
    show_report(report, out)


def _hypothetical(config: Any, queries: dict[str, str]) -> dict[str, str]:
    """What the configured generator would answer to each query, for HyDE."""
    from assistant.chat.generators import open_generator
    from assistant.chat.prompting import hypothetical_prompt

    generator = open_generator(config)
    if generator is None:
        raise UserError("HyDE needs a generator.", "Configure one in assistant.toml.")
    return {key: "".join(generator.stream(hypothetical_prompt(text), 64)).strip() for key, text in queries.items()}


@app.command()
def answers(
    questions: Questions = None,
    root: Root = Path(),
    indexed: Indexed = None,
    grid: Annotated[
        bool, typer.Option(help="All retrieval methods and cut-offs, and with a generator its prompts.")
    ] = False,
    house: Annotated[
        bool, typer.Option("--house", help="What can be worked out comes first, as `assistant ask` answers.")
    ] = False,
    cell: Annotated[
        list[str] | None, typer.Option(help="One cell: method, passages, order, examples, length; may be given again.")
    ] = None,
    language: Language = "",
    market: Market = "",
    sample: Sample = 0,
    details: Annotated[Path | None, typer.Option(help="File for every answer, in JSON lines.")] = None,
    out: Out = None,
) -> None:
    """Accuracy, citations and refusals over a question set (EquinorQA's measures).

    Example: energycomm assistant evaluate answers --details answers.jsonl
    """
    from assistant.chat.generators import open_generator
    from assistant.chat.scorer import open_rationale
    from assistant.evaluation import answers as answers_
    from assistant.evaluation import forms

    asked = _picked(forms.read(questions or OWN, forms.TestQuestion), language, market, sample)
    config, embedder = configured()
    index = _index(root, indexed, embedder, config)
    generator = open_generator(config)
    settings = answers_.grid(generator=generator is not None) if grid else None
    if cell:
        settings = [answers_.setting_of(words) for words in cell]
    report, outcomes = answers_.evaluate(
        asked, index, embedder, open_rationale(config, embedder), config, settings=settings, generator=generator,
        house=_house() if house else None, command=command_line(), told=told,
    )  # fmt: skip
    if details is not None:
        forms.write(details, outcomes)
    show_report(report, out)


@app.command()
def judges(
    questions: Questions = None,
    root: Root = Path(),
    chunks: Annotated[list[int] | None, typer.Option(help="Passages that are read; may be given again.")] = None,
    language: Language = "en",
    market: Market = "",
    sample: Sample = 0,
    out: Out = None,
) -> None:
    """Judges of answers: by ids, words, vectors, and, if configured, a cross-encoder and a language model.

    Example: energycomm assistant evaluate judges --chunks 1 --chunks 5
    """
    from assistant.chat.generators import open_generator
    from assistant.chat.scorer import open_rationale
    from assistant.evaluation import forms, judging
    from assistant.evaluation import judges as judges_
    from assistant.evaluation.corpus import own_index
    from assistant.retrieval.reranker import CrossEncoder, open_reranker

    asked = _picked(forms.read(questions or OWN, forms.TestQuestion), language, market, sample)
    config, embedder = configured()
    found: list[Any] = [judges_.LexicalJudge(), judges_.EmbeddingJudge(embedder)]
    reranker = open_reranker(config.reranker, config.threads)
    if isinstance(reranker, CrossEncoder):
        found.append(judges_.RankingJudge(reranker))
    generator = open_generator(config)
    if generator is not None:
        found.append(judges_.LanguageModelJudge(generator))
    index = own_index(root, embedder, config.chunk_tokens)
    report = judging.evaluate(
        asked, index, embedder, open_rationale(config, embedder), config, found, chunks=chunks or (1, 3, 5, 10),
        command=command_line(), told=told,
    )  # fmt: skip
    show_report(report, out)


@app.command()
def abstention(
    questions: Questions = None,
    root: Root = Path(),
    fit: Annotated[bool, typer.Option(help="Fit confidence.json on the development questions first.")] = False,
    out: Out = None,
) -> None:
    """Refusals by threshold, and the risk-coverage curve.

    Example: energycomm assistant evaluate abstention
    """
    from assistant.chat import confidence
    from assistant.chat.assistant import Assistant
    from assistant.chat.scorer import open_rationale
    from assistant.evaluation import abstention as abstention_
    from assistant.evaluation import forms
    from assistant.evaluation.answers import ask_all
    from assistant.evaluation.corpus import own_index

    config, embedder = configured()
    index = own_index(root, embedder, config.chunk_tokens)
    rationale_ = open_rationale(config, embedder)
    if fit:
        taught = forms.read(DEVELOPMENT, forms.TestQuestion)
        assistant = Assistant(config, index.as_index, embedder, rationale_)
        rows = abstention_.feature_rows(assistant, taught)
        path = Path(confidence.__file__).with_name("confidence.json")
        abstention_.save(abstention_.fit(rows, [q.kind != "unanswerable" for q in taught]), path)
        confidence.shipped.cache_clear()
        told(f"{path} written")
    asked = forms.read(questions or OWN, forms.TestQuestion)
    open_config = config.model_copy(update={"threshold": 0.0})
    outcomes = ask_all(asked, index.as_index, embedder, rationale_, open_config, told=told)
    show_report(abstention_.evaluate(outcomes, command_line()), out)


@app.command()
def generate(
    out: Annotated[Path, typer.Option(help="Review file (CSV) to write.")] = Path("review.csv"),
    root: Root = Path(),
    types: Annotated[list[str] | None, typer.Option(help="Types of questions; all when not set.")] = None,
    sample: Annotated[list[str] | None, typer.Option(help="A question to use as an example.")] = None,
    limit: Annotated[int, typer.Option(help="Passages, evenly picked.")] = 40,
) -> None:
    """Draft questions on our documents for people to review (PermitQA): by the configured generator, else by templates.

    Example: energycomm assistant evaluate generate --out review.csv
    """
    from assistant.chat.generators import open_generator
    from assistant.chat.scorer import open_rationale
    from assistant.evaluation import generation
    from assistant.evaluation.corpus import own_index

    config, embedder = configured()
    passages = own_index(root, embedder, config.chunk_tokens).passages
    passages = passages[:: max(len(passages) // limit, 1)][:limit]
    generator = open_generator(config)
    wanted = [name for name in generation.TYPES if not types or name in types]
    if generator is None:
        drafts = generation.from_templates(passages, open_rationale(config, embedder))
    else:
        drafts = [
            draft for passage in passages for name in wanted
            for draft in generation.ask_generator(generator, passage, name, samples=sample or ())
        ]  # fmt: skip
    generation.write_review(drafts, out)
    say(f"{len(drafts)} drafts in {out}: write yes, no or a better question in the column keep")


@app.command()
def review(
    file: Annotated[Path, typer.Argument(help="The review file.")],
    out: Annotated[Path, typer.Option(help="Question set to write.")] = Path("questions.jsonl"),
) -> None:
    """Write the accepted questions of a review file as a question set.

    Example: energycomm assistant evaluate review review.csv --out questions.jsonl
    """
    from assistant.evaluation.generation import read_review

    kept, silent = read_review(file, out)
    say(f"{kept} questions in {out}, {silent} not reviewed yet")


@app.command()
def cost(
    questions: Questions = None,
    limit: Annotated[int, typer.Option(help="How many questions are asked.")] = 40,
    out: Out = None,
) -> None:
    """Latency by step and memory, over the index of the working directory.

    Example: energycomm assistant evaluate cost
    """
    from assistant.chat.assistant import Assistant
    from assistant.config import load_config
    from assistant.evaluation import cost as cost_
    from assistant.evaluation import forms

    need("numpy", "scipy", "faiss", "bm25s")
    began = time.perf_counter()
    assistant = Assistant.open(load_config())
    assistant.prepare()
    opened = time.perf_counter() - began
    asked = [q.question for q in _picked(forms.read(questions or OWN, forms.TestQuestion), "", "", limit)]
    show_report(cost_.evaluate(assistant, asked, opened, command_line()), out)
