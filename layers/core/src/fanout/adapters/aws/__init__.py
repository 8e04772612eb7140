"""AWS besides S3: signer, credentials, boto3's clients."""
