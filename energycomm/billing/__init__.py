"""Billing periods: what a contract consumed between two days, and whether it is ready to be billed."""
