"""The command ``fanout``. A command imports its modules when it runs (``commands.lazy_group``)."""

from __future__ import annotations

from typing import Annotated

import typer

from fanout import __version__
from fanout_cli.commands.lazy_group import SHELL, LazyGroup

app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="The guide: docs/index.md. Most commands take --stack, --region and --profile, or --local.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fanout {__version__}")
        raise typer.Exit


def _install_completion(ctx: typer.Context, param: typer.CallbackParam, wanted: bool) -> None:
    from typer.completion import install_callback

    from fanout_cli.commands.shell_completion import use_whole_words

    use_whole_words()
    install_callback(ctx, param, wanted and ctx.meta.get(SHELL, True))


def _show_completion(ctx: typer.Context, param: typer.CallbackParam, wanted: bool) -> None:
    from typer.completion import show_callback

    from fanout_cli.commands.shell_completion import use_whole_words

    use_whole_words()
    show_callback(ctx, param, wanted and ctx.meta.get(SHELL, True))


@app.callback()
def fanout(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version")
    ] = False,
    install_completion: Annotated[
        bool,
        typer.Option(
            "--install-completion",
            callback=_install_completion,
            is_eager=True,
            help="Have this shell, or the one that is named, complete the words of fanout",
        ),
    ] = False,
    show_completion: Annotated[
        bool,
        typer.Option(
            "--show-completion", callback=_show_completion, is_eager=True, help="Print what the shell needs for that"
        ),
    ] = False,
) -> None:
    """Moves trees of files between Amazon S3 and Amazon EFS."""
