"""The engine on one machine, in this process and in children of it."""
