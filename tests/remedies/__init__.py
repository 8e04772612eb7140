"""Remedies that an operator follows literally, and the end of the run that follows."""
