"""Fan-out transfer: moves trees of files between Amazon S3 and Amazon EFS without a server."""

__version__ = "0.1.0"
