"""What becomes of a pair: the rule, its proofs, its outcome."""
