"""Runs of a stack or of this machine: started, watched, shown."""
