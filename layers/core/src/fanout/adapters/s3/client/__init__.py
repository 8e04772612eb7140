"""The S3 client: requests, retries, and answers held against what was asked."""
