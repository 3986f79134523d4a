"""Addresses of the assistant's pages, below its own."""

QUESTION = "ask"
"""Where questions are sent to."""
UPLOAD = "attachments"
"""Where documents are sent to."""
PLACE = "anomalies"
"""The page of what no rule says."""
