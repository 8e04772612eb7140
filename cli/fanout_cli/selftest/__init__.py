"""`fanout selftest`: proves a deployment by real transfers, each beside its forecast, and removes what it made."""
