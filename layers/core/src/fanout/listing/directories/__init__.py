"""Directories while a tree is listed: open, implied, extra."""
