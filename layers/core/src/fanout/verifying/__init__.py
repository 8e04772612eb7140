"""VerifyShard: both ends compared again."""
