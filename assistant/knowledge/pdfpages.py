"""A page of a PDF as a picture, with the places of sentences on it.

PDFium draws it. It also tells where each character stands; sentences are compared with it by their letters and digits
alone, since line ends, hyphens and ligatures differ between readers of a PDF.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from assistant.extras import need
from assistant.knowledge.loaders.contract import Failure
from assistant.knowledge.scrubbing import Scrubber

WIDEST, HIGHEST = 1_200, 1_800
"""Pixels of a picture."""
MOST_CHARACTERS = 50_000
"""Characters of a page that are looked at."""
LEAST = 8
"""Letters and digits of a piece that is looked for by itself."""

_REPLACED = re.compile(r"\[(?:secret|email|iban|access point|telephone|name)\]")

Box = tuple[int, int, int, int]


class Page(Struct, frozen=True, kw_only=True):
    """A page.

    Attributes:
      picture: as PNG.
      width, height: in pixels.
      marks: left, top, width and height of each line of a sentence, in pixels.
      found: whether every sentence stands on the page.
      pages: how many pages the PDF has.
    """

    picture: bytes
    width: int
    height: int
    marks: tuple[Box, ...]
    found: bool
    pages: int


def show(
    content: bytes, number: int, sentences: Sequence[str], *, cover: bool, names: Iterable[str] = ()
) -> Page | Failure:
    """Draw a page.

    Args:
      content: bytes of the PDF.
      number: of the page, from 1.
      sentences: whose places are told.
      cover: whether what the index replaces (personal data, secrets) is covered in the picture.
      names: names of people that are covered too.

    Returns:
      The page; why not, where there is none.
    """
    need("pypdfium2", "PIL")
    import pypdfium2
    from PIL import ImageDraw

    try:
        pdf = pypdfium2.PdfDocument(content)
        if not 1 <= number <= len(pdf):
            return Failure("", f"it has {len(pdf)} pages")
        page = pdf[number - 1]
        wide, high = page.get_size()
        picture = page.render(scale=min(WIDEST / max(wide, 1), HIGHEST / max(high, 1))).to_pil().convert("RGB")
        drawn = _Drawn(page, picture.size)
    except pypdfium2.PdfiumError as error:
        return Failure("", f"no page of a PDF that can be drawn: {error}")
    places = [drawn.place(sentence) for sentence in sentences]
    if cover:
        pen = ImageDraw.Draw(picture)
        for start, end in Scrubber(names).spans(drawn.text):
            for left, top, width, height in drawn.boxes(start, end):
                pen.rectangle((left - 1, top - 1, left + width + 1, top + height + 1), fill=(90, 90, 90))
    out = io.BytesIO()
    picture.quantize(64).save(out, "PNG")
    return Page(
        picture=out.getvalue(),
        width=picture.width,
        height=picture.height,
        marks=tuple(box for spans in places for start, end in spans for box in drawn.boxes(start, end)),
        found=all(places),
        pages=len(pdf),
    )


class _Drawn:
    """Where the characters of a page stand in its picture.

    Args:
      page: of PDFium.
      size: of the picture.

    Attributes:
      text: a character for each that PDFium knows.
    """

    def __init__(self, page: Any, size: tuple[int, int]) -> None:
        import pypdfium2.raw

        self._raw = pypdfium2.raw
        self._page, self._size = page, size
        self._characters = page.get_textpage()
        count = min(self._characters.count_chars(), MOST_CHARACTERS)
        codes = (self._raw.FPDFText_GetUnicode(self._characters, place) for place in range(count))
        self.text = "".join(chr(code) if code not in (0, 10, 13) else " " for code in codes)
        self._letters, self._at = _letters(self.text)

    def place(self, sentence: str) -> list[tuple[int, int]]:
        """The spans of a sentence, one for each piece between what the index replaced; none where one is not there."""
        pieces = [letters for piece in _REPLACED.split(sentence) if (letters := _letters(piece)[0])]
        if len(pieces) > 1:
            pieces = [piece for piece in pieces if len(piece) >= LEAST] or pieces
        spans, after = [], 0
        for piece in pieces:
            start = self._letters.find(piece, after)
            if start < 0:
                return []
            after = start + len(piece)
            spans.append((self._at[start], self._at[after - 1] + 1))
        return spans

    def boxes(self, start: int, end: int) -> Iterator[Box]:
        """The boxes of a span of the text, one a line."""
        for number in range(self._characters.count_rects(start, end - start)):
            left, bottom, right, top = self._characters.get_rect(number)
            corners = [self._pixel(left, top), self._pixel(right, bottom)]
            (x, y), (far, low) = (map(min, zip(*corners, strict=True)), map(max, zip(*corners, strict=True)))
            yield x, y, far - x, low - y

    def _pixel(self, x: float, y: float) -> tuple[int, int]:
        from ctypes import byref, c_int

        across, down = c_int(), c_int()
        wide, high = self._size
        self._raw.FPDF_PageToDevice(self._page, 0, 0, wide, high, 0, x, y, byref(across), byref(down))
        return across.value, down.value


def _letters(text: str) -> tuple[str, list[int]]:
    """The letters and digits of a text in small letters, and where each stands."""
    letters, places = [], []
    for place, character in enumerate(text):
        for one in unicodedata.normalize("NFKC", character).casefold():
            if one.isalnum():
                letters.append(one)
                places.append(place)
    return "".join(letters), places
