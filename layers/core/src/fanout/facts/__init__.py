"""What is not ours to choose, and what was chosen: limits of AWS, prices, tuning, each with its source."""
