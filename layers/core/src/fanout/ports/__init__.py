"""Protocols of all that use cases ask of the outside."""
