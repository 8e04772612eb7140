"""Versions of a tree below a mount, and the symlink that names one of them."""
