"""Predicted seconds of copying: a fixed cost an entry plus its bytes over a rate.

A request can ask for more operations at a destination that is a file system:

| request                     | more | for                                                                     |
|-----------------------------|------|-------------------------------------------------------------------------|
| ``attributes.uid``, ``gid`` | 3    | a chown, a chmod after it, and the ACCESS that a link then asks first   |
| ``overwrite: never``        | 0    | a link and the removal of the staged name, as without it                |
| ``overwrite: if-newer``     | 2    | a refused link, a look at what the server has there, and a rename       |
| ``backup_to``               | 4    | the same, the link that keeps what is there, and ACCESS before it       |

Each entry counts as one whose place is taken: what is there is not known for all.
"""

from __future__ import annotations

from fanout.facts import aws, tuning
from fanout.facts.operations import OPERATIONS_PER_FILE
from fanout.model.shard import Rates
from fanout.request.options import Overwrite
from fanout.request.request import Request

# Chosen, not measured: 64 requests in flight that take 60 ms each or, of large objects, 50 MB/s each.
INSIDE_S3_RATES = Rates(seconds_per_entry=0.001, bytes_per_second=3_200_000_000.0)

# docs.aws.amazon.com/efs/latest/ug/performance.html and the Lambda limits, as in `limits`.
DEFAULT_RATES = Rates(
    seconds_per_entry=OPERATIONS_PER_FILE * aws.EFS_WRITE_SECONDS / tuning.CLIENT_OPERATIONS_IN_FLIGHT,
    bytes_per_second=float(aws.LAMBDA_NETWORK_BYTES_PER_SECOND),
)

OWNER_OPERATIONS, BACKUP_OPERATIONS = 3.0, 4.0
OVERWRITE_OPERATIONS = {Overwrite.ALWAYS: 0.0, Overwrite.NEVER: 0.0, Overwrite.IF_NEWER: 2.0}


def operations_of(request: Request) -> float:
    """The operations of writing one file to a file system as the request wants it, by the table above."""
    owner = OWNER_OPERATIONS if request.attributes.uid is not None or request.attributes.gid is not None else 0.0
    placing = BACKUP_OPERATIONS if request.backup_to is not None else OVERWRITE_OPERATIONS[request.overwrite]
    return OPERATIONS_PER_FILE + owner + placing
