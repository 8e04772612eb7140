"""Schedules with names: each starts a request at its times, and its runs carry its name."""
