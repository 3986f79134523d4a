"""`energycomm process`, as an operator uses it."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree

from energycomm.eis import tables
from energycomm.kernel.check import KernelChecker
from tests.end_to_end.conftest import Place
from tests.hostile import write_hostile
from tests.stored import clear_xml

Places = Callable[..., Place]


@pytest.fixture
def french(project_root: Path) -> Path:
    """The shipped French fixtures."""
    return project_root / "fixtures" / "fr"


def test_the_shipped_fixtures_are_accepted_but_for_those_that_are_wrong_on_purpose(
    place: Places, french: Path, database_url: str
) -> None:
    """The first run of a newcomer: most is accepted, some is rejected, nothing is lost."""
    here = place(database_url)
    answer = here.process(french)
    assert answer.code == 2
    counts = answer.json["kernel_messages"]
    assert counts["accepted"] > 10 * counts.get("engine_error", 0)
    assert counts["accepted"] > counts["rejected"] > 0
    stored = dict(here.rows("SELECT state, count(*) FROM kernel_message GROUP BY state"))
    assert stored == counts


def test_the_same_folder_twice_changes_nothing_but_the_duplicate_records(
    place: Places, french: Path, database_url: str
) -> None:
    """Nothing has a second effect."""
    here = place(database_url)
    first = here.process(french).json
    before = here.meaning()
    names = ("kernel_message", "ch_message", "state_change", "finding", "outbox", "reading", "raw")
    counted = [here.rows(f"SELECT count(*) FROM {table}") for table in names]
    second = here.process(french).json
    assert here.meaning() == before
    assert [here.rows(f"SELECT count(*) FROM {table}") for table in names] == counted
    readable = first["envelopes"]["taken_in"] - first["envelopes"]["unreadable"]
    assert second["envelopes"]["duplicate"] >= readable
    assert second["kernel_messages"] == {}


@pytest.mark.thorough
def test_every_reference_names_a_row_that_is_there(place: Places, french: Path, database_url: str) -> None:
    """PostgreSQL does not check those within a batch: whatever a run stores, no row refers to nothing."""
    here = place(database_url)
    here.process(french)
    here.process(french)
    unchecked = 0
    for table in tables.metadata.sorted_tables:
        for key in (key for column in table.columns for key in column.foreign_keys):
            of, to, target = key.parent.name, key.column.name, key.column.table.name
            sql = (
                f'SELECT count(*), count("{of}") FROM {table.name} t WHERE "{of}" IS NOT NULL '
                f'AND NOT EXISTS (SELECT 1 FROM {target} p WHERE p."{to}" = t."{of}")'
            )
            assert here.rows(sql) == [(0, 0)], (table.name, of)
            unchecked += here.rows(f'SELECT count("{of}") FROM {table.name}')[0][0]
    findings = "SELECT count(*) FROM finding f LEFT JOIN state_change c ON c.id = f.change_id WHERE c.id IS NULL"
    assert here.rows(findings) == [(0,)]
    assert unchecked > 1_000


def test_the_real_samples_are_digested_and_the_unknown_types_get_their_code(
    place: Places, shared: Path, database_url: str
) -> None:
    """Every CH message of a known type is accounted for, and every Kernel message validates."""
    here = place(database_url)
    answer = here.process(shared / "markets" / "fr" / "samples")
    types = {row["type"] for row in answer.json["by_type"]}
    assert {"C15", "R15", "R151", "F12", "F15", "R64", "X12", "X13"} <= types
    ((unreadable,),) = here.rows("SELECT count(*) FROM member WHERE state = 'refused'")
    assert unreadable == answer.json["incidents"].get("TYPE_UNKNOWN", 0)
    xmls = [clear_xml(xml) for (xml,) in here.rows("SELECT xml FROM kernel_message")]
    assert xmls
    assert KernelChecker().check_batch(xmls) == [None] * len(xmls)
    ((transactions,),) = here.rows("SELECT sum(transactions) FROM member WHERE state = 'done'")
    ((stored,),) = here.rows("SELECT (SELECT count(*) FROM ch_message) + (SELECT count(*) FROM ch_duplicate)")
    assert stored == transactions


def test_hostile_files_get_their_codes_and_harm_no_neighbour(place: Places, french: Path) -> None:
    """Bombs, lies, tricks and noise: each has its code, the rest is processed, the exit code says so."""
    here = place()
    good = french / "c15_entries.xml"
    inbox = here.folder / "inbox"
    codes = write_hostile(inbox)
    shutil.copy(good, inbox / "zz_good.xml")
    answer = here("process", inbox, "--json")
    found = dict(
        here.rows("SELECT e.name, min(i.code) FROM envelope e JOIN incident i ON i.envelope_id = e.id GROUP BY e.name")
    )
    assert answer.code == 2
    every = here.rows("SELECT e.name, i.code FROM envelope e JOIN incident i ON i.envelope_id = e.id")
    missing = {name: (code, found.get(name)) for name, code in codes.items() if (name, code) not in every}
    assert not missing
    assert "Traceback" not in answer.err


def test_what_could_not_be_read_is_named_with_its_cause(place: Places) -> None:
    """A path that is not there, and files of several sorts: each by its name and why, at once and in the list later."""
    here = place()
    inbox = here.folder / "inbox"
    inbox.mkdir()
    contents = {"noise.zip": b"\x00\x01\x02", "text.txt": b"good morning", "cut.xml": b"<a><b>", "nothing.xml": b""}
    for name, content in contents.items():
        (inbox / name).write_bytes(content)
    answer = here("process", here.folder / "nonexist", inbox)
    assert answer.code == 2
    told = answer.out + answer.err
    lines = {name: [line for line in told.splitlines() if name in line] for name in (*contents, "nonexist")}
    assert {name: len(found) for name, found in lines.items()} == dict.fromkeys(lines, 1)
    causes = {
        "nonexist": "No such file",
        "nothing.xml": "0 bytes",
        "cut.xml": "end of data",
        "text.txt": "good morning",
    }
    assert [name for name, cause in causes.items() if cause not in lines[name][0]] == []
    listed = here("envelope", "list", "--state", "failed").out.splitlines()
    codes = dict(here.rows("SELECT e.name, i.code FROM envelope e JOIN incident i ON i.envelope_id = e.id"))
    assert sorted(codes) == sorted(contents)
    assert [name for name, code in codes.items() if not any(name in one and code in one for one in listed)] == []


def test_one_bad_transaction_does_not_harm_its_neighbours(place: Places, french: Path) -> None:
    """A PRM that the schema refuses is refused alone, explained, and the others are digested."""
    here = place()
    tree = etree.parse(str(french / "c15_entries.xml"))
    points = tree.findall("PRM")
    assert len(points) > 1
    event = points[0].find("Evenement_Declencheur/Date_Evenement")
    assert event is not None
    event.text = "yesterday"
    here.folder.joinpath("broken.xml").write_bytes(etree.tostring(tree))
    answer = here.process(here.folder / "broken.xml")
    assert answer.code == 2
    assert answer.json["ch_messages"] == {"digested": len(points) - 1, "refused": 1}
    ((refused,),) = here.rows("SELECT id FROM ch_message WHERE outcome = 'refused'")
    explained = here("message", "explain", f"ch:{refused}", "--json").json["schema_errors"]
    assert any("Date_Evenement" in error["path"] and error["value"] == "yesterday" for error in explained)
    assert all(error["expected"] for error in explained)


def test_a_dry_run_says_the_same_and_stores_nothing(place: Places, french: Path, database_url: str) -> None:
    """What would happen, without it happening."""
    here = place(database_url)
    rehearsed = here.process(french, "--dry-run")
    assert here.rows("SELECT count(*) FROM envelope") == [(0,)]
    assert here.rows("SELECT count(*) FROM kernel_message") == [(0,)]
    real = here.process(french)
    assert rehearsed.code == real.code
    assert rehearsed.json["kernel_messages"] == real.json["kernel_messages"]


def test_the_same_xml_in_another_zip_is_a_duplicate_linked_to_the_first(place: Places, french: Path) -> None:
    """Another envelope, the same inner file: recorded, without effect."""
    here = place()
    content = (french / "c15_entries.xml").read_bytes()
    for name in ("one.zip", "two.zip"):
        with zipfile.ZipFile(here.folder / name, "w") as packed:
            packed.writestr(f"{name}.xml", content)
            packed.comment = name.encode()
    here.process(here.folder / "one.zip")
    before = here.meaning(carriers=False)
    here.process(here.folder / "two.zip")
    assert here.meaning(carriers=False) == before
    assert here.rows("SELECT state, duplicate_of FROM member ORDER BY id") == [("done", None), ("duplicate", 1)]


def test_an_envelope_that_no_key_opened_is_taken_again_when_the_key_is_there(
    place: Places, project_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An incident with its own code first; sending the file again after the key was configured helps."""
    here = place()
    assert (
        here(
            "simulate",
            "--market",
            "fr",
            "--access-points",
            3,
            "--months",
            2,
            "--encrypt",
            "aes-256-iv-in-file",
            here.folder / "sim",
        ).code
        == 0
    )
    inbox = here.folder / "sim" / "envelopes"
    refused = here.process(inbox)
    assert refused.code == 2
    assert set(refused.json["incidents"]) == {"ENV_NO_KEY"}
    config = next((here.folder / "sim").glob("**/*.toml"), None)
    assert config is not None, "the simulator writes the configuration of its keys"
    monkeypatch.setenv("ENERGYCOMM_CONFIG", str(config))
    answer = here.process(inbox)
    assert answer.code == 0
    assert answer.json["kernel_messages"]["accepted"] > 0
    assert here.rows("SELECT DISTINCT state FROM envelope WHERE key_label IS NOT NULL") == [("done",)]


