"""Indexing from the command line, and what is indexed."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

import msgspec
import typer

from energycomm.commands.output import Form, Json, listed, print_facts, print_heading, print_json, print_rows, say
from energycomm.commands.recording import recorded
from energycomm.errors import ExitCode, UserError


@recorded("assistant index")
def index(
    places: Annotated[
        list[str],
        typer.Argument(
            help="Folders or files of documentation, folders of rules, exports of Confluence or Jira; `eis` is the "
            "store, `remotes` are the sources of assistant.toml."
        ),
    ],
    source: Annotated[str | None, typer.Option(help="Name of the source; the folder's name by default.")] = None,
    version: Annotated[
        str | None, typer.Option(help="Version of the documents: 2025-08. Several versions may be indexed.")
    ] = None,
    market: Annotated[str | None, typer.Option(help="Market of the documents: FR.")] = None,
    language: Annotated[
        str | None, typer.Option(help="Language of the documents: fr. Found from the text by default.")
    ] = None,
    valid_from: Annotated[str | None, typer.Option(help="First day of their validity, YYYY-MM-DD.")] = None,
    valid_to: Annotated[str | None, typer.Option(help="Last day of their validity, YYYY-MM-DD.")] = None,
    dropped: Annotated[bool, typer.Option("--dropped", help="List what was left out, and why.")] = False,
    json: Json = False,
) -> None:
    """Index documents; only changed texts are embedded again.

    Example: energycomm assistant index docs rules
    """
    from assistant.config import load_config
    from assistant.knowledge.chunking import ChunkSize
    from assistant.knowledge.index import open_index, update
    from assistant.knowledge.loaders.folder import Facts
    from assistant.knowledge.loaders.opening import open_loaders
    from assistant.knowledge.models import open_embedder

    config = load_config()
    facts = Facts(
        market=market.upper() if market else None,
        language=language,
        version=version,
        valid_from=day(valid_from),
        valid_to=day(valid_to),
    )
    loaders = [loader for place in places for loader in open_loaders(place, config, facts, source)]
    embedder = open_embedder(config)
    report = update(
        config.folder / "index",
        loaders,
        embedder,
        size=ChunkSize(most=config.chunk_tokens, overlap=config.overlap_tokens),
        names=config.listed_names(),
        told=lambda words: say(words, err=True),
    )
    left_out = open_index(config.folder / "index").store.dropped() if dropped else []
    if json:
        print_json({**msgspec.structs.asdict(report), **({"left_out": left_out} if dropped else {})})
    else:
        print_facts(_told(report))
        if dropped:
            print_rows(("document", "reason", "words"), [(d.document, d.reason, d.words) for d in left_out])
    if report.failures:
        raise typer.Exit(ExitCode.UNREADABLE)


def status(json: Json = False) -> None:
    """Show the contents of the index: passages, embedder, age, size.

    Example: energycomm assistant status
    """
    from assistant.config import load_config
    from assistant.knowledge.index import open_index

    config = load_config()
    opened = open_index(config.folder / "index")
    folder = opened.folder
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    known: dict[str, Any] = {
        "folder": str(folder),
        "documents": sum(source.documents for source in opened.sources()),
        "passages": len(opened.passages),
        "sources": len(opened.sources()),
        "embedder": opened.embedder_name,
        "vectors": opened.vectors.kind,
        "indexed_at": opened.store.fact("indexed_at"),
        "chunk": opened.store.fact("chunk"),
        "bytes": size,
        "scrubbed": opened.store.fact("scrubbed"),
        "generator": config.generator.kind,
    }
    if json:
        print_json(known)
    else:
        print_facts((name.replace("_", " "), value) for name, value in known.items())


@listed
def sources(form: Form) -> None:
    """List the sources with their versions, documents, passages and what was left out.

    Example: energycomm assistant sources
    """
    from assistant.config import load_config
    from assistant.knowledge.index import open_index

    states = open_index(load_config().folder / "index").sources()
    form.show(
        states,
        ("source", "version", "documents", "passages", "left out"),
        [
            (
                s.source,
                s.version,
                s.documents,
                s.passages,
                ", ".join(f"{n} {reason}" for reason, n in s.dropped.items()),
            )
            for s in states
        ],
    )


def day(text: str | None) -> date | None:
    """A day that was typed.

    Raises:
      UserError: it is no day.
    """
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UserError(f"{text} is no day.", "Write it like 2026-03-31.") from None


def _told(report: Any) -> list[tuple[str, object]]:
    for failure in report.failures:
        say(f"not read: {failure.id}: {failure.why}", err=True)
    if report.failures:
        print_heading("Indexed")
    return [
        (
            "documents",
            f"{report.added} added, {report.changed} changed, {report.removed} removed, {report.unchanged} unchanged",
        ),
        ("passages", f"{report.passages}, of which {report.embedded} embedded now"),
        ("left out", ", ".join(f"{n} {reason}" for reason, n in sorted(report.dropped.items()))),
        ("kinds not read", ", ".join(f"{n} {ending}" for ending, n in sorted(report.unread.items()))),
        ("scrubbed", ", ".join(f"{n} {kind}" for kind, n in sorted(report.scrubbed.items()))),
        ("seconds", report.seconds),
    ]
