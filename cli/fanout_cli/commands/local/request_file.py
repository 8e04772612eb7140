"""``fanout local REQUEST.json``: the request of a file in this process."""

from __future__ import annotations

import typer

from fanout_cli.commands.common_options import JsonOption, RequestArgument
from fanout_cli.commands.local.mode_commands import HereCommand
from fanout_cli.commands.local.options import (
    NEWEST,
    KeyOption,
    MountHereOption,
    NameOption,
    WhereHere,
    at_a_ledger,
    here_command,
    options_of,
)


class RequestFile(HereCommand):
    """The command of a request file; its options have the variables of ``fanout local``."""

    is_not_typed = True


@at_a_ledger
def local(
    request: RequestArgument,
    mount: MountHereOption = None,
    where: WhereHere = NEWEST,
    name: NameOption = "",
    signing_key: KeyOption = "",
    json_output: JsonOption = False,
) -> None:
    """Run the request of a file in this process; Ctrl-C stops it."""
    with here_command() as console:
        from fanout.model.errors import InvalidRequest
        from fanout_cli.arguments import read_request
        from fanout_cli.here.carry_out import carry_out
        from fanout_cli.here.requests import check_here, of_file
        from fanout_cli.here.result import say_plainly, say_refused
        from fanout_cli.here.retry import first_request

        given = {"name": name, "json_output": json_output, "signing_key": signing_key}
        options = options_of({**where._asdict(), **given})
        try:
            document, notes = of_file(read_request(request), mount or ())
            check_here(document)
        except InvalidRequest as error:
            raise typer.Exit(say_refused(error, json_output, console)) from error
        for note in notes:
            say_plainly(console, note)
        raise typer.Exit(carry_out(document, first_request(options.ledger, document), "run", options, console))
