"""A tree in a file system that the function sees under a path."""
