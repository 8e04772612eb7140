"""The way to a bucket: the region where it is asked, and the credentials that sign for it."""

from __future__ import annotations

from typing import NamedTuple

from fanout.adapters.aws.credentials import CredentialsProvider
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.aws.sigv4 import Signer


class Way(NamedTuple):
    """Where requests to a bucket are sent, and what signs them."""

    endpoint: Endpoint
    signer: Signer
    credentials: CredentialsProvider

    @classmethod
    def to(cls, endpoint: Endpoint, credentials: CredentialsProvider) -> Way:
        """The way to an endpoint, with the signer of its region."""
        return cls(endpoint, Signer(endpoint.region), credentials)

    def other(self, region: str = "", credentials: CredentialsProvider | None = None) -> Way:
        """The way to a bucket of another region, or with other credentials; each stays where none is given."""
        found = self if not region else Way.to(Endpoint(region, self.endpoint.url), self.credentials)
        return found if credentials is None else found._replace(credentials=credentials)
