"""The use cases: one for each Task state, over the domain and the ports alone."""
