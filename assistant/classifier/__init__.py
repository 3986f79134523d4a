"""The Kernel's apprentice: models that say beforehand what the rules will say of a message."""
