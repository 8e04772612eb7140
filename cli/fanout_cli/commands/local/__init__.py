"""The commands of this machine: ``fanout local`` and what follows it, and ``up``, ``down`` and ``demo``."""
