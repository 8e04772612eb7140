"""Shards: packing, predicted seconds, attempts, results."""
