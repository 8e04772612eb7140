"""Which tests ``make quick``, ``make test`` and ``make test-all`` run; ``make test-all`` runs every one.

``pytest --command NAME`` selects those of a command. Without it pytest runs all that its arguments name.
"""

from __future__ import annotations

from typing import Final

COMMANDS: Final = ("quick", "test", "all")

# Decisions, whole runs in memory and the documents that commands send: no server, no emulator, no browser.
QUICK: Final = (
    *("tests/facts", "tests/model", "tests/request", "tests/ledger", "tests/work", "tests/turns", "tests/shards"),
    *("tests/efs", "tests/checksums", "tests/restoring", "tests/pacing", "tests/forecast", "tests/listing"),
    *("tests/resuming", "tests/certificate", "tests/verifying", "tests/copying", "tests/finishing", "tests/books"),
    *("tests/staging", "tests/deleting", "tests/publishing", "tests/partition", "tests/summary", "tests/planning"),
    *("tests/golden", "tests/functions/test_budget.py", "tests/runs/test_flow.py", "tests/runs/test_semantics.py"),
    *("tests/runs/test_kills.py", "tests/runs/test_publish.py", "tests/cli/test_documents.py"),
    *("tests/cli/test_whole_runs.py", "tests/cli/test_runs_after_runs.py"),
)

_STACK, _DOCUMENTED = "tests/e2e/test_stack.py", "tests/e2e/test_documented_runs.py"
# What ``make test`` leaves out, and what it runs that guards the same at a lower level.
ONLY_ALL: Final = {
    # The emulator's guards, which are no part of the product.
    "tests/e2e/test_admission.py": "tests/cli/local/test_access.py",
    "tests/e2e/test_emulator.py": "tests/cli/local/test_policies.py",
    "tests/e2e/test_function_limits.py": _STACK,
    # A killed function of a small run is still taken over there; the rest in memory.
    f"{_STACK}::test_a_killed_worker_costs_a_retry_of_its_shard_and_nothing_else": "tests/runs/test_kills.py",
    # Packages and further ways to deploy: tests/e2e/test_stack.py deploys the stack that was built.
    "tests/e2e/test_layer.py": "tests/scripts/test_supply.py",
    "tests/e2e/test_deployment.py": "tests/template/test_data.py",
    "tests/e2e/test_package.py": "tests/template/test_events.py",
    "tests/e2e/test_release.py": "tests/scripts/test_launch_address.py",
    "tests/e2e/test_organisations.py": "tests/template/test_all_in_vpc.py",
    "tests/e2e/test_existing_file_system.py": "tests/template/test_rules.py",
    "tests/e2e/test_pasted.py": "tests/docs/test_commands.py",
    "tests/e2e/test_cdk.py": "tests/template/test_template.py",
    # Commands and options that run in memory under the deployed rights, and in the state machine's walker.
    "tests/e2e/test_budget.py": "tests/runs/test_max_dollars.py",
    "tests/e2e/test_certificates.py": "tests/cli/certificates/test_certificates.py",
    f"{_DOCUMENTED}::test_the_pages_for_a_first_copy_do_what_they_say": "tests/docs/test_commands.py",
    # It waits for the end of a lease; the lease alone, with a shorter one.
    "tests/cli/here/test_work.py::test_a_run_that_was_killed_is_stopped_and_retried_when_its_lease_has_ended": (
        "tests/embedded/test_leases.py"
    ),
    # Each run of tests/e2e/test_stack.py is under the roles of the stack too, call by call.
    "tests/e2e/test_permissions.py": "tests/functions/test_roles.py",
    "tests/e2e/test_overwrite_options.py": "tests/runs/test_backup.py",
    "tests/e2e/test_probe.py": "tests/statemachine/test_probe.py",
    "tests/e2e/test_request_options.py": "tests/runs/test_restores.py",
    "tests/e2e/test_run_commands.py": "tests/cli/test_run_commands.py",
    "tests/e2e/test_schedules.py": "tests/cli/schedules/test_schedule_commands.py",
    "tests/e2e/test_selftest.py": "tests/cli/test_selftest.py",
    "tests/e2e/test_stop_and_retry.py": "tests/cli/test_runs_after_runs.py",
    "tests/e2e/test_two_mounts_options.py": "tests/staging",
    "tests/e2e/test_window.py": "tests/statemachine/test_window.py",
}

# What ``make test`` runs a part of, and all of it with ``FANOUT_LONG=1``, as ``make test-all`` does.
IN_PART: Final = {
    "tests/adversary": "a third of its seeds each day, and of its longest tests a part of their cases",
    "tests/cli/test_runs_after_runs.py": "each command and end of a run between one pair of ends, each day others",
    "tests/cli/certificates/test_certificates.py": "each sixteenth byte of a certificate changed",
    "tests/contract/test_s3_under_faults.py": "60 small objects and a large one, of 300 and 3",
    "tests/embedded/test_kills.py": "an eighth of the writes at which the engine is killed",
    "tests/listing/test_listed_apart.py": "3,000 files of 30,000, and a fifth of the drawn trees",
    "tests/runs/test_kills.py": "60 kills of 200",
    "tests/runs/test_kills_in_finishing.py": "60 kills of 200",
    "tests/runs/test_kills_in_moving.py": "20 kills of 60",
    "tests/runs/test_kills_in_publishing.py": "120 kills of 300",
    "tests/staging/test_two_mounts_faults.py": "40 kills of 150",
    "tests/statemachine/conftest.py": "the walker, without moto's interpreter",
    "tests/statemachine/test_small_account.py": "60 shards of 200",
    "tests/statemachine/test_whole_runs.py": "moto's interpreter with one run a mode",
}


def is_run(test: str, command: str) -> bool:
    """Whether a command runs a file, or a test by its node id."""
    if command == "quick":
        return any(_is_part(test, one) for one in QUICK)
    return command == "all" or not any(_is_part(test, one) for one in ONLY_ALL)


def may_hold(path: str, command: str) -> bool:
    """Whether a file or folder may hold tests of a command, and so is collected."""
    return is_run(path, command) or (command == "quick" and any(_is_part(one, path) for one in QUICK))


def _is_part(test: str, whole: str) -> bool:
    return test == whole or test.startswith((f"{whole}/", f"{whole}::", f"{whole}["))
