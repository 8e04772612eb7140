"""A new version is switched to when it is whole, and old ones go."""
