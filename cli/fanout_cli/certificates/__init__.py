"""Certificates of transfers, checked without the stack that issued them."""
