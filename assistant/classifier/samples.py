"""A second opinion about market files, flow by flow: samples that no simulator wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from assistant.classifier.material import stored_verdicts
from assistant.classifier.opinion import Adviser, Opinion
from assistant.classifier.port import NO_OPINION, flow_of
from assistant.classifier.simulated import temporary_gateway
from energycomm.commands.process import run
from energycomm.config import Config
from energycomm.eis.store import Store
from energycomm.errors import UserError


class Flow(Struct, frozen=True, kw_only=True):
    """What a model says of the messages of one flow that the rules accepted or refused.

    Attributes:
      flow: market, kind and message type; `all` for the sum.
      messages: how many there are.
      no_opinion: of so many it has no opinion, since it saw too few accepted messages of the flow.
      class_right, codes_right: of the others, accepted or refused as by the rules; exactly the same codes.
      answered: of so many it is sure enough to answer.
      answered_right: of these exactly the same codes.
    """

    flow: str
    messages: int
    no_opinion: int
    class_right: int
    codes_right: int
    answered: int
    answered_right: int


@contextmanager
def sampled_store(config: Config, samples: Sequence[Path]) -> Iterator[Store]:
    """An EIS with the messages of market files in it, gone at the end of the block.

    Args:
      config: the configuration; its rules judge. Its own database is not touched.
      samples: files and folders of envelopes.

    Raises:
      UserError: there is no such file.
    """
    missing = [path for path in samples if not path.exists()]
    if missing:
        raise UserError(f"There is no {missing[0]}.", "Name a file or a folder of market envelopes.")
    files = [file for path in samples for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
    with temporary_gateway(config) as (gateway, _):
        run(gateway, gateway.inbound.in_order([file for file in files if file.is_file()]), show=False)
        yield gateway.store


def measured(store: Store, adviser: Adviser) -> list[Flow]:
    """What a model says of every message that the rules of a store accepted or refused, by flow, and of all."""
    stored, _ = stored_verdicts(store)
    by_flow: dict[str, list[Opinion]] = defaultdict(list)
    for one in adviser.opinions(store, [one.id for one in stored]):
        by_flow[flow_of(one.text)].append(one)
    every = [one for own in by_flow.values() for one in own]
    return [_flow(name, own) for name, own in sorted(by_flow.items())] + [_flow("all", every)]


def _flow(name: str, opinions: Sequence[Opinion]) -> Flow:
    known = [one for one in opinions if one.klass != NO_OPINION]
    right = [one for one in known if (one.error_code or "accepted") == one.verdict]
    return Flow(
        flow=name,
        messages=len(opinions),
        no_opinion=len(opinions) - len(known),
        class_right=sum((one.klass == "accepted") == (one.verdict == "accepted") for one in known),
        codes_right=len(right),
        answered=sum(not one.abstained for one in known),
        answered_right=sum(not one.abstained for one in right),
    )
