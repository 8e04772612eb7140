"""Publishing whole trees: the field of a request, and where its versions lie; docs/how-to/publish.md is the contract.

| below the destination      | is                                                                         |
|----------------------------|----------------------------------------------------------------------------|
| ``LINK``                   | a symlink to the version that readers see                                  |
| ``versions/ID/``           | a version: a whole tree, under the id of the run that made it               |
| ``versions/.removed-ID/``  | a version on its way out, which nobody can go back to                       |
| ``versions/.publisher``    | the publisher's note, by which the tree is known as a published one         |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from fanout.model.path_rules import PlainName
from fanout.request.fields.traits import PUBLISHING, Traits

# The directory of the versions, next to the link.
VERSIONS = "versions"
INSIDE_VERSIONS = f"{VERSIONS}/"
# Next to them: whose versions they are.
PUBLISHER = ".publisher"
# Chosen: a file that never changes has a name in each version, and EFS allows a file 177 of them.
MOST_KEPT = 100
LINK_NAME = r"^(?!versions$)(?!\.)[^/\x00]{1,100}$"


class Publish(Struct, frozen=True, forbid_unknown_fields=True):
    """Publishing: the name of the symlink, and which versions stay."""

    link: Annotated[
        str,
        Meta(
            pattern=LINK_NAME,
            description="name of the symlink below the destination that is switched to the new version once it is"
            " whole; readers follow it",
            extra_json_schema={"allowed": "a name without /, not versions, and no . at its beginning"},
        ),
        Traits(PUBLISHING, option="publish"),
    ]
    keep: Annotated[
        int,
        Meta(ge=1, le=MOST_KEPT, description="versions that stay, the published one counted; older ones are removed"),
        Traits(PUBLISHING, option="keep-versions"),
    ] = 5
    keep_hours: Annotated[
        float,
        Meta(ge=0, description="a version stays for so long after it was last live, however many there are"),
        Traits(PUBLISHING, at=-1),
    ] = 0.0


class Publisher(Struct, frozen=True):
    """The publisher's note: whose versions a destination holds, published under this link from this source."""

    link: PlainName
    source: str


def version_place(root: str, version: str) -> str:
    """The place of a version in its store, with ``/`` at its end; ``root`` is the destination's place."""
    return f"{root}{VERSIONS}/{version}/"


def roots_in(path: str) -> Iterator[str]:
    """The directories whose ``versions/`` is, or holds, a path, topmost first; a tree may be published there."""
    at = path.find(INSIDE_VERSIONS)
    while at != -1:
        if at == 0 or path[at - 1] == "/":
            yield path[:at]
        at = path.find(INSIDE_VERSIONS, at + 1)
