"""The ledger in a directory of this machine: its objects, single objects by range, and the runs at work."""
