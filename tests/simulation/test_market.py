"""Envelopes of the simulated French market look like those of Enedis, and are the same bytes for the same arguments."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from adapters.fr_enedis import adapter
from adapters.fr_enedis.simulator import simulator
from adapters.fr_enedis.simulator.encryption import Scheme
from energycomm.cli import main
from energycomm.market.contract import MemberHead, Series, Sniff, Transaction
from energycomm.simulation.expectation import read_truth
from energycomm.simulation.scenario import Scenario
from energycomm.simulation.truth import compare_truth, describe
from energycomm.transport.envelopes import open_envelope
from energycomm.transport.keys import Key, KeyRing
from energycomm.transport.limits import Limits
from tests.simulation.conftest import MIXED, process

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = {
    "C15": "GRD.XSD.0301.Flux_C15_v4.1.1.xsd",
    "R15": "ENEDIS.SGE.XSD.0293.Flux_R15_v2.3.2.xsd",
    "R151": "Enedis.SGE.XSD.0315.Flux_R151_v1.2.0.xsd",
    "F15_Detail_Facturation": "GRD.XSD.0299.Flux_F15_Donnees_Detail_v3.3.2.xsd",
    "F15_Donnees_Generales": "GRD.XSD.0302.Flux_F15_Donnees_Generales_v3.3.2.xsd",
}


@pytest.fixture(scope="module")
def faultless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty lives over a year with both clock changes, nothing wrong in them."""
    folder = tmp_path_factory.mktemp("faultless")
    simulator.simulate(Scenario(30, 12, 4, daily_share=0.15, per_file=20), folder)
    return folder


def members(folder: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in sorted((folder / "envelopes").iterdir()):
        with zipfile.ZipFile(path) as archive:
            found |= {name: archive.read(name) for name in archive.namelist()}
    return found


def digest(content: bytes, name: str) -> list[Transaction]:
    root = etree.fromstring(content)
    label = adapter.dispatch(Sniff(name, "xml", str(root.tag)))
    assert isinstance(label, str)
    items = list(adapter.digest(label, io.BytesIO(content), name))
    assert isinstance(items[0], MemberHead)
    assert items[0].notes == ()
    return [item for item in items[1:] if isinstance(item, Transaction)]


def test_equal_arguments_give_equal_bytes(tmp_path: Path) -> None:
    """And another seed gives others."""
    prints = []
    for folder, seed in (("a", 5), ("b", 5), ("c", 6)):
        simulator.simulate(Scenario(8, 6, seed, faults=MIXED), tmp_path / folder)
        files = sorted(path for path in (tmp_path / folder).rglob("*") if path.is_file())
        prints.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files})
    assert prints[0] == prints[1]
    assert prints[0] != prints[2]


def test_members_are_valid_by_the_schemas_of_enedis(faultless: Path, shared: Path) -> None:
    schemas = {root: etree.XMLSchema(etree.parse(shared / "markets/fr/xsd" / name)) for root, name in SCHEMAS.items()}
    seen = set()
    for name, content in members(faultless).items():
        document = etree.fromstring(content)
        schema = schemas.get(str(document.tag))
        if schema is not None:
            seen.add(document.tag)
            assert schema.validate(document), f"{name}: {schema.error_log}"
    assert seen == set(SCHEMAS)


def test_names_tell_series_without_a_gap(faultless: Path) -> None:
    numbers: dict[str, list[int]] = defaultdict(list)
    for path in sorted((faultless / "envelopes").iterdir()):
        place = adapter.series(path.name)
        assert isinstance(place, Series)
        assert place.number is not None
        numbers[place.key].append(place.number)
    assert len(numbers) == 6
    assert all(sorted(found) == list(range(1, len(found) + 1)) for found in numbers.values())


@pytest.mark.thorough
def test_every_message_is_digested_and_stands_where_the_truth_says(faultless: Path) -> None:
    truth = {(line.member, line.position): line for line in read_truth(faultless / "truth.jsonl")}
    found = {}
    for name, content in members(faultless).items():
        for transaction in digest(content, name):
            assert transaction.refusals == ()
            assert transaction.notes == ()
            found[name, transaction.position] = transaction
    assert found.keys() == truth.keys()
    for place, transaction in found.items():
        assert transaction.access_point == (truth[place].access_point or None)
        assert transaction.type == truth[place].type


