"""The error codes that a person may mean by one code: ours, a rule's, the market's own, an ebIX reason."""

from __future__ import annotations

from sqlalchemy import Engine, select

from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.engine.catalogue import Catalogue
from energycomm.errors import UserError


def error_codes_of(engine: Engine, catalogue: Catalogue, code: str) -> tuple[str, ...]:
    """The error codes of a search.

    Args:
      engine: the store; a code of a rule that is gone may still stand there.
      catalogue: the rules.
      code: an error code, a rule's code, a market's own code or an ebIX reason, in any case of letters.

    Raises:
      UserError: no rule has the code and no message ever had it; it names codes like it.
    """
    found = catalogue.error_codes(code)
    if found:
        return found
    former = code.upper()
    query = select(tables.finding.c.id).where(tables.finding.c.error_code == former).limit(1)
    with reading(engine) as connection:
        if connection.execute(query).first() is not None:
            return (former,)
    close = catalogue.like(code)
    advice = f"Did you mean {', '.join(close)}?" if close else "`energycomm rules list` lists the codes."
    raise UserError(f"No rule and no finding has the code {code}.", advice)
