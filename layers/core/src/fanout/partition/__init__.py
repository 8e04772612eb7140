"""PartitionShards: what the listing found, as shards in order."""
