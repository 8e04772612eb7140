"""Checksums that tell whether two ends hold the same bytes, whichever of them a store keeps."""
