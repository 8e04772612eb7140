"""HTTP by libcurl, in one thread for all exchanges of a process."""
