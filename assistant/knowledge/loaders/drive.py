"""Google Drive by REST: documents exported as DOCX, sheets as XLSX, slides as PDF, files as they are.

A folder that Drive exported (Takeout) is an ordinary folder: `FolderLoader` reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from assistant.knowledge.documents import Document
from assistant.knowledge.loaders.contract import Failure, day_of
from assistant.knowledge.loaders.folder import SUFFIXES, Facts, document_of
from assistant.knowledge.loaders.rest import RestClient

URL = "https://www.googleapis.com"
PAGE_SIZE = 200
MOST_FOLDERS = 2_000

_FOLDER = "application/vnd.google-apps.folder"
_OFFICE = "application/vnd.openxmlformats-officedocument"
EXPORTS = {
    "application/vnd.google-apps.document": (".docx", f"{_OFFICE}.wordprocessingml.document"),
    "application/vnd.google-apps.spreadsheet": (".xlsx", f"{_OFFICE}.spreadsheetml.sheet"),
    "application/vnd.google-apps.presentation": (".pdf", "application/pdf"),
}
"""Kinds of Google's own -> the form they are exported in."""


class DriveLoader:
    """The files of a folder of Google Drive and of the folders within it.

    Args:
      folder: id of the folder.
      token: an OAuth access token with the scope drive.readonly.
      url: address of the service, for tests and proxies.
      transport: for tests, a transport of httpx that answers itself.
    """

    def __init__(
        self, folder: str, *, token: str = "", url: str | None = None, facts: Facts | None = None, transport: Any = None
    ) -> None:
        self.source = f"drive:{folder}"
        self._folder = folder
        self._facts = facts or Facts()
        self._rest = RestClient(url or URL, token=token, transport=transport)

    def ids(self) -> Iterable[str]:
        """Ids of all files that can be read."""
        return [file["id"] for file in self._files()]

    def load(self, ids: Iterable[str] | None = None) -> Iterator[Document | Failure]:
        """The files as documents; a document's id is the file's."""
        import msgspec

        wanted = None if ids is None else set(ids)
        for file in self._files():
            if wanted is not None and file["id"] not in wanted:
                continue
            suffix, path, parameters = self._how(file)
            document = document_of(
                file["id"] + suffix,
                self._rest.content(path, parameters),
                source=self.source,
                address=file.get("webViewLink") or f"https://drive.google.com/file/d/{file['id']}",
                facts=self._facts,
                modified=day_of(file.get("modifiedTime")),
                title=str(file.get("name") or ""),
            )
            if isinstance(document, Document):
                yield msgspec.structs.replace(document, id=file["id"])
            else:
                yield Failure(file["id"], document.why)

    def poll(self, since: datetime) -> Iterable[str]:
        """Files changed since."""
        moment = since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return [file["id"] for file in self._files() if str(file.get("modifiedTime") or "9") >= moment]

    def _files(self) -> Iterator[Any]:
        folders = [self._folder]
        seen: set[str] = set()
        while folders and len(seen) < MOST_FOLDERS:
            folder = folders.pop(0)
            if folder in seen:
                continue
            seen.add(folder)
            for file in self._children(folder):
                if file.get("mimeType") == _FOLDER:
                    folders.append(file["id"])
                elif file.get("mimeType") in EXPORTS or _suffix(file) in SUFFIXES:
                    yield file

    def _children(self, folder: str) -> Iterator[Any]:
        query = f"'{folder}' in parents and trashed = false".replace("\\", "")
        fields = "nextPageToken, files(id, name, mimeType, modifiedTime, webViewLink)"
        parameters: dict[str, str | int] = {"q": query, "fields": fields, "pageSize": PAGE_SIZE}
        while True:
            answer = self._rest.json("/drive/v3/files", parameters)
            yield from answer.get("files") or []
            if not answer.get("nextPageToken"):
                return
            parameters = {**parameters, "pageToken": answer["nextPageToken"]}

    def _how(self, file: Any) -> tuple[str, str, dict[str, str | int]]:
        """Ending of the name, address and parameters of a file's content."""
        export = EXPORTS.get(file.get("mimeType") or "")
        path = f"/drive/v3/files/{file['id']}"
        if export:
            return export[0], f"{path}/export", {"mimeType": export[1]}
        return _suffix(file), path, {"alt": "media"}


def _suffix(file: Any) -> str:
    return PurePosixPath(str(file.get("name") or "")).suffix.lower()
