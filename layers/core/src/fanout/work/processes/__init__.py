"""The processes of a function: made by its first child, with work that is handed over."""
