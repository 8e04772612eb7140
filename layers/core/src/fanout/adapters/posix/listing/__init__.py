"""Listing a file system in the order of keys."""
