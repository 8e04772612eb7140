"""Objects in archives of S3."""
