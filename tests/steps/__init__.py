"""The use cases over real adapters, without an engine."""
