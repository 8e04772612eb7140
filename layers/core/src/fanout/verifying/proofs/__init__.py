"""Taking over what earlier comparisons of a move have proven."""
