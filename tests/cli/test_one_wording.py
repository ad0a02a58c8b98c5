"""One declaration of each power: Python, HTTP, ctl and scenarios refuse the same values with the same sentence."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click
import pytest

from fakebroker.cli.commands.ctl import _operation
from fakebroker.cli.ctl.options import JSON, MANY, OFFSETS, TABLE, kinds_of, options_of, value_of
from fakebroker.cli.http.endpoint import Endpoint
from fakebroker.cli.http.operations import OPERATIONS, Operation
from fakebroker.cli.http.problems import Problem
from fakebroker.protocol.arguments.forms import JSON as DATA
from fakebroker.protocol.arguments.kinds import ANYTHING, FLAG, Kind, WrongValue
from fakebroker.protocol.arguments.structures import ListOf
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.scenarios.errors import ScenarioError
from fakebroker.scenarios.language.declaration import WORDS, Verb, Word, fault_fields
from fakebroker.scenarios.language.reading import read_scenario_text
from fakebroker.testing.reflection.members import parameters_of

VALUES: tuple[Any, ...] = ("?? no", -7, 0, 10**20, 1.5, [1], [])
"""Some of them are wrong for every kind but that of any value at all."""
IDENTITIES = {"partition": "orders-0", "node": "1", "fault": "cut", "hold": "held"}
HEAD = """about: A test.
topics: [orders]
timeline:
  - {fault: {api: Heartbeat, action: disconnect}, as: cut}
  - {group: hold_joins billing, until_members: 1, as: held}
