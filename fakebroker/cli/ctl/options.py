"""The options of `fakebroker ctl`: the arguments of a power as a shell can say them."""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import click

from fakebroker.cli.choice import Choice
from fakebroker.cli.ctl.extras import Extra, FileText
from fakebroker.cli.ctl.option_help import option_help
from fakebroker.cli.ctl.paths import Row
from fakebroker.protocol.durations import duration_ms

TABLE, OFFSETS, JSON = "KEY=VALUE", "TOPIC-PARTITION=OFFSET", "JSON"
SHORTER = {"parameters": ("--set",)}  # as `fakebroker scenario run` and `serve` call them
FILE = click.Argument(["file"], type=click.File("rb"), metavar="FILE")
MOVES = ("/clock/advance", "/clock/step_back")  # commands that take a duration
DURATION = click.Argument(["duration"], nargs=-1, metavar="[DURATION]")
OUT = click.Option(["--out", "out"], metavar="FILE", help="File to write. [default: standard output]")


def options_of(row: Row) -> list[click.Parameter]:
    """The options of a row, which are the arguments of its power."""
    options = [_option(p, option_help(row.path, p.name)) for p in _parameters(row) if _is_sayable(p.annotation)]
    return [DURATION, *options] if row.path in MOVES else options


def _parameters(row: Row) -> list[inspect.Parameter]:
    """The arguments of a row's power that its path does not have."""
    if isinstance(row, Extra):
        return list(row.parameters())
    member = row.members[-1]
    if member.is_property and not row.is_setting:
        return []
    if member.is_property:
        return [inspect.Parameter(member.name, inspect.Parameter.KEYWORD_ONLY, annotation=member.returns)]
    return [p for p in member.parameters if p.name not in row.in_path]


def _option(parameter: inspect.Parameter, text: str) -> click.Parameter:
    """One argument: numbers and words by themselves, tables as KEY=VALUE, what is more complicated as JSON."""
    name, hint = parameter.name, _without_none(parameter.annotation)
    if hint is FileText:
        return click.Argument([name], type=click.File("r", encoding="utf-8"), metavar="FILE")
    flag = f"--{name.replace('_', '-')}"
    required = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL
    if hint is bool:
        return click.Option([f"{flag}/--no-{flag[2:]}", name], default=None, help=text)
    if parameter.kind is parameter.VAR_POSITIONAL or Sequence[str] in get_args(parameter.annotation)[1:]:
        return click.Option([flag, name], multiple=True, metavar="TEXT", help=text)
    origin = get_origin(hint)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        metavar = OFFSETS if get_origin(get_args(hint)[0]) is tuple else TABLE
        return click.Option([*SHORTER.get(name, ()), flag, name], multiple=True, metavar=metavar, help=text)
    if hint in (int, float):
        return click.Option([flag, name], type=hint, required=required, help=text)
    if origin is Literal:
        choice = Choice([str(each) for each in get_args(hint)])
        return click.Option([flag, name], type=choice, required=required, help=text)
    if isinstance(origin, type) and origin not in (Union, UnionType):
        return click.Option([flag, name], metavar=JSON, required=required, help=text)
    return click.Option([flag, name], metavar="TEXT", required=required, help=text)


def value_of(option: click.Parameter, value: Any) -> Any:
    """What is sent of an option's value, or of the file of an argument. Raises UsageError."""
    if isinstance(option, click.Argument):
        try:
            return value.read()
        except UnicodeDecodeError as error:
            raise click.UsageError(f"{value.name}: {error}") from None
    if option.metavar == TABLE:
        return dict(_pair(each) for each in value)
    if option.metavar == OFFSETS:
        return _offsets(value)
    if option.metavar == JSON:
        try:
            return json.loads(value)
        except ValueError as error:
            raise click.UsageError(f"--{option.name}: {error}") from None
    return list(value) if option.multiple else value


def milliseconds(words: Sequence[str]) -> int:
    """The duration of some words: 8d, 2h30m, "2 h 30 m". Raises UsageError."""
    text = re.sub(r"(?<=[0-9]) +(?=[a-z])", "", " ".join(words))
    try:
        return duration_ms(text)
    except ValueError:
        raise click.UsageError(f"{' '.join(words)!r} is not a duration, such as 8d, 90s or '2 h 30 m'") from None


def _offsets(texts: Iterable[str]) -> dict[str, dict[str, int]]:
    """orders-0=42 as a table by topic and partition. Raises UsageError."""
    table: dict[str, dict[str, int]] = {}
    for text in texts:
        place, _, offset = text.rpartition("=")
        topic, _, partition = place.rpartition("-")
        if not topic or not _is_number(partition) or not _is_number(offset):
            raise click.UsageError(f"{text!r} is not {OFFSETS}, such as orders-0=42")
        table.setdefault(topic, {})[partition] = int(offset)
    return table


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20


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
    return hint in (bool, int, float, str, bytes, datetime, object, Any, FileText)
