"""What freed stuck messages before, as the store records it, and what a stuck message is likely to need."""
