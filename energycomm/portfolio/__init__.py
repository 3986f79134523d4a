"""A supplier's portfolio as a table: what its columns are, how files are read, and what the rows become."""
