"""Jira: its REST interface, and its offline exports (JSON of a search, XML of the issue navigator)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lxml import etree
from msgspec import Struct

from assistant.knowledge.documents import Document, Metadata
from assistant.knowledge.filtering import is_chatter
from assistant.knowledge.language import detect
from assistant.knowledge.loaders.contract import Failure, day_of
from assistant.knowledge.loaders.folder import Facts
from assistant.knowledge.loaders.html import write_fragment
from assistant.knowledge.loaders.rest import Gone, RestClient
from assistant.knowledge.writing import Writer

PAGE_SIZE = 50
_MARKUP = re.compile(r"</?(?:p|div|br|ul|ol|li|a|span|b|i|em|strong|table|pre|h[1-6])\b[^>]*>", re.IGNORECASE)
FIELDS = "summary,description,status,resolution,updated,comment,labels,issuetype"


class Issue(Struct, frozen=True, kw_only=True):
    """An issue as any of the forms gives it; texts are HTML."""

    key: str
    summary: str
    description: str = ""
    status: str = ""
    resolution: str = ""
    updated: str | None = None
    address: str = ""
    comments: tuple[str, ...] = ()


class JiraLoader:
    """The issues that a query finds, by REST: a server's search, or that of Jira Cloud, which has another one."""

    def __init__(self, url: str, query: str, *, user: str = "", token: str = "", transport: Any = None) -> None:
        self.source = f"jira:{query}"[:80]
        self._url = url.rstrip("/")
        self._query = query
        self._rest = RestClient(url, user, token, transport)

    def ids(self) -> Iterable[str]:
        """Keys of the issues."""
        return [str(item["key"]) for item in self._found(self._query, "key")]

    def load(self, ids: Iterable[str] | None = None) -> Iterator[Document | Failure]:
        """The issues as documents."""
        wanted = None if ids is None else set(ids)
        for item in self._found(self._query, FIELDS):
            if wanted is None or item["key"] in wanted:
                yield issue_document(_of_json(item, self._url), self.source)

    def poll(self, since: datetime) -> Iterable[str]:
        """Issues changed since."""
        moment = since.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
        return [str(item["key"]) for item in self._found(f'({self._query}) AND updated >= "{moment}"', "key")]

    def _found(self, query: str, fields: str) -> Iterator[Any]:
        try:
            first = next(server := self._of_server(query, fields), None)
        except Gone:
            yield from self._of_cloud(query, fields)
            return
        if first is not None:
            yield first
            yield from server

    def _of_cloud(self, query: str, fields: str) -> Iterator[Any]:
        asked: dict[str, str | int] = {
            "jql": query, "fields": fields, "expand": "renderedFields", "maxResults": PAGE_SIZE,
        }  # fmt: skip
        while True:
            answer = self._rest.json("/rest/api/3/search/jql", asked)
            yield from answer.get("issues") or []
            # A short page is no last one here: only that there is no token is.
            if not answer.get("nextPageToken"):
                return
            asked["nextPageToken"] = str(answer["nextPageToken"])

    def _of_server(self, query: str, fields: str) -> Iterator[Any]:
        start = 0
        while True:
            answer = self._rest.json(
                "/rest/api/2/search",
                {"jql": query, "fields": fields, "expand": "renderedFields", "startAt": start, "maxResults": PAGE_SIZE},
            )
            issues = answer.get("issues") or []
            yield from issues
            start += len(issues)
            if not issues or start >= int(answer.get("total") or 0):
                return


