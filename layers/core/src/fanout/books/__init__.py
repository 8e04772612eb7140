"""The books of a run: every entry listed has one outcome."""
