"""Runs an attempt of a task: context, rates, threads, processes, memory."""
