"""The KernelRules document tells everything of every rule of a market, in Markdown and HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from energycomm.engine.blocks import Block, Facts, Heading, Paragraph, Table, to_html, to_markdown
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.document import as_html, as_markdown, example_words
from energycomm.engine.wording import condition_in_words


class Links(HTMLParser):
    """Collects anchors, links and unclosed elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if values.get("id"):
            self.anchors.append(str(values["id"]))
        if values.get("href"):
            self.links.append(str(values["href"]))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.thorough
@pytest.mark.parametrize("which", ["small", "shipped"])
def test_every_link_of_the_page_leads_somewhere(which: str, request: pytest.FixtureRequest) -> None:
    page = Links()
    page.feed(as_html(request.getfixturevalue(which), "FR"))
    assert page.open == []
    assert len(page.anchors) == len(set(page.anchors))
    assert {link.removeprefix("#") for link in page.links} <= set(page.anchors)


@pytest.mark.parametrize("form", [as_markdown, as_html])
def test_every_rule_stands_in_it_with_its_codes_sentence_and_source(form: object, shipped: Catalogue) -> None:
    from html import unescape

    assert callable(form)
    text = unescape(form(shipped, "FR")).replace("\\", "")
    for rule in shipped.of_market("FR"):
        for part in (rule.code, rule.error_code, rule.title.split("`")[0], rule.source.split("`")[0]):
            assert part in text
    for predicate in {name for rule in shipped.of_market("FR") for name in rule.calls()}:
        assert predicate in text


def test_it_names_the_version_and_the_days_on_which_rules_change(small: Catalogue) -> None:
    text = as_markdown(small, "FR")
    assert f"Version `{small.version}`" in text
    assert "The rules in force change on: 2024-01-01." in text.replace("\\", "")


def test_code_lists_stand_in_it_with_their_days(small: Catalogue) -> None:
    text = as_markdown(small, "FR")
    assert "| `T2` | Second tariff | Deuxième tarif | 2020-01-01 | 2023-12-31 |" in text
    assert "| `HP` | Peak | Heures pleines |" in text


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "FR-C01",
            "When segment (history) is “C5”, then 0 is below subscribed power and subscribed power is at most 36.",
        ),
        ("FR-C02", "Tariff stands in the code list `tariff`."),
        ("CO-E01", "Sender is given."),
        ("fr-tell-of-going-back", "The message has the error FR-R01."),
        ("fr-store-reading", "Always."),
        (
            "FR-R02",
            "For each register: the register's time class stands in the code list `class` or "
            '(calendar is none of “A”, “B”, “C"” and calendar is “FREE”).',
        ),
    ],
)
def test_a_condition_is_said_in_words(small: Catalogue, code: str, words: str) -> None:
    assert condition_in_words(small.find(code)[0]) == words


def test_an_example_is_said_in_words(small: Catalogue) -> None:
    example = small.find("FR-R01")[0].examples[-1]
    assert example_words(example) == (
        "MeterReading with registers [value 10; value 9]; history: registers [index wh 1; index wh 9001]"
    )


def test_nothing_written_in_a_rule_becomes_markup() -> None:
    evil = "<script>alert(1)</script> | *a* `<b>`"
    blocks: list[Block] = [Heading(2, evil, "x"), Paragraph(evil), Facts((("when", evil),)), Table(("a",), ((evil,),))]
    page = to_html(blocks, evil)
    assert "<script>" not in page
    assert page.count("<code>&lt;b&gt;</code>") == 4
    text = to_markdown(blocks)
    assert "<script>" not in text.replace("\\<", "")
    assert "\\| " in text
