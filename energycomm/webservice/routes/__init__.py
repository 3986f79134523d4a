"""The routes of the API, version 1: one file a subject."""
