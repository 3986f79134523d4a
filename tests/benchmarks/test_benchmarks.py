"""The benchmarks run, at tiny sizes, and count what they say they count. How fast anything is is never a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import inf
from pathlib import Path

import pytest
from lxml.etree import XMLSyntaxError

from benchmarks import browsing, bulk, cluster, daemon, growth, memory, processes, rules_alone, workers
from benchmarks.__main__ import SECTIONS, main
from benchmarks.instructions import counted, inside, plain
from benchmarks.material import bare_parse, bare_parse_of_pieces, contents, flat, mixed
from benchmarks.paced import Paced
from benchmarks.page import PAGE, fill, origin, sections
from benchmarks.stages import DIGEST, JUDGE, STAGES, STORE, on_the_clock
from benchmarks.whole_path import fresh_gateway, process, sqlite_urls
from energycomm.bulk.verdicts import judged_again
from energycomm.bulk.workers import Processes
from energycomm.eis.database import opened
from energycomm.eis.migrations import upgrade
from energycomm.errors import UserError
from energycomm.kernel.instants import micros
from energycomm.pipeline.progress import total
from tests.machine import program
from tests.postgres import PostgresServer


def cells(lines: Sequence[str]) -> list[list[str]]:
    """The rows of a table in Markdown, without its head."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


@pytest.mark.thorough
def test_every_table_of_the_whole_path_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--size", "0.05", "--access-points", "2", "--rounds", "1", "--no-postgres", "--only", "whole-path"]
    assert main(small) == 0
    printed = capsys.readouterr().out
    tables = [line for line in printed.splitlines() if line.startswith("| ")]
    costs, stages = cells(tables[:5]), cells(tables[5:])
    assert [row[0] for row in costs] == [row[0] for row in stages]
    assert len(costs) == 3, "a file of readings, one of contracts, and all types"
    for row in stages:
        assert 95 <= sum(int(share.rstrip("%")) for share in row[2:]) <= 105, "the stages are the whole"
    assert len(stages[0]) == 2 + len(STAGES)


@pytest.mark.thorough
def test_the_run_counts_the_messages_of_the_measured_file_alone(tmp_path: Path) -> None:
    material = flat(tmp_path / "r151", "R151", 20_000)
    run = process(material, sqlite_urls(tmp_path)(), stages=True)
    assert run.transactions == material.files[0].read_bytes().count(b"<PRM>")
    assert run.server is None
    assert all(run.stages[stage] > 0 for stage in (DIGEST, JUDGE, STORE))


def test_every_clock_of_the_stages_counts(tmp_path: Path) -> None:
    """A function that was renamed or that nobody calls any more would leave its stage to another one."""
    with fresh_gateway(sqlite_urls(tmp_path)()) as gateway, on_the_clock(gateway.inbound) as clock:
        total(gateway.inbound.take(mixed(tmp_path / "mixed", 2, 2).files, "bench"))
    assert [name for name, calls in clock.calls.items() if not calls] == []
    assert [stage for stage, seconds in clock.seconds.items() if not seconds] == []


@pytest.mark.slow
def test_the_instructions_of_a_file_grow_with_it_and_are_the_same_again(tmp_path: Path) -> None:
    program("valgrind", "valgrind")
    little, more = (plain(tmp_path / str(size), "C15", size) for size in (100_000, 300_000))
    one, again = counted(tmp_path / "one", ["parse", "parse"], little, sqlite_urls(tmp_path)())
    assert again.all == pytest.approx(one.all, rel=0.01)
    (three,) = counted(tmp_path / "more", ["parse"], more, f"sqlite:///{tmp_path}/more.db")
    assert three.all == pytest.approx(3 * one.all, rel=0.1)
    assert three.digest == 0, "a parse digests nothing"


def test_what_a_library_executes_itself_is_told_from_what_others_do() -> None:
    """As callgrind writes it: paths by number once they are known, the cost of a call apart."""
    text = (
        "ob=(1) /usr/lib/libcrypto.so.3\nfn=(1) sha256\n0 100\n+3 20\ncob=(2) /usr/lib/libc.so.6\ncfn=(2) memcpy\n"
        "calls=2 0\n* 5000\n0 3\n\nob=(2)\nfn=(2)\n0 5000\n\nob=(3) /usr/lib/python\nfn=(3) digest\n"
        "cob=(1)\ncfn=(1)\ncalls=1 0\n0 5123\n7 9\n\nob=(1)\nfn=(4) other\n0 4\ntotals: 5136\n"
    )
    assert (inside(text, "libcrypto"), inside(text, "libc.so"), inside(text, "/usr/lib")) == (127, 5000, 5136)


