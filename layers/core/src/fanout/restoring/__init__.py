"""S3 brings objects out of their archives, and the run copies them then."""
