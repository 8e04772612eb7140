"""Keeping the copy within rates and burst credits."""
