"""The rules themselves: files that analysts write, one folder a market, and the predicates they may call."""
