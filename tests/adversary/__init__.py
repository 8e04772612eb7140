"""The adversary: whole runs among faults, lies and other writers, judged by one oracle."""
