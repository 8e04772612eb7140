"""The order of a run: a walker of the state machine's definition."""
