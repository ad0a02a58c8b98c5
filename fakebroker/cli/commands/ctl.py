"""`fakebroker ctl`: commands that are made from the paths of the HTTP API when they are asked for."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import click

from fakebroker.cli.ctl.answers import follow, judge, put_file, show
from fakebroker.cli.ctl.extras import Answer, Extra
from fakebroker.cli.ctl.http import ControlClient
from fakebroker.cli.ctl.options import FILE, MOVES, OUT, flag_of, kinds_of, milliseconds, options_of, value_of
from fakebroker.cli.ctl.paths import NUMBERED, Node, Row, tree
from fakebroker.cli.http.operation_texts import GROUPS, OPERATION_TEXTS
from fakebroker.cli.lazy_commands import Commands
from fakebroker.protocol.arguments.kinds import Kind
from fakebroker.protocol.arguments.signatures import missing_argument, unknown_argument
from fakebroker.protocol.errors import nearest

_SAME_WORDS = {"remove": "delete", "rm": "delete"}  # what others call them
DEFAULT_URL = "http://127.0.0.1:8092"


class _PathGroup(Commands):
    """The commands below a path. Without a further word it shows what the path has."""

    def __init__(self, name: str, node: Node, values: Mapping[str, str], **settings: Any) -> None:
        super().__init__(name, **{**_shown(node, values), **settings})
        self.node = node
        self.values = values
        if node.placeholder:
            self.subcommand_metavar = f"[{node.placeholder.upper()}] COMMAND [ARGS]..."

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; an option of `list` says that it belongs there."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            options = options_of(self.node.commands["list"]) if "list" in self.node.commands else []
            if any(error.option_name in option.opts for option in options):
                text = (
                    f"No such option: {error.option_name}. (Did you mean {ctx.command_path} list {error.option_name}?)"
                )
                raise click.UsageError(text, ctx) from None
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The words that may follow."""
        return [*self.node.words, *self.node.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of a word; any other word is the value of the placeholder."""
        if cmd_name in self.node.words:
            return _command(cmd_name, self.node.words[cmd_name], self.values)
        if cmd_name in self.node.commands:
            return _operation(cmd_name, self.node.commands[cmd_name], self.values)
        if self.node.beyond is None or self.node.placeholder is None or not self.node.takes(cmd_name):
            return None
        return _PathGroup(cmd_name, self.node.beyond, {**self.values, self.node.placeholder: cmd_name})

    def hint(self, ctx: click.Context, word: str) -> str:
        """The words that may follow; for a command before its name, `faults delete 1`, the right order."""
        if self.node.path.endswith("}") and ctx.parent is not None and _knows(self.node, self.name):
            return f"the name comes first: `{ctx.parent.command_path} {word} {_same(str(self.name))}`"
        if self.node.placeholder not in NUMBERED or self.node.beyond is None:
            return super().hint(ctx, word)
        lists = f", as `{ctx.command_path} list` shows it" if "list" in self.node.commands else ""
        number = f"{self.node.placeholder.upper()} (a number{lists})"
        if _knows(self.node.beyond, word):
            return f"{number} comes first: `{ctx.command_path} 1 {_same(word)}`"
        return nearest(word, [*self.list_commands(ctx), number])


def _knows(node: Node, word: str | None) -> bool:
    """Whether a word, or another one for the same, is a command at a place."""
    return word is not None and _same(word) in {*node.words, *node.commands}


def _same(word: str) -> str:
    """The word that is used here for another one."""
    return _SAME_WORDS.get(word, word)


def _shown(node: Node, values: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a place that shows what is there when no word follows."""
    row = node.operations.get("GET")
    if row is None:
        one = node.beyond.operations.get("GET") if node.beyond is not None else None
        return {"help": GROUPS.get(node.path) or _about(one) if one is not None else GROUPS[node.path]}

    @click.pass_context
    def show_it(ctx: click.Context, /) -> None:
        if ctx.invoked_subcommand is None:
            _run(ctx, row, values, {})

    return {"callback": show_it, "help": _about(row), "invoke_without_command": True}


@click.pass_context
def _begin(ctx: click.Context, /, url: str, token: str | None, broker: str | None, as_json: bool) -> None:
    if not url.startswith(("http://", "https://")):
        raise click.BadParameter(f"{url!r} does not begin with http://, as {DEFAULT_URL} does", param_hint="--url")
    ctx.obj = ControlClient(url, token, broker), as_json


ABOUT = """Control a running broker: `fakebroker ctl clock advance 8d`.

Commands follow the HTTP paths, options the arguments of the Python methods. Answers are tables; --json
prints them as JSON. A command without a verb, such as `ctl groups billing`, shows the thing.

Exit status: 0 success, 1 the broker refused or a scenario failed, 2 wrong usage or token, 3 no broker answers.
"""
_OPTIONS = (
    click.Option(
        ["--url"],
        envvar="FAKEBROKER_CONTROL_URL",
        default=DEFAULT_URL,
        show_default=True,
        show_envvar=True,
        help="Address of the HTTP API (serve --control).",
    ),
    click.Option(
        ["--token"],
        envvar="FAKEBROKER_CONTROL_TOKEN",
        metavar="TOKEN",
        show_envvar=True,
        help="Token of the HTTP API, if it has one.",
    ),
    click.Option(["--broker"], metavar="ID", help="Isolated broker (`ctl brokers add`) instead of the served one."),
    click.Option(["--json", "as_json"], is_flag=True, help="Print answers as JSON on one line."),
)
ctl = _PathGroup("ctl", tree(), {}, callback=_begin, params=list(_OPTIONS), help=ABOUT)


def _command(name: str, node: Node, values: Mapping[str, str]) -> click.Command:
    return _operation(name, node.only, values) if node.only else _PathGroup(name, node, values)


def _operation(name: str, row: Row, values: Mapping[str, str]) -> click.Command:
    """The command of one row; its options are the arguments of the power."""
    options = options_of(row)
    by_name, kinds = {str(option.name): option for option in options}, kinds_of(row)
    files = [FILE] if isinstance(row, Extra) and row.sends_file else []
    outs = [OUT] if isinstance(row, Extra) and row.answer is Answer.FILE else []

    @click.pass_context
    def run(
        ctx: click.Context, /, file: Any = None, out: str | None = None, duration: tuple[str, ...] = (), **given: Any
    ) -> None:
        if duration and any(value is not None for name, value in given.items() if name != "timers"):
            raise click.UsageError("give DURATION or options such as --days, not both")
        if (
            row.path in MOVES
            and not duration
            and all(value is None for name, value in given.items() if name != "timers")
        ):
            raise click.UsageError("give a DURATION such as 8d or '1h 30m', or options such as --days 8")
        if duration:
            given["ms"] = milliseconds(duration)
        present = {key: value for key, value in given.items() if value is not None and value != ()}
        texts = [value for key, value in present.items() if isinstance(by_name[key], click.Argument)]
        if "name" in by_name and texts:
            present.setdefault("name", texts[0].name)
        sent = {key: value_of(by_name[key], kinds.get(key), value) for key, value in present.items()}
        _run(ctx, row, values, sent, file, out)

    return _PowerCommand(name, kinds, callback=run, params=[*files, *options, *outs], help=_about(row))


class _PowerCommand(click.Command):
    """A command whose options are the arguments of a power, which are read as in all ways to it."""

    def __init__(self, name: str, kinds: Mapping[str, Kind], **settings: Any) -> None:
        super().__init__(name, **settings)
        self._kinds = kinds

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does. Raises UsageError for an option that does not exist or is missing."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = [option for parameter in self.params for option in parameter.opts if option.startswith("--")]
            text = unknown_argument(str(self.name), error.option_name, known)
            raise click.UsageError(f"{error.option_name}: {text}", ctx) from None
        except click.MissingParameter as error:
            kind = None if error.param is None else self._kinds.get(str(error.param.name))
            if kind is None or error.param is None:
                raise
            text = missing_argument(str(self.name), kind)
            raise click.UsageError(f"{flag_of(str(error.param.name))}: {text}", ctx) from None


def _about(row: Row) -> str:
    return row.about if isinstance(row, Extra) else OPERATION_TEXTS[f"{row.verb} {row.path}"]


def _run(
    ctx: click.Context,
    row: Row,
    values: Mapping[str, str],
    given: Mapping[str, Any],
    file: Any = None,
    out: str | None = None,
) -> None:
    """Send the request, print the answer."""
    remote, as_json = ctx.obj
    path = row.path
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    path = remote.path(path, not isinstance(row, Extra) or row.of_broker)
    answer = row.answer if isinstance(row, Extra) else Answer.SHOWN
    accept = "application/json" if as_json else "text/plain, application/json"
    if answer is Answer.STREAM:
        follow(remote.lines(path, given))
    elif answer is Answer.FILE:
        put_file(remote.send(row.verb, path, None)[1], out)
    elif file is not None:
        media_type, data = remote.send(row.verb, path, ("application/octet-stream", file.read()), accept)
        show(media_type, data.decode(), as_json)
    elif isinstance(row, Extra) and row.judges:
        judge(remote.ask(row.verb, path, given, row.has_body, "application/json")[1], as_json)
    else:
        media_type, text = remote.ask(row.verb, path, given, row.has_body, accept)
        show(media_type, text, as_json)
