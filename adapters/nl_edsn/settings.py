"""Which version of each message is written and read, and which requests go out in batches: what a licensee may set.

EDSN gives requests and answers of one service versions of their own, so each message has one. The setting `mappings`
names a YAML file (docs/markets/nl.md)::

    versions:
      SearchMeteringPointsRequest: "3.0"            # one that is written
      MasterDataUpdateResponse: ["1", "2.1", "3.0"] # all that are read
    batches:
      MoveInRequest: 500                            # points in one MoveInBatchRequest at most

A version decides the namespace, and the elements where versions that we know differ; of any other the elements are
those of the nearest known one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from adapters.nl_edsn.types import BY_LABEL, ROWS, Row, namespace

SENT: Mapping[str, str] = {
    "MoveInRequest": "1.2",
    "MoveOutRequest": "1.0",
    "ChangeOfSupplierRequest": "1.1",
    "EndOfSupplyRequest": "1.0",
    "ChangeOfPVRequest": "1.0",
    "NameChangeRequest": "1.1",
    "NoticeEOSNotification": "1.3",
    "MeterReadingExchangeNotification": "1.0",
    "MasterDataRequest": "1.0",
    "GetSCMPInformationRequest": "1.0",
    "GetMeteringPointRequest": "1.2",
    "SearchMeteringPointsRequest": "1.2",
    "ContractDataRequest": "1.1",
    "P4CollectedDataBatchRequest": "2.0",
    "MoveInBatchRequest": "1.2",
    "MoveOutBatchRequest": "1.0",
    "ChangeOfSupplierBatchRequest": "1.1",
    "EndOfSupplyBatchRequest": "1.0",
    "ChangeOfPVBatchRequest": "1.0",
    "MasterDataBatchRequest": "1.0",
    "P4CollectedDataBatchResultRequest": "2.0",
    "GainResultRequest": "1.0",
    "LossResultRequest": "1.0",
    "RejectionResultRequest": "1.0",
    "UpdateResultRequest": "1.0",
    "MasterDataUpdateRequest": "1.0",
    "MasterDataGainRequest": "1.0",
    "MasterDataBatchRejectionRequest": "1.0",
    "NoticeEOSRequest": "1.0",
    "MeterReadingExchangeRequest": "1.0",
    "RejectionMeterReadingRequest": "1.0",
    "FileExchangeResultRequest": "1.1",
}
"""Message that we write -> its version."""

SECTIONS = ("versions", "batches")
"""Sections of the file."""

MOST_IN_A_BATCH = 1000
"""No schema bounds the points of a batch; this keeps one message small."""

_VERSION = re.compile(r"[1-9][0-9]?(\.[0-9]{1,2})?")


def batch_of(name: str) -> str:
    """The batch message of a request: MoveInRequest, MoveInBatchRequest."""
    return f"{name.removesuffix('Request')}BatchRequest"


class Settings(NamedTuple):
    """What is written and read.

    Attributes:
      sent: message -> version.
      rows: what is read, with the versions of each message.
      batches: request -> points in one batch at most, of those that go out in batches.
    """

    sent: Mapping[str, str] = SENT
    rows: tuple[Row, ...] = ROWS
    batches: Mapping[str, int] = {}

    def namespace(self, name: str) -> str:
        """The namespace of a message that we write."""
        return namespace(name, self.sent[name])

    def number(self, name: str) -> int:
        """The number of the version of a message that we write: 3 of 3.0."""
        return int(self.sent[name].partition(".")[0])


def read_settings(path: Path) -> Settings:
    """The settings of a file.

    Args:
      path: of the YAML file.

    Raises:
      ValueError: it has a mistake; the text says where, what was found and what is expected.
    """
    try:
        told = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{path}: {error}") from error
    if not isinstance(told, dict):
        raise ValueError(f"{path}: expected the sections versions and batches")
    for name in map(str, told):
        if name not in SECTIONS:
            near = difflib.get_close_matches(name, SECTIONS, 1)
            meant = f"; meant {near[0]}?" if near else ""
            raise ValueError(f"{path}: {name}: expected the sections versions and batches{meant}")
    versions = _section(told.get("versions"), f"{path}: versions")
    batches = _section(told.get("batches"), f"{path}: batches")
    sent, read = dict(SENT), {row.label: row for row in ROWS}
    for name, value in versions.items():
        where = f"{path}: versions.{name}"
        _known(name, (*SENT, *BY_LABEL), where)
        given = [str(one) for one in value] if isinstance(value, list) and name in read else [str(value)]
        wrong = [one for one in given if not _VERSION.fullmatch(one)]
        if wrong or not given:
            raise ValueError(f"{where}: found {value!r}, expected a version like 1.2 in quotes")
        if name in sent:
            sent[name] = given[-1]
        if name in read:
            read[name] = _with_versions(read[name], given)
    for name, most in batches.items():
        where = f"{path}: batches.{name}"
        _known(name, [one for one in SENT if batch_of(one) in SENT], where)
        if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= MOST_IN_A_BATCH:
            raise ValueError(f"{where}: found {most!r}, expected 1 to {MOST_IN_A_BATCH} points")
    return Settings(sent, tuple(read.values()), batches)


def _section(told: Any, where: str) -> dict[str, Any]:
    if told is None:
        return {}
    if not isinstance(told, dict):
        raise ValueError(f"{where}: found {told!r}, expected messages with values")
    return {str(name): value for name, value in told.items()}


def _known(name: str, names: Iterable[str], where: str) -> None:
    known = tuple(dict.fromkeys(names))
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        raise ValueError(f"{where}: no such message{f'; meant {near[0]}?' if near else ''}")


def _with_versions(row: Row, versions: list[str]) -> Row:
    """A row that reads other versions; of two in one namespace the last names it."""
    spaces = {namespace(row.label, version): version for version in versions}
    return row._replace(namespaces=tuple(spaces), versions=tuple(spaces.values()))


DEFAULT = Settings()
"""What is known of EDSN's messages."""
