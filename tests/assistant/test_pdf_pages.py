"""Pages of a PDF as pictures: where a sentence stands, what is covered, what cannot be drawn."""

from __future__ import annotations

import io

from assistant.knowledge import apart
from assistant.knowledge.loaders.contract import Failure
from assistant.knowledge.pdfpages import WIDEST, Page, show
from tests.assistant.pdfs import FIRST, HEIGHT, LEFT, SIZE, STEP, WIDTH, pdf

CONTENT = pdf(
    ["Meters", "A reading is kept for five years. It is then", "destroyed by the pro-", "cessor."],
    ["Call 01 42 68 53 00 on working days."],
)
SCALE = WIDEST / WIDTH


def drawn(number: int, *sentences: str, cover: bool = False) -> Page:
    page = show(CONTENT, number, sentences, cover=cover)
    assert isinstance(page, Page)
    return page


def line(number: int) -> tuple[float, float]:
    """Top and bottom of the letters of a line, in pixels from above: by the places that the PDF was written with."""
    base = FIRST - number * STEP
    return (HEIGHT - base - SIZE) * SCALE, (HEIGHT - base + SIZE / 2) * SCALE


def test_a_sentence_over_lines_with_a_hyphen_is_marked_line_by_line() -> None:
    page = drawn(1, "It is then destroyed by the processor.")
    assert page.found
    assert len(page.marks) == 3
    for number, (left, top, width, height) in enumerate(page.marks, 1):
        above, below = line(number)
        assert above <= top < top + height <= below
        assert abs(left - LEFT * SCALE) <= 4 or number == 1
        assert width > 0


def test_what_is_not_on_the_page_is_not_found() -> None:
    page = drawn(1, "A reading is kept for ten years.")
    assert not page.found
    assert page.marks == ()


def test_what_the_index_replaces_is_covered_in_the_picture() -> None:
    """The sentence of the index is found although its number stands there as a word in brackets."""
    from PIL import Image

    def grey(page: Page) -> int:
        counted = Image.open(io.BytesIO(page.picture)).convert("RGB").getcolors(1 << 24)
        return sum(count for count, colour in counted or () if colour == (90, 90, 90))

    open_, covered = (drawn(2, "Call [telephone] on working days.", cover=cover) for cover in (False, True))
    assert open_.found
    assert covered.found
    # Fourteen characters, some half as wide as they are high.
    assert grey(covered) - grey(open_) > 14 * (SIZE * SCALE) ** 2 / 3


def test_a_page_that_is_not_there_and_a_file_that_is_no_pdf_are_told() -> None:
    assert show(CONTENT, 3, (), cover=False) == Failure("", "it has 2 pages")
    broken = apart.page(apart.ShowPage(content=b"%PDF-1.4 nothing", number=1, sentences=(), cover=False))
    assert isinstance(broken, Failure)
    assert "no page of a PDF" in broken.why
