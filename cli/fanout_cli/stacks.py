"""The stack that a command works on: one deployed to AWS, found by its outputs, or the one on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fanout_cli.account import held_to_owner, is_chosen, new_session, stated
from fanout_cli.command_error import CommandError, code_of
from fanout_cli.local.errors import LocalRunError
from fanout_cli.local.paths import LocalPaths

if TYPE_CHECKING:
    from fanout_cli.local.clients import Clients

DEFAULT_STACK = "fanout"
NEEDED = ("StateMachineArn", "WorkBucketName")
POLL_SECONDS_REMOTE = 2.0
CONNECT_SECONDS = 10
READ_SECONDS = 30


@dataclass(frozen=True)
class Stack:
    """A deployed stack; ``client`` makes the client of a service. ``option`` is how a command names the stack.

    ``name`` is what people call it, ``stack_name`` what CloudFormation does.
    """

    name: str
    outputs: Mapping[str, str]
    client: Callable[[str], Any]
    option: str
    poll_seconds: float
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        """Whether it is the one on this machine."""
        return self.option == "--local"

    @property
    def stack_name(self) -> str:
        """The stack in CloudFormation."""
        from fanout_cli.local.deployment import STACK_NAME

        return STACK_NAME if self.is_local else self.name

    @property
    def state_machine_arn(self) -> str:
        """The state machine of the transfer."""
        return self.outputs["StateMachineArn"]

    @property
    def work_bucket(self) -> str:
        """The bucket that holds the ledgers."""
        return self.outputs["WorkBucketName"]

    def execution_arn(self, run_id: str) -> str:
        """The execution of a run: its name is the run's id."""
        return f"{self.state_machine_arn.replace(':stateMachine:', ':execution:')}:{run_id}"

    def command(self, verb: str, run_id: str) -> str:
        """A command line that a person can type."""
        return f"fanout {verb} {run_id} {self.option}"


class Where(NamedTuple):
    """The options that name a stack: ``--stack``, ``--local`` and ``--state``."""

    stack: str | None = None
    local: bool = False
    state: Path | None = None

    def find(self) -> Stack:
        """The stack, see ``find_stack``."""
        return find_stack(*self)

    def find_run(self, run: str | None) -> tuple[Stack, str]:
        """The stack, and the run that is named or else its newest one."""
        from fanout_cli.runs.runs import newest_run

        found = self.find()
        return found, run or newest_run(found)


def find_stack(name: str | None, local: bool, state: Path | None) -> Stack:
    """The stack that the options name; without any, the local one if it is up, else ``fanout`` on AWS."""
    here = local_or_none(name, local, state)
    return here or deployed_stack(name or os.environ.get("FANOUT_STACK") or DEFAULT_STACK)


def local_or_none(name: str | None, local: bool, state: Path | None) -> Stack | None:
    """The stack on this machine where the options mean it, or name none and it is up; else ``None``, for AWS."""
    if local and is_chosen():
        raise CommandError("--region and --profile are of AWS; leave them out, or leave --local out")
    if local and name:
        raise CommandError("--stack and --local exclude each other; give one of them")
    if local or (os.environ.get("FANOUT_LOCAL") and not name and not is_chosen()):
        return local_stack(state)
    if not (name or os.environ.get("FANOUT_STACK") or is_chosen()):
        with suppress(LocalRunError):  # not in a checkout
            if LocalPaths.find(state=state).up.exists():
                return local_stack(state)
    return None


def deployed_stack(name: str) -> Stack:
    """A stack on AWS, with the person's own credentials and region. Raises ``CommandError``."""
    from botocore.exceptions import ClientError

    client = aws_client_maker()
    try:
        [described] = client("cloudformation").describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if code_of(error) == "ValidationError" and "does not exist" in str(error):
            region = client("cloudformation").meta.region_name
            raise CommandError(
                f"no stack {name!r} in {region}; name it with --stack, --region, or deploy it with `fanout deploy`"
            ) from error
        raise
    outputs = {one["OutputKey"]: one["OutputValue"] for one in described.get("Outputs", [])}
    parameters = {one["ParameterKey"]: one["ParameterValue"] for one in described.get("Parameters", [])}
    missing = [output for output in NEEDED if output not in outputs]
    if missing:
        raise CommandError(f"the stack {name!r} has no output {missing[0]}: it is not a fan-out transfer; name another")
    client = held_to_owner(client, outputs)
    return Stack(name, outputs, client, f"--stack {name}{stated()}", POLL_SECONDS_REMOTE, parameters)


def aws_client_maker() -> Callable[[str], Any]:
    """Makes clients of services with the person's own credentials, region and profile, each once."""
    from botocore.config import Config

    session = new_session()
    config = Config(
        connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries={"mode": "standard", "max_attempts": 4}
    )

    @cache
    def client(service: str) -> Any:
        return session.create_client(service, config=config)

    return client


def local_stack(state: Path | None) -> Stack:
    """The stack on this machine that ``fanout up`` keeps running. Raises ``CommandError`` if it is not up."""
    from fanout_cli.local.access import Access
    from fanout_cli.local.clients import Clients
    from fanout_cli.local.keeper import read_up

    paths = LocalPaths.find(state=state)
    up = read_up(paths)
    if up is None and paths.up.exists():
        log = paths.log("keeper")
        raise CommandError(f"the local stack has died (log: {log}); run `fanout up` again, or name one with --stack")
    if up is None:
        raise CommandError("the local stack is not up; run `fanout up`")
    return stack_at(Clients(Access.read(paths.access)), up["outputs"])


def stack_at(clients: Clients, outputs: Mapping[str, str]) -> Stack:
    """The stack in the emulator that these are clients of."""
    return Stack("local", outputs, held_to_owner(clients.client, outputs), "--local", poll_seconds=0.1)
