"""The name that an entry gets at the destination."""
