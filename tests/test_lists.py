"""Lists of the command line: the same options everywhere, one content in every form, filters declared once."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from energycomm import cli
from energycomm.commands.access_point import _details
from energycomm.commands.options import starting
from energycomm.eis.timeline import Entry
from energycomm.errors import ExitCode
from energycomm.market.legaltime import LegalTime
from energycomm.pipeline.messagesearch import MessageSearch
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start

POINTS = ("99000000000017", "99000000000025")
OPTIONS = {"--json", "--csv", "--tsv", "--no-header", "--sort"}


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "list_commands"):
        with click.Context(command) as context:
            for name in command.list_commands(context):
                yield from commands(command.get_command(context, name), (*path, name))
    else:
        yield " ".join(path), command


def lists() -> dict[str, Any]:
    """Every command that says of itself that it lists something."""
    found = commands(typer.main.get_command(cli.app))
    return {name: one for name, one in found if name.endswith(" list") or (one.help or "").strip().startswith("List ")}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A start of supply and a reading; a reading of another point waits, since nothing started there."""
    database = f"sqlite:///{tmp_path_factory.mktemp('lists') / 'eis.db'}"
    desk = Desk(database)
    desk.deliver([start(POINTS[0], day(0)), reading(POINTS[0], day(31), 1_200_000)])
    desk.deliver([reading(POINTS[1], day(31), 1_300_000)])
    return database


@pytest.fixture
def run(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", store)

    def run_(typed: str, code: int = ExitCode.OK) -> str:
        assert cli.main(typed.split()) == code
        said = capsys.readouterr()
        return said.out if code == ExitCode.OK else said.err

    return run_


def test_every_list_has_the_options_of_lists() -> None:
    found = lists()
    assert {"message list", "request owed", "correct history", "assistant sources", "customer erasures"} <= set(found)
    lacking = {
        name: missing
        for name, one in found.items()
        if (missing := OPTIONS - {option for param in one.params for option in param.opts})
    }
    assert lacking == {}


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in lists() if not name.startswith("assistant")])
def test_a_list_says_the_same_in_every_form(name: str, run: Any) -> None:
    # Each look at the audit is a line of its own; backups are listed of a folder.
    name += {"audit list": " --action change", "eis backups": " ."}.get(name, "")
    head, *rows = list(csv.reader(io.StringIO(run(f"{name} --csv"))))
    assert len(head) > 1
    assert {len(row) for row in rows} <= {len(head)}
    tabbed = [line.split("\t") for line in run(f"{name} --tsv").splitlines()]
    assert tabbed[0] == head
    assert [[" ".join(cell.split()) for cell in row] for row in tabbed[1:]] == [
        [" ".join(cell.split()) for cell in row] for row in rows
    ]
    content = json.loads(run(f"{name} --json"))
    items = content if isinstance(content, list) else next(one for one in content.values() if isinstance(one, list))
    assert len(items) == len(rows)
    assert "Did you mean" in (wrong := run(f"{name} --sort nothing", ExitCode.USAGE)) or "Known are" in wrong
    assert not re.search(r"\d\d:\d\d:\d\d\.\d", run(f"{name} --csv")), "nobody reads parts of a second"


def test_a_list_goes_without_its_head(run: Any) -> None:
    whole = run("message list --tsv").splitlines()
    assert run("message list --tsv --no-header").splitlines() == run("message list").splitlines() == whole[1:]
    assert run("message list --csv --no-header").splitlines() == run("message list --csv").splitlines()[1:]


def test_backups_without_doing_their_orders_again_are_refused(run: Any) -> None:
    assert "--backups goes with --again" in run("customer erasures --backups .", ExitCode.USAGE)


def test_two_forms_at_once_are_refused(run: Any) -> None:
    assert "--json and --csv contradict each other" in run("message list --csv --json", ExitCode.USAGE)


def test_messages_are_sorted_by_a_column(run: Any) -> None:
    def column(number: int, options: str) -> list[str]:
        return [row[number] for row in csv.reader(io.StringIO(run(f"message list --csv --no-header {options}")))]

    assert column(5, "--sort state") == ["accepted"] * 5 + ["quarantined"]
    assert column(5, "--sort -state") == ["quarantined"] + ["accepted"] * 5
    kinds = ["AccessPointData", "ContractTerms", "MeterData", "MeterReading", "MeterReading", "StartOfSupply"]
    assert column(2, "--sort kind") == kinds
    assert column(0, "--sort received") == ["1", "2", "3", "4", "5", "6"]
    assert column(0, "--sort -received") == ["6", "5", "4", "3", "2", "1"]
    assert "Did you mean state" in run("message list --sort stat", ExitCode.USAGE)
    assert "cannot be sorted by effective" in run("message list --sort effective", ExitCode.USAGE)
    assert column(0, f"--sort -effective --access-point {POINTS[0]}")[0] == "5"


