"""What real runs did, held against the protocol that `model/` explores."""
