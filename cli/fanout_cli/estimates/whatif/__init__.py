"""A run that has ended, replayed at other settings."""
