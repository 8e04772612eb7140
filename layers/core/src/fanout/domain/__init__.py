"""The rules of a transfer: pure values and functions that import the standard library alone."""
