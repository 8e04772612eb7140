"""One attempt of a task: context, threads, processes, memory."""
