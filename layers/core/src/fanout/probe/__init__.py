"""Measuring a file system: experiments, their plan and their result."""
