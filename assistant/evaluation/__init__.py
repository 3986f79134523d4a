"""Measuring the assistant: the grids of the literature, on public sets and on the house's own questions."""
