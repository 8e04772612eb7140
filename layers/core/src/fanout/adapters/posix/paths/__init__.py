"""Opening paths below a root, never through a symlink."""
