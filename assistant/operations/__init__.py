"""Answers that are worked out: a closed family of read-only operations on what the house knows exactly."""
