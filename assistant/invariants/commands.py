"""`energycomm assistant rules-missing`: what nearly always holds of accepted messages, what breaks it, drafts."""

from __future__ import annotations

from typing import Annotated

import typer

from energycomm.commands.output import Form, listed, say_text
from energycomm.commands.recording import recorded
from energycomm.errors import ExitCode, UserError


@recorded("assistant rules-missing")
@listed
def rules_missing(
    form: Form,
    market: Annotated[list[str] | None, typer.Option(help="Only of this market: FR; several times.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only messages of this kind: MeterReading.")] = None,
    draft: Annotated[
        int | None, typer.Option(min=1, help="Print a draft of the rule for the group with this number instead.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many groups at most.")] = 50,
) -> None:
    """List groups of accepted messages that break what nearly always holds: a rule may be missing. Likeliest first.

    What holds is learned from the accepted messages of the store, in the language of rules. Nothing is stored.

    Example: energycomm assistant rules-missing --market FR --draft 3 > draft.yaml
    """
    from assistant.invariants.drafting import draft as drafted
    from assistant.invariants.stored import missing_rules
    from energycomm.config import load
    from energycomm.kernel.family import KINDS
    from energycomm.pipeline.gateway import open_catalogue
    from energycomm.pipeline.opening import open_store

    config = load()
    catalogue = open_catalogue(config.rules_folder)
    wanted = frozenset(one.upper() for one in market or ())
    unknown = sorted(wanted - set(catalogue.markets))
    if unknown:
        known = ", ".join(catalogue.markets)
        raise UserError(f"There is no market {unknown[0]!r}.", f"Markets: {known}.", ExitCode.USAGE)
    if kind is not None and kind not in KINDS:
        raise UserError(f"There is no kind of message {kind!r}.", f"Kinds: {', '.join(KINDS)}.", ExitCode.USAGE)
    with open_store(config) as store:
        found = missing_rules(store, config, catalogue, wanted, kind)
    if draft is not None:
        if draft > len(found):
            raise UserError(f"There are {len(found)} groups, no number {draft}.", "Leave out --draft to list them.")
        say_text(drafted(found[draft - 1], catalogue))
        return
    shown = [group.missing for group in found][: form.taken(limit)]
    form.show(
        shown,
        ("number", "market", "kind", "score", "messages", "points", "message", "when", "holds", "why"),
        [
            (
                number,
                one.market,
                one.kind,
                f"{one.score:.1f}",
                one.against,
                one.points,
                one.messages[0],
                one.when,
                one.holds,
                one.why,
            )
            for number, one in enumerate(shown, 1)
        ],
    )
