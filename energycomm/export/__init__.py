"""What comes out for warehouses and billing: the subjects of the store as flat rows, whole or what changed since."""
