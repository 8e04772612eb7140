"""Runs a deployed function: settings, clients, events, handlers, telemetry."""
