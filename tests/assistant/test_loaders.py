"""Every loader brings text and structure, tells what is there, and reports what it cannot read."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from assistant.knowledge.documents import Document
from assistant.knowledge.loaders.contract import Failure, Loader
from assistant.knowledge.loaders.folder import Facts, FolderLoader, document_of
from assistant.knowledge.loaders.opening import open_loaders
from assistant.knowledge.loaders.rules import RuleLoader
from energycomm.errors import UserError


def read(name: str, content: bytes) -> Document:
    made = document_of(name, content, source="docs", address=name)
    assert isinstance(made, Document), made
    return made


def blocks(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def test_markdown_keeps_headings_lists_code_tables_and_its_front_matter() -> None:
    """What the page says of itself becomes metadata."""
    made = read(
        "a.md",
        b"---\nmarket: fr\nvalid_from: 2026-01-01\nversion: v2\n---\n# Title\n\nText with `code` and [a link](x).\n\n"
        b"- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx = 1\n```\n",
    )
    assert blocks(made) == [
        ("heading", "Title"),
        ("paragraph", "Text with code and a link."),
        ("item", "- one"),
        ("item", "- two"),
        ("heading", "a | b"),
        ("row", "1 | 2"),
        ("code", "x = 1"),
    ]
    assert made.metadata.market == "FR"
    assert made.metadata.version == "v2"
    assert made.metadata.valid_from == date(2026, 1, 1)
    assert made.blocks[1].anchor == "title"


def test_boxes_of_mkdocs_are_prose_and_no_code() -> None:
    """Their content may be quoted; a box that is shown as an example stays code."""
    made = read(
        "a.md",
        b'# Title\n\n!!! warning "Deprecated"\n\n    Use the other one\n    instead.\n\n    - one\n\n'
        b"??? note\n    Folded.\n\n"
        b"After it.\n\n```\n!!! note\n    Shown.\n```\n",
    )
    assert blocks(made) == [
        ("heading", "Title"),
        ("paragraph", "Deprecated"),
        ("paragraph", "Use the other one instead."),
        ("item", "- one"),
        ("paragraph", "Folded."),
        ("paragraph", "After it."),
        ("code", "!!! note\n    Shown."),
    ]


def test_html_leaves_out_what_is_no_text() -> None:
    """Scripts, navigation and invisible characters are not read."""
    made = read(
        "a.html",
        "<html lang=fr><title>T</title><body><nav>menu</nav><script>alert(1)</script><h1 id=top>Règle</h1>"
        "<p>L’index\u200b baisse.<br>Suite.</p><table><caption>Codes</caption><tr><th>code</th></tr><tr><td>E17</td></tr></table>"  # noqa: E501
        "<ul><li>un<ul><li>deux</li></ul></li></ul></body></html>".encode(),
    )
    assert [text for _, text in blocks(made)] == [
        "Règle",
        "L’index baisse. Suite.",
        "Codes",
        "code",
        "E17",
        "- un",
        "- deux",
    ]
    assert made.metadata.language == "fr"
    assert made.blocks[4].context == "Codes\ncode"


def test_csv_rows_know_their_header() -> None:
    """The first row is the header of all others."""
    made = read("a.csv", b"code;meaning\nE17;index\n")
    assert made.blocks[-1].context == "code | meaning"


def test_word_and_excel_are_read_with_titles_and_tables() -> None:
    """DOCX by its styles, XLSX sheet by sheet."""
    import docx
    import openpyxl

    word = docx.Document()
    word.add_heading("Rules", 1)
    word.add_paragraph("An index rises.")
    table = word.add_table(rows=2, cols=2)
    for place, text in zip(((0, 0), (0, 1), (1, 0), (1, 1)), ("code", "meaning", "E17", "index"), strict=True):
        table.cell(*place).text = text
    content = io.BytesIO()
    word.save(content)
    made = read("a.docx", content.getvalue())
    assert ("row", "E17 | index") in blocks(made)
    assert made.blocks[1].headings == ("Rules",)
    book = openpyxl.Workbook()
    book.active.title = "Codes"
    for row in (["All codes"], ["code", "meaning"], ["E17", "index"]):
        book.active.append(row)
    content = io.BytesIO()
    book.save(content)
    made = read("a.xlsx", content.getvalue())
    assert made.blocks[-1].context == "All codes\ncode | meaning"
    assert made.blocks[-1].headings == ("Codes",)


def pdf(*pages: str) -> bytes:
    """A PDF with a line on each page, written by hand."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects += [
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents {5 + 2 * number} 0 R /Resources << /Font << /F 3 0 R >> >> >>"  # noqa: E501
        )
        stream = f"BT /F 12 Tf 20 200 Td ({text}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    return (
        out
        + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF"  # noqa: E501
    ).encode()


