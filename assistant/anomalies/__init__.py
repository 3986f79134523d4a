"""Accepted messages that are unlike their access point's own past and its peers: what no rule says."""
