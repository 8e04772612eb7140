"""The smallest rules, each at the lowest level that can break it."""