def test_a_cell_over_two_columns_is_read_once() -> None:
    """Word repeats it in each of them."""
    import docx

    word = docx.Document()
    table = word.add_table(rows=2, cols=2)
    for cell, text in zip(table.rows[0].cells, ("Code", "Meaning"), strict=True):
        cell.text = text
    table.cell(1, 0).merge(table.cell(1, 1)).text = "E17 for both"
    content = io.BytesIO()
    word.save(content)
    assert blocks(read("a.docx", content.getvalue()))[1] == ("row", "E17 for both | ")


def test_a_workbook_is_called_by_its_file_its_days_have_no_hour_and_a_lone_line_is_text() -> None:
    """The first sheet's name is no title."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["Code", "Since"])
    book.active.append(["E17", datetime(2025, 4, 1)])
    book.create_sheet("Notes").append(["E31 is rare."])
    content = io.BytesIO()
    book.save(content)
    made = read("codes.xlsx", content.getvalue())
    assert made.metadata.title == "codes"
    assert ("row", "E17 | 2025-04-01") in blocks(made)
    assert blocks(made)[-1] == ("paragraph", "E31 is rare.")


def test_a_table_as_excel_saves_it_in_france_keeps_its_accents() -> None:
    """Neither UTF-8 nor a comma; and its header is no title."""
    made = read("tarifs.csv", "Code;Libellé\nHP;Été\n".encode("cp1252"))
    assert blocks(made) == [("heading", "Code | Libellé"), ("row", "HP | Été")]
    assert made.metadata.title == "tarifs"
    assert blocks(read("tarifs.csv", "a\tb\n1\té\n".encode("utf-16")))[-1] == ("row", "1 | é")


def test_a_pdf_without_text_or_behind_a_password_is_reported() -> None:
    """A scanned page would else vanish in silence."""
    import pypdf

    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    content = io.BytesIO()
    writer.write(content)
    failed = document_of("scan.pdf", content.getvalue(), source="docs", address="")
    assert isinstance(failed, Failure)
    assert "no text in it" in failed.why
    writer.encrypt("secret", algorithm="RC4-128")
    content = io.BytesIO()
    writer.write(content)
    failed = document_of("locked.pdf", content.getvalue(), source="docs", address="")
    assert isinstance(failed, Failure)
    assert "locked with a password" in failed.why


def test_what_is_not_read_is_counted_and_refused_when_it_is_named(tmp_path: Path) -> None:
    """Nobody is to believe that their slides are indexed."""
    for name in ("a.pptx", "b.pptx", "c.png", "d.txt"):
        (tmp_path / name).write_text("words")
    loader = FolderLoader(tmp_path)
    assert [item.id for item in loader.load()] == ["d.txt"]
    assert loader.unread == {".pptx": 2}
    with pytest.raises(UserError, match="not of a kind that is read"):
        FolderLoader(tmp_path / "c.png")


def test_pdf_keeps_its_page_numbers() -> None:
    """A citation can name the page."""
    made = read("a.pdf", pdf("The first page speaks.", "The second page too."))
    assert [(block.page, made.text[block.start : block.end]) for block in made.blocks] == [
        (1, "The first page speaks."),
        (2, "The second page too."),
    ]


def test_a_broken_file_is_reported_not_raised(tmp_path: Path) -> None:
    """One bad file harms no other."""
    (tmp_path / "bad.pdf").write_bytes(b"no pdf")
    (tmp_path / "good.md").write_text("# Good\n\ntext here")
    (tmp_path / ".hidden.md").write_text("hidden")
    loaded = {item.id: item for item in FolderLoader(tmp_path).load()}
    assert isinstance(loaded["bad.pdf"], Failure)
    assert isinstance(loaded["good.md"], Document)
    assert ".hidden.md" not in loaded


def test_a_folder_tells_what_was_changed_since(tmp_path: Path) -> None:
    """Poll names files that were written later."""
    (tmp_path / "a.md").write_text("# A")
    loader: Loader = FolderLoader(tmp_path)
    assert list(loader.poll(datetime(2001, 1, 1, tzinfo=UTC))) == ["a.md"]
    assert list(loader.poll(datetime(2999, 1, 1, tzinfo=UTC))) == []


def test_each_rule_is_a_document_with_its_codes_in_two_languages(project_root: Path) -> None:
    """A rule is found by its code, and in the words of its French comment."""
    loaded = {item.id: item for item in RuleLoader(project_root / "rules").load() if isinstance(item, Document)}
    english, french = loaded["common-index-goes-back"], loaded["common-index-goes-back.fr"]
    assert english.metadata.codes == french.metadata.codes == ("CO-R05", "common-index-goes-back")
    assert "Within a supply period an index is not below" in english.text
    assert "inférieur" in french.text
    assert "{" not in english.text.split("Examples")[0]
    assert set(RuleLoader(project_root / "rules").ids()) == set(loaded)


def test_places_are_read_by_the_loader_that_fits(project_root: Path, tmp_path: Path) -> None:
    """A folder of rules, an export of Jira and a folder of pages are told apart."""
    from assistant.config import AssistantConfig

    export = tmp_path / "search.json"
    export.write_text(json.dumps({"issues": []}))
    names = [
        type(loader).__name__
        for place in (str(project_root / "rules"), str(project_root / "docs"), str(export))
        for loader in open_loaders(place, AssistantConfig(), Facts())
    ]
    assert names == ["RuleLoader", "FolderLoader", "JiraExport"]


ISSUES: list[dict[str, Any]] = [
    {
        "key": "OPS-7",
        "fields": {
            "summary": "Index goes back",
            "status": {"name": "Done"},
            "resolution": {"name": "Fixed"},
            "updated": "2026-02-03T10:00:00.000+0100",
            "description": "The reading of C15 was rejected with FR-R05.",
            "comment": {"comments": [{"body": "Merci !"}, {"body": "The grid operator sent a corrected R151."}]},
        },
    }
]


def check_issue(made: Any) -> None:
    assert isinstance(made, Document)
    assert "The grid operator sent a corrected R151." in made.text
    assert "Merci" not in made.text
    assert made.metadata.modified == date(2026, 2, 3)


def test_jira_is_read_by_rest_and_from_an_export(tmp_path: Path) -> None:
    """The same issue, both ways; chatter is left out."""
    import httpx

    from assistant.knowledge.loaders.jira import JiraExport, JiraLoader

    def answer(request: Any) -> Any:
        assert request.headers["Authorization"] == "Bearer token"
        return httpx.Response(200, json={"issues": ISSUES if request.url.params["startAt"] == "0" else [], "total": 1})

    remote = JiraLoader("https://jira.example", "project = OPS", token="token", transport=httpx.MockTransport(answer))
    (made,) = remote.load()
    check_issue(made)
    assert list(remote.ids()) == ["OPS-7"]
    export = tmp_path / "search.json"
    export.write_text(json.dumps({"issues": ISSUES}))
    check_issue(next(iter(JiraExport(export).load())))


def test_jira_in_the_cloud_has_another_search_and_texts_as_trees() -> None:
    """The old search is gone there; pages follow by token, and a short one is not the last."""
    import httpx

    from assistant.knowledge.loaders.jira import JiraLoader

    def paragraph(*words: str) -> dict[str, Any]:
        return {"type": "paragraph", "content": [{"type": "text", "text": word} for word in words]}

    tree = {"type": "doc", "content": [paragraph("The unit ", "kWh", " is wrong."), paragraph("Use m3.")]}
    issues = [{"key": key, "fields": {"summary": "Unit", "description": tree}} for key in ("OPS-1", "OPS-2")]
    pages = {"": {"issues": issues[:1], "nextPageToken": "two"}, "two": {"issues": issues[1:]}}

    def answer(request: Any) -> Any:
        if request.url.path == "/rest/api/2/search":
            return httpx.Response(410)
        return httpx.Response(200, json=pages[request.url.params.get("nextPageToken", "")])

    remote = JiraLoader("https://jira.example", "project = OPS", transport=httpx.MockTransport(answer))
    made = [item for item in remote.load() if isinstance(item, Document)]
    assert [item.id for item in made] == ["OPS-1", "OPS-2"]
    assert blocks(made[0])[1:] == [("paragraph", "The unit kWh is wrong."), ("paragraph", "Use m3.")]


def test_confluence_is_read_by_rest_page_by_page() -> None:
    """Storage format with macros and code becomes text; parents become titles."""
    import httpx

    from assistant.knowledge.loaders.confluence import ConfluenceLoader

    storage = (
        '<p>An index rises.</p><ac:structured-macro ac:name="code"><ac:parameter ac:name="language">xml</ac:parameter>'
        "<ac:plain-text-body><![CDATA[<Index>1</Index>]]></ac:plain-text-body></ac:structured-macro>"
    )
    pages = [{"id": n, "title": f"Page {n}", "body": {"storage": {"value": storage}}, "ancestors": [{"title": "Home"}],
              "version": {"when": "2026-02-03T10:00:00Z"}} for n in range(60)]  # fmt: skip

    def answer(request: Any) -> Any:
        start = int(request.url.params["start"])
        return httpx.Response(200, json={"results": pages[start : start + 50], "limit": 50})

    loader = ConfluenceLoader("https://wiki.example", "OPS", transport=httpx.MockTransport(answer))
    made = list(loader.load())
    assert len(made) == 60
    assert isinstance(made[0], Document)
    assert made[0].blocks[-1].headings == ("Home", "Page 0")
    assert "An index rises." in made[0].text
    assert "<Index>1</Index>" in made[0].text


def test_confluence_exports_are_read(tmp_path: Path) -> None:
    """Both forms: a folder of HTML, and entities.xml."""
    from assistant.knowledge.loaders.confluence import ConfluenceExport, is_confluence_export

    pages = tmp_path / "html"
    pages.mkdir()
    (pages / "index.html").write_text("<html><body>Confluence space export</body></html>")
    (pages / "page_1.html").write_text("<html><title>OPS : Units</title><body><p>R151 is in Wh.</p></body></html>")
    entities = tmp_path / "xml"
    entities.mkdir()
    (entities / "entities.xml").write_text(
        '<hibernate-generic><object class="Page"><id name="id">1</id><property name="title">Units</property></object>'
        '<object class="BodyContent"><id name="id">2</id><property name="body"><![CDATA[<p>R151 is in Wh.</p>]]></property>'  # noqa: E501
        '<property name="content" class="Page"><id name="id">1</id></property></object></hibernate-generic>'
    )
    for folder in (pages, entities):
        assert is_confluence_export(folder)
        (made,) = ConfluenceExport(folder).load()
        assert isinstance(made, Document)
        assert made.metadata.title == "Units"
        assert "R151 is in Wh." in made.text


def test_who_wrote_an_exported_page_is_not_read(tmp_path: Path) -> None:
    """Nor where it stands in the export, nor when that was made; the space's name is no part of the title."""
    from assistant.knowledge.loaders.confluence import ConfluenceExport

    (tmp_path / "page_1.html").write_text(
        '<html><title>OPS : Units</title><body><div id="breadcrumb-section"><ol><li>Operations</li></ol></div>'
        '<h1 id="title-heading"><span>OPS : Units</span></h1><div class="page-metadata">Created by Jeanne Exemple</div>'
        '<div class="wiki-content"><p>R151 is in Wh.</p></div><div id="footer"><p>Generated by Confluence</p></div>'
    )
    (made,) = ConfluenceExport(tmp_path).load()
    assert isinstance(made, Document)
    assert blocks(made) == [("heading", "Units"), ("paragraph", "R151 is in Wh.")]


