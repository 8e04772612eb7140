"""Progress of a run: read from its ledger, computed, and shown while it runs."""
