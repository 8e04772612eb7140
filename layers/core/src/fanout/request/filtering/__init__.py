"""Filters of a request: the entries that it takes, and the directories that no filter can take."""
