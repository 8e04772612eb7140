"""The adapters, one suite for each port."""
