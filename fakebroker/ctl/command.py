"""`fakebroker ctl`: commands that are made from the table of the HTTP door when they are asked for."""

import inspect
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin
from urllib.parse import quote

import click

from fakebroker.control.members import Member
from fakebroker.control.operations import Operation
from fakebroker.ctl.http import Door
from fakebroker.ctl.paths import Node, tree

DEFAULT_URL = "http://127.0.0.1:8092"


class _Place(click.Group):
    """A place in the tree of paths. Without a further word it shows what is there."""

    def __init__(self, name: str, node: Node, values: Mapping[str, str], **settings: Any) -> None:
        super().__init__(name, **{**_shown(node, values), **settings})
        self.node = node
        self.values = values
        if node.placeholder:
            self.subcommand_metavar = f"[{node.placeholder.upper()}] COMMAND [ARGS]..."

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The words that may follow."""
        return [*self.node.words, *self.node.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of a word; any other word is the value of the placeholder."""
        if cmd_name in self.node.words:
            return _command(cmd_name, self.node.words[cmd_name], self.values)
        if cmd_name in self.node.commands:
            return _operation(cmd_name, self.node.commands[cmd_name], self.values)
        if self.node.beyond is None or self.node.placeholder is None:
            return None
        return _Place(cmd_name, self.node.beyond, {**self.values, self.node.placeholder: cmd_name})


def _shown(node: Node, values: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a place that shows what is there when no word follows."""
    row = node.operations.get("GET")
    if row is None:
        return {}

    @click.pass_context
    def show(ctx: click.Context, /) -> None:
        if ctx.invoked_subcommand is None:
            _run(ctx, row, values, {})

    return {"callback": show, "help": row.members[-1].doc, "invoke_without_command": True}


@click.pass_context
def _begin(ctx: click.Context, /, url: str, token: str | None, broker: str | None, as_json: bool) -> None:
    if broker:
        url = f"{url.rstrip('/')}/brokers/{quote(broker, safe='')}"
    ctx.obj = Door(url, token), as_json


ABOUT = """Control a running broker: `fakebroker ctl clock advance --days 8`.

The words are those of the HTTP paths, the options those of the Python methods.

Exit status: 0 done, 1 the broker refuses, 2 wrong usage, 3 no broker answers.
"""
_OPTIONS = (
    click.Option(
        ["--url"],
        envvar="FAKEBROKER_CONTROL_URL",
        default=DEFAULT_URL,
        show_default=True,
        show_envvar=True,
        help="Where the broker is controlled (serve --control).",
    ),
    click.Option(["--token"], envvar="FAKEBROKER_CONTROL_TOKEN", show_envvar=True, help="Its token, if it has one."),
    click.Option(["--broker"], metavar="ID", help="An isolated broker (POST /brokers) instead of the served one."),
    click.Option(["--json", "as_json"], is_flag=True, help="JSON on one line, also for what has a text for people."),
)
ctl = _Place("ctl", tree(), {}, callback=_begin, params=list(_OPTIONS), help=ABOUT)


def _command(name: str, node: Node, values: Mapping[str, str]) -> click.Command:
    return _operation(name, node.only, values) if node.only else _Place(name, node, values)


def _operation(name: str, row: Operation, values: Mapping[str, str]) -> click.Command:
    """The command of one row; its options are the arguments of the power."""
    member = row.members[-1]
    options = [] if member.is_property and not row.is_setting else _options(member, row.in_path)
    kinds = {str(option.name): option for option in options}

    @click.pass_context
    def run(ctx: click.Context, /, **given: Any) -> None:
        present = {key: value for key, value in given.items() if value is not None and value != ()}
        _run(ctx, row, values, {key: _value(kinds[key], value) for key, value in present.items()})

    return click.Command(name, callback=run, params=list(options), help=member.doc)


def _options(member: Member, in_path: list[str]) -> list[click.Option]:
    if member.is_property:
        kind = inspect.Parameter.KEYWORD_ONLY
        return [_option(inspect.Parameter(member.name, kind, annotation=member.returns))]
    return [_option(p) for p in member.parameters if p.name not in in_path and _is_sayable(p.annotation)]


def _option(parameter: inspect.Parameter) -> click.Option:
    """One argument: numbers and words by themselves, tables as KEY=VALUE, what is more complicated as JSON."""
    name, hint = parameter.name, _without_none(parameter.annotation)
    flag = f"--{name.replace('_', '-')}"
    required = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL
    if hint is bool:
        return click.Option([f"{flag}/--no-{flag[2:]}", name], default=None)
    if parameter.kind is parameter.VAR_POSITIONAL:
        return click.Option([flag, name], multiple=True, metavar="TEXT", help="May be repeated.")
    origin = get_origin(hint)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return click.Option([flag, name], multiple=True, metavar="KEY=VALUE", help="May be repeated.")
    if hint in (int, float):
        return click.Option([flag, name], type=hint, required=required)
    if origin is Literal:
        return click.Option([flag, name], type=click.Choice([str(each) for each in get_args(hint)]), required=required)
    if isinstance(origin, type) and origin not in (Union, UnionType):
        return click.Option([flag, name], metavar="JSON", required=required)
    return click.Option([flag, name], metavar="TEXT", required=required)


def _value(option: click.Option, value: Any) -> Any:
    """What is sent of an option's value. Raises UsageError."""
    if option.multiple and option.metavar == "KEY=VALUE":
        return dict(_pair(each) for each in value)
    if option.metavar == "JSON":
        try:
            return json.loads(value)
        except ValueError as error:
            raise click.UsageError(f"--{option.name}: {error}") from None
    return list(value) if option.multiple else value


def _pair(text: str) -> tuple[str, str]:
    key, found, value = text.partition("=")
    if not found:
        raise click.UsageError(f"{text!r} is not KEY=VALUE")
    return key, value


def _without_none(hint: Any) -> Any:
    """A type without None; of several the first that a shell can say."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    parts = [part for part in get_args(hint) if part is not type(None)]
    return str if str in parts else parts[0]


def _is_sayable(hint: Any) -> bool:
    """Whether a value of the type can be written in a shell: functions and objects of Python cannot."""
    hint = _without_none(hint)
    if get_origin(hint) is not None:
        return get_origin(hint) is not Callable
    return hint in (bool, int, float, str, bytes, datetime, object, Any)


def _run(ctx: click.Context, row: Operation, values: Mapping[str, str], given: Mapping[str, Any]) -> None:
    """Send the request, print the answer."""
    door, as_json = ctx.obj
    path = row.path
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    accept = "application/json" if as_json else "text/plain, application/json"
    media_type, text = door.ask(row.verb, path, given, row.has_body, accept)
    if media_type == "application/json":
        data = json.loads(text)
        text = json.dumps(data) if as_json or not isinstance(data, dict | list) else json.dumps(data, indent=2)
    if text:
        click.echo(text.rstrip("\n"))
