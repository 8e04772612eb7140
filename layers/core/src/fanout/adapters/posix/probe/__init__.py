"""The operations of a probe on a file system."""
