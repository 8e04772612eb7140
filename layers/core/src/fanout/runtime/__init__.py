"""The frame of a deployed function: settings, clients, events, handlers, telemetry."""
