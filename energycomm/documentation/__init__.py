"""Pages of the documentation that are written from the program's own data, so that they cannot be out of date."""
