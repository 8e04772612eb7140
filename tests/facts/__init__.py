"""The fixed facts of AWS, held against the service models that botocore ships."""
