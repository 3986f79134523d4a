"""The shipped rule files as files: complete, documented, in both languages, every example true."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

from energycomm.correction.library import read_scripts
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import read_catalogue
from energycomm.engine.rule import LANGUAGES, RULE_SETS
from energycomm.kernel.family import KINDS, is_incoming


def test_every_rule_and_every_example_holds(project_root: Path) -> None:
    _, problems = read_catalogue(project_root / "rules", check_examples=True)
    assert problems == ()


def test_an_example_that_lies_is_found(project_root: Path, tmp_path: Path) -> None:
    """The check of examples is a real one: turn one around and it is told."""
    for file in (project_root / "rules").rglob("*"):
        if file.suffix in (".py", ".yaml", ".csv"):
            copy = tmp_path / file.relative_to(project_root / "rules")
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(file.read_bytes())
    points = tmp_path / "fr" / "points.yaml"
    points.write_text(
        points.read_text().replace(
            "- fails: {kind: StartOfSupply, access_point", "- passes: {kind: StartOfSupply, access_point"
        )
    )
    _, problems = read_catalogue(tmp_path)
    assert {problem.rule for problem in problems} == {"fr-prm-fourteen-digits"}


def _prefix(market: str) -> str:
    return "CO-" if market == "common" else f"{market}-"


def test_each_error_code_belongs_to_one_rule_and_to_its_market(rules: Catalogue) -> None:
    judging = [rule for rule in rules.rules if rule.judges]
    doubles = [code for code, times in Counter(rule.error_code for rule in judging).items() if times > 1]
    assert doubles == []
    strange = [rule.code for rule in judging if not rule.error_code.startswith(_prefix(rule.market))]
    assert strange == []


def test_each_error_code_is_documented_in_both_languages_with_values(rules: Catalogue) -> None:
    for rule in rules.rules:
        if not rule.judges:
            continue
        texts = [rule.comment[language].text for language in LANGUAGES]
        assert len(set(texts)) == len(texts), f"{rule.error_code}: one text for two languages"
        names = [sorted(re.findall(r"\{([^}|]+)(?:\|[^}]+)?\}", text)) for text in texts]
        assert names[0] == names[1], f"{rule.error_code}: the two comments show other values"
        assert names[0], f"{rule.error_code}: the comment shows no value"


def test_each_rule_says_where_the_market_says_so(rules: Catalogue) -> None:
    for rule in rules.rules:
        assert len(rule.sentence) > 20, rule.code
        assert rule.sentence.endswith("."), rule.code
        assert len(rule.source) > 15, rule.code
        assert "shared/" not in rule.source, rule.code
        assert "FORMATS" not in rule.source, rule.code


def test_all_six_rule_sets_have_their_files(project_root: Path) -> None:
    for folder in ("common", "be", "dk", "fr", "nl"):
        texts = [file.read_text() for file in (project_root / "rules" / folder).glob("*.yaml")]
        stated = {match.group(1) for text in texts if (match := re.search(r"^rule_set: (\w+)$", text, re.M))}
        assert stated == set(RULE_SETS)


def test_what_is_done_with_each_kind_of_a_french_message_is_said(rules: Catalogue) -> None:
    elsewhere = {"AggregatedSeries", "RequestAnswer", "ErrorReport", "CalorificValue"}  # no French flow brings them yet
    for kind in filter(is_incoming, KINDS):
        if kind in elsewhere:
            continue
        asked = [verb for rule in rules.rules_for("qualification_in", "FR", kind) for verb in rule.do]
        assert len(asked) == 1, f"{kind}: {asked}"


def test_every_code_list_that_is_kept_is_read(rules: Catalogue, project_root: Path) -> None:
    """By rules of its market, or by common ones, which read the list of each market that has one."""
    read = {
        folder.name: set(re.findall(r"in_list\('(\w+)'", "".join(file.read_text() for file in folder.glob("*.yaml"))))
        for folder in (project_root / "rules").iterdir()
        if folder.is_dir()
    }
    for lists in (project_root / "rules").glob("*/codes.csv"):
        folder = lists.parent.name
        kept = set(rules.codes.names(folder if folder == "common" else folder.upper()))
        assert kept - read[folder] <= read["common"]
        assert read[folder] <= kept | set(rules.codes.names("common"))


def test_codes_have_labels_in_both_languages(rules: Catalogue) -> None:
    for entry in rules.codes.entries:
        assert {"en", "fr"} <= set(entry.labels), f"{entry.list} {entry.code}"


def test_the_code_lists_hold_every_code_of_the_grid_operators_schemas(rules: Catalogue, shared: Path) -> None:
    """Enumerations of the published schemas -> our lists."""
    lists = {
        "Donnees_Releve/Motif_Rectif": "correction_reason",
        "Donnees_Releve/Niveau_Ouverture_Services": "service_level",
        "Donnees_Releve/Type_Compteur": "meter_type",
        "PRM/Autoconsommation_Collective": "self_consumption",
        "Compteur/Calibre": "meter_rating",
        "Personne_Physique/Civilite": "title",
        "En_Tete_Message/Type_Facture": "invoice_type",
        "En_Tete_Message/Frequence_Facturation": "frequency",
        "Donnees_Valorisation/Origine_Rectif": "correction_origin",
        "AffaireStatutCodeType": "request_status",
        "PointSegmentClienteleCodeType": "segment",
    }
    seen: dict[str, set[str]] = {}
    with (shared / "markets" / "fr" / "enedis_code_lists.csv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if row["type_or_element"] in lists:
                seen.setdefault(lists[row["type_or_element"]], set()).add(row["value"])
    assert seen.keys() == set(lists.values())
    for name, wanted in seen.items():
        assert set(rules.codes.codes("FR", name)) == wanted, name


def test_the_readme_names_every_predicate(rules: Catalogue, project_root: Path) -> None:
    readme = (project_root / "rules" / "README.md").read_text()
    assert [name for name in rules.predicates if f"`{name}(" not in readme] == []


def test_each_correction_script_that_a_rule_names_is_there_and_wants_to_be_named(rules: Catalogue) -> None:
    """And the other way round: a script that leaves its error codes to the rules is named by one."""
    named = {name for rule in rules.rules for name in rule.repair}
    assert named == {name for name, script in read_scripts().items() if script.declared.selection.by_rules}


def test_what_waits_says_first_for_which_kind(rules: Catalogue) -> None:
    """The analysis of stuck messages looks for that kind, or for an original of the same kind."""
    awaited = {rule.wait.split()[0] for rule in rules.rules if rule.wait}
    assert awaited
    assert awaited - KINDS.keys() == {"original"}
