"""Whose store this is: in an installation of several suppliers none is opened with the settings of another."""

from __future__ import annotations

from sqlalchemy import Engine, select

from energycomm.eis.database import reading, shown, writing
from energycomm.eis.tables import store_owner
from energycomm.errors import ExitCode, UserError


def owner_of(engine: Engine) -> str | None:
    """The supplier that a store belongs to; None where none took it."""
    with reading(engine) as connection:
        return connection.execute(select(store_owner.c.supplier)).scalar()


def claim(engine: Engine, supplier: str) -> None:
    """Let a store belong to a supplier.

    Args:
      engine: the store, with the tables of this version.
      supplier: its name.

    Raises:
      UserError: it is another supplier's.
    """
    if owner_of(engine) is None:
        with writing(engine) as connection:
            connection.execute(store_owner.insert().values(one=1, supplier=supplier))
    require_owner(engine, supplier)


def require_owner(engine: Engine, supplier: str) -> None:
    """Refuse a store that is not this supplier's.

    Args:
      engine: the store, with the tables of this version.
      supplier: its name.

    Raises:
      UserError: it is another supplier's, or no supplier took it yet.
    """
    owner = owner_of(engine)
    if owner is None:
        raise UserError(
            f"The store {shown(engine)} belongs to no supplier yet.",
            f"If it is that of {supplier}, run `energycomm --supplier {supplier} eis upgrade`.",
            ExitCode.DATABASE,
        )
    if owner != supplier:
        raise UserError(
            f"The store {shown(engine)} belongs to another supplier than {supplier}.",
            f"Correct `database` in the file of {supplier}.",
            ExitCode.DATABASE,
        )
