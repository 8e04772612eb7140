"""`fanout selftest`: proves a deployment by real transfers, each with its forecast, and removes what it made."""
