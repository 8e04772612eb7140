"""The outside behind the ports: S3, file systems, AWS, HTTP."""
