"""An adapter with what it is tried on: its fixtures, its example requests, the files of its package."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from energycomm.errors import UserError
from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Adapter, MemberHead, Sniff, Transaction
from energycomm.market.installed import installed_adapters, package_of
from energycomm.transport.forms import HEAD, XML_HEAD, form_of, json_root, namespaces_of, text_root

REFUSED = "refused"
"""Folder, among the fixtures, of those that have to be refused as wholes."""
_READ = ("xml", "json", "other")
"""Forms that an adapter gets: archives and encryption are opened before."""


@dataclass(frozen=True)
class Subject:
    """One adapter under test.

    Attributes:
      adapter: the adapter.
      package: name of its package, where its codes and schemas are.
      members: name -> content of its fixtures.
      requests: its example requests, as fields of Kernel messages; the values of complete requests are taken from them.
      others: the other installed adapters, none of which may claim a fixture.
      refused: name -> content of what has to be refused as a whole: the fixtures in the folder `refused` among them.
      kept: what was found out of it once, for other checks.
    """

    adapter: Adapter
    package: str
    members: Mapping[str, bytes]
    requests: Sequence[Mapping[str, Any]] = ()
    others: Sequence[Adapter] = ()
    refused: Mapping[str, bytes] = field(default_factory=dict)
    kept: dict[Any, Any] = field(default_factory=dict)

    def folder(self) -> Path:
        """Where the files of the package are."""
        return Path(str(files(self.package)))


class Read(NamedTuple):
    """What `digest` gave of one member."""

    head: MemberHead | None
    transactions: list[Transaction]
    refusal: Refusal | None

    def codes(self) -> set[str]:
        """Every code of refusals and notes."""
        found = [*(self.head.notes if self.head else ()), *([self.refusal] if self.refusal else ())]
        for transaction in self.transactions:
            found += [*transaction.refusals, *transaction.notes]
        return {refused.code for refused in found}

    def identities(self) -> list[bytes]:
        """The identities of the transactions, in their order."""
        return [transaction.identity for transaction in self.transactions]


class Undigested(AssertionError):
    """A member is not taken, or its parts come in an order that the contract does not have; the text says which."""


def subject_of(market: str, fixtures: Path | None = None, requests: Path | None = None) -> Subject:
    """An installed market with its fixtures.

    Args:
      market: its code.
      fixtures: folder of the fixtures; the one beside the package by default.
      requests: folder of the example requests; the folder `requests` beside the fixtures by default.

    Raises:
      UserError: the market is not installed, there are no fixtures, or an example request cannot be read.
    """
    code = market.upper()
    installed = installed_adapters()
    adapter, package = installed[code], package_of(code)
    found = fixtures or _fixtures(Path(str(files(package))), code.lower())
    members = members_of(found) if found else {}
    if found is None or not members:
        where = f"in {found}" if found is not None else f"beside the package {package}"
        raise UserError(f"There are no fixtures {where}.", "Name their folder: --fixtures FOLDER.")
    others = [other for other in installed.values() if other.market != code]
    examples = requests_of(requests or found.parent / "requests", code)
    return Subject(adapter, package, members, examples, others, members_of(found / REFUSED))


def _fixtures(package: Path, code: str) -> Path | None:
    """The folder of fixtures beside a package: of a repository of one market, or of several."""
    beside = (package.parent / "fixtures", package.parent.parent / "fixtures")
    folders = [*(folder / code for folder in beside), beside[0]]
    return next((folder for folder in folders if folder.is_dir()), None)


def members_of(folder: Path) -> dict[str, bytes]:
    """Name -> content of the fixtures in a folder; archives are left out: the gateway opens them before."""
    found = {path.name: path.read_bytes() for path in sorted(folder.glob("*")) if path.is_file()}
    return {name: content for name, content in found.items() if form_of(content[:HEAD]) in _READ}


def requests_of(folder: Path, market: str) -> list[dict[str, Any]]:
    """The example requests of a market in a folder and those below it.

    Args:
      folder: of JSON files as `energycomm request submit` takes them; it may be missing.
      market: its code.

    Raises:
      UserError: a file is no JSON.
    """
    found: list[dict[str, Any]] = []
    for path in sorted(folder.rglob("*.json")):
        try:
            content = json.loads(path.read_bytes())
        except ValueError as error:
            raise UserError(f"The example request {path} is no JSON: {error}.", "See docs/requests.md.") from None
        listed = content if isinstance(content, list) else [content]
        found += [one for one in listed if isinstance(one, dict) and one.get("market") == market]
    return found


def sniff(name: str, content: bytes) -> Sniff:
    """What the gateway sees of a member before it is digested.

    Args:
      name: its file name.
      content: all of it.
    """
    form = form_of(content[:HEAD])
    if form == "other":
        return Sniff(name, form, text_root(content[:HEAD]))
    if form == "json":
        keys = json_root(content[:HEAD])
        return Sniff(name, form, None if isinstance(keys, Refusal) else keys)
    seen = safexml.prescan(io.BytesIO(content))
    if isinstance(seen, Refusal):
        return Sniff(name, "other")
    return Sniff(name, "xml", seen.root, seen.namespace, namespaces_of(content[:XML_HEAD]))


def read(adapter: Adapter, content: bytes, name: str = "member.xml", label: str | None = None) -> Read:
    """Dispatch and digest one member.

    Args:
      adapter: that knows it.
      content: all of it.
      name: its file name.
      label: of its type; found by `dispatch` where none is given.

    Raises:
      Undigested: no type of the adapter, or parts in an order that the contract does not have.
    """
    if label is None:
        found = adapter.dispatch(sniff(name, content))
        if not isinstance(found, str):
            raise Undigested(f"dispatch refuses it: {told(found)}")
        label = found
    head: MemberHead | None = None
    transactions: list[Transaction] = []
    refusal: Refusal | None = None
    for part in adapter.digest(label, io.BytesIO(content), name):
        if refusal is not None:
            raise Undigested("something comes after the refusal that ends the member")
        if isinstance(part, MemberHead):
            if head is not None or transactions:
                raise Undigested("there is one head, and it comes before all else")
            head = part
        elif isinstance(part, Transaction):
            if head is None:
                raise Undigested("a transaction comes before the head")
            transactions.append(part)
        else:
            refusal = part
    return Read(head, transactions, refusal)


def told(refused: Refusal) -> str:
    """A refusal in one line: code, path, value, and what was expected."""
    found = f" {refused.path}" if refused.path else ""
    value = f" has {refused.value!r}" if refused.value is not None else ""
    expected = f", expected {refused.expected}" if refused.expected else ""
    return f"{refused.code}{found}{value}{expected}"
