"""Fields of a request that are documents of their own, and their rules."""
