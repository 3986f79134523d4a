"""What a market must offer to the gateway."""
