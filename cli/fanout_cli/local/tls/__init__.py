"""The certificates of the local stack, and the authority that its clients trust."""
