"""Values that no market sends, in every leaf of every fixture and every field of every kind, on both databases.

What is expected is told by no rule and no table of ours: a refusal or a verdict, never a break of the program, and the
same on SQLite and PostgreSQL.
"""
