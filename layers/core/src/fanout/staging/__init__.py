"""Between two file systems: packs in the work bucket."""
