"""CopyShard: entries and blocks, copied."""
