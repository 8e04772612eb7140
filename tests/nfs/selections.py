"""What pytest runs in the guest, with its temporary directories on a mount."""

from __future__ import annotations

import os
from dataclasses import dataclass

IN_GUEST = "FANOUT_IN_GUEST" in os.environ
# ``offered``: where no guest comes up, tests are skipped with the reason. ``required``: they fail then. ``whole``: they
# fail then, and every selection runs.
ASKED = os.environ.get("FANOUT_NFS", "")
IS_REQUIRED = ASKED in ("required", "whole")


@dataclass(frozen=True)
class Selection:
    """``arguments`` of pytest; ``seconds`` at most, with a translated processor on a busy machine."""

    name: str
    arguments: tuple[str, ...]
    seconds: float


_INSIDE = "tests/nfs/inside"
# Of each thing that only a real client shows the quickest test; nothing that waits for the server's grace period.
GATE = Selection(
    "gate",
    (
        f"{_INSIDE}/test_lab.py::test_an_open_file_that_is_unlinked_keeps_a_hidden_name",
        f"{_INSIDE}/test_lab.py::test_another_client_has_a_cache_of_its_own",
        f"{_INSIDE}/test_calls.py",
        f"{_INSIDE}/test_clients.py::test_files_go_to_the_directory_that_stands_where_another_client_removed_one",
        f"{_INSIDE}/test_hidden_writes.py::test_a_move_deletes_no_file_that_another_client_wrote[in_place]",
        f"{_INSIDE}/test_hidden_writes.py::test_a_sync_deletes_no_extra_that_another_client_wrote",
        f"{_INSIDE}/test_hidden_writes.py::test_a_run_sees_what_another_client_closed_before_it_began[in_place]",
        f"{_INSIDE}/test_hidden_writes.py::test_a_directory_that_another_client_put_in_anothers_place_is_no_success",
        f"{_INSIDE}/test_hidden_writes.py::test_a_version_that_another_client_s_readers_follow_the_link_to_stays",
        f"{_INSIDE}/test_unlinked_files.py::test_what_another_client_holds_open_goes_at_once_and_it_is_fenced",
        f"{_INSIDE}/test_write_protected.py::test_the_next_run_closes_what_a_dead_one_opened",
        f"{_INSIDE}/test_operations.py::test_a_copy_asks_five_operations_a_file_where_it_renames",
    ),
    900,
)


def _files(room: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/{room}/test_{name}.py" for name in names)


WHOLE = (
    Selection("inside", (_INSIDE,), 2700),
    Selection("posix", ("tests/adapters/posix",), 3600),
    Selection("mounts", ("tests/contract", "-k", "(directory or mount-root) and not server"), 3600),
    Selection(
        "runs",
        (
            *_files("runs", "ages", "backup", "deep_trees", "fencing", "file_system_faults", "flow", "kills"),
            *_files("runs", "kills_in_finishing", "kills_in_moving", "kills_in_publishing", "publish"),
            *_files("runs", "publish_attacks", "publish_touched", "reasons", "rollbacks", "semantics"),
            *_files("runs", "source_changes", "there_and_back", "without_links"),
            *_files("verifying", "verification", "verify_attributes", "verify_big_files", "told"),
        ),
        7200,
    ),
    Selection("two mounts", ("tests/staging",), 7200),
    Selection(
        "deletions and resumptions",
        (
            *_files("deleting", "between_two_names", "move", "move_again", "not_copied", "published_below"),
            *_files("deleting", "stripped_copies", "sync", "sync_deletion", "sync_forms", "unkept_owners"),
            *_files("resuming", "resume_on_a_mount", "rows_again", "taken_over_between_mounts"),
            *_files("resuming", "taken_over_on_a_mount", "verified_earlier"),
        ),
        7200,
    ),
)
ADVERSARY_SECONDS = 1800


def asked_for() -> tuple[Selection, ...]:
    """Every selection if the whole is asked for, else that of the gate."""
    return WHOLE if ASKED == "whole" else (GATE,)
