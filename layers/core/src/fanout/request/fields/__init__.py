"""The fields of any request: their traits, their units, and how a JSON document is held against them."""