"""
TAKES = [row for row in OPERATIONS if Endpoint(row).arguments.kinds]


_OF_A_FORM = r"(such as \S+( 0\))?|a RequestPattern|a mapping with the fields [a-z_, ]*)"


class Refused(NamedTuple):
    """What a way says: of which argument, and the sentence."""

    argument: str
    sentence: str


def refusal(message: str) -> Refused:
    """The parts of "offsets['t']: should be ..."; what a form of values has of its own is left out."""
    place, _, sentence = message.partition(": ")
    argument = re.sub(r"\[.*", "", place).removeprefix("--").replace("-", "_")
    sentence = sentence.partition("; bytes that are not text")[0]
    return Refused(argument, re.sub(f"{_OF_A_FORM}, not", ", not", sentence))


def in_python(row: Operation, given: dict[str, Any]) -> Refused | None:
    """What the method says. What it does is not reached: there is no broker."""
    member = row.members[-1]
    function: Callable[..., Any] | None = member.setter if row.is_setting else member.function
    assert function is not None
    called: Any = getattr(member.owner, member.name)
    called = called.fset if row.is_setting else called
    named, many = dict(given), ()
    for each in parameters_of(member):
        if each.kind is each.VAR_POSITIONAL and each.name in named:
            value = named.pop(each.name)
            many = tuple(value) if isinstance(value, list) else (value,)
    in_path = {each.name: "1" for each in parameters_of(member) if each.name in row.in_path}
    try:
        called(object(), *many, **in_path, **named)
    except InvalidArgument as error:
        return refusal(str(error))
    except AttributeError:  # of the broker that is not there: the arguments were taken
        return None
    return None


def by_http(row: Operation, given: dict[str, Any]) -> Refused | None:
    """What the HTTP API says of a body, or of a query."""
    arguments = Endpoint(row).arguments
    try:
        if row.has_body:
            arguments.from_body(json.dumps(given).encode())
        else:
            arguments.from_query([(name, _text(value)) for name, value in given.items()])
    except Problem as problem:
        return refusal(problem.detail)
    return None


def by_ctl(row: Operation, name: str, value: Any) -> Refused | None:
    """What the command says of an option."""
    option = next(each for each in options_of(row) if each.name == name)
    try:
        value_of(option, kinds_of(row)[name], _text(value))
    except click.UsageError as error:
        return refusal(error.message)
    return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def in_scenario(word: Word, verb: Verb, given: dict[str, Any]) -> list[Refused]:
    """What is said of a step with these arguments."""
    rest = json.dumps(given)[1:-1]
    identity = IDENTITIES.get(word.name, "orders") if word.identity else ""
    step = f"fault: {{{rest}}}" if verb.power == "fault" else f"{word.name}: {verb.name} {identity}, {rest}"
    try:
        read_scenario_text(f"{HEAD}  - {{{step}}}\n")
    except ScenarioError as error:
        return [refusal(f"{each.key}: {each.message}") for each in error.problems]
    return []


def verb_of(row: Operation) -> tuple[Word, Verb] | None:
    """The step of a scenario for a power, if there is one."""
    if row.power == "fault":
        return WORDS["fault"], fault_fields()
    power = row.power.replace("group.holds[].", "hold.").replace("fault_by_id.", "fault.")
    for word in WORDS.values():
        for verb in word.verbs.values():
            if power in (verb.power, f"{word.name}.{verb.name}"):
                return word, verb
    return None


def wrong_values(kind: Kind) -> Iterator[Any]:
    """The values that are not of a kind."""
    for value in VALUES:
        try:
            kind.read(value, DATA)
        except WrongValue:
            yield value


@pytest.mark.parametrize("row", TAKES, ids=lambda row: f"{row.verb} {row.path}")
def test_a_wrong_value_is_refused_alike(row: Operation) -> None:
    """Every argument has wrong values, and every way says the same of them."""
    for name, kind in Endpoint(row).arguments.kinds.items():
        element = kind.element if isinstance(kind, ListOf) and name in Endpoint(row).arguments.many else kind
        values = list(wrong_values(element))
        assert values or kind is ANYTHING, f"{name} takes everything"
        for wrong in values:
            value = [wrong] if name in Endpoint(row).arguments.many else wrong
            said = in_python(row, {name: value})
            assert said is not None, f"Python takes {name}={value!r}"
            assert said.argument == name
            assert_http_says(said, row, name, kind, value)
            assert_ctl_says(said, row, name, kind, value)
            step = verb_of(row)
            if step is not None and name not in row.in_path and row.power != "restore":
                found = dict(in_scenario(*step, {name: value}))
                assert found.get(name, "").startswith(said.sentence), (name, value, said, found)


def assert_http_says(said: Refused, row: Operation, name: str, kind: Kind, value: Any) -> None:
    """In a query everything is a text, so what is wrong elsewhere may be right."""
    if row.has_body or _is_wrong_as_text(kind, value):
        assert by_http(row, {name: value}) == said, (name, value)


def assert_ctl_says(said: Refused, row: Operation, name: str, kind: Kind, value: Any) -> None:
    """Options of tables and repeated ones have a form that the shell reads, and flags have no value."""
    option = next(each for each in options_of(row) if each.name == name)
    if kind is FLAG or option.metavar in (TABLE, OFFSETS, MANY) or (option.multiple or option.metavar == JSON):
        return
    if _is_wrong_as_text(kind, value):
        assert by_ctl(row, name, value) == said, (name, value)


def _is_wrong_as_text(kind: Kind, value: Any) -> bool:
    try:
        kind.read(kind.parsed(_text(value)), DATA)
    except WrongValue as wrong:
        return bool(wrong.value == value)
    return False


@pytest.mark.parametrize("row", TAKES, ids=lambda row: f"{row.verb} {row.path}")
def test_a_misspelt_argument_is_refused_alike(row: Operation) -> None:
    """The name that does not exist, and the nearest that does."""
    name = f"{next(iter(Endpoint(row).arguments.kinds))}x"
    said = None if row.is_setting else in_python(row, {name: 1})
    http = by_http(row, {name: 1})
    step = verb_of(row)

    assert http is not None
    assert (http.argument, "has no such argument; did you mean" in http.sentence) == (name, True)
    assert said in (None, http)
    if step is not None:
        hint = http.sentence.removesuffix("?")  # a scenario may know a further name that is near
        assert any(each.argument == name and each.sentence.startswith(hint) for each in in_scenario(*step, {name: 1}))


@pytest.mark.parametrize("row", [row for row in TAKES if Endpoint(row).arguments.required], ids=lambda row: row.power)
def test_a_missing_argument_is_refused_alike(row: Operation) -> None:
    """The first that is needed, and what it should be."""
    http, step = by_http(row, {}), verb_of(row)
    said = None if row.is_setting else in_python(row, {})
    command = _operation(row.members[-1].name, row, {})

    assert http is None or http.argument == Endpoint(row).arguments.required[0]
    assert said is None or http is None or Endpoint(row).arguments.many or said == http
    if http is not None and not Endpoint(row).arguments.many:
        with pytest.raises(click.UsageError) as wrong:
            command.make_context("ctl", [])
        assert refusal(wrong.value.message) == http
    if step is not None and http is not None and not row.is_setting:
        in_path = {each.parameter: "1" for each in step[1].arguments if each.parameter in row.in_path}
        assert http in in_scenario(*step, in_path)
