"""A rule file is refused with file, line and reason, and every problem is told at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import load_catalogue, read_catalogue
from energycomm.engine.problems import BrokenCatalogue, Problem
from energycomm.engine.yamlfile import YamlError, read_yaml
from tests.engine.conftest import SMALL

Read = Callable[..., tuple[Problem, ...]]

GOOD = """rule_set: validation_in
market: FR
rules:
  - code: fr-power-limit
    error_code: FR-C01
    title: Power has a limit
    sentence: Power is at most 36 kVA.
    applies_to: [ContractTerms]
    holds: subscribed_power <= 36
    field: subscribed_power
    comment: {en: "Power {subscribed_power}.", fr: "Puissance {subscribed_power}."}
    source: test
    examples:
      - passes: {subscribed_power: 36}
      - fails: {subscribed_power: 37}
"""


def test_a_good_file_has_no_problem(problems_of: Read) -> None:
    assert problems_of(GOOD) == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("rule_set: validation_in", "rule_set: validate", 1, "unknown rule set 'validate'"),
        ("market: FR", "market: NL", 2, "market 'NL' is in the folder fr"),
        ("    title: Power has a limit\n", "", 4, "title is missing"),
        ("    sentence: Power is at most 36 kVA.\n", "", 4, "sentence is missing"),
        ("    source: test\n", "", 4, "source is missing"),
        ("title:", "titel:", 6, "unknown key 'titel'"),
        ("fr-power-limit", "powerLimit", 4, "code 'powerLimit' is not kebab case"),
        ("fr-power-limit", "nl-power-limit", 4, "code 'nl-power-limit' lacks its market"),
        ("FR-C01", "C1", 5, "error code 'C1' has another form"),
        ("[ContractTerms]", "[ContractTerm]", 8, "unknown kind 'ContractTerm'"),
        ("[ContractTerms]", "[MoveInRequest]", 8, "MoveInRequest is outgoing, the set is validation_in"),
        ("[ContractTerms]", "[ContractTerms, MeterData]", 9, "holds: MeterData has no field `subscribed_power`"),
        ("holds: subscribed_power", "holds: subscribed_pwr", 9, "holds: ContractTerms has no field `subscribed_pwr`"),
        ("<= 36", "<= '36'", 9, "compares different types"),
        ("<= 36", "<= 36 and tariff > 'A'", 9, "puts text in an order"),
        ("<= 36", "<= tariff + 1", 9, "calculates with text"),
        ("<= 36", "<= 36 and history.suply", 9, "no fact is called `suply`"),
        ("<= 36", "<= 36 and contract_status == 'ended'", 9, "`contract_status` is never 'ended'"),
        ("<= 36", "<= limit(tariff)", 9, "no predicate is called `limit`"),
        ("<= 36", "<= 36 and in_list('tariff', tariff)", 9, "no code list 'tariff'"),
        ("<= 36", "<= 36 and has_error('FR-C01')", 9, "has_error is asked outside a rejection rule"),
        ("<= 36", "<= 36 and", 9, "is no expression"),
        ("    holds: subscribed_power <= 36\n", "", 4, "a rule has either holds or violated_when"),
        ("    holds:", "    violated_when: sequence > 1\n    holds:", 4, "a rule has either holds or violated_when"),
        ("    holds:", "    each: registers\n    holds:", 9, "ContractTerms has no list 'registers'"),
        ("    holds:", "    severity: fatal\n    holds:", 9, "severity 'fatal' is unknown"),
        ("    holds:", "    error_class: us\n    holds:", 9, "error_class 'us' is unknown"),
        ("    holds:", "    since: 1/1/2024\n    holds:", 9, "'1/1/2024' is no day"),
        ("    holds:", "    since: 2024-01-01\n    until: 2023-01-01\n    holds:", 10, "until 2023-01-01 is"),
        ("    holds:", "    code: fr-other-code\n    holds:", 9, "key 'code' stands twice"),
        ("    holds:", "    do: store-contract\n    holds:", 9, "unknown key 'do'"),
        ("field: subscribed_power", "field: power", 10, "field: ContractTerms has no field `power`"),
        ('"Power {subscribed_power}."', '"Power {power}."', 11, "comment: ContractTerms has no field `power`"),
        ('"Power {subscribed_power}."', '"Power {subscribed_power."', 11, "a brace of the comment is not closed"),
        (', fr: "Puissance {subscribed_power}."', "", 11, "the comment in fr is missing"),
        ("      - passes: {subscribed_power: 36}\n", "", 14, "no example that passes"),
        ("      - fails: {subscribed_power: 37}\n", "", 14, "no example that fails"),
        ("{subscribed_power: 36}", "{subscribed_power: 40}", 14, "the example says passes, but the rule is violated"),
        ("{subscribed_power: 37}", "{subscribed_power: 7}", 15, "the example says fails, but the rule is not violated"),
        ("{subscribed_power: 37}", "{subscribed_power: many}", 15, "the example is no ContractTerms"),
        ("{subscribed_power: 37}", "{power: 37}", 15, "the example states an unknown field power"),
        ("{subscribed_power: 37}", "{history: {known: maybe}}", 15, "the example is no History"),
        ("{subscribed_power: 37}", "{kind: MeterData}", 15, "the example is of kind 'MeterData'"),
        ("- fails:", "- breaks:", 15, "an example 'breaks'"),
        ("market: FR", "market: FR: NL", 2, "this is not YAML"),
    ],
)
def test_each_mistake_is_told_with_its_line(problems_of: Read, old: str, new: str, line: int, reason: str) -> None:
    assert old in GOOD
    problems = problems_of(GOOD.replace(old, new, 1))
    told = [problem for problem in problems if reason in problem.reason]
    assert told, f"not told; told was: {[str(problem) for problem in problems]}"
    assert (told[0].file, told[0].line) == ("fr/a.yaml", line)
    assert told[0].advice


def test_the_former_word_for_the_grid_operator_is_refused_with_the_one_of_now(problems_of: Read) -> None:
    (problem,) = problems_of(GOOD.replace("    holds:", "    error_class: dno\n    holds:"))
    assert problem.reason == "error_class 'dno' is unknown"
    assert "grid_operator" in problem.advice
    assert problems_of(GOOD.replace("    holds:", "    error_class: grid_operator\n    holds:")) == ()


def test_every_problem_of_every_rule_is_told_at_once(problems_of: Read) -> None:
    second = GOOD.split("rules:\n")[1].replace("title:", "titel:").replace("<= 36", "<= '36'")
    problems = problems_of(GOOD.replace("holds: subscribed_power", "holds: power") + second)
    reasons = " | ".join(problem.reason for problem in problems)
    for expected in (
        "no field `power`",
        "unknown key 'titel'",
        "title is missing",
        "compares different types",
        "code fr-power-limit is also that of",
        "error_code FR-C01 is also that of",
    ):
        assert expected in reasons


def test_every_mistake_of_a_rule_is_told_at_once(problems_of: Read) -> None:
    """Whatever else is wrong with it: its kind, its list, another part of the same expression."""
    wrong = GOOD.replace("applies_to: [", "applies_to: [x").replace("    holds:", "    each: registers\n    holds:")
    wrong = wrong.replace("holds: subscribed_power", "holds: powr == 1 or nothing(tarif) or power")
    wrong = wrong.replace("rule_set: validation_in", "rule_set: validation-in")
    reasons = " | ".join(problem.reason for problem in problems_of(wrong))
    for expected in (
        "unknown rule set",
        "unknown kind",
        "has no list 'registers'",
        "no field `powr`",
        "no field `power`",
        "no predicate is called `nothing`",
    ):
        assert expected in reasons, reasons


def test_an_expression_is_looked_at_where_no_kind_is_known(problems_of: Read) -> None:
    wrong = GOOD.replace("applies_to: [ContractTerms]", "applies_to: [Qqqq]").replace("<= 36", "<=")
    assert any("is no expression" in problem.reason for problem in problems_of(wrong))


def test_two_rules_may_share_codes_when_their_days_do_not_overlap(problems_of: Read) -> None:
    rule = GOOD.split("rules:\n")[1]
    early = rule.replace("    source", "    until: 2023-12-31\n    source")
    late = rule.replace("    source", "    since: 2024-01-01\n    source")
    assert problems_of(GOOD.split("  - code")[0] + early + late) == ()
    overlapping = late.replace("2024-01-01", "2023-12-31")
    problems = problems_of(GOOD.split("  - code")[0] + early + overlapping)
    assert {problem.reason.split(" ")[0] for problem in problems} == {"code", "error_code"}


def test_a_rejection_rule_may_not_ask_for_an_error_that_no_rule_gives(problems_of: Read) -> None:
    text = """rule_set: rejection_in
