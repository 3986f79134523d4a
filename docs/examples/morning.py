"""An example of the client: a consultant's morning routine through the API.

    ENERGYCOMM_TOKEN=ec_... python docs/examples/morning.py https://energycomm.example.org

Each script that may run alone is previewed; those that free messages and take nothing away are run, one after the
other, until nothing moves. What is left is told group by group, with what is proposed about it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from energycomm.client.client import Client
from energycomm.client.connection import Refused, Unreachable
from energycomm.correction.campaign import CampaignRecord
from energycomm.masking import mask

OVER = frozenset(("done", "cancelled", "undone"))


def morning(
    gateway: Client, why: str = "morning round", *, pause: float = 1.0, watch: Callable[[str], None] = lambda _: None
) -> list[CampaignRecord]:
    """Run what may run alone until nothing moves.

    Args:
      gateway: the client, with a consultant's token.
      why: words for the record.
      pause: seconds between two looks at a campaign.
      watch: told of each step.

    Returns:
      The campaigns that were run.
    """
    done: list[CampaignRecord] = []
    moved = True
    while moved:
        moved = False
        for script in gateway.scripts():
            if not script.automatic:
                continue
            seen = gateway.preview(script.name)
            if not seen.freed or seen.lost:
                continue
            begun = gateway.run(script.name, why)
            record = finished(gateway, begun.id, pause)
            watch(f"{script.name}: campaign {record.id} is {record.state} and freed {record.freed}")
            done.append(record)
            # One that waits for a colleague's approval, or frees less than it seemed, is not begun again.
            moved = moved or (record.state == "done" and record.freed > 0)
    return done


def finished(gateway: Client, number: int, pause: float) -> CampaignRecord:
    """A campaign once it is over, or waits for approval."""
    while True:
        record = gateway.campaign(number).campaign
        if record.state in OVER or (record.state == "planned" and record.approved_by is None):
            return record
        time.sleep(pause)


def main(arguments: list[str]) -> int:
    """The round of one gateway, on the command line; 0 when nothing is left, 1 when something is, 2 when it failed."""
    token = os.environ.get("ENERGYCOMM_TOKEN", "")
    if len(arguments) != 1 or not token:
        sys.stderr.write("usage: ENERGYCOMM_TOKEN=... python morning.py URL\n")
        return 2
    try:
        with Client(arguments[0], token) as gateway:
            morning(gateway, watch=lambda words: print(words))
            left = gateway.groups()
            proposals = {one.group: one for one in reversed(gateway.proposals())} if left else {}
            for group in left:
                proposal = proposals.get(group.key)
                print(f"{group.key}\t{group.messages}\t{proposal.title if proposal else ''}")
    except (Refused, Unreachable) as error:
        sys.stderr.write(mask(f"error: {error}\n"))
        return 2
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
