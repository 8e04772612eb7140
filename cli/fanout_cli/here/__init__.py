"""``fanout local MODE``: a run in this process, between directories and S3, with its ledger in a directory."""
