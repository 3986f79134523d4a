"""Finding the passages that may answer a question."""
