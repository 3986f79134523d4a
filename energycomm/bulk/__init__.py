"""Stored messages judged again in bulk: whole access points in buckets, in many processes or on a cluster."""
