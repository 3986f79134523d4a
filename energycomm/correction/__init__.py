"""Correction of refused messages: analysis, trial, recorded campaigns, undo."""
