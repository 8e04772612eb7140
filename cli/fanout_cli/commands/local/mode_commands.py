"""``fanout local copy``, ``sync``, ``move``, ``plan`` and ``verify``: a run in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Annotated, Any

import typer
from typer._click.exceptions import UsageError

from fanout.request.course import Mode
from fanout.request.fields.traits import COMMON
from fanout_cli.commands.common_options import JsonOption, in_first_section
from fanout_cli.commands.help import QuickCommand
from fanout_cli.commands.local.options import (
    KeyOption,
    MountHereOption,
    NameOption,
    WhereHere,
    here_command,
    options_of,
    place_parameters,
    with_parameters,
)
from fanout_cli.commands.request_options import field_options, in_words, request_of, why_no_option
from fanout_cli.commands.transfer_commands import DOES, DryRunOption
from fanout_cli.here.not_here import instead_of

MODES = (Mode.COPY, Mode.SYNC, Mode.MOVE, Mode.PLAN, Mode.VERIFY)
_END = "a directory, s3://bucket/prefix/, or NAME:path of a place in fanout.toml"
_ENDS = {
    "source": Annotated[str | None, typer.Argument(metavar="SOURCE", help=f"The tree to read: {_END}")],
    "destination": Annotated[
        str | None, typer.Argument(metavar="DESTINATION", help="The tree to write, named the same way")
    ],
}
_FromVerify = Annotated[
    str,
    typer.Option(
        "--from-verify",
        metavar="RUN",
        help="Copy what that `fanout local verify` found; without SOURCE and DESTINATION",
    ),
]


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
            from fanout_cli.here.carry_out import carry_out
            from fanout_cli.here.requests import check_here

            options = options_of(given)
            document = _request(mode, given)
            document = with_mode(document, Mode.PLAN) if given["dry_run"] else document
            try:
                check_here(document)
            except InvalidRequest as error:
                raise in_words(error, mode, given) from error
            raise typer.Exit(carry_out(document, document, str(document["mode"]), options, console))

    fields = [(one.panel, one.parameter) for one in field_options(mode) if not instead_of(one.field.path, mode.value)]
    is_copy = mode is Mode.COPY
    parameters = [
        *(_keyword(name, hint, None if is_copy else Parameter.empty) for name, hint in _ENDS.items()),
        *(parameter for panel, parameter in fields if panel == COMMON),
        _keyword("dry_run", DryRunOption, False),
        *([_keyword("from_verify", in_first_section(_FromVerify), "")] if is_copy else []),
        *place_parameters(in_first=True),
        *(parameter for panel, parameter in fields if panel != COMMON),
        _keyword("mount", MountHereOption, None),
        _keyword("name", NameOption, ""),
        _keyword("signing_key", KeyOption, ""),
        _keyword("json_output", JsonOption, False),
    ]
    made: Any = with_parameters(transfer, parameters)
    made.__name__, made.__doc__ = mode.value, f"{DOES[mode][:-1]}; in this process. Ctrl-C stops the run."
    return transfer


def _keyword(name: str, hint: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _request(mode: Mode, given: Mapping[str, Any]) -> dict[str, Any]:
    """The request of a command line. Raises ``InvalidRequest`` or ``CommandError``."""
    from fanout_cli.here.ends import destination_of, mounts_of, source_of

    if given.get("from_verify"):
        return _of_verification(mode, given)
    for name in _ENDS:
        if given[name] is None:
            raise UsageError(f"Missing argument '{name.upper()}'.")
    mounts = mounts_of(given["mount"] or ())
    ends = source_of(given["source"], mounts), destination_of(given["destination"], mounts)
    document = request_of(mode, *ends, given)
    if backup := document.get("backup_to"):
        document["backup_to"] = destination_of(backup, mounts)
    return document


def _of_verification(mode: Mode, given: Mapping[str, Any]) -> dict[str, Any]:
    from fanout_cli.command_error import CommandError
    from fanout_cli.commands.transfer_commands import IN_PLACE
    from fanout_cli.here.requests import request_from_here
    from fanout_cli.runs.from_verification import with_options

    if given["source"] or given["destination"] or given["manifest"]:
        raise CommandError(IN_PLACE)
    found = request_from_here(WhereHere(*(given[name] for name in WhereHere._fields)).find(), given["from_verify"])
    return with_options(found, request_of(mode, found["source"], found["destination"], given))
