"""``fanout local copy``, ``sync``, ``move``, ``plan`` and ``verify``: a run in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanout.request.course import Mode
from fanout.request.fields.traits import COMMON
from fanout_cli.commands.common_options import JsonOption, in_first_section
from fanout_cli.commands.help import QuickCommand
from fanout_cli.commands.local.options import LedgerOption, NameOption, S3Option, here_command
from fanout_cli.commands.request_options import field_options, in_words, request_of, why_no_option
from fanout_cli.commands.transfer_commands import DOES, DryRunOption
from fanout_cli.here.not_here import instead_of

if TYPE_CHECKING:
    from fanout_cli.here.carry_out import HereOptions

MODES = (Mode.COPY, Mode.SYNC, Mode.MOVE, Mode.PLAN, Mode.VERIFY)
_END = "a directory, s3://bucket/prefix/, or NAME:path of a place in fanout.toml"
_ENDS = {
    "source": Annotated[str, typer.Argument(metavar="SOURCE", help=f"The tree to read: {_END}")],
    "destination": Annotated[str, typer.Argument(metavar="DESTINATION", help="The tree to write, named the same way")],
}
_OWN: dict[str, tuple[Any, Any]] = {
    "dry_run": (DryRunOption, False),
    "s3_endpoint": (in_first_section(S3Option), ""),
    "state": (in_first_section(LedgerOption), ""),
}


class HereCommand(QuickCommand):
    """A command of this machine that asks AWS; for the option of a stack alone it names a way without it."""

    asks_aws = True

    def no_such_option(self, name: str, like: Any) -> str:
        mode = Mode(str(self.name)) if self.name in tuple(Mode) else Mode.COPY
        for option in field_options(mode):
            if f"--{option.name}" == name and (instead := instead_of(option.field.path, mode.value)):
                return f"fanout local has no {name}: {instead}"
        return why_no_option(mode, name) or super().no_such_option(name, like)


def command_of(mode: Mode) -> Callable[..., None]:
    """The command of a mode; its parameters are made of the fields of a request that the engine carries out."""

    def transfer(**given: Any) -> None:
        with here_command() as console:
            from fanout.model.errors import InvalidRequest
            from fanout.request.mode_fields import with_mode
            from fanout.request.parse import parse_request
            from fanout_cli.here.carry_out import carry_out
            from fanout_cli.here.ends import MOUNT, destination_of, source_of

            document = request_of(mode, source_of(given["source"]), destination_of(given["destination"]), given)
            if backup := document.get("backup_to"):
                document["backup_to"] = destination_of(backup)
            document = with_mode(document, Mode.PLAN) if given["dry_run"] else document
            try:
                parse_request(document, (MOUNT,), 1)
            except InvalidRequest as error:
                raise in_words(error, mode, given) from error
            ends = document["source"], document["destination"]
            raise typer.Exit(carry_out(document, ends, str(document["mode"]), _options(given), console))

    fields = [(one.panel, one.parameter) for one in field_options(mode) if not instead_of(one.field.path, mode.value)]
    own = [Parameter(name, Parameter.KEYWORD_ONLY, default=to, annotation=hint) for name, (hint, to) in _OWN.items()]
    parameters = [
        *(Parameter(name, Parameter.KEYWORD_ONLY, annotation=hint) for name, hint in _ENDS.items()),
        *(parameter for panel, parameter in fields if panel == COMMON),
        *own,
        *(parameter for panel, parameter in fields if panel != COMMON),
        Parameter("name", Parameter.KEYWORD_ONLY, default="", annotation=NameOption),
        Parameter("json_output", Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption),
    ]
    made: Any = transfer
    made.__signature__ = Signature(parameters)
    made.__annotations__ = {one.name: one.annotation for one in parameters}
    made.__name__, made.__doc__ = mode.value, f"{DOES[mode]} Runs in this process; Ctrl-C stops it."
    return transfer


def _options(given: Mapping[str, Any]) -> HereOptions:
    from fanout_cli.here.carry_out import HereOptions
    from fanout_cli.here.ledger import HereLedger

    ledger = HereLedger(given["state"], given["s3_endpoint"])
    return HereOptions(ledger, given["s3_endpoint"], given["name"], given["json_output"])