market: FR
rules:
  - code: fr-tell-nobody
    title: t
    sentence: s
    applies_to: [ContractTerms]
    when: has_error('FR-C99')
    notify: n
    source: test
"""
    assert [problem.reason for problem in problems_of(text)] == ["has_error asks for FR-C99, which no rule gives"]


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ("do: store-everything", "unknown verb 'store-everything'"),
        ("do: [notify]", "notify needs words"),
        ("source: s", "key 'source' stands twice"),
        ("when: history.known", "the rule asks for nothing"),
        ("wait: something", "wait is not in a qualification set"),
    ],
)
def test_action_rules_are_checked_too(problems_of: Read, keys: str, reason: str) -> None:
    text = f"""rule_set: rejection_in
market: FR
rules:
  - code: fr-some-action
    title: t
    sentence: s
    applies_to: [ContractTerms]
    source: test
    {keys}
"""
    assert any(reason in problem.reason for problem in problems_of(text))


@pytest.mark.parametrize(
    ("predicates", "reason"),
    [
        ("def f(x", "this is not Python"),
        ("raise ValueError('no')", "the module cannot be imported: ValueError: no"),
        ("from energycomm.engine import rule", "predicates import energycomm.engine"),
        ("@predicate\ndef f(x: int) -> bool:\n    return True", "it has no docstring"),
        ("@predicate\ndef f(x) -> bool:\n    'd'\n    return True", "parameter x has no plain annotation"),
        ("@predicate\ndef f(x: int):\n    'd'\n    return True", "its result has no usable annotation"),
        ("@predicate\ndef f(x: dict[str, int]) -> bool:\n    'd'\n    return True", "no type that rules can handle"),
        ("@predicate\ndef present(x: int) -> bool:\n    'd'\n    return True", "the name is built in"),
        ("@predicate\ndef f(x: int) -> bool:\n    'd\\n\\n>>> f(1)\\nFalse'\n    return True", "f(1) gives True"),
        ("@predicate\ndef f(x: int) -> bool:\n    'd\\n\\n>>> f(1)\\nTrue'\n    return 1 / 0", "f(1) raises"),
    ],
)
def test_a_predicate_must_be_typed_described_and_right(problems_of: Read, predicates: str, reason: str) -> None:
    head = "from energycomm.kernel.predicate import predicate\n"
    problems = problems_of(GOOD, predicates=head + predicates)
    assert any(reason in problem.reason and problem.file == "predicates.py" for problem in problems), problems


@pytest.mark.parametrize(
    ("codes", "line", "reason"),
    [
        ("list,code\n", 1, "column since, until, en, fr is missing"),
        ("list,code,since,until,en,fr\nt,,,,e,f\n", 2, "list or code is empty"),
        ("list,code,since,until,en,fr\nt,A,soon,,e,f\n", 2, "Invalid isoformat"),
        ("list,code,since,until,en,fr\nt,A,2024-01-02,2024-01-01,e,f\n", 2, "until 2024-01-01 is before"),
        (
            "list,code,since,until,en,fr\nt,A,,2024-01-01,e,f\nt,A,2024-01-01,,e,f\n",
            3,
            "occurs twice for the same days",
        ),
    ],
)
def test_a_code_list_is_refused_with_its_line(problems_of: Read, codes: str, line: int, reason: str) -> None:
    told = [problem for problem in problems_of(GOOD, codes=codes) if reason in problem.reason]
    assert [(problem.file, problem.line) for problem in told] == [("fr/codes.csv", line)]


PARTICULARS = "name,type,en,fr\nNature_Evenement,text,Nature,Nature\nPoids/Net,number,Weight,Poids\n"


@pytest.mark.parametrize(
    ("written", "reason", "advice"),
    [
        ("particular('Nature_Evenement') == 'MES'", None, None),
        ("particular('Poids/Net') > 1 or subscribed_power <= 36", None, None),
        ("particular('Nature_Evenment') == 'MES'", "no particular 'Nature_Evenment'", "mean Nature_Evenement?"),
        ("particular('Poids/Net') == 'MES'", "compares different types", ""),
        ("particular(tariff) == 'MES'", "particular takes one name", ""),
        ("count(particulars) < 3", "ContractTerms has no field `particulars`", ""),
    ],
)
def test_a_market_s_rules_read_what_it_declares_of_its_particulars(
    problems_of: Read, written: str, reason: str | None, advice: str
) -> None:
    text = GOOD.replace("holds: subscribed_power <= 36", f"holds: ({written}) and subscribed_power <= 36")
    text = text.replace(
        "{subscribed_power: 36}", "{subscribed_power: 36, particulars: [{name: Nature_Evenement, text: MES}]}"
    )
    problems = problems_of(text, particulars=PARTICULARS)
    if reason is None:
        assert problems == ()
    else:
        (problem,) = problems
        assert (problem.line, reason in problem.reason, advice in problem.advice) == (9, True, True)


def test_common_rules_read_no_particulars(problems_of: Read) -> None:
    text = GOOD.replace("<= 36\n", "<= 36 and particular('Nature_Evenement') == 'A'\n", 1)
    common = text.replace("market: FR", "market: common").replace("fr-power", "common-power")
    (problem,) = problems_of(common, market="common")
    assert "rules of their market only" in problem.reason


@pytest.mark.parametrize(
    ("particulars", "line", "reason"),
    [
        ("name,type,en\n", 1, "the columns are others"),
        (PARTICULARS + "A,colour,A,A\n", 4, "type 'colour' is unknown"),
        (PARTICULARS + "A B,text,A,A\n", 4, "'A B' is no name"),
        (PARTICULARS + "A,text,A,\n", 4, "A has no words in both languages"),
        (PARTICULARS + "Poids/Net,text,A,A\n", 4, "the name occurs twice"),
        (PARTICULARS + "A,text,A,A,A\n", 4, "more cells"),
    ],
)
def test_a_declaration_of_particulars_is_refused_with_its_line(
    problems_of: Read, particulars: str, line: int, reason: str
) -> None:
    (problem,) = problems_of(GOOD, particulars=particulars)
    assert (problem.file, problem.line, reason in problem.reason) == ("fr/particulars.csv", line, True)


def test_a_broken_catalogue_is_never_used(tmp_path: Path) -> None:
    with pytest.raises(BrokenCatalogue, match="no such folder") as broken:
        load_catalogue(tmp_path / "nothing")
    assert len(broken.value.problems) == 1


def test_an_alias_may_repeat_a_list_of_texts_and_nothing_more(problems_of: Read) -> None:
    repeated = GOOD.replace("[ContractTerms]", "&kinds [ContractTerms]")
    assert problems_of(repeated) == ()
    bomb = "a: &a {x: 1}\nb: *a\n"
    assert any("anchor" in problem.reason for problem in problems_of(bomb))


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a: 1\n---\nb: 2\n", 2, "a second document begins"),
        ("a: 1\nb: *kinds\n", 2, "no anchor &kinds stands before"),
        ("a: &x [1, *y]\n", 1, "an anchor (&name) names more"),
        ("a: 1\n? [b, c]\n: 2\n", 2, "a single value is expected"),
        ("a: 1\n<<: 2\n", 2, "merge keys (<<) are not read"),
    ],
)
def test_yaml_beyond_what_rules_need_is_refused_with_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(YamlError, match=re.escape(reason)) as refused:
        read_yaml(text).entries()
    assert refused.value.line == line


def test_quotes_make_a_text_of_what_is_nothing_without_them() -> None:
    """YAML 1.2.2, 10.3.2: the core schema resolves plain scalars alone."""
    read = read_yaml("a:\nb: ~\nc: null\nd: 'null'\ne: \"\"\nf: !!null ''\n").entries()
    assert [name for name, cell in read.items() if cell.is_null] == ["a", "b", "c", "f"]


def test_without_expressions_rules_have_all_but_their_conditions(tmp_path: Path) -> None:
    (tmp_path / "fr").mkdir()
    (tmp_path / "fr" / "a.yaml").write_text(GOOD, "utf-8")
    (tmp_path / "fr" / "market.yaml").write_text("zone: Europe/Paris\n", "utf-8")
    (whole,) = load_catalogue(tmp_path).rules
    (looked_up,) = load_catalogue(tmp_path, check_examples=False, examples=False, expressions=False).rules
    for name in ("code", "error_code", "title", "sentence", "source", "applies_to", "holds", "field", "line"):
        assert getattr(looked_up, name) == getattr(whole, name)
    assert {language: one.text for language, one in looked_up.comment.items()} == {
        "en": "Power {subscribed_power}.",
        "fr": "Puissance {subscribed_power}.",
    }
    assert (whole.complete, looked_up.complete, looked_up.conditions) == (True, False, {})


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[" * 60000, b"a: &a [*a]", b"- 1", b"rules: 3", b"{" * 50])
def test_a_file_that_is_no_rule_file_is_a_problem_and_no_crash(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "fr").mkdir()
    (tmp_path / "fr" / "a.yaml").write_bytes(content)
    (tmp_path / "fr" / "codes.csv").write_bytes(content)
    problems = read_catalogue(tmp_path)[1]
    assert {"fr/a.yaml", "fr/codes.csv"} <= {problem.file for problem in problems}


PIECES = [
    "",
    "x",
    "36",
    "[",
    "]",
    "{",
    "}",
    ":",
    "- ",
    "null",
    "'",
    '"',
    "&a",
    "*a",
    "\t",
    "subscribed_power",
    "(",
    "<=",
    "None",
]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.integers(0, len(GOOD)), length=st.integers(0, 30), piece=st.sampled_from(PIECES))
def test_a_damaged_file_never_crashes_the_reader(tmp_path: Path, start: int, length: int, piece: str) -> None:
    (tmp_path / "fr").mkdir(exist_ok=True)
    (tmp_path / "fr" / "a.yaml").write_text(GOOD[:start] + piece + GOOD[start + length :], encoding="utf-8")
    catalogue, problems = read_catalogue(tmp_path)
    assert problems or catalogue.rules
    assert all(problem.reason and problem.advice and problem.line >= 1 for problem in problems)


def test_the_version_follows_the_content_of_every_file(tmp_path: Path, small: Catalogue) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(SMALL, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert load_catalogue(copy).version == small.version
    for name in ("predicates.py", "fr/codes.csv", "fr/validation.yaml"):
        before = (copy / name).read_text(encoding="utf-8")
        (copy / name).write_text(before + "\n", encoding="utf-8")
        assert read_catalogue(copy, check_examples=False)[0].version != small.version
        (copy / name).write_text(before, encoding="utf-8")


def test_a_rule_added_to_a_file_takes_effect_without_touching_code(tmp_path: Path) -> None:
    from energycomm.engine.parallel import ParallelEngine
    from energycomm.kernel.history import NO_HISTORY
    from tests.engine.build import terms

    (tmp_path / "fr").mkdir()
    file = tmp_path / "fr" / "a.yaml"
    file.write_text(GOOD, encoding="utf-8")
    message = terms(tariff="T9", subscribed_power=3)
    assert ParallelEngine(load_catalogue(tmp_path)).judge(message, NO_HISTORY).label == "accepted"
    added = GOOD.split("rules:\n")[1].replace("fr-power-limit", "fr-no-t9").replace("FR-C01", "FR-C02")
    added = added.replace("subscribed_power <= 36", "tariff != 'T9'")
    added = added.replace("{subscribed_power: 36}", "{tariff: T1}").replace("{subscribed_power: 37}", "{tariff: T9}")
    file.write_text(GOOD + added, encoding="utf-8")
    verdict = ParallelEngine(load_catalogue(tmp_path)).judge(message, NO_HISTORY)
    assert [finding.error_code for finding in verdict.findings] == ["FR-C02"]


@pytest.mark.thorough
def test_the_shipped_rules_are_right(project_root: Path) -> None:
    assert [str(problem) for problem in read_catalogue(project_root / "rules")[1]] == []