def test_indexes_of_all_flows_agree(faultless: Path) -> None:
    """At one instant C15 and R15 show in kWh what R151 shows in Wh at the END of the day before."""
    shown: dict[tuple[Any, ...], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for name, content in members(faultless).items():
        for transaction in digest(content, name):
            for message in transaction.messages:
                if type(message).__name__ == "MeterReading" and message.function == "original":
                    for register in message.registers:  # type: ignore[attr-defined]
                        key = (message.access_point, message.effective, register.grid, register.time_class)
                        kwh = register.value // (1000 if register.unit == "Wh" else 1)
                        shown[key][message.market_type].add(kwh)
    both = [flows for flows in shown.values() if {"R15", "R151"} <= flows.keys()]
    assert len(both) > 20
    assert all(len(set().union(*flows.values())) == 1 for flows in both)


@pytest.mark.thorough
def test_a_life_without_faults_is_accepted_whole_and_without_a_warning(faultless: Path, tmp_path: Path) -> None:
    database = process(faultless, f"sqlite:///{tmp_path / 'eis.db'}")
    differences = compare_truth(database, read_truth(faultless / "truth.jsonl"))
    database.dispose()
    assert not differences, describe(differences)


@pytest.mark.parametrize("scheme", simulator.schemes)
def test_encrypted_envelopes_open_with_the_key_beside_them(tmp_path: Path, scheme: Scheme) -> None:
    simulator.simulate(Scenario(3, 2, 1), tmp_path, scheme)
    clear = tmp_path / "clear"
    simulator.simulate(Scenario(3, 2, 1), clear)
    key = bytes.fromhex((tmp_path / "key.hex").read_text())
    lines = (tmp_path / "keys.toml").read_text()
    iv = bytes.fromhex(lines.split('iv = "')[1].split('"')[0]) if scheme == "aes-128-fixed-iv" else None
    ring = KeyRing([Key("simulation", scheme, key, iv)])
    for path in (tmp_path / "envelopes").iterdir():
        plain = (clear / "envelopes" / path.name).read_bytes()
        assert path.read_bytes() != plain
        with path.open("rb") as raw, open_envelope(raw, path.name, ring, Limits()) as opened:
            assert [member.path for member in opened if hasattr(member, "path")] == zipfile.ZipFile(
                io.BytesIO(plain)
            ).namelist()


@pytest.mark.parametrize("flux", ["C15", "R151"])
def test_a_flat_file_has_its_size_and_no_message_twice(tmp_path: Path, flux: str) -> None:
    path = simulator.flat_file(tmp_path, flux, 2_000_000, 1)[-1]
    assert 2_000_000 <= path.stat().st_size < 2_020_000
    identities = [transaction.identity for transaction in digest(path.read_bytes(), path.name)]
    assert len(identities) > 200
    assert len(identities) == len(set(identities))


def test_the_command_writes_a_simulation_and_not_over_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = ["--market", "fr", "--access-points", "5", "--months", "6", "--fault", "FR-R03=1"]
    arguments = ["simulate", *wanted, str(tmp_path / "out")]
    assert main(arguments) == 0
    assert "CH messages" in capsys.readouterr().out
    lines = list(read_truth(tmp_path / "out/truth.jsonl"))
    assert {line.outcome.fault for line in lines} == {None, "FR-R03"}
    assert main(arguments) == 3
    assert "not empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--market", "xx"], "no simulator"),
        (["--fault", "nonsense=1"], "cannot"),
        (["--fault", "product=7"], "cannot"),
        (["--months", "3", "--fault", "product=0.1"], "longer"),
        (["--encrypt", "rot13"], "no encryption"),
        (["--flat-file", "1000", "--flat-type", "F15"], "cannot be of type"),
    ],
)
def test_the_command_says_what_it_cannot_do(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "--market", "fr", *arguments, str(tmp_path)]) == 3
    assert words in capsys.readouterr().err.replace("is no fault that can", "cannot")
