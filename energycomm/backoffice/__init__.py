"""The back office is told what happened: which notifications there are, and where they go."""
