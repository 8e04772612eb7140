"""Classifies a failed exchange: whether to retry it, and which of our errors it is.

Reads why S3 denied a request, and says which policy of which account lacks what.

S3 tells a reason to callers of the bucket's own account and organisation, and of KMS to all; others hear "Access
Denied". Source: docs.aws.amazon.com, IAM/latest/UserGuide/troubleshoot_access-denied.html, and
AmazonS3/latest/userguide/troubleshoot-403-errors.html.
"""

from __future__ import annotations

import re

from msgspec import Struct

from fanout.adapters.http.curl import AnswerTooLong
from fanout.adapters.http.transport import ConnectionBroken, Response
from fanout.adapters.s3.client.answers import WrongAnswer
from fanout.adapters.s3.client.bucket_headers import Headers, remedy_for
from fanout.model.errors import (
    AccessDenied,
    CustomerKey,
    FanoutError,
    Held,
    InvalidRequest,
    ListingIncomplete,
    NotFound,
    PreconditionFailed,
    Throttled,
    Transient,
    Unreachable,
)

DECRYPT = "kms:Decrypt"
_SAID = re.compile(
    r'(?:User: )?(?P<who>\S+) is not authorized to perform: (?P<action>\w+:\w+) on resource: "?(?P<resource>[^\s"]+)"?'
    r"(?P<why>.*)",
    re.DOTALL,
)
_ACCOUNT = re.compile(r"arn:[\w-]+:\w+:[\w-]*:(\d{12}):")

# By what S3 names in its reason, the first that it names: where the permission is missing, or where a Deny is.
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


_NO_HEADERS: Headers = {}
# Our own code for an answer that is none to what was asked.
WRONG_ANSWER = "WrongAnswer"
# Another write met this one. A completion that meets one again and again is refused: its parts must be sent anew
# (docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html, If-None-Match).
_CONFLICT = "ConditionalRequestConflict"
THROTTLING_CODES = frozenset({"SlowDown", "Throttling", "ThrottlingException", "TooManyRequests"})
PASSING_CODES = frozenset(
    {
        "InternalError",
        "ServiceUnavailable",
        "RequestTimeout",
        "OperationAborted",
        _CONFLICT,
        "BadDigest",
        "ExpiredToken",
        "ConnectionBroken",
        WRONG_ANSWER,
    }
)
# The code of an exchange that no repetition helps: the way to S3 is wrong.
UNREACHABLE = "Unreachable"
PASSING_STATUSES = frozenset({500, 502, 503, 504})

# Refusals of a restore request that say where the object is: on its way out of the archive, or not in one.
RESTORING_CODES = frozenset({"RestoreAlreadyInProgress", "ObjectAlreadyInActiveTierError"})

# Operations that S3 begins to answer with 200 before it knows how they end.
LATE_OPERATIONS = frozenset({"CopyObject", "UploadPartCopy", "CompleteMultipartUpload"})
# The status that a refusal inside such a 200 has outside.
_LATE_STATUSES = {"PreconditionFailed": 412, "NoSuchKey": 404, "NoSuchUpload": 404, "AccessDenied": 403}
_ERROR_DOCUMENT = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<Error[\s>/]")

# docs.aws.amazon.com/AmazonS3/latest/userguide/ServerSideEncryptionCustomerKeys.html; the wording is S3's own.
_CUSTOMER_KEY = "form of Server Side Encryption"

_ACTIONS = {
    "HeadBucket": "s3:ListBucket",
    "ListObjectsV2": "s3:ListBucket",
    "ListMultipartUploads": "s3:ListBucketMultipartUploads",
    "GetBucketOwnershipControls": "s3:GetBucketOwnershipControls",
    "ListParts": "s3:ListMultipartUploadParts",
    "GetObject": "s3:GetObject",
    "HeadObject": "s3:GetObject",
    "DeleteObject": "s3:DeleteObject",
    "DeleteObjects": "s3:DeleteObject",
    "AbortMultipartUpload": "s3:AbortMultipartUpload",
    "RestoreObject": "s3:RestoreObject",
    "GetObjectTagging": "s3:GetObjectTagging",
    "CopyObject": "s3:PutObject and s3:PutObjectTagging, and s3:GetObject and s3:GetObjectTagging on the source,",
    "UploadPartCopy": "s3:PutObject, and s3:GetObject on the source,",
}


class Fault(Struct, frozen=True):
    """A failed exchange: HTTP status (0 without a response), S3's code and message, the bucket's region if known."""

    status: int
    code: str
    message: str = ""
    bucket_region: str = ""
    cause: Exception | None = None

    @property
    def throttled(self) -> bool:
        """Whether S3 asks for fewer requests; a 503 without a code is the SlowDown of a HEAD."""
        return self.code in THROTTLING_CODES or self.status == 429 or (self.status == 503 and not self.code)

    @property
    def passing(self) -> bool:
        """Whether a repetition may succeed."""
        return self.throttled or self.code in PASSING_CODES or self.status in PASSING_STATUSES


def broken(error: ConnectionBroken) -> Fault:
    """The fault of an exchange that ended without a whole response."""
    if isinstance(error, AnswerTooLong):
        return Fault(0, WRONG_ANSWER, str(error), cause=error)
    if error.remedy:
        return Fault(0, UNREACHABLE, f"{error}); {error.remedy}", cause=error)
    return Fault(0, "ConnectionBroken", str(error), cause=error)


