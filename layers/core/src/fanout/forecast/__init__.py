"""Seconds, dollars and credits, predicted."""
