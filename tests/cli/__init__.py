"""The command line against services that are stood in for."""
