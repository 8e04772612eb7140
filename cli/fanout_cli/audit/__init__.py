"""Looks at a tree, before anything is moved, for everything that Amazon S3 Files would hide, refuse or change."""
