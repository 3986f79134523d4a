"""Notifications to the back office: their kinds and their targets."""
