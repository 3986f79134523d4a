"""Market adapter for the Netherlands: EDSN's portal, the connection register (C-AR) and the P4 portal."""

from __future__ import annotations

from adapters.nl_edsn.adapter import NlEdsn, adapter

__all__ = ["NlEdsn", "adapter"]