def test_a_gap_in_a_series_is_reported_until_the_file_comes(place: Places) -> None:
    """Between two received numbers only; the missing file closes the gap."""
    here = place()
    here("simulate", "--market", "fr", "--access-points", 8, "--months", 3, here.folder / "sim")
    files = sorted((here.folder / "sim" / "envelopes").glob("*_C15_*.zip"))
    assert len(files) > 4
    missing = files.pop(2)
    assert any("SERIES_GAP" in gap for gap in here.process(*files).json["gaps"])
    assert here.process(missing).json["gaps"] == []


def test_a_warning_is_no_error_code(place: Places, project_root: Path) -> None:
    """The summary counts what refused a message and what was only noticed in tables of their own."""
    here = place()
    told = here("process", project_root / "fixtures" / "nl").out
    errors, warnings = told.partition("error code")[2].split("warning  ")
    refused = {row[0] for row in here.rows("SELECT DISTINCT error_code FROM finding WHERE severity = 'error'")}
    noticed = {row[0] for row in here.rows("SELECT DISTINCT error_code FROM finding WHERE severity = 'warning'")}
    assert refused
    assert noticed
    assert {code for code in refused | noticed if code in errors} == refused
    assert {code for code in refused | noticed if code in warnings} == noticed


def test_the_gaps_of_a_series_are_one_line_of_the_summary(place: Places) -> None:
    """However many they are, the summary stays in sight; the advice stands there once."""
    here = place()
    here("simulate", "--market", "fr", "--access-points", 12, "--months", 3, here.folder / "sim")
    files = sorted((here.folder / "sim" / "envelopes").glob("*_C15_*.zip"))
    told = here("process", *files[::2]).out
    (line,) = [line for line in told.splitlines() if "never received" in line]
    assert line.endswith(f"({len(files[::2]) - 1} gaps)")
    assert told.count("SERIES_GAP:") == 1


