"""The market of Denmark: documents of CIM, in XML and JSON, and of ebIX, as the hub of Energinet exchanges them.

`table.yaml` says where each leaf goes; docs/markets/dk.md says what is assumed where nothing is published.
"""

from __future__ import annotations

from adapters.dk_energinet.adapter import adapter

__all__ = ["adapter"]
