"""Content as the database holds it, read by tests that look into the tables themselves."""

from __future__ import annotations

from energycomm.eis.sealing import PLAIN


def clear_xml(stored: object) -> str:
    """Kernel XML from the column `xml` of a store that has no data key."""
    assert isinstance(stored, str)
    return PLAIN.text("kernel_message", 0, stored)


def clear_image(stored: object) -> str:
    """The image of a row from the column `image` of a store that has no data key."""
    assert isinstance(stored, str)
    return PLAIN.text("before_image", 0, stored)
