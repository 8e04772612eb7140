"""Turns: which runs may write at the same time, and the right to write."""
