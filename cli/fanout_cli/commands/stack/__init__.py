"""The commands that make, examine and measure a stack on AWS."""
