"""The commands by name: a module is imported when one of its commands runs, so that a TAB stays quick."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, MutableMapping
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_group

from fanout_cli.account import choose_profile, choose_region
from fanout_cli.command_error import EXIT_INTERRUPTED
from fanout_cli.commands.help import CommandApp, QuickGroup, whole_help
from fanout_cli.loudness import choose_log_file, choose_quiet, choose_verbose

# Where a context keeps the shell that was named behind an option about completion.
SHELL = "fanout.shell"
TRANSFER, RUNS, STACK, LOCAL = "Move files", "Runs", "A stack on AWS", "This machine"


class Command(NamedTuple):
    """A command: its module, its group in the help, what it does in a few words, and examples."""

    module: str
    panel: str
    help: str
    examples: tuple[str, ...] = ()


COMMANDS = {
    "copy": Command(
        "transfer_commands",
        TRANSFER,
        "copy what is new or changed",
        (
            "fanout copy s3://bucket/in/ efs:///in",
            "fanout copy s3://bucket/in/ efs:///in --exclude '*.tmp' --rate '50 MiB'",
        ),
    ),
    "sync": Command(
        "transfer_commands",
        TRANSFER,
        "copy, and delete what the source lacks",
        ("fanout sync efs:///projects s3://bucket/projects/ --max-delete 1000",),
    ),
    "move": Command(
        "transfer_commands",
        TRANSFER,
        "copy, and delete the source once it is proven",
        ("fanout move efs:///results s3://archive/results/ --older-than 30d",),
    ),
    "plan": Command(
        "transfer_commands", TRANSFER, "say what would be done", ("fanout plan s3://bucket/in/ efs:///in",)
    ),
    "verify": Command("transfer_commands", TRANSFER, "compare two trees", ("fanout verify s3://bucket/in/ efs:///in",)),
    "start": Command("run_commands", TRANSFER, "start a run from a request file", ("fanout start request.json",)),
    "estimate": Command(
        "estimate_command",
        TRANSFER,
        "predict a run without an account",
        (
            'fanout estimate s3://bucket/in/ efs:///in --entries 10M --bytes "3 TiB"',
            "fanout estimate request.json --unchanged 10M",
        ),
    ),
    "audit": Command(
        "audit_command",
        TRANSFER,
        "what S3 Files would hide or change",
        ("fanout audit s3://bucket/in/", "fanout audit efs:///projects s3://bucket/projects/"),
    ),
    "schedule": Command(
        "schedule_commands",
        TRANSFER,
        "start a request at its times, by name",
        (
            "fanout schedule add nightly request.json --cron '0 3 * * ? *' --timezone Europe/Berlin",
            "fanout schedule list",
            "fanout list --schedule nightly",
        ),
    ),
    "list": Command("run_commands", RUNS, "the newest runs", ("fanout list --limit 5", "fanout list | cut -f 1")),
    "watch": Command("run_commands", RUNS, "follow a run", ("fanout watch", "fanout watch RUN --stack prod")),
    "report": Command("run_commands", RUNS, "bring the report of a run", ("fanout report --open",)),
    "entries": Command(
        "entries_command",
        RUNS,
        "what became of each entry of a run",
        ("fanout entries RUN --outcome failed", "fanout entries --path 'photos/**' --json | jq -r .path"),
    ),
    "certificate": Command(
        "certificate_command",
        RUNS,
        "get and check signed certificates",
        (
            "fanout certificate get RUN",
            "fanout certificate key --output key.pem",
            "fanout certificate check certificate-RUN.json --key key.pem --tree /mnt/archive",
        ),
    ),
    "versions": Command(
        "versions_command", RUNS, "list the versions of a published tree", ("fanout versions efs:///site",)
    ),
    "rollback": Command(
        "versions_command",
        RUNS,
        "publish an old version again",
        ("fanout rollback efs:///site", "fanout rollback efs:///site copy-2026-11-20-030000"),
    ),
    "limit": Command("run_commands", RUNS, "change the rates of a run", ('fanout limit --bytes-per-second "50 MiB"',)),
    "stop": Command("run_commands", RUNS, "stop a run", ("fanout stop RUN",)),
    "retry": Command("run_commands", RUNS, "go on with a run", ("fanout retry", "fanout retry RUN --again")),
    "init": Command(
        "stack.init_command",
        STACK,
        "five questions for a new stack",
        ("fanout init", "fanout init --read my-data --write my-results --email me@example.com --yes"),
    ),
    "deploy": Command(
        "stack.deploy_command", STACK, "build, deploy and examine a stack", ("fanout deploy --config-env prod",)
    ),
    "doctor": Command("stack.doctor_command", STACK, "check a deployment", ("fanout doctor --stack prod",)),
    "probe": Command("stack.probe_command", STACK, "measure a file system", ('fanout probe --budget-bytes "1 GiB"',)),
    "selftest": Command("stack.selftest_command", STACK, "prove a deployment", ("fanout selftest --size small",)),
    "demo": Command("local.emulator_commands", LOCAL, "move a real tree on this machine", ("fanout demo",)),
    "local": Command(
        "local.group",
        LOCAL,
        "copy, sync, move, plan or verify on this machine",
        (
            "fanout local plan s3://bucket/in/ ./in",
            "fanout local copy ./in s3://bucket/in/",
            "fanout local request.json --mount data=/mnt/efs",
        ),
    ),
    "up": Command("local.emulator_commands", LOCAL, "start the local stack", ("fanout up --mount data=./efs",)),
    "down": Command("local.emulator_commands", LOCAL, "end the local stack", ("fanout down",)),
}


class LazyCommands(MutableMapping[str, Any]):
    """The commands; one is made when it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _made(name, COMMANDS[name])
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"{name}: a command stays")

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LazyGroup(QuickGroup):
    """``fanout``: knows the names of its commands, and makes only the one that is run."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.commands = LazyCommands()

    def invoke(self, ctx: Any) -> Any:
        """Run the command; Ctrl-C where it says nothing of its own ends it with the status that shells know."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(EXIT_INTERRUPTED) from None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See ``TyperGroup``; ``fanout help COMMAND`` and ``fanout version`` mean the options of that name."""
        if args[:1] == ["help"]:
            whole = "--all" in args
            args = [one for one in args[1:] if one != "--all"]
            args += ["--help-all" if whole and args else "--help"]
        elif args[:1] == ["version"]:
            args = ["--version"]
        elif args[:1] in (["--show-completion"], ["--install-completion"]) and len(args) > 1:
            ctx.meta[SHELL] = args[1]
            args = args[:1]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the help."""
        return list(COMMANDS)

    def _main_shell_completion(self, *given: Any, **named: Any) -> None:
        """See ``TyperGroup``: what answers a shell is known to typer only where it adds its own options for it."""
        from typer._completion_classes import completion_init

        from fanout_cli.commands.shell_completion import use_whole_words

        completion_init()
        use_whole_words()
        super()._main_shell_completion(*given, **named)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Names and options that begin so; no command is made for that."""
        from typer._click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=one.help) for name, one in COMMANDS.items() if name.startswith(incomplete)]
        return found if incomplete[:1] != "-" else super(TyperGroup, self).shell_complete(ctx, incomplete)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands by their groups, of ``COMMANDS`` alone."""
        for panel in dict.fromkeys(one.panel for one in COMMANDS.values()):
            with formatter.section(panel):
                formatter.write_dl([(name, one.help) for name, one in COMMANDS.items() if one.panel == panel])


def _made(name: str, known: Command) -> Any:
    part = CommandApp()
    import_module(f"fanout_cli.commands.{known.module}").register(part)
    part.command("account")(_account)
    commands = get_group(part).commands
    command: Any = commands[name]
    command.short_help = known.help
    command.epilog = "\n\n".join(("Examples:", *known.examples)) if known.examples else None
    added: dict[str | None, Any] = {parameter.name: parameter for parameter in commands["account"].params}
    for inner, one in getattr(command, "commands", {"": command}).items():
        if getattr(one, "asks_aws", False) or any(parameter.name == "stack" for parameter in one.params):
            one.params += [copy(each) for key, each in added.items() if key not in ("help", "help_all")]
        _give_variables(one, f"fanout {name} {'' if getattr(one, 'is_not_typed', False) else inner}".rstrip())
        one.params.append(added["help_all"])
        added["help_all"].hidden = not one.is_short
    return command


def _give_variables(command: Any, path: str) -> None:
    """Let a variable of the environment set each option: FANOUT_LIST_LIMIT for ``fanout list --limit``.

    Those in the first part of a help have a shorter one, which holds for all commands.
    """
    for one in command.params:
        if one.param_type_name == "option" and one.envvar is None and one.name != "help":
            words = f"{path} {max(one.opts, key=len).lstrip('-')}"
            one.envvar, one.show_envvar = re.sub("[ -]", "_", words).upper(), False


def _taken(take: Callable[..., None], words: str, *names: str, eager: bool = False) -> Any:
    return typer.Option(*names, callback=take, expose_value=False, help=words, is_eager=eager)


REGION = "AWS region; default: AWS_REGION, AWS_DEFAULT_REGION, or the profile's"
FILE = "Add what is printed to this file too, each line with its time"


def _account(
    region: Annotated[str | None, _taken(choose_region, REGION)] = None,
    profile: Annotated[str | None, _taken(choose_profile, "AWS profile; default: AWS_PROFILE")] = None,
    quiet: Annotated[bool, _taken(choose_quiet, "Only the verdict, and what is wrong", "--quiet", "-q")] = False,
    verbose: Annotated[
        bool, _taken(choose_verbose, "All failed entries, the whole forecast", "--verbose", "-v")
    ] = False,
    log_file: Annotated[Path | None, _taken(choose_log_file, FILE)] = None,
    help_all: Annotated[bool, _taken(whole_help, "Explain all options and exit", "--help-all", eager=True)] = False,
) -> None:
    """The options of every command that works on a stack, and ``--help-all`` of every command."""
