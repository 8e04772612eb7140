"""What ProbeEfs does to a file system."""
