"""`energycomm config`: the settings in force, and where each comes from."""

from __future__ import annotations

from typing import Any

import typer

from energycomm.commands.output import Form, listed, print_facts, print_heading, print_rows
from energycomm.config import Config, load
from energycomm.market.installed import installed_adapters
from energycomm.masking import masked

app = typer.Typer(no_args_is_help=True, help="The settings of EnergyComm.")


@app.command()
@listed
def show(form: Form) -> None:
    """Show the installed markets, and every setting with its value and origin; secrets are hidden.

    Example: energycomm config show --json
    """
    settings = load()
    rows = {name: (shown(settings, name), settings.origin(name)) for name in Config.model_fields}
    markets = {
        market: {"adapter": f"{type(adapter).__module__}.{type(adapter).__name__}", "zone": adapter.zone}
        for market, adapter in installed_adapters().items()
    }
    lines = [(name, _text(value), origin) for name, (value, origin) in rows.items()]
    if form.asked:
        values = {name: {"value": value, "from": origin} for name, (value, origin) in rows.items()}
        document = {"file": str(settings.file) if settings.file else None, "markets": markets, "settings": values}
        form.show(document, ("setting", "value", "from"), lines)
        return
    print_facts([("configuration file", settings.file or "none")])
    print_rows(("setting", "value", "from"), lines)
    print_heading("Installed markets")
    told = [(market, found["adapter"], found["zone"]) for market, found in markets.items()]
    print_rows(("market", "adapter", "legal time"), told)


def shown(settings: Config, name: str) -> Any:
    """The value of a setting as it may be shown to anybody: without passwords, keys and tokens."""
    return masked(_value(settings, name), name)


def _value(settings: Config, name: str) -> Any:
    if name == "database":
        return settings.database_shown
    if name == "rules":
        return str(settings.rules_folder)
    if name == "keys":
        return [key.model_dump(mode="json", exclude_none=True) for key in settings.keys]
    if name == "channels":
        return [channel.model_dump(mode="json", exclude_unset=True) for channel in settings.channels]
    return settings.model_dump(mode="json", include={name})[name]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key} = {item}" for key, item in value.items())
    if isinstance(value, list):
        return "\n".join(_text(item).replace("\n", ", ") for item in value) or "none"
    return str(value)
