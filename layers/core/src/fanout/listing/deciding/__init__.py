"""Decides each pair: the rule, its proofs, its outcome."""
