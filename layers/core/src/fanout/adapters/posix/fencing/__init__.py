"""The run's right to write: its staging directory as a token, and others' taken from them."""
