"""Choosing the cheapest plan that ends in time."""
