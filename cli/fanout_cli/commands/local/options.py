"""Options that the commands of ``fanout local`` share, and their terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fanout_cli.command_error import CommandError
from fanout_cli.commands.common_options import EXIT_COMMAND, in_first_section

if TYPE_CHECKING:
    from fanout_cli.here.carry_out import HereOptions
    from fanout_cli.here.ledger import HereLedger
    from fanout_cli.terminal import Terminal

LedgerOption = Annotated[
    str, typer.Option(help="The directory of the ledger; default: fanout in XDG_STATE_HOME or ~/.local/state")
]
WorkOption = Annotated[
    str, typer.Option(metavar="S3", help="s3://bucket/prefix/ for the ledger; machines that share it take turns")
]
S3Option = Annotated[str, typer.Option(help="URL of an S3 server; default: AWS_ENDPOINT_URL_S3, or AWS's")]
NameOption = Annotated[str, typer.Option(help="The run's id; default: the mode and the time")]
KeyOption = Annotated[
    str, typer.Option(metavar="FILE", help="The private key that signs a certificate; default: one of your own")
]
MountHereOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=DIR", help="The directory that efs://NAME/ names; may be repeated", show_default=False),
]
RunOfLedger = Annotated[str | None, typer.Argument(metavar="RUN", show_default=False, help="Default: the newest run")]


class WhereHere(NamedTuple):
    """The place of the ledger, as it was typed."""

    s3_endpoint: str = ""
    state: str = ""
    work: str = ""

    def find(self) -> HereLedger:
        """The ledger. Raises ``CommandError``."""
        from fanout_cli.here.ledger import HereLedger

        return HereLedger(self.state, self.s3_endpoint, self.work)


WHERE: dict[str, Any] = {"s3_endpoint": S3Option, "state": LedgerOption, "work": WorkOption}
NEWEST = WhereHere()


def at_a_ledger(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose ``where`` is given as --s3-endpoint, --state and --work."""

    @wraps(function)
    def run(s3_endpoint: str = "", state: str = "", work: str = "", **given: Any) -> None:
        function(**given, where=WhereHere(s3_endpoint, state, work))

    parameters: list[Parameter] = []
    for one in signature(function, eval_str=True).parameters.values():
        parameters += place_parameters() if one.name == "where" else [one.replace(kind=Parameter.KEYWORD_ONLY)]
    return with_parameters(run, parameters)


def place_parameters(*, in_first: bool = False) -> list[Parameter]:
    """The options of the ledger's place; ``in_first`` they are in the first part of a help."""
    return [
        Parameter(name, Parameter.KEYWORD_ONLY, default="", annotation=in_first_section(hint) if in_first else hint)
        for name, hint in WHERE.items()
    ]


def with_parameters(function: Callable[..., None], parameters: list[Parameter]) -> Callable[..., None]:
    """A command that takes these parameters by their names."""
    made: Any = function
    made.__signature__ = Signature(parameters)
    made.__annotations__ = {one.name: one.annotation for one in parameters}
    return function


def options_of(given: Mapping[str, Any]) -> HereOptions:
    """The options of a run. Begins its processes: reading a ledger in a bucket begins threads."""
    from fanout_cli.here.carry_out import HereOptions, begin_processes

    begin_processes()
    ledger = WhereHere(*(given[name] for name in WhereHere._fields)).find()
    return HereOptions(ledger, given["s3_endpoint"], given["name"], given["json_output"], given["signing_key"])


@contextmanager
def here_command() -> Iterator[Terminal]:
    """The terminal of a command. A command that cannot do its work ends with one sentence and exit status 2."""
    from fanout.model.errors import FanoutError
    from fanout_cli.here.terminal import HereTerminal

    console = HereTerminal(stderr=True)
    try:
        yield console
    except (CommandError, FanoutError) as error:
        console.say_error(error)
        raise typer.Exit(EXIT_COMMAND) from error
