"""Limits and prices of AWS, and this product's own tuning, each with its source."""
