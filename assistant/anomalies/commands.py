"""`energycomm assistant anomalies`: accepted messages that are unlike their access point's past and its peers."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer

from energycomm.commands.output import Form, listed
from energycomm.commands.recording import recorded
from energycomm.errors import ExitCode, UserError


@recorded("assistant anomalies")
@listed
def anomalies(
    form: Form,
    market: Annotated[list[str] | None, typer.Option(help="Only of this market: FR; several times.")] = None,
    kind: Annotated[str | None, typer.Option(help="change, drift, exchange, power, calendar or charge.")] = None,
    least: Annotated[float, typer.Option(min=0, help="Only with at least this score, in standard errors.")] = 2.0,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 50,
) -> None:
    """List access points whose accepted messages are unlike their own past and their peers, the worst first.

    No rule refused these messages. Each line says why, in figures, and names a message to look at.

    Example: energycomm assistant anomalies --market FR --kind exchange
    """
    from assistant.anomalies.ranking import KINDS
    from assistant.anomalies.stored import anomalies as anomalies_of
    from energycomm.config import load
    from energycomm.export.subjects import Selection
    from energycomm.pipeline.opening import open_store

    if kind is not None and kind not in KINDS:
        near = get_close_matches(kind, KINDS, 1) or KINDS
        raise UserError(
            f"There is no kind of anomaly {kind!r}.", f"Did you mean {near[0]}? {', '.join(KINDS)}", ExitCode.USAGE
        )
    wanted = Selection(markets=tuple(one.upper() for one in market or ()))
    with open_store(load()) as store:
        found = anomalies_of(store, least, wanted)
    kept = [one for one in found if kind in (None, one.kind)][: form.taken(limit)]
    form.show(
        [{**one._asdict(), "since": one.since.isoformat()} for one in kept],
        ("market", "access_point", "kind", "score", "since", "times", "message", "with", "why"),
        [
            (
                one.market,
                one.access_point,
                one.kind,
                f"{one.score:.1f}",
                f"{one.since:%Y-%m-%d}",
                f"{one.effect:.2f}",
                one.message,
                one.other,
                one.why,
            )
            for one in kept
        ],
    )
