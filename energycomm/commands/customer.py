"""`energycomm customer`: a customer's personal data found, handed over in one file, erased."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from energycomm.commands.output import Form, Json, listed, print_facts, print_json, print_rows, say
from energycomm.commands.recording import recorded, system_user
from energycomm.config import load
from energycomm.errors import ExitCode, UserError

if TYPE_CHECKING:
    from energycomm.config import Config
    from energycomm.eis.store import Store
    from energycomm.erasure.erasing import Means
    from energycomm.erasure.persons import Stay

app = typer.Typer(no_args_is_help=True, help="A customer's personal data: found, handed over in one file, erased.")

SHOWN = 20
"""Access points that a line of the audit names at most."""

Point = Annotated[str, typer.Argument(metavar="ACCESS_POINT", help="Identifier of the customer's access point.")]
At = Annotated[
    str | None,
    typer.Option("--at", help="A day on which the customer was there, YYYY-MM-DD, where there were several."),
]
Market = Annotated[str | None, typer.Option("--market", help="Market of the access point, where two know it.")]


def _found_points(store: Store, typed: Mapping[str, Any]) -> str:
    """Whose data are shown: the words may be a name, which no audit keeps."""
    from energycomm.erasure.finding import find as find_customers

    points = list(dict.fromkeys(one.access_point for one in find_customers(store, " ".join(typed["words"]))))
    more = f" and {len(points) - SHOWN} more" if len(points) > SHOWN else ""
    return f"access points {' '.join(points[:SHOWN])}{more}" if points else "nobody found"


def _of_point(_store: Store, typed: Mapping[str, Any]) -> str:
    return f"access point {typed['access_point']}"


def _of_erasure(_store: Store, typed: Mapping[str, Any]) -> str:
    return f"erasure {typed['number']}"


@app.command()
@recorded("customer find", subject=_found_points)
@listed
def find(
    form: Form,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS", help="Name, e-mail, telephone, street, access point, contract, company number."
        ),
    ],
) -> None:
    """Find customers, present and former, by what they are called or reached by.

    Reads every row of customers and every request that names one, so that nobody is missed.

    Example: energycomm customer find camille morel
    """
    from energycomm.erasure.finding import find as find_customers
    from energycomm.pipeline.opening import open_store

    config = load()
    with open_store(config) as store:
        found = find_customers(store, " ".join(words))
    rows = [(*_facts(one, config), one.names) for one in found]
    shown = [dict(zip(_HEAD, row, strict=True)) for row in rows]
    form.show(shown, _HEAD, [(*row[:-1], " ".join(row[-1])) for row in rows])
    if not form.json and not found:
        say("No customer fits. Who was erased is found by no word.", err=True)


_HEAD = ("market", "access_point", "from", "to", "supply", "names")


def _facts(stay: Stay, config: Config) -> tuple[str, str, str, str, str]:
    zone = _zones(config)[stay.market]
    since = "" if not stay.since else _day(stay.since, zone)
    until = "" if stay.until >= _forever() else _day(stay.until, zone)
    ended = "" if stay.ended_at is None else f"ended on {_day(stay.ended_at, zone)}"
    return stay.market, stay.access_point, since, until, "goes on" if stay.supplied else ended or "none"


@app.command()
@recorded("customer export", subject=_of_point)
def export(
    access_point: Point,
    to: Annotated[Path, typer.Option("--to", help="The zip to write; readable by you alone.")],
    at: At = None,
    market: Market = None,
    json: Json = False,
) -> None:
    """Write all that is known of a customer into one file: what, whence, to whom told, read by whom.

    The zip holds the same twice: customer.json for machines, customer.html for people (GDPR, articles 15 and 20).

    Example: energycomm customer export 99000000000017 --to /secure/case-17.zip
    """
    from energycomm.erasure.handing import hand_over
    from energycomm.erasure.ordering import market_of, order_of
    from energycomm.erasure.persons import person_at
    from energycomm.kernel.instants import now_micros
    from energycomm.pipeline.opening import open_store

    config, now = load(), now_micros()
    if to.exists():
        raise UserError(f"{to} is there already.", "Name another file: nothing is written over.")
    with open_store(config) as store:
        known = market_of(store, access_point, market)
        means = _means(config, store)
        day = _instant(at, known, means)
        order = order_of(store, means.markets, known, access_point, day, now=now, by=means.by[0])
        with store.reading() as reader:
            person = person_at(reader, means.markets, known, access_point, order.since, order.until)
        try:
            counts = hand_over(store, person, to, now)
        except OSError as error:
            raise UserError(f"{to} cannot be written: {error.strerror}.", "Name another file.") from None
    if json:
        print_json({"file": str(to), "holds": counts})
    else:
        print_facts([("file", to), *((name.replace("_", " "), number) for name, number in counts.items())])


@app.command()
@recorded("customer erase", changing=("yes",), subject=_of_point)
def erase(
    access_point: Point,
    reference: Annotated[
        str, typer.Option("--reference", help="Number of the case in your register; no name: it is kept.")
    ] = "",
    reason: Annotated[
        str | None,
        typer.Option(
            "--reason",
            metavar="REASON",
            help="Why, for the evidence: no-longer-needed, consent-withdrawn, objected, unlawful, obliged.",
        ),
    ] = None,
    at: At = None,
    market: Market = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without it is only shown what would go and stay.")] = False,
    wipe: Annotated[
        bool, typer.Option("--wipe", help="Then write the database's files anew; other processes wait meanwhile.")
    ] = False,
    json: Json = False,
) -> None:
    """Show what the erasure of a customer takes out and what stays, and with --yes do it.

    The customer's names, contacts and traits go from every table, from raw bytes and from archives. Measures, contracts
    and the access point stay, as nobody's. A run that was interrupted is gone on with by the same command. The evidence
    is kept: how many values went, from where, why, what stayed by which law.

    Example: energycomm customer erase 99000000000017 --reason no-longer-needed --reference DPO-2026-17 --yes --wipe
    """
    from energycomm.eis.erasures import REASONS, reason_of
    from energycomm.erasure.erasing import carry_out, plan
    from energycomm.erasure.ordering import market_of, order_of, unfinished
    from energycomm.kernel.instants import now_micros
    from energycomm.pipeline.opening import open_store

    config, now = load(), now_micros()
    if wipe and not yes:
        raise UserError("--wipe goes with --yes.", "Look at what would go first, then give both.")
    why = None if reason is None else reason_of(reason)
    with open_store(config) as store:
        known = market_of(store, access_point, market)
        means = _means(config, store)
        order = None if at else unfinished(store, known, access_point)
        if yes and why is None and order is None:
            raise UserError("An erasure has a reason.", f"Give --reason: {', '.join(REASONS)}.")
        if order is None:
            told: dict[str, Any] = {"now": now, "by": means.by[0], "reference": reference, "reason": why}
            order = order_of(store, means.markets, known, access_point, _instant(at, known, means), **told)
        if not yes:
            _show_plan(plan(means, order), json)
            return
        number = carry_out(means, order)
        if wipe:
            _wipe(store)
    _show_status(config, [number], Form(json=json))


@app.command()
@recorded("customer erasures", changing=("again", "wipe"))
@listed
def erasures(
    form: Form,
    again: Annotated[
        bool, typer.Option("--again", help="Do every order again, for what arrived since; the daemon does so too.")
    ] = False,
    backups: Annotated[
        Path | None,
        typer.Option("--backups", help="With --again: folder of the store's backups, whose newer orders are done too."),
    ] = None,
    wipe: Annotated[
        bool, typer.Option("--wipe", help="Write the database's files anew, so that no former bytes remain in them.")
    ] = False,
) -> None:
    """List the customers that were erased: when, what was taken out, what stays and until when. No names.

    Copies outside of the store are not listed: backups, logs and archived files of the server are named in the
    documentation, with what to do.

    Example: energycomm customer erasures --wipe
    """
    from energycomm.backup.backups import erased_since
    from energycomm.erasure.erasing import again as do_again
    from energycomm.pipeline.opening import open_store

    if backups is not None and not again:
        raise UserError("--backups goes with --again.", "Without it erasures are only listed: give both.")
    config = load()
    with open_store(config) as store:
        if again:
            since = [] if backups is None else erased_since(backups, _name_of(store))
            do_again(_means(config, store), since)
        if wipe:
            _wipe(store)
    _show_status(config, None, form)


@app.command()
@recorded("customer evidence", subject=_of_erasure)
def evidence(
    number: Annotated[int, typer.Argument(metavar="ERASURE", help="Number of the erasure.")],
) -> None:
    """Print the evidence of an erasure for the auditor: who, when, why, what went, what stays by which law. No names.

    Example: energycomm customer evidence 1 > erasure-1.json
    """
    from energycomm.eis.database import reading
    from energycomm.erasure.evidence import proof_of
    from energycomm.pipeline.opening import open_store

    with open_store(load()) as store, reading(store.engine) as connection:
        print_json(proof_of(connection, number))


def _show_plan(found: Any, json: bool) -> None:
    if json:
        print_json(found)
    else:
        say(f"{' '.join(found.names) or 'nobody by name'}, {found.order.access_point} of {found.order.market}")
        print_rows(("goes from", "values"), sorted(found.goes.items()))
        rows = [(one.what, one.because, one.national or one.law, one.until or "") for one in found.stays]
        print_rows(("stays", "because", "by which law", "until"), rows)
        say("Nothing was changed. --yes does it." if not found.hindered else "It cannot be done now:")
        for words in found.hindered:
            say(f"  {words}")
    if found.hindered:
        raise typer.Exit(ExitCode.REJECTED)


def _show_status(config: Config, numbers: list[int] | None, form: Form) -> None:
    from energycomm.eis.database import reading
    from energycomm.eis.erasures import erasures as all_of
    from energycomm.pipeline.opening import open_store

    with open_store(config) as store, reading(store.engine) as connection:
        found = [one for one in all_of(connection) if numbers is None or one.id in numbers]
    zones = _zones(config)

    def moment(at: int | None, market: str) -> str:
        return "" if at is None else _day(at, zones[market])

    rows = [
        (
            one.id,
            one.order.market,
            one.order.access_point,
            moment(one.order.until, one.order.market),
            one.order.reference,
            moment(one.done_at, one.order.market),
            moment(one.wiped_at, one.order.market),
            sum(one.counts.values()),
            ", ".join(f"{what} until {until}" for what, until in one.kept.items()),
        )
        for one in found
    ]
    head = ("erasure", "market", "access point", "to", "case", "done", "wiped", "values", "still kept")
    form.show(found, head, rows)
    if not form.json and any(one.wiped_at is None for one in found):
        words = "Former bytes may remain in the database's files: run `energycomm customer erasures --wipe`."
        say(words, err=True)


def _name_of(store: Store) -> str:
    from energycomm.eis.changelog import present
    from energycomm.eis.database import reading

    with reading(store.engine) as connection:
        return present(connection).store


def _wipe(store: Store) -> None:
    from energycomm.erasure.wiping import wipe_files
    from energycomm.kernel.instants import now_micros

    wipe_files(store, now_micros())  # after what was just done: the evidence says in which order it was


def _means(config: Config, store: Store) -> Means:
    from energycomm.erasure.erasing import means_of

    return means_of(config, store, (system_user(), "command", socket.gethostname()))


def _instant(day: str | None, market: str, means: Means) -> int | None:
    from energycomm.erasure.ordering import noon_of

    if day is None:
        return None
    try:
        return noon_of(date.fromisoformat(day), means.markets, market)
    except ValueError:
        raise UserError(f"{day!r} is no day.", "Write it like 2026-01-31.") from None


def _zones(config: Config) -> Mapping[str, Any]:
    from energycomm.market.installed import installed_adapters

    return installed_adapters(config.mapping_files).zones


def _forever() -> int:
    from energycomm.eis.erasures import FOREVER

    return FOREVER


def _day(at: int, zone: Any) -> str:
    from energycomm.kernel.instants import instant

    return instant(at).astimezone(zone).date().isoformat()