def test_the_page_has_a_place_for_the_figures_of_every_section(tmp_path: Path) -> None:
    """And no other section's figures change when one is filled."""
    assert sections(PAGE.read_text()) == [*SECTIONS]
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- figures: one -->\nold\n<!-- end -->\nb\n<!-- figures: two -->\nold\n<!-- end -->\n")
    fill(page, "two", ["new", "newer"])
    assert page.read_text().split("b")[0] == "a\n<!-- figures: one -->\nold\n<!-- end -->\n"
    assert page.read_text().endswith("b\n<!-- figures: two -->\nnew\nnewer\n<!-- end -->\n")
    with pytest.raises(UserError):
        fill(page, "three", [])


def test_the_line_above_figures_is_a_command_that_measures_that_section() -> None:
    assert origin(["--page", "--rounds", "1"], "size").endswith("`python -m benchmarks --only size --rounds 1`")
    assert origin(["--only", "size"], "size").endswith("`python -m benchmarks --only size`")


@pytest.mark.parametrize("parse", [bare_parse, bare_parse_of_pieces])
def test_both_bare_parses_read_the_whole_file(tmp_path: Path, parse: Callable[[list[Path]], float]) -> None:
    """A file whose last byte is missing is noticed."""
    (file,) = flat(tmp_path, "C15", 100_000).files
    assert parse([file]) > 0
    file.write_bytes(file.read_bytes().rstrip()[:-1])
    with pytest.raises(XMLSyntaxError):
        parse([file])


@pytest.mark.thorough
def test_a_store_is_watched_while_it_grows(tmp_path: Path) -> None:
    table = growth.grow(tmp_path / "grow", {"SQLite": sqlite_urls(tmp_path)}, 1200)
    assert [row[:2] for row in cells(table)] == [["SQLite", "300"], ["SQLite", "1200"]], "a quarter, and all"
    assert float(cells(table)[-1][2]) > 0


def test_the_milestones_end_with_the_most() -> None:
    assert growth.milestones(1200) == [300, 1200]
    assert growth.milestones(100_000) == [10_000, 30_000, 100_000]
    assert growth.milestones(1_000_000) == [10_000, 30_000, 100_000, 300_000, 1_000_000]


@pytest.mark.thorough
def test_a_part_of_a_file_costs_what_its_own_messages_cost(tmp_path: Path) -> None:
    """The process stands still where it is told to, and what others do meanwhile is not counted."""
    material, url_of = flat(tmp_path / "files", "R151", 600_000), sqlite_urls(tmp_path)
    with Paced(url_of(), material, 50) as run:
        first = run.until(100)
        rest = run.until(inf)
    assert 100 <= first.messages < 200
    assert first.end.messages == rest.begin.messages
    assert rest.end.messages == material.files[0].read_bytes().count(b"<PRM>")
    assert 0 < first.end.client <= rest.begin.client < rest.end.client


@pytest.mark.thorough
def test_the_changed_rule_of_the_benchmark_refuses_some_readings_and_not_all(tmp_path: Path) -> None:
    material = flat(tmp_path / "files", "R151", 2_000_000)
    with fresh_gateway(sqlite_urls(tmp_path)()) as gateway:
        stored = total(gateway.inbound.take([*material.before, *material.files], "bench")).tally
        asked = cluster.changed(gateway, tmp_path / "rules")
        with judged_again(gateway.store.engine, gateway.markets, asked, tmp_path / "run", Processes(1)) as run:
            shifts = list(run.shifts())
    assert 0 < len(shifts) < sum(stored.messages.values()) / 2
    assert {(one.before, one.after) for one in shifts} == {("accepted", "rejected")}
    assert {code for one in shifts for code in one.codes_after} == {"FR-R03"}


@pytest.mark.thorough
def test_memory_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    table = memory.grow(tmp_path / "files", {"SQLite": sqlite_urls(tmp_path)}, [20_000], ["C15", "R151"])
    assert [row[0] for row in cells(table)] == ["C15", "R151"]
    for row in cells(table):
        # Two processes of one kind differ by a little, and the small file needs less than that.
        assert 20 < int(row[3]) <= int(row[4]) + 5, "a Python with its libraries, and what the file needs besides"
    assert not list((tmp_path / "files").iterdir()), "the files are removed"


