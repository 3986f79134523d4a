"""Pages of the documentation that are generated from the program's own data."""
