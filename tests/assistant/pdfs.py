"""PDFs written by hand: lines of text at known places."""

from __future__ import annotations

from collections.abc import Sequence

LEFT, FIRST, STEP, SIZE = 60, 780, 14, 11
"""Where the first line begins, from the lower left corner; from line to line; height of the letters: in points."""
WIDTH, HEIGHT = 595, 842


def pdf(*pages: Sequence[str]) -> bytes:
    """A PDF of pages of lines; a page without lines has a picture only, which is a grey square."""
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", font]
    kids = []
    for lines in pages:
        words = b" ".join(b"(" + _escaped(line) + b") Tj T*" for line in lines)
        drawn = b"BT /F1 %d Tf %d %d Td %d TL " % (SIZE, LEFT, FIRST, STEP) + words + b" ET"
        if not lines:
            drawn = b"0.5 g 100 100 200 200 re f"
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (WIDTH, HEIGHT, len(objects))
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    made, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return made + end + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(made))


def _escaped(line: str) -> bytes:
    return line.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
