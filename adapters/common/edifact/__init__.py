"""EDIFACT for markets that write it: syntax, counters, segment groups. Directories and codes are the market's own."""
