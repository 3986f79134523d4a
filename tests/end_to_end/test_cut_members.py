"""Members that end in the middle: what stands before the cut is taken, the rest is told, and the whole file makes no
doubles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Place

Places = Callable[..., Place]


@pytest.mark.parametrize(
    ("fixture", "end"), [("fr/c15_entries.xml", "</PRM>"), ("nl/gains.xml", "</Portaal_MeteringPoint>")]
)
def test_a_cut_member_keeps_its_whole_pieces_and_the_whole_file_makes_no_doubles(
    place: Places, project_root: Path, tmp_path: Path, fixture: str, end: str
) -> None:
    """Cut within its second piece; the whole file afterwards, or before."""
    content = (project_root / "fixtures" / fixture).read_text("utf-8")
    (tmp_path / "whole.xml").write_text(content, "utf-8")
    (tmp_path / "cut.xml").write_text(content[: content.index(end, content.index(end) + 1) - 9], "utf-8")
    here = place(name="here")
    assert here.process(tmp_path / "cut.xml").code == 2
    assert here.rows("SELECT state FROM member") == [("refused",)]
    assert here.rows("SELECT count(*) FROM ch_message") == [(1,)]
    assert here.rows("SELECT count(*) > 0 FROM kernel_message WHERE state = 'accepted'") == [(1,)]
    assert here.rows("SELECT code FROM incident WHERE severity = 'error'") == [("XML_TRUNCATED",)]
    here.process(tmp_path / "whole.xml")
    later = place(name="later")
    later.process(tmp_path / "whole.xml")
    alone = later.meaning(carriers=False)
    assert here.meaning(carriers=False) == alone
    later.process(tmp_path / "cut.xml")
    assert later.meaning(carriers=False) == alone


def test_a_member_that_is_cut_before_its_first_piece_is_refused_for_that(
    place: Places, project_root: Path, tmp_path: Path
) -> None:
    content = (project_root / "fixtures" / "fr" / "c15_entries.xml").read_text("utf-8")
    here = place()
    for number, length in enumerate((30, content.index("</En_Tete_Flux>"), content.index("<PRM>") + 40)):
        (tmp_path / f"{number}.xml").write_text(content[:length], "utf-8")
        here.process(tmp_path / f"{number}.xml")
    assert here.rows("SELECT code FROM incident WHERE severity = 'error'") == [("XML_TRUNCATED",)] * 3
    assert here.rows("SELECT count(*) FROM ch_message") == [(0,)]
