"""S3 computes the checksums that a verification would have to read objects for."""
