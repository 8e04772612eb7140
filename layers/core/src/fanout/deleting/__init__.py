"""Deleting extras of a sync, within its guard."""
