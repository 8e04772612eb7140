"""S3 without boto3: a signer, a curl transport with retries, a typed client, and the ports on top of it."""