def test_drive_exports_documents_and_walks_folders() -> None:
    """Google's own kinds are exported; what cannot be read is left alone."""
    import docx
    import httpx

    from assistant.knowledge.loaders.drive import DriveLoader

    word = docx.Document()
    word.add_paragraph("An index rises in Drive.")
    content = io.BytesIO()
    word.save(content)
    listing = {
        "root": [{"id": "f", "name": "sub", "mimeType": "application/vnd.google-apps.folder"},
                 {"id": "p", "name": "a.png", "mimeType": "image/png"}],
        "f": [{"id": "d", "name": "Rules", "mimeType": "application/vnd.google-apps.document", "modifiedTime": "2026-01-02T03:04:05Z"}],  # noqa: E501
    }  # fmt: skip

    def answer(request: Any) -> Any:
        if request.url.path.endswith("/export"):
            return httpx.Response(200, content=content.getvalue())
        return httpx.Response(200, json={"files": listing[request.url.params["q"].split("'")[1]]})

    (made,) = DriveLoader("root", token="t", transport=httpx.MockTransport(answer)).load()
    assert isinstance(made, Document)
    assert made.id == "d"
    assert made.metadata.title == "Rules"
    assert "An index rises in Drive." in made.text


def test_a_refused_token_is_told_without_showing_it() -> None:
    """Errors name the service, never the secret."""
    import httpx

    from assistant.knowledge.loaders.rest import RestClient
    from energycomm.errors import UserError

    client = RestClient(
        "https://x.example", token="very-secret", transport=httpx.MockTransport(lambda r: httpx.Response(401))
    )
    with pytest.raises(UserError) as caught:
        client.json("/a")
    assert "refuses the token" in str(caught.value)
    assert "very-secret" not in str(caught.value)
