"""StartBatch: S3 events in batches, each a run."""
