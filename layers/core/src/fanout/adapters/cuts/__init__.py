"""Cutting what is left of a listing into pieces."""