def test_a_restart_of_a_series_is_no_gap_and_an_unknown_name_is_reported(place: Places, french: Path) -> None:
    """A number that goes back to 00001 begins a new count."""
    here = place()
    xml = (french / "c15_entries.xml").read_bytes()
    head = "17XGRIDFICTIF01X_C15_17XLUMINEFICT01X_90000101_0328"
    for number, (sequence, stamp) in enumerate((("00007", "20260101"), ("00008", "20260102"), ("00001", "20260103"))):
        with zipfile.ZipFile(here.folder / f"{head}_{sequence}_{stamp}050000.zip", "w") as packed:
            packed.writestr(f"{number}.xml", xml + b"\n" * number)
    with zipfile.ZipFile(here.folder / "holiday-photos.zip", "w") as packed:
        packed.writestr("a.xml", xml + b"\n" * 9)
    answer = here.process(*sorted(here.folder.glob("*.zip"))).json
    assert answer["gaps"] == []
    assert answer["incidents"]["NAME_UNKNOWN"] == 1


@pytest.mark.thorough
def test_a_rule_that_is_added_to_a_file_judges_the_next_run(place: Places, project_root: Path, french: Path) -> None:
    """No code is touched; a broken rule file is refused with file, line and reason."""
    here = place()
    rules = here.folder / "rules"
    shutil.copytree(project_root / "rules", rules)
    here.folder.joinpath("energycomm.toml").write_text('rules = "rules"\n')
    (rules / "fr" / "house.yaml").write_text(
        """rule_set: validation_in
market: FR
rules:
  - code: fr-no-supply-at-all
    error_code: FR-S99
    title: No supply begins
    sentence: In this test no supply period may begin, so that the new rule is seen to judge.
    applies_to: [StartOfSupply]
    holds: market_reason == 'NOTHING'
    field: market_reason
    comment: {en: "Entry {market_reason} is not wanted here.", fr: "L'entrée {market_reason} n'est pas voulue ici."}
    error_class: product
    source: "this test"
    examples:
      - passes: {market_reason: NOTHING}
      - fails: {market_reason: MES}
"""
    )
    assert here.process(french / "c15_entries.xml").json["error_codes"]["FR-S99"] > 0
    broken = (rules / "fr" / "house.yaml").read_text().replace("market_reason == 'NOTHING'", "colour == 'NOTHING'")
    (rules / "fr" / "house.yaml").write_text(broken)
    answer = here.process(french / "c15_entries.xml")
    assert answer.code == 3
    assert "house.yaml:9" in answer.err
    assert "colour" in answer.err


