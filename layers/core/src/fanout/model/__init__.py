"""The values that every room speaks of: entry, outcome, location, segment, shard."""
