"""The contract between the gateway and the adapter of a market."""