@pytest.mark.thorough
def test_pages_of_a_sorted_list_make_up_the_whole(run: Any) -> None:
    for sort in ("state", "-kind", "received", "-market"):
        whole = [one["id"] for one in json.loads(run(f"message list --json --sort {sort}"))["messages"]]
        pages: list[int] = []
        cursor: str | None = ""
        while cursor is not None:
            page = json.loads(run(f"message list --json --limit 1 --sort {sort}{cursor and ' --cursor ' + cursor}"))
            pages += [one["id"] for one in page["messages"]]
            cursor = page.get("next")
        assert pages == whole


def test_a_list_that_the_store_does_not_sort_is_sorted_by_any_column(run: Any) -> None:
    def shown(options: str) -> list[list[str]]:
        return list(csv.reader(io.StringIO(run(f"outbox list --csv --no-header {options}"))))

    whole = shown("")
    assert len(whole) == 2
    assert [int(row[0]) for row in shown("--sort id")] == sorted(int(row[0]) for row in whole)
    assert [int(row[0]) for row in shown("--sort -id")] == sorted((int(row[0]) for row in whole), reverse=True)
    assert [row[2] for row in shown("--sort event")] == sorted(row[2] for row in whole)
    assert shown("--sort id --limit 1") == shown("--sort id")[:1], "the first of all, not of the newest"
    assert shown("--sort next_attempt") == shown("--sort next-attempt")
    listed = json.loads(run("outbox list --json --sort id --limit 2"))
    assert [str(one["id"]) for one in listed] == [row[0] for row in shown("--sort id --limit 2")]
    assert "no column to sort by" in run("outbox list --sort nothing", ExitCode.USAGE)


def test_the_life_of_a_point_is_told_to_the_second(run: Any) -> None:
    told = run(f"access-point show {POINTS[0]}")
    assert re.search(r"received at 20\d\d-\d\d-\d\d \d\d:\d\d", told)
    assert not re.search(r"\d\d:\d\d:\d\d\.\d|\+00:00", told)


def test_what_is_so_or_not_so_is_told_in_words() -> None:
    times = LegalTime({}, UTC)
    for initiated, words in ((True, "initiated by us"), (False, "not initiated by us")):
        entry = Entry(at=None, what="request", message_id=7, content={"initiated_by_us": initiated, "reference": "A1"})
        assert _details(entry, times, "FR") == f"{words}, reference A1"


@pytest.mark.thorough
def test_rules_are_sorted_by_a_column(run: Any) -> None:
    codes = [
        row[0] for row in csv.reader(io.StringIO(run("rules list --csv --no-header --sort code --set validation_in")))
    ]
    assert codes == sorted(codes)
    sets = [row[2] for row in csv.reader(io.StringIO(run("rules list --csv --no-header --sort -set --market fr")))]
    assert sets == sorted(sets, reverse=True)


def test_help_has_a_short_name(run: Any) -> None:
    assert run("message list -h") == run("message list --help")


def test_words_are_completed() -> None:
    assert starting(lambda: ("accepted", "rejected", "treated"))("RE") == ["rejected"]
    found = dict(commands(typer.main.get_command(cli.app)))

    def completed(command: str, name: str, typed: str) -> list[str]:
        one = next(param for param in found[command].params if param.name == name)
        with click.Context(found[command]) as context:
            return [item.value for item in one.shell_complete(context, typed)]

    assert completed("message list", "state", "qu") == ["quarantined"]
    assert completed("message list", "market", "F") == ["FR"]
    assert "FR-R03" in completed("message list", "code", "FR-R")
    assert "create-missing-start" in completed("correct script run", "name", "create")
    assert "FR-R03" in completed("rules show", "code", "FR-R0")


def test_every_filter_of_messages_is_an_option() -> None:
    options = {option for param in lists()["message list"].params for option in param.opts}
    assert {f"--{name.replace('_', '-')}" for name in MessageSearch.model_fields} <= options
