"""The order of a run: what each state does, and a walker of the state machine."""