@pytest.mark.thorough
def test_processes_are_measured_together_and_apart(tmp_path: Path) -> None:
    """The whole of the CPU time is more than that of any of them, and no row is of a run that did nothing."""
    file = flat(tmp_path / "files", "C15", 20_000)
    (row,) = cells(processes.compare([file], {"SQLite": sqlite_urls(tmp_path)}, [1]))
    assert row[:4] == ["C15, one plain file", "0", "SQLite", "1"]
    assert float(row[6]) >= float(row[7]) > 0
    assert int(row[8]) > 20


def test_both_engines_judge_the_messages_of_the_benchmark_alike() -> None:
    _, rows, alike = rules_alone.compare(messages=50, bad=0.2, rounds=1)
    assert alike
    assert [row[0] for row in rows] == ["60", "200"]


@pytest.mark.thorough
def test_what_a_worker_costs_is_measured_without_what_came_before(tmp_path: Path, postgres: PostgresServer) -> None:
    found = workers.material(tmp_path, "NL", 1, 1)
    done = daemon.measure(found, postgres.url(postgres.create_database()))
    told = sum(content.count(b"</P4MeteringPoint>") for content in contents(found.files))
    assert done.messages >= told > 0, "a message at least for each CH message of the measured files"
    assert done.client > 0
    assert done.groups == 1


def test_without_postgresql_nothing_is_said_of_the_daemon(tmp_path: Path) -> None:
    assert daemon.compare(tmp_path, None, 2, 1, 1) == ["A worker needs PostgreSQL: nothing was measured."]


@pytest.mark.slow
def test_one_worker_and_two_are_measured_in_each_market(tmp_path: Path, postgres: PostgresServer) -> None:
    lines = workers.compare(tmp_path, lambda: postgres.url(postgres.create_database()), 2, 1, 1, 30, 70)
    rows = cells(lines)
    wanted = {(market, "2"): "12" for market in ("BE", "DK", "FR")} | {("NL", "2"): "128", ("NL", "30"): "12"}
    assert [(*row[:2], row[5]) for row in rows] == [(*what, n) for what, each in wanted.items() for n in each]
    assert all(int(row[4]) > 0 for row in rows), "each stored messages"
    for what in wanted:
        assert len({row[4] for row in rows if tuple(row[:2]) == what}) == 1, "as many by one as by eight"
    assert all(1 <= float(row[-1]) <= 1.1 for row in rows), "attempts an envelope"


def test_without_postgresql_nothing_is_said_of_several_workers(tmp_path: Path) -> None:
    assert workers.compare(tmp_path, None, 2, 1, 1) == ["Several workers need PostgreSQL: nothing was measured."]


@pytest.mark.thorough
def test_looking_is_measured_at_each_size(postgres: PostgresServer) -> None:
    lines = browsing.grow(postgres.url(postgres.create_database()), [400, 800], rounds=1)
    assert lines[0].startswith("| what is asked, CPU ms | 400 | 800 | growth |")
    between = lines.index("")
    assert all(float(row[1]) > 0 and float(row[2]) > 0 for row in cells(lines[:between]))
    assert [row[0] for row in cells(lines[between + 1 :])] == list(browsing.PAGES)


@pytest.mark.thorough
def test_every_question_is_asked_of_a_store_that_holds_what_it_asks_for(postgres: PostgresServer) -> None:
    now = micros(datetime.now(UTC))
    with opened(postgres.url(postgres.create_database())) as engine:
        upgrade(engine)
        browsing.fill(engine, 0, 4000, now)
        found = {name: ask() for name, ask in browsing.questions(engine, 4000, now).items()}
    assert [name for name, answer in found.items() if not getattr(answer, "messages", answer)] == []


def test_the_sizes_of_a_store_to_look_at_end_with_the_most() -> None:
    assert browsing.sizes(1_000_000) == [10_000, 100_000, 1_000_000]
    assert browsing.sizes(500) == [500]


@pytest.mark.thorough
def test_bulk_tells_its_parts_and_that_nothing_shifts(tmp_path: Path) -> None:
    """The rules of today over what they judged: rules read, buckets written, judged twice."""
    lines = bulk.compare(tmp_path, {"SQLite": sqlite_urls(tmp_path)}, 600)[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[1].split()[0] for row in cells] == ["rules", "buckets", "judged", "judged"]
    assert [row[-1] for row in cells] == ["-", "-", "0", "0"]
    assert all(int(row[2]) >= 600 for row in cells)
