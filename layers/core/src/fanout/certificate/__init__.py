"""The certificate of a transfer: content digests, tree digests, the signed document."""
