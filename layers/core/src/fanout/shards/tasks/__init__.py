"""The tasks that work on shards: their attempts in the ledger, their progress, their seconds."""
