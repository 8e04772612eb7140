"""Rates, shared among functions and processes."""
