"""Backups of the whole store: made while it is used, listed, checked and restored."""
