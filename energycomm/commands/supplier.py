"""`energycomm supplier`: the suppliers of an installation of several."""

from __future__ import annotations

import contextlib
import os
from json import dumps as quoted
from pathlib import Path
from typing import Annotated

import typer

from energycomm.commands.output import Form, Json, listed, print_json, say
from energycomm.config import FILE_NAME, FILE_VARIABLE, Config, choosing, load, load_all
from energycomm.eis import migrations
from energycomm.eis.database import absent, opened
from energycomm.eis.ownership import claim, owner_of
from energycomm.errors import ExitCode, UserError
from energycomm.installation import load_apart
from energycomm.private_files import private_file, private_folder
from energycomm.supplier_settings import NAME, SHARED

app = typer.Typer(no_args_is_help=True, help="The suppliers of an installation of several, each apart.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the supplier: small letters, digits and -.")]


@listed
def list_(form: Form) -> None:
    """List the suppliers with their addresses, identifiers and stores; exit code 4 if a store cannot be used.

    Example: energycomm supplier list
    """
    installation, suppliers = load_all()
    rows, found = [], []
    for name, config in suppliers.items():
        setting, state = installation.suppliers[name], _state(config)
        rows.append((name, setting.title, " ".join(setting.parties), setting.url, config.database_shown, state))
        found.append(
            {"name": name, **setting.model_dump(mode="json"), "database": config.database_shown, "store": state}
        )
    form.show(found, ("supplier", "title", "identifiers", "address", "database", "store"), rows)
    if any(one["store"] != "ready" for one in found):
        raise typer.Exit(ExitCode.DATABASE)


app.command(name="list")(list_)


@app.command()
def add(
    name: Name,
    title: Annotated[str, typer.Option("--title", help="Its name on pages.")] = "",
    party: Annotated[list[str] | None, typer.Option("--party", help="An identifier of it (EIC, GLN).")] = None,
    url: Annotated[str | None, typer.Option("--url", help="Its public address: https://nord.example.org.")] = None,
    database: Annotated[
        str, typer.Option("--database", help="Address of its store; of a file, from its folder.")
    ] = "sqlite:///energycomm.db",
    json: Json = False,
) -> None:
    """Declare a supplier: a folder with its own configuration, an entry in energycomm.toml, and its own empty store.

    Nobody may read anything there by that: its accounts and tokens are made with `--supplier NAME`.

    Example: energycomm supplier add nord --title "Nord" --party 17X100A100A0001A --url https://nord.example.org
    """
    file = Path(os.environ.get(FILE_VARIABLE) or FILE_NAME).absolute()
    _refuse_single(file)
    own = file.parent / name / FILE_NAME
    if not NAME.fullmatch(name):
        raise UserError(f"{name!r} is no name of a supplier.", "Use small letters, digits and -, 30 at most.")
    if own.exists():
        raise UserError(f"{own} is there already.", f"Declare it in {file}: [suppliers.{name}], or remove it.")
    before = file.stat().st_size if file.exists() else None
    facts = {"file": f"{name}/{FILE_NAME}", "title": title, "parties": party or [], "url": url}
    lines = [f"{key} = {quoted(value, ensure_ascii=False)}" for key, value in facts.items() if value]
    private_folder(own.parent)
    private_file(own).write_text(f"database = {quoted(database)}\n", "utf-8")
    with private_file(file).open("a", encoding="utf-8") as whole:
        whole.write("\n".join([*([""] if before else []), f"[suppliers.{name}]", *lines, ""]))
    try:
        with choosing(name):
            config = load()
        load_apart()
    except UserError:
        own.unlink()
        with contextlib.suppress(OSError):
            own.parent.rmdir()
        file.unlink() if before is None else os.truncate(file, before)
        raise
    with opened(config.database_url) as engine:
        migrations.upgrade(engine)
        claim(engine, name)
    if json:
        print_json({"name": name, "file": str(own), "database": config.database_shown})
    else:
        say(f"{own} is its configuration, {config.database_shown} its store")


def _refuse_single(file: Path) -> None:
    """Refuse to declare suppliers in the file of one that is alone: its settings would be nobody's."""
    config, suppliers = load_all()
    if not suppliers and any(config.origin(name) == "file" for name in Config.model_fields if name not in SHARED):
        raise UserError(
            f"{file} is the configuration of one supplier.",
            "Move it into a folder of its own and declare it in a new one: docs/suppliers.md says how.",
        )


def _state(config: Config) -> str:
    """Whether a store can be used, in a word; `another's` where it belongs to another supplier."""
    if absent(config.database_url):
        return "absent"
    try:
        with opened(config.database_url, create=False) as engine:
            state = migrations.status(engine).state
            if state != "ready" or config.supplier is None:
                return state
            owner = owner_of(engine)
            return "unclaimed" if owner is None else state if owner == config.supplier.name else "another's"
    except UserError:
        return "lost"
