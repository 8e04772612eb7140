"""What use cases ask of the outside, as protocols."""
