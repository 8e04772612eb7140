"""The state machine: the real ASL file, read as text and run by moto's interpreter."""
