"""Comparing which names are one file at both ends."""
