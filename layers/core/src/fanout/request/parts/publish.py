"""Publishing whole trees: the field of a request, and where its versions lie; docs/how-to/publish.md is the contract.

| below the destination      | is                                                                         |
|----------------------------|----------------------------------------------------------------------------|
| ``LINK``                   | a symlink to the version that readers see                                  |
| ``versions/ID/``           | a version: a whole tree, under the id of the run that made it               |
| ``versions/.removed-ID/``  | a version on its way out, which nobody can go back to                       |
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

# The directory of the versions, beside the link.
VERSIONS = "versions"
# Beside them: whose versions they are.
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
    ]
    keep: Annotated[
        int,
        Meta(ge=1, le=MOST_KEPT, description="versions that stay, the published one counted; older ones are removed"),
    ] = 5
    keep_hours: Annotated[
        float, Meta(ge=0, description="a version stays for so long after it was last live, however many there are")
    ] = 0.0


def version_place(root: str, version: str) -> str:
    """The place of a version in its store, with ``/`` at its end; ``root`` is the destination's place."""
    return f"{root}{VERSIONS}/{version}/"
