"""What a deployed function starts from: settings, clients, events, handlers, telemetry."""
