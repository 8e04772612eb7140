"""StartBatch, PlanTransfer and CheckMount: everything before the first entry is listed."""
