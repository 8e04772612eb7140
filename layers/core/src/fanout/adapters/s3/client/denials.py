"""Reads why S3 denied a request, and says which policy of which account lacks what.

S3 tells a reason to callers of the bucket's own account and organisation, and of KMS to all; others hear "Access
Denied". Source: docs.aws.amazon.com, IAM/latest/UserGuide/troubleshoot_access-denied.html, and
AmazonS3/latest/userguide/troubleshoot-403-errors.html.
"""

from __future__ import annotations

import re

from msgspec import Struct

DECRYPT = "kms:Decrypt"
_SAID = re.compile(
    r'(?:User: )?(?P<who>\S+) is not authorized to perform: (?P<action>\w+:\w+) on resource: "?(?P<resource>[^\s"]+)"?'
    r"(?P<why>.*)",
    re.DOTALL,
)
_ACCOUNT = re.compile(r"arn:[\w-]+:\w+:[\w-]*:(\d{12}):")

# By what S3 names in its reason, the first that it names: where the permission is missing, or where a Deny stands.
# ``owner`` is the account of the resource, ``caller`` that of the role.
_PLACES = {
    "identity-based polic": "the policies of {who} ({given})",
    "permissions boundary": "the permissions boundary of {who}",
    "session polic": "the session of {who}",
    "service control polic": "a service control policy over {caller}",
    "resource control polic": "a resource control policy over {owner}",
    "VPC endpoint polic": "the policy of the VPC endpoint",
    "resource-based polic": "{resource_policy}",
}
_GIVEN = {
    "kms": "KmsKeyArns names those of the stack's roles",
    "s3": "ReadPrefixes and WritePrefixes name those of the stack's roles",
}
_RESOURCE_POLICY = {"kms": "the key policy of {resource}, in {owner}", "s3": "the bucket policy of {resource}"}


class Denial(Struct, frozen=True):
    """The words of S3: who may not do what on which resource, and why."""

    who: str
    action: str
    resource: str
    why: str

    @property
    def remedy(self) -> str:
        """Which policy must allow it, or stop denying it."""
        service = self.action.partition(":")[0]
        known = {"who": self.who, "resource": self.resource, "owner": _account(self.resource, "its owner's account")}
        names = {
            **known,
            "caller": _account(self.who, "the role's account"),
            "given": _GIVEN.get(service, "its account's matter"),
            "resource_policy": _RESOURCE_POLICY.get(service, "the policy of {resource}").format(**known),
        }
        places = [text.format(**names) for words, text in _PLACES.items() if words in self.why]
        where = places[0] if places else f"the policies of both, the role and {self.resource}"
        if "explicit deny" in self.why and "explicitly denies" not in self.why:
            return f"a Deny of {self.action} in {where} forbids it"
        return f"allow {self.action} on {self.resource} to {self.who} in {where}"


def denial_of(message: str) -> Denial | None:
    """The denial that a message of S3 tells; ``None`` where it says no more than that access is denied."""
    found = _SAID.search(message)
    return Denial(**found.groupdict()) if found else None


def _account(arn: str, unknown: str) -> str:
    found = _ACCOUNT.match(arn)
    return f"account {found[1]}" if found else unknown