def wrong(error: WrongAnswer) -> Fault:
    """The fault of an answer that is none to what was asked."""
    return Fault(0, WRONG_ANSWER, str(error), cause=error)


def find_fault(operation: str, response: Response, key: str = "") -> Fault | None:
    """The fault in a response, also one that hides in a 200; ``None`` if it is for the operation to read.

    Raises ``WrongAnswer`` for an error inside a 200 that S3 never answers so, and for one about another key.
    """
    body, status = response.body, response.status
    if status < 300:
        if operation == "GetObject" or not _ERROR_DOCUMENT.match(body):
            return None
        code = _element(body, b"Code") or "InternalError"
        if operation not in LATE_OPERATIONS and code not in THROTTLING_CODES:
            raise WrongAnswer(f"an error inside a {response.status}: {code}")
        status = _LATE_STATUSES.get(code, response.status)
    else:
        code = _element(body, b"Code")
        if operation == "RestoreObject" and code in RESTORING_CODES:
            return None
        if operation == "GetObject" and response.status == 404 and _is_of_another(body, key):
            raise WrongAnswer(f"a 404 of another key: {_element(body, b'Key')}")
    message = _element(body, b"Message")
    # The header is not in every answer; the document of AuthorizationHeaderMalformed names the region too.
    region = response.headers.get("x-amz-bucket-region") or _element(body, b"Region")
    return Fault(status, code, message, region)


def _is_of_another(body: bytes, key: str) -> bool:
    """Whether an error names another key; a key of odd characters is not always named as it is."""
    named = _element(body, b"Key")
    return bool(named) and key.isprintable() and named != key


def to_error(
    fault: Fault, operation: str, bucket: str, key: str, region: str, bucket_headers: Headers = _NO_HEADERS
) -> FanoutError:
    """Our error for a fault that repetition did not cure. ``bucket_headers``: of each request to the bucket."""
    target = f"s3://{bucket}/{key}"
    said = " ".join(part for part in (str(fault.status or ""), fault.code, fault.message) if part)
    text = f"{operation} on {target}: {said}"
    if fault.code == UNREACHABLE:
        return Unreachable(f"{operation} on {target}: S3 cannot be reached from here ({fault.message}")
    if fault.throttled:
        return Throttled(text)
    if fault.code == WRONG_ANSWER and operation == "ListObjectsV2":
        return ListingIncomplete(text)
    if operation == "CompleteMultipartUpload" and fault.code == _CONFLICT:
        return PreconditionFailed(text)
    if fault.passing:
        return Transient(text)
    wrong_region = bool(fault.bucket_region) and fault.bucket_region != region
    if fault.status in (301, 307) or (fault.status == 400 and wrong_region):
        where = f"is in region {fault.bucket_region}" if wrong_region else "is at another endpoint"
        return InvalidRequest("bucket", f"{bucket} {where}, not {region}", _remedy_for_region(fault, region))
    if fault.code == "NoSuchBucket" or (fault.status == 404 and operation in ("HeadBucket", "ListObjectsV2")):
        return InvalidRequest("bucket", f"{bucket} does not exist", "name a bucket that exists")
    if fault.status == 404:
        return NotFound(text, fault.code)
    if fault.status == 412:
        return PreconditionFailed(text)
    # The second is what CopyObject says of an archived source.
    if fault.code in ("InvalidObjectState", "ObjectNotInActiveTierError"):
        return Held(operation, target, "restore the object from its archive first")
    if _is_of_customer_key(fault, operation):
        return CustomerKey(operation, target, f"an object encrypted with SSE-C is not supported (S3 says: {said})")
    denial = denial_of(fault.message) if fault.code == "AccessDenied" else None
    if denial is not None:
        return AccessDenied(
            operation, target, f"{denial.remedy} (S3 says: {said})", denied=(denial.action, denial.resource)
        )
    if fault.status in (401, 403):
        action = _ACTIONS.get(operation, "s3:PutObject")
        remedy = f"allow {action} and the bucket's KMS key to the role{remedy_for(bucket_headers, bucket, operation)}"
        return AccessDenied(operation, target, f"{remedy} (S3 says: {said})")
    return InvalidRequest("s3", text, "")


def _remedy_for_region(fault: Fault, region: str) -> str:
    if not fault.bucket_region or fault.bucket_region == region:
        return f"name a bucket of {region}"
    return "start again: the plan of a new run asks where each bucket is; this one may have been made anew since"


def _is_of_customer_key(fault: Fault, operation: str) -> bool:
    """Whether S3 wants the key that a customer encrypted an object with; a HEAD says no more than 400."""
    if operation == "HeadObject" and fault.status == 400 and not fault.code:
        return True
    return fault.status == 400 and fault.code == "InvalidRequest" and _CUSTOMER_KEY in fault.message


def _element(body: bytes, name: bytes) -> str:
    from html import unescape  # its table of entities is for the few answers that are errors

    # By search, not by parser: an error document may quote a key that is no valid XML.
    _, found, rest = body.partition(b"<" + name + b">")
    return unescape(rest.partition(b"</")[0].decode("utf-8", "replace")) if found else ""
