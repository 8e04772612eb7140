"""The ledger of a run in the work bucket: keys, rows, seals."""
