"""Deleting below a root of a mount, by way of one room."""
