"""ListSegment: both ends listed in step, each pair decided and written."""
