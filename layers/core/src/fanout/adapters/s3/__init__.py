"""A tree of objects: what reads, writes, lists and deletes it."""
