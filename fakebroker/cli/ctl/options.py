"""The options of `fakebroker ctl`: the arguments of a power as a shell can say them."""

import inspect
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import click

from fakebroker.cli.ctl.extras import Extra, FileText
from fakebroker.cli.ctl.paths import Row
from fakebroker.cli.http.argument_texts import argument_text
from fakebroker.protocol.arguments.forms import JSON as FORM
from fakebroker.protocol.arguments.kinds import FLAG, NULL, TEXT, WHOLE, Choice, Kind, Number, Whole, WrongValue
from fakebroker.protocol.arguments.signatures import data_kind
from fakebroker.protocol.arguments.structures import ByPartition, Fields, ListOf, OneOf, TableOf, TupleOf
from fakebroker.protocol.durations import duration_ms
from fakebroker.protocol.errors import MAX_LISTED
from fakebroker.testing.reflection.members import parameters_of

TABLE, OFFSETS, JSON, MANY = "KEY=VALUE", "TOPIC-PARTITION=OFFSET", "JSON", "TEXT..."
SHORTER = {"parameters": ("--set",)}  # as `fakebroker scenario run` and `serve` call them
FILE = click.Argument(["file"], type=click.File("rb"), metavar="FILE")
MOVES = ("/clock/advance", "/clock/step_back")  # commands that take a duration
DURATION = click.Argument(["duration"], nargs=-1, metavar="[DURATION]")
OUT = click.Option(["--out", "out"], metavar="FILE", help="File to write. [default: standard output]")


def options_of(row: Row) -> list[click.Parameter]:
    """The options of a row, which are the arguments of its power."""
    options = [_option(p, argument_text(row.path, p.name)) for p in _parameters(row) if _is_sayable(p.annotation)]
    return [DURATION, *options] if row.path in MOVES else options


def _parameters(row: Row) -> list[inspect.Parameter]:
    """The arguments of a row's power that its path does not have."""
    if isinstance(row, Extra):
        return row.parameters
    member = row.members[-1]
    if member.is_property and not row.is_setting:
        return []
    return [p for p in parameters_of(member) if p.name not in row.in_path]


def _option(parameter: inspect.Parameter, text: str) -> click.Parameter:
    """One argument: numbers and words by themselves, tables as KEY=VALUE, what is more complicated as JSON."""
    name = parameter.name
    if parameter.annotation is FileText:
        return click.Argument([name], type=click.File("r", encoding="utf-8"), metavar="FILE")
    flag, kind = flag_of(name), _kind(parameter)
    required = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL
    if kind is FLAG:
        return click.Option([f"{flag}/--no-{flag[2:]}", name], default=None, help=text)
    metavar = _metavar(parameter, kind)
    is_many = metavar in (TABLE, OFFSETS, MANY)
    shorter = SHORTER.get(name, ()) if is_many else ()
    text += " Repeatable." if is_many else ""
    return click.Option(
        [*shorter, flag, name], multiple=is_many, required=required, help=text,
        metavar="TEXT" if metavar == MANY else metavar, type=None if is_many else _Text(metavar),
    )  # fmt: skip


class _Text(click.types.StringParamType):
    """A text that is read when it is sent; its name is what help shows."""

    def __init__(self, metavar: str) -> None:
        self.name = metavar.lower()


def flag_of(name: str) -> str:
    """The option of an argument."""
    return f"--{name.replace('_', '-')}"


def kinds_of(row: Row) -> dict[str, Kind]:
    """The kinds of the values of a row's options."""
    return {p.name: _kind(p) for p in _parameters(row) if data_kind(p.annotation) is not None}


def _kind(parameter: inspect.Parameter) -> Kind:
    """The kind of an argument: of several, without null, the first that a shell can say."""
    kind = data_kind(parameter.annotation)
    assert kind is not None
    return ListOf(kind) if parameter.kind is parameter.VAR_POSITIONAL else kind


def _metavar(parameter: inspect.Parameter, kind: Kind) -> str:
    """How a value is written."""
    kinds = [each for each in kind.kinds if each is not NULL] if isinstance(kind, OneOf) else [kind]
    first = next((each for each in kinds if each is TEXT), kinds[0])
    if parameter.kind is parameter.VAR_POSITIONAL or any(_is_texts(each) for each in kinds[1:]):
        return MANY
    if isinstance(first, TableOf):
        return OFFSETS if isinstance(first, ByPartition) else TABLE
    if isinstance(first, Choice) and first.names and len(first.names) <= MAX_LISTED:
        return f"[{'|'.join(first.names)}]"
    if isinstance(first, Number):
        return "INTEGER" if isinstance(first, Whole) else "FLOAT"
    return JSON if isinstance(first, ListOf | TupleOf | Fields) else "TEXT"


def _is_texts(kind: Kind) -> bool:
    return isinstance(kind, ListOf) and kind.element is TEXT


def value_of(option: click.Parameter, kind: Kind | None, value: Any) -> Any:
    """What is sent of an option's value, or of the file of an argument. Raises UsageError."""
    if isinstance(option, click.Argument):
        try:
            return value.read()
        except UnicodeDecodeError as error:
            raise click.UsageError(f"{value.name}: {error}") from None
    assert kind is not None
    data = _data(option, kind, value)
    try:
        kind.read(data, FORM)
    except WrongValue as wrong:
        raise click.UsageError(str(wrong.of(flag_of(str(option.name))))) from None
    return data


def _data(option: click.Parameter, kind: Kind, value: Any) -> Any:
    """The value as data."""
    if option.metavar == TABLE:
        return dict(_pair(each) for each in value)
    if option.metavar == OFFSETS:
        return _offsets(value)
    if option.metavar == JSON:
        try:
            return json.loads(value)
        except ValueError as error:
            raise click.UsageError(f"{flag_of(str(option.name))}: {error}") from None
    if option.multiple:
        return list(value)
    return kind.parsed(value) if isinstance(value, str) else value


def milliseconds(words: Sequence[str]) -> int:
    """The duration of some words: 8d, 2h30m, "2 h 30 m". Raises UsageError."""
    text = re.sub(r"(?<=[0-9]) +(?=[a-z])", "", " ".join(words))
    try:
        return duration_ms(text)
    except ValueError:
        raise click.UsageError(f"{' '.join(words)!r} is not a duration, such as 8d, 90s or '2 h 30 m'") from None


def _offsets(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """orders-0=42 as a table by topic and partition. Raises UsageError."""
    table: dict[str, dict[str, Any]] = {}
    for text in texts:
        place, _, offset = text.rpartition("=")
        topic, _, partition = place.rpartition("-")
        if not topic or not partition.isdecimal():
            raise click.UsageError(f"{text!r} is not {OFFSETS}, such as orders-0=42")
        table.setdefault(topic, {})[partition] = WHOLE.parsed(offset)
    return table


def _pair(text: str) -> tuple[str, str]:
    key, found, value = text.partition("=")
    if not found:
        raise click.UsageError(f"{text!r} is not KEY=VALUE")
    return key, value


def _is_sayable(hint: Any) -> bool:
    """Whether a value of the type can be written in a shell: functions and objects of Python cannot."""
    return hint is FileText or data_kind(hint) is not None