class JiraExport:
    """A file that Jira exported: the JSON of a search, or the XML of the issue navigator."""

    def __init__(self, path: Path, source: str | None = None, facts: Facts | None = None) -> None:
        self.source = source or f"jira:{path.stem}"
        self._path = path
        self._facts = facts or Facts()

    def ids(self) -> Iterable[str]:
        """Keys of the issues."""
        return [item.id for item in self.load()]

    def load(self, ids: Iterable[str] | None = None) -> Iterator[Document | Failure]:
        """The issues as documents."""
        wanted = None if ids is None else set(ids)
        try:
            issues = list(self._json() if self._path.suffix == ".json" else self._xml())
        except (ValueError, KeyError, etree.XMLSyntaxError) as error:
            yield Failure(self._path.name, f"no export of Jira: {error}"[:200])
            return
        for issue in issues:
            if wanted is None or issue.key in wanted:
                yield issue_document(issue, self.source, self._facts)

    def poll(self, since: datetime) -> Iterable[str]:
        """All issues when the file is newer."""
        return self.ids() if self._path.stat().st_mtime >= since.timestamp() else []

    def _json(self) -> Iterator[Issue]:
        for item in json.loads(self._path.read_text("utf-8"))["issues"]:
            yield _of_json(item, str(self._path))

    def _xml(self) -> Iterator[Issue]:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        root = etree.fromstring(self._path.read_bytes(), parser)
        for item in root.iter("item"):
            yield Issue(
                key=item.findtext("key") or "",
                summary=item.findtext("summary") or item.findtext("title") or "",
                description=item.findtext("description") or "",
                status=item.findtext("status") or "",
                resolution=item.findtext("resolution") or "",
                updated=_day_of_mail(item.findtext("updated")),
                address=item.findtext("link") or str(self._path),
                comments=tuple(comment.text or "" for comment in item.iterfind("comments/comment")),
            )


def is_jira_export(path: Path) -> bool:
    """Whether a file is an export of Jira."""
    if not path.is_file() or path.suffix not in (".json", ".xml"):
        return False
    with path.open("rb") as file:
        head = file.read(4096)
    return b'"issues"' in head or (b"<rss" in head and b"JIRA" in head.upper())


def issue_document(issue: Issue, source: str, facts: Facts | None = None) -> Document:
    """An issue as a document: what it is about, how it was resolved, and the comments that say something."""
    facts = facts or Facts()
    writer = Writer()
    writer.heading(1, f"{issue.key}: {issue.summary}", issue.key)
    state = " · ".join(part for part in (issue.status, issue.resolution) if part and part != "Unresolved")
    if state:
        writer.paragraph(f"Status: {state}")
    write_fragment(issue.description, writer)
    comments = [comment for comment in issue.comments if not is_chatter(_text(comment))]
    if comments:
        writer.heading(2, "Comments")
    for comment in comments:
        write_fragment(comment, writer)
    return Document(
        id=issue.key,
        metadata=Metadata(
            source=source,
            address=issue.address,
            title=f"{issue.key}: {issue.summary}"[:200],
            modified=day_of(issue.updated),
            market=facts.market,
            language=facts.language or detect(writer.text),
            version=facts.version,
            valid_from=facts.valid_from,
            valid_to=facts.valid_to,
        ),
        text=writer.text,
        blocks=writer.blocks,
    )


def _of_json(item: Any, url: str) -> Issue:
    fields = item.get("fields") or {}
    rendered = item.get("renderedFields") or {}
    comments = (rendered.get("comment") or fields.get("comment") or {}).get("comments") or []
    return Issue(
        key=str(item["key"]),
        summary=str(fields.get("summary") or ""),
        description=rendered.get("description") or _html(fields.get("description")),
        status=(fields.get("status") or {}).get("name") or "",
        resolution=(fields.get("resolution") or {}).get("name") or "",
        updated=fields.get("updated"),
        address=f"{url}/browse/{item['key']}" if url.startswith("http") else url,
        comments=tuple(_html(comment.get("body")) for comment in comments),
    )


def _html(text: Any) -> str:
    """A text as HTML: it is HTML already, or plain with a paragraph a line, or a tree of nodes as Jira Cloud has it."""
    from html import escape

    if isinstance(text, dict):
        text = "\n".join(_paragraphs(text))
    elif _MARKUP.search(str(text or "")):
        return str(text)
    return "".join(f"<p>{escape(line)}</p>" for line in str(text or "").splitlines() if line.strip())


def _paragraphs(node: dict[str, Any]) -> list[str]:
    """The paragraphs of a tree of nodes (Atlassian Document Format)."""
    children = [child for child in node.get("content") or () if isinstance(child, dict)]
    if any(child.get("content") for child in children):
        return [line for child in children for line in _paragraphs(child)]
    own = "".join(" " if child.get("type") == "hardBreak" else str(child.get("text") or "") for child in children)
    return [own or str(node.get("text") or "")]


def _text(fragment: str) -> str:
    writer = Writer()
    write_fragment(fragment, writer)
    return writer.text


def _day_of_mail(text: str | None) -> str | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).date().isoformat() if text else None
    except ValueError:
        return None
