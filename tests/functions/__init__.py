"""The handlers, called as Lambda calls them."""
