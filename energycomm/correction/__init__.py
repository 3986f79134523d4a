"""Correction: what consultants do about refused messages, analysed, tried out, recorded, undone."""
