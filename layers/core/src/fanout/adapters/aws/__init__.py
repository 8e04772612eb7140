"""AWS beside S3: signer, credentials, boto3's clients."""
