"""A request: fields, bounds, parsing, and the plan made of it."""
