"""A list of entries in place of a listing."""
