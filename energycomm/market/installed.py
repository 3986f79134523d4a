"""The markets that are installed: adapters found through the entry point group ``energycomm.adapters``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import getfile
from pathlib import Path
from zoneinfo import ZoneInfo

from energycomm.errors import UserError
from energycomm.market.contract import Adapter, Keeping, Mappable, Registering, Totalling

GROUP = "energycomm.adapters"

Mappings = tuple[tuple[str, Path], ...]
"""Markets, each with the table that takes the place of its adapter's own (setting `mappings`)."""


class Markets(dict[str, Adapter]):
    """Market code -> adapter. Asking for a market that is not installed raises `UserError`."""

    def __missing__(self, market: str) -> Adapter:
        known = ", ".join(self) or "none"
        raise UserError(f"The market {market} is not installed.", f"Install its adapter; installed are: {known}.")

    def zone(self, market: str) -> ZoneInfo:
        """The legal time of a market."""
        return ZoneInfo(self[market].zone)

    def totals(self, market: str) -> frozenset[str]:
        """The time classes of a market that stand for all hours."""
        adapter = self[market]
        return adapter.totals if isinstance(adapter, Totalling) else frozenset()

    def kept_by_law(self, market: str) -> Mapping[str, str]:
        """What is kept when a customer is erased -> the law of the market that wants it."""
        adapter = self[market]
        return adapter.kept_by_law if isinstance(adapter, Keeping) else {}

    def company_of(self, market: str, number: str) -> str | None:
        """The register number of the company that an establishment's begins with; None where it is no such number."""
        adapter = self[market]
        digits = "".join(number.split())
        if not isinstance(adapter, Registering) or not digits.isdigit() or len(digits) != adapter.establishment_digits:
            return None
        return digits[: adapter.company_digits]

    @property
    def sources(self) -> tuple[Path, ...]:
        """The folders that the adapters' classes are written in, those of what they are made from included."""
        classes = (cls for adapter in self.values() for cls in type(adapter).__mro__ if cls.__module__ != "builtins")
        return tuple(dict.fromkeys(Path(getfile(cls)).parent for cls in classes))

    @property
    def zones(self) -> dict[str, ZoneInfo]:
        """The legal time of each market."""
        return {market: self.zone(market) for market in self}


@cache
def installed_adapters(mappings: Mappings = ()) -> Markets:
    """All installed adapters, in the order of their markets.

    Args:
      mappings: tables that take the place of adapters' own.

    Raises:
      UserError: an adapter cannot be loaded or lacks a part of the contract, two are of one market, a market is not
        installed or has no table, or a table has a mistake.
    """
    adapters = Markets()
    places: dict[str, str] = {}
    for point in _points():
        adapter = _loaded(point)
        missing = [name for name in Adapter.__annotations__ if not hasattr(adapter, name)]
        if missing:
            raise UserError(
                f"The adapter {point.value} lacks {', '.join(missing)}.",
                "Install a version of it that is made for this version of EnergyComm.",
            )
        if adapter.market in adapters:
            raise UserError(
                f"Two adapters are of the market {adapter.market}: {places[adapter.market]} and {point.value}.",
                "Remove one of the two packages, or its entry point.",
            )
        adapters[adapter.market], places[adapter.market] = adapter, point.value
    for market, path in mappings:
        adapters[market] = _mapped(adapters, market, path)
    return adapters


def package_of(market: str) -> str:
    """The package that holds the adapter of an installed market: adapters.fr_enedis."""
    return next(point.module for point in _points() if _loaded(point).market == market)


def _points() -> list[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def _loaded(point: EntryPoint) -> Adapter:
    try:
        adapter: Adapter = point.load()
    except (ImportError, AttributeError, ValueError) as fault:
        raise UserError(
            f"The adapter {point.value} cannot be loaded: {fault}",
            "Correct the package of its entry point, or remove it.",
        ) from None
    return adapter


def _mapped(adapters: Mapping[str, Adapter], market: str, path: Path) -> Adapter:
    adapter: object = adapters.get(market)
    if not isinstance(adapter, Mappable):
        tables = ", ".join(name for name, one in adapters.items() if isinstance(one, Mappable)) or "no market"
        raise UserError(f"The setting mappings names {market}, which has no table.", f"Tables have: {tables}.")
    try:
        return adapter.mapped(path)
    except ValueError as fault:
        raise UserError(f"The mapping table {path} of {market} is wrong: {fault}.", "Correct that place.") from None
