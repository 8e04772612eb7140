"""What is not ours to choose, and what was chosen: quotas, prices, limits, each with its source."""
