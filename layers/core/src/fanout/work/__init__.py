"""Runs an attempt of a task: context, threads, processes, memory."""
