"""Every page in a language that does not exist: what a catalogue translates stands between marks, and nothing else is
left that is neither data nor said to be English (`lang="en"`)."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from babel.messages.pofile import read_po

from energycomm.console import failures as failures_page
from energycomm.console import messages as messages_page
from energycomm.console import rules as rules_page
from energycomm.console import view
from energycomm.documentation.texts import CATALOGUES, RULES, needed
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.rule import Rule
from energycomm.engine.told_comments import Commented
from energycomm.engine.wording import condition_in_words
from energycomm.kernel.declaration import Declared
from energycomm.texts.catalogues import Folders, translate_plural, translate_sentence
from energycomm.webservice.roles import Role
from tests.console.scene import CODE, WRONG, Visitor
from tests.webservice.conftest import Site

BEGIN, END = "⟦", "⟧"

STARTS = (
    *("/", "/account", "/people", "/audit", "/state", "/channels", "/messages/new", "/portfolio", "/login"),
    *("/find?q=zzzz", "/find?q=99000000", "/failures?by=class", "/tickets?state=all", "/requests?state=all"),
    *("/customers", "/erasures", f"/customers/FR/{WRONG[0]}?at=2026-03-01"),
    *(f"/failures/code/{CODE}", f"/rules/{CODE}", "/messages/999999", "/messages?state=nonsense"),
)
"""Pages that the others are found from."""

AWAY = ("/preferences", "/logout", "/static", "/assistant", "/documentation", "/api")
"""No pages of words: the description of the API is English (docs/texts.md)."""

EACH = 2
"""Pages of one kind that are looked at."""

VOID = {"meta", "link", "input", "br", "img", "hr", "source", "wbr", "col"}
SILENT = {"script", "style", "code", "pre", "kbd", "svg", "time", "textarea"}
SPOKEN = ("aria-label", "title", "placeholder", "alt")

DATA = re.compile(
    r"""^(?:
    \S*[\d_@/=]\S*              # an identifier, an instant, an address, a file
    | [A-Z]{2,}\w*              # a code, a market
    | (?:[A-Z][a-z]+){2,}s?     # a kind of the Kernel, a type of a market: MeterReading
    | [a-z]+(?:-[a-z0-9]+)+     # a name of a rule or script
    | EnergyComm | English | Français | Nederlands
    | SQLite | PostgreSQL | Chrome | kWh | Wh | kVA | anna | testclient | parallel | test | nonsense | kernel
    )[.,;:]?$""",
    re.VERBOSE,
)


class Page(HTMLParser):
    """The words of a page that are said to be of its language, and its links."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        other = (tag != "html" and "lang" in named) or named.get("translate") == "no"
        silent = other or tag in SILENT or any(silent for _, silent in self._open)
        if tag not in VOID:
            self._open.append((tag, silent))
        if not silent or tag == "svg":
            self.words += [named[name] or "" for name in SPOKEN if named.get(name)]
        self.links += [named[name] or "" for name in ("href", "data-href") if named.get(name)]

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not any(silent for _, silent in self._open):
            self.words.append(data)


def bare(text: str) -> list[str]:
    """The words of a text that stand between no marks, and are no data."""
    while (inner := re.sub(f"{BEGIN}[^{BEGIN}{END}]*{END}", " ", text)) != text:
        text = inner
    return [word for word in text.split() if re.search(r"[^\W\d_]{3,}", word) and not DATA.match(word)]


def kind_of(path: str) -> str:
    """What pages of one kind have in common: their route, and the names of their parameters."""
    route = re.sub(r"/\d+|(?<=/rules)/[^/?]+|(?<=/code)/[^/?]+|(?<=/access-points)/[^?]+", "/x", path.split("?")[0])
    return route + "?" + ",".join(sorted(set(re.findall(r"[?&](\w+)=", path)) - {"sort", "since", "until", "cursor"}))


def pages(visitor: Visitor) -> Iterator[tuple[str, str]]:
    """Address and HTML of every page that can be reached, some of each kind."""
    waiting, met, kinds = deque(STARTS), set(STARTS), Counter[str]()
    while waiting:
        path = waiting.popleft()
        kinds[kind_of(path)] += 1
        if kinds[kind_of(path)] > EACH:
            continue
        answer = visitor.get(path)
        if "html" not in answer.headers.get("content-type", ""):
            continue
        yield path, answer.text
        for link in Page(answer.text).links:
            link = link.split("#")[0]
            if link.startswith("/") and link not in met and not link.startswith(AWAY) and "format=" not in link:
                met.add(link)
                waiting.append(link)


def texts_of(language: str) -> set[str]:
    """Every text that the catalogues translate into a language."""
    found: set[str] = set()
    for folder in CATALOGUES:
        with (folder / f"{language}.po").open("rb") as lines:
            for one in read_po(lines, locale=language):
                found |= {one.id} if isinstance(one.id, str) else set(one.id)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["fr", "nl"])
def test_no_page_says_anything_that_is_not_translated(
    lite: Site, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = texts_of(language)
    label = Declared.label
    comment = view.Words.comment

    def marked(text: str, language: str, folders: Folders = ()) -> str:
        return f"{BEGIN}{text}{END}" if text in known else text

    def counted(one: str, several: str, number: int, language: str, folders: Folders = ()) -> str:
        return marked(translate_plural(one, several, number, "en"), language)

    def told(sentence: str, language: str, folders: Folders = ()) -> str:
        return f"{BEGIN}{sentence}{END}" if translate_sentence(sentence, language, folders) != sentence else sentence

    def labelled(self: Declared, language: str) -> str:
        found = label(self, language)
        return f"{BEGIN}{found}{END}" if found != label(self, "en") or found == "Index" else found

    def commented(self: view.Words, finding: Commented, catalogue: Catalogue) -> str:
        found = comment(self, finding, catalogue)
        return f"{BEGIN}{found}{END}" if found != finding.comment else found

    def demanded(rule: Rule, language: str) -> str:
        """A condition, its words between marks; the names of lists and predicates between them are code."""
        found = condition_in_words(rule, language)
        pieces = found.split("`")
        pieces[::2] = [f"{BEGIN}{piece}{END}" for piece in pieces[::2]]
        return "`".join(pieces) if found != condition_in_words(rule) else found

    monkeypatch.setattr(view, "translate", marked)
    for module in (rules_page, failures_page, messages_page):
        monkeypatch.setattr(module, "condition_in_words", demanded)
    monkeypatch.setattr(view, "translate_sentence", told)
    monkeypatch.setattr(view.Words, "comment", commented)
    monkeypatch.setattr(Declared, "label", labelled)
    monkeypatch.setattr(view, "translate_plural", counted)
    # A market that does not speak the language is read in English.
    foreign = {str(one.id) for one in needed(RULES, "fr") if one.id} - known
    rules = lite.app.state.services.gateway.catalogue.rules
    foreign |= {one.comment["fr" if language == "fr" else "en"].text for one in rules if one.comment}
    visitor = Visitor(lite, *Role)
    visitor.client.headers["accept-language"] = language
    left: dict[str, str] = {}
    seen = Counter[str]()
    for path, html in pages(visitor):
        seen[kind_of(path)] += 1
        for text in Page(html).words:
            if " ".join(text.split()) not in foreign and (words := bare(text)):
                left.setdefault(" ".join(words), path)
    assert left == {}, "\n".join(f"{path}: {words}" for words, path in sorted(left.items()))
    assert len(seen) > 25
