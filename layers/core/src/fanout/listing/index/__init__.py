"""The index of an earlier run, which a run compares with."""
