"""The engine on one machine: the committed state machine, its use cases and its ledger in one process."""
