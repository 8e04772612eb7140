"""The commands: their arguments, and what they print."""
