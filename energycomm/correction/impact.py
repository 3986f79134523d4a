"""What changed rules would change: verdicts over stored messages, before the rules go live."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from energycomm.correction.cases import APPLIED
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import read_catalogue
from energycomm.engine.problems import BrokenCatalogue
from energycomm.errors import UserError
from energycomm.market.installed import Markets
from energycomm.pipeline.fold import Entry, Judge
from energycomm.pipeline.history import judged_anew
from energycomm.pipeline.rejudging import REJECTED
from energycomm.pipeline.rows import error_codes


class Shift(Struct, frozen=True, kw_only=True):
    """A verdict that would change."""

    message_id: int
    access_point: str
    kind: str
    before: str
    after: str
    codes_before: tuple[str, ...]
    codes_after: tuple[str, ...]

    @property
    def words(self) -> str:
        """What changes, for counting: `rejected FR-R03 -> accepted`."""
        return f"{_words(self.before, self.codes_before)} -> {_words(self.after, self.codes_after)}"


class Impact(Struct, frozen=True, kw_only=True):
    """What changed rules would change.

    Attributes:
      judged: how many messages were judged with them.
      shifts: every verdict that would change.
    """

    judged: int
    shifts: tuple[Shift, ...]

    def counts(self) -> list[tuple[str, int]]:
        """How often each change happens, the most frequent first."""
        return Counter(shift.words for shift in self.shifts).most_common()


def _words(state: str, codes: tuple[str, ...]) -> str:
    return " ".join([state, *codes])


def impact(store: Store, engine: Judge, markets: Markets, since: int) -> Impact:
    """Judge the access points with messages that arrived since an instant again with other rules; nothing is stored.

    Args:
      store: the EIS.
      engine: the rules that may go live.
      markets: the installed ones.
      since: microseconds since the epoch; only messages that arrived since then are compared.
    """
    judged = 0
    shifts: list[Shift] = []
    for point, market, identifier, recent in _points(store, since):
        codes = _codes(store, recent)
        for entry in judged_anew(store, engine, markets.zone(market), point):
            if entry.message_id in recent:
                judged += 1
                shift = _shift(entry, identifier, codes.get(entry.message_id, ()))
                if shift is not None:
                    shifts.append(shift)
    return Impact(judged=judged, shifts=tuple(shifts))


def _points(store: Store, since: int) -> Iterator[tuple[int, str, str, set[int]]]:
    sql = (
        "SELECT k.access_point_id, p.market, p.identifier, k.id FROM kernel_message k "
        "JOIN access_point p ON p.id = k.access_point_id WHERE k.received_at >= ?"
    )
    with reading(store.engine) as connection:
        rows = driver_of(connection).rows(sql, (since,))
    recent: dict[tuple[int, str, str], set[int]] = {}
    for point, market, identifier, number in rows:
        recent.setdefault((point, market, identifier), set()).add(number)
    for (point, market, identifier), numbers in sorted(recent.items()):
        yield point, market, identifier, numbers


def _codes(store: Store, ids: set[int]) -> dict[int, tuple[str, ...]]:
    sql = "SELECT message_id, error_code FROM finding WHERE \"current\" AND severity = 'error'"
    found: dict[int, set[str]] = {}
    with reading(store.engine) as connection:
        for number, code in driver_of(connection).matching(sql, sorted(ids), "message_id"):
            found.setdefault(number, set()).add(code)
    return {number: tuple(sorted(codes)) for number, codes in found.items()}


def _shift(entry: Entry, identifier: str, codes: tuple[str, ...]) -> Shift | None:
    verdict, stored = entry.verdict, entry.before
    assert verdict is not None
    assert stored is not None
    before = "accepted" if stored in APPLIED else "rejected" if stored in REJECTED else stored
    new_codes = tuple(sorted(error_codes(verdict)))
    given_up = entry.given_up and verdict.label == "quarantined"
    same = before == verdict.label and (before != "rejected" or codes == new_codes)
    if same or given_up or before == "to_replay":
        return None
    return Shift(
        message_id=entry.message_id,
        access_point=identifier,
        kind=type(entry.message).__name__,
        before=before,
        after=verdict.label,
        codes_before=codes,
        codes_after=new_codes,
    )


def catalogue_named(store: Store, name: str) -> Catalogue:
    """A catalogue by its name: a folder of rules, or the first digits of a version that the EIS knows.

    Raises:
      UserError: there is none, several, or it is broken.
    """
    if Path(name).is_dir():
        return _read(Path(name), name)
    with reading(store.engine) as connection:
        rows = driver_of(connection).rows("SELECT hash, catalogue FROM rules_version ORDER BY id DESC")
    found = [row for row in rows if row[0].startswith(name)]
    if len(found) != 1:
        known = ", ".join(row[0] for row in rows[:10])
        words = "no folder and no version" if not found else "the beginning of several versions"
        raise UserError(f"{name!r} is {words} of the rules.", f"Versions: {known}.")
    with tempfile.TemporaryDirectory(prefix="energycomm-rules-") as folder:
        for path, text in json.loads(found[0][1]).items():
            file = (Path(folder) / path).resolve()
            if not file.is_relative_to(Path(folder).resolve()):
                raise UserError(f"The version {name} of the rules holds a file outside of its folder.")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        return _read(Path(folder), name)


def _read(folder: Path, name: str) -> Catalogue:
    catalogue, problems = read_catalogue(folder, check_examples=False)
    if problems:
        raise UserError(f"The rules {name} are broken.\n{BrokenCatalogue(problems)}")
    return catalogue