def test_strict_counts_notes_too(place: Places, french: Path) -> None:
    """What is merely noticed makes the exit code 1 under --strict."""
    here = place()
    file = here.folder / "declared.xml"
    text = (french / "c15_entries.xml").read_text("utf-8")
    file.write_text(text.replace("<Version_XSD>4.1.1<", "<Version_XSD>5.0.0<"), "utf-8")
    lax = here("process", file, "--json", "--dry-run")
    strict = here("process", file, "--json", "--strict")
    assert strict.json["incidents"]
    assert (lax.code, strict.code) == (0, 1)


def test_an_envelope_comes_back_byte_for_byte(place: Places, french: Path) -> None:
    """What arrived is kept as it arrived, also when it could not be read."""
    here = place()
    junk = here.folder / "junk.bin"
    junk.write_bytes(bytes(range(256)) * 3 + b"x")
    here.process(junk)
    target = here.folder / "back.bin"
    assert here("envelope", "extract", 1, "--out", target).code == 0
    assert target.read_bytes() == junk.read_bytes()


def test_what_is_not_there_is_said_in_words(place: Places) -> None:
    """Unknown ids, unknown access points, missing files: words, and the right exit code."""
    here = place()
    for arguments in (("message", "show", 999), ("envelope", "show", 999), ("access-point", "show", "nowhere")):
        answer = here(*arguments)
        assert answer.code == 3
        assert "Traceback" not in answer.err
    answer = here.process(here.folder / "nothing.zip")
    assert answer.code == 2
    assert "ENV_MISSING" in answer.json["incidents"]
