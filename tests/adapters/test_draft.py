"""`energycomm adapter new`: what it writes is whole, is read as it stands, and nothing is written over."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from adapters.common.draft import Draft, write_draft
from adapters.common.schemaleaves import documents_of
from adapters.common.table import read_table
from adapters.common.tableadapter import TableAdapter
from energycomm.engine.folder import read_catalogue
from energycomm.errors import UserError
from energycomm.market.contract import MemberHead, Sniff, Transaction

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "fixtures" / "fictive" / "ruritania" / "dispatch.xsd"
ENVELOPES = ROOT / "fixtures" / "fictive" / "envelopes"
FIRST = ENVELOPES / "RUR_LUMINARIA_00001_20260302060000.xml"

JSON_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"Notice": {"$ref": "#/definitions/Notice"}},
    "definitions": {
        "Notice": {
            "type": "object",
            "required": ["sender", "createdDateTime", "Item"],
            "properties": {
                "sender": {"type": "string"},
                "createdDateTime": {"type": "string"},
                "Item": {"type": "array", "items": {"$ref": "#/definitions/Item"}},
            },
        },
        "Item": {
            "type": "object",
            "required": ["id", "day", "state"],
            "properties": {
                "id": {"type": "object", "properties": {"value": {"type": "string"}, "scheme": {"type": "string"}}},
                "day": {"type": "string", "format": "date"},
                "state": {"anyOf": [{"enum": ["A", "B"]}, {"enum": ["C"]}]},
                "values": {"type": "array", "items": {"type": "number"}},
            },
        },
    },
}


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    return write_draft("zz", [SCHEMA], [FIRST], tmp_path, package="zz_post", zone="Europe/Prague")


def adapter_of(draft: Draft) -> TableAdapter:
    return TableAdapter(read_table(draft.folder / "table.yaml"))


def test_the_leaves_of_a_schema_with_what_it_says_of_them() -> None:
    dispatch, reply = documents_of(SCHEMA)
    assert (dispatch.root.name, dispatch.namespace) == ("Dispatch", "urn:ruritania:post-of-energy:1")
    leaves = {"/".join(path): leaf for path, leaf in dispatch.root.leaves()}
    assert len(leaves) == 20
    assert (leaves["Head/At"].type, leaves["Head/At"].needed) == ("instant", True)
    assert leaves["Begin/Day"].type == "day"
    assert list(leaves["Begin/Why"].codes.items())[:2] == [("S", "supplier switch"), ("M", "move in")]
    assert leaves["Reading/Index"].type == "whole"
    assert not leaves["Reading/Remark"].needed
    assert [child.many for child in reply.root.children] == [False, True]


def test_a_draft_digests_the_samples_it_was_made_of(draft: Draft) -> None:
    assert draft.digested[FIRST.name] == (3, 0)
    adapter = adapter_of(draft)
    assert adapter.dispatch(Sniff("x", "xml", "Dispatch", "urn:ruritania:post-of-energy:1")) == "Dispatch"
    head, *found = adapter.digest("Dispatch", BytesIO(FIRST.read_bytes()), "x.xml")
    assert isinstance(head, MemberHead)
    assert (head.sender, head.receiver, head.created) == ("POST-OF-ENERGY", "LUMINARIA", "2026-03-02T06:00:00+01:00")
    first = found[0]
    assert isinstance(first, Transaction)
    assert (first.reference, first.access_point) == ("B-1001", "999000000000000014")
    (message,) = first.messages
    assert {one.name: one.value for one in message.particulars} == {"Contract": "C-501", "Why": "S"}
    assert len({one.identity for one in found if isinstance(one, Transaction)}) == 3


def test_a_draft_refuses_what_the_schema_does_with_the_place(draft: Draft) -> None:
    content = FIRST.read_bytes().replace(b"<Why>S<", b"<Why>X<").replace(b"<Day>2026-03-01<", b"<Day>2026-02-30<")
    _, *found = adapter_of(draft).digest("Dispatch", BytesIO(content), "x.xml")
    first = found[0]
    assert isinstance(first, Transaction)
    told = {(one.code, one.path.strip("/"), one.value) for one in first.refusals}
    assert told == {("SYN_VALUE", "Begin/Day", "2026-02-30"), ("SYN_CODE", "Begin/Why", "X")}
    explained = adapter_of(draft).explain("Dispatch", BytesIO(content), "x.xml", 1)
    assert {(one.code, one.path.strip("/"), one.value) for one in explained} == told
    assert adapter_of(draft).explain("Dispatch", BytesIO(FIRST.read_bytes()), "x.xml", 1) == []


@pytest.mark.thorough
def test_the_rules_of_a_draft_are_all_right(draft: Draft, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    shutil.copytree(ROOT / "rules", rules, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(draft.folder.parent / "rules" / "zz", rules / "zz")
    assert len([path for path in (rules / "zz").glob("*.yaml") if path.name != "market.yaml"]) == 6
    catalogue, problems = read_catalogue(rules)
    assert list(problems) == []
    assert any(entry.market == "ZZ" and entry.code == "guessed" for entry in catalogue.codes.entries)


@pytest.mark.thorough
def test_a_draft_is_found_by_its_entry_point_and_its_own_test_passes(
    draft: Draft, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = (draft.folder.parent / "pyproject.toml").read_text()
    assert '[project.entry-points."energycomm.adapters"]\nzz = "zz_post:adapter"\n' in project
    monkeypatch.syspath_prepend(draft.folder.parent)
    adapter = import_module("zz_post").adapter
    assert (adapter.market, adapter.zone) == ("ZZ", "Europe/Prague")
    assert {row.code for row in import_module("zz_post.codes").CODES} >= {"SYN_VALUE", "TYPE_NOT_OURS"}
    path = os.pathsep.join((str(draft.folder.parent), str(ROOT), os.environ.get("PYTHONPATH", "")))
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", str(draft.folder.parent / "tests")],
        cwd=draft.folder.parent,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout


def test_a_json_schema_gives_a_table_too(tmp_path: Path) -> None:
    schema = tmp_path / "notice.json"
    schema.write_text(json.dumps(JSON_SCHEMA))
    item = {"id": {"value": "I-1", "scheme": "x"}, "day": "2026-03-01", "state": "A", "values": [1, 2]}
    sample = tmp_path / "sample.json"
    sample.write_text(
        json.dumps({"Notice": {"sender": "S", "createdDateTime": "2026-03-02T06:00:00Z", "Item": [item]}})
    )
    found = write_draft("dk", [schema], [sample], tmp_path)
    assert found.digested == {"sample.json": (1, 0)}
    assert found.unplaced == 1
    adapter = adapter_of(found)
    assert adapter.zone == "Europe/Copenhagen"
    assert adapter.dispatch(Sniff("x", "json", "Notice")) == "Notice"


def test_inside_the_repository_the_files_go_where_its_markets_have_them(tmp_path: Path) -> None:
    (tmp_path / "adapters" / "common").mkdir(parents=True)
    (tmp_path / "adapters" / "common" / "table.py").touch()
    write_draft("zz", [SCHEMA], [FIRST], tmp_path, zone="Europe/Prague")
    for path in ("adapters/zz_market/table.yaml", "rules/zz/validation.yaml", f"fixtures/zz/{FIRST.name}"):
        assert (tmp_path / path).is_file()
    assert "from adapters.zz_market import adapter" in (tmp_path / "tests/adapters/test_zz_market.py").read_text()


def test_a_root_of_a_long_name_gets_a_label_that_can_be_stored(tmp_path: Path) -> None:
    root = "NotifyOfBeginsAndCeases_AndOfReadings_MarketDocument"
    schema, sample = tmp_path / "long.xsd", tmp_path / "long.xml"
    schema.write_text(SCHEMA.read_text().replace('name="Dispatch"', f'name="{root}"'))
    sample.write_text(re.sub(r"(</?)Dispatch\b", rf"\1{root}", FIRST.read_text()))
    found = write_draft("zz", [schema], [sample], tmp_path, zone="Europe/Prague")
    assert found.digested["long.xml"] == (3, 0)
    assert "NotifyOfBeginsAndCeases" in adapter_of(found).types


def test_what_a_schema_lacks_is_named(tmp_path: Path) -> None:
    schema = tmp_path / "notice.xsd"
    head = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'
    schema.write_text(
        f'{head}<xs:include schemaLocation="../types/codes.xsd"/><xs:element name="N" type="X"/></xs:schema>'
    )
    with pytest.raises(UserError) as told:
        write_draft("dk", [schema], [], tmp_path)
    assert "types/codes.xsd is missing" in str(told.value)


def test_schemas_of_several_folders_are_written_to_one(tmp_path: Path) -> None:
    schema, types = tmp_path / "documents" / "dispatch.xsd", tmp_path / "types" / "codes.xsd"
    for path in (schema, types):
        path.parent.mkdir()
    head = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" '
    types.write_text(f'{head}targetNamespace="urn:codes"/>')
    text = SCHEMA.read_text()
    opening = text.index(">", text.index("<xs:schema")) + 1
    imported = '<xs:import namespace="urn:codes" schemaLocation="../types/codes.xsd"/>'
    schema.write_text(text[:opening] + imported + text[opening:])
    found = write_draft("zz", [schema], [FIRST], tmp_path, zone="Europe/Prague")
    assert found.digested[FIRST.name] == (3, 0)
    written = (found.folder / "schemas" / "dispatch.xsd").read_text()
    assert 'schemaLocation="codes.xsd"' in written
    assert (found.folder / "schemas" / "codes.xsd").is_file()


def test_a_market_whose_code_is_a_word_of_yaml_is_a_market(tmp_path: Path) -> None:
    found = write_draft("no", [SCHEMA], [FIRST], tmp_path)
    assert adapter_of(found).market == "NO"
    assert 'market: "NO"' in (found.folder.parent / "rules" / "no" / "validation.yaml").read_text()


def test_what_is_wrong_is_told_and_nothing_is_written(tmp_path: Path, draft: Draft) -> None:
    broken, letter = tmp_path / "broken.xsd", tmp_path / "letter.xsd"
    broken.write_text("<xs:schema")
    letter.write_text(
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a" type="xs:date"/></xs:schema>'
    )
    before = sorted(tmp_path.rglob("*"))
    wrong: list[tuple[str, list[Path], list[Path], dict[str, Any], str]] = [
        ("zzz", [SCHEMA], [], {}, "is no code of a market"),
        ("zz", [SCHEMA], [], {"zone": "Europe/Prague"}, "is there already"),
        ("xy", [SCHEMA], [], {}, "No legal time of XY is known"),
        ("dk", [SCHEMA], [], {"package": "A B"}, "is no name of a package"),
        ("dk", [broken], [], {}, "cannot be read"),
        ("dk", [tmp_path / "none.xsd"], [], {}, "No such file"),
        ("dk", [letter], [], {}, "no element of the schema could be a document"),
        ("dk", [SCHEMA], [tmp_path / "none.xml"], {}, "No such file"),
        ("dk", [SCHEMA], [], {"zone": "Mars"}, "is no time zone"),
    ]
    for market, schemas, samples, more, said in wrong:
        with pytest.raises(UserError) as told:
            write_draft(market, schemas, samples, tmp_path, **more)
        assert said in str(told.value)
    assert sorted(tmp_path.rglob("*")) == before
