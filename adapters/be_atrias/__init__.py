"""The Belgian adapter: the clearing house's XML, the older EDIFACT generation and the monthly calorific values.

Entry point ``be``; see `adapters.be_atrias.adapter` and docs/markets/be.md.
"""

from adapters.be_atrias.adapter import adapter

__all__ = ["adapter"]
