"""Mistakes in X12: the milestones of an affaire."""

from __future__ import annotations

import re

from adapters.fr_enedis.simulator.mistakes.row import STATUS, Mistake
from energycomm.simulation.edits import Edit, NothingToEdit, swap


def _named(identifier: str) -> Edit:
    """Give the affaire another identifier, made of its own; `{}` stands for its digits."""

    def edit(xml: str) -> str:
        return re.sub(r'<affaire id="S(\d+)"', lambda m: f'<affaire id="{identifier.format(m[1])}"', xml)

    return edit


def _dated_ahead(xml: str) -> str:
    """The third milestone bears a year that is yet to come."""
    changed, times = re.subn(r"(<num>3</num><dateHeure>)\d{4}", r"\g<1>2099", xml)
    if not times:
        raise NothingToEdit("third milestone")
    return changed


AFFAIRS: tuple[Mistake, ...] = (
    Mistake("CO-A01", "request", swap("<num>1</num>", "<num>0</num>"), {STATUS: ("CO-A01",)}, milestones=(1,)),
    Mistake("CO-A02", "request", swap("<num>3</num>", "<num>2</num>"), {STATUS: ("CO-A02",)}, milestones=(3,)),
    Mistake("CO-A03", "request", lambda xml: xml, {STATUS: ("CO-A03",)}, milestones=(4,)),
    Mistake("FR-A01", "request", _named("S/{}"), {STATUS: ("FR-A01",)}),
    Mistake("FR-A02", "request", _named("SX{}X"), warnings={STATUS: ("FR-A02",)}),
    Mistake(
        "FR-A03",
        "request",
        swap('code="DMREC"', 'code="ZZZZ"'),
        {STATUS: ("FR-A03",)},
        error_class="product",
        milestones=(2,),
    ),
    Mistake(
        "FR-A04",
        "request",
        swap('<affaireEtat code="DMREC">', "<affaireEtat>"),
        {STATUS: ("FR-A04",)},
        error_class="missing",
        milestones=(2,),
    ),
    Mistake(
        "FR-A05",
        "request",
        swap('code="TERMN"', 'code="XXXX"'),
        {STATUS: ("FR-A05",)},
        error_class="product",
        milestones=(3,),
    ),
    Mistake("FR-A06", "request", swap('code="TERMN"', 'code="COURS"'), {STATUS: ("FR-A06",)}, milestones=(3,)),
    Mistake(
        "FR-A07",
        "request",
        swap('<objet code="AME">', '<objet code="ZZZ">'),
        warnings={STATUS: ("FR-A07",)},
        error_class="product",
    ),
    Mistake("FR-A08", "request", swap('code="DMTR"', 'code="DMREC"'), warnings={STATUS: ("FR-A08",)}, milestones=(1,)),
    Mistake("FR-D08", "request", _dated_ahead, {STATUS: ("FR-D08",)}, milestones=(3,)),
)
