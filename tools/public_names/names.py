"""Every public name, as a line `KIND NAME`: read from the declarations of which the reference pages are made."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import click

from fakebroker.analysis.history.compile.anonymise import SECRET_VARIABLE
from fakebroker.analysis.pipeline.tables import all_tables
from fakebroker.broker.release import RELEASES
from fakebroker.broker.settings.table import BROKER, CLIENT_METRICS, GROUP, TOPIC
from fakebroker.cli.exit_status import MEANINGS
from fakebroker.cli.http.openapi import document
from fakebroker.cli.main import main
from fakebroker.scenarios.language.declaration import (
    ACTOR_KEYS,
    FILE_KEYS,
    OTHER_WORDS,
    STEP_KEYS,
    WORDS,
    Verb,
    actor_verbs,
    fault_fields,
    topic_arguments,
)
from fakebroker.scenarios.language.read_expectations import MATCHERS, PATTERN_FIELDS, SUBJECTS, properties_of
from fakebroker.testing.exchanges.columns import Form
from fakebroker.testing.exchanges.kinds import DIALOGUE, SESSION
from fakebroker.testing.journal.schema import JOURNAL
from tools.public_names.formats import FORMATS
from tools.public_names.packaging import packaging_names
from tools.public_names.plugin import plugin_names
from tools.public_names.python_names import python_names


def names() -> list[str]:
    """All of them, by kind, in the order of the alphabet within each."""
    found = {
        "python": python_names(),
        "pytest": plugin_names(),
        "install": packaging_names(),
        "command": (
            text for words, command in _commands(main, ("fakebroker",)) for text in _of_command(words, command)
        ),
        "exit": (f"{status.value} {status.name}" for status in MEANINGS),
        "environment": _variables(),
        "http": _operations(),
        "scenario": _of_scenarios(),
        "setting": _settings(),
        "release": RELEASES,
        "line": (text for form in (JOURNAL, SESSION, DIALOGUE) for text in _lines(form)),
        "table": (f"{each.name} {column.name}" for each in all_tables() for column in each.columns),
        "format": (f"{each.name}, version {each.version}" for each in FORMATS),
    }
    return [f"{kind} {name}" for kind, each in found.items() for name in sorted(set(each))]


def _commands(group: click.Group, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below a group, and the groups themselves."""
    yield words, group
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, (*words, name))
        elif command is not None:
            yield (*words, name), command


def _of_command(words: tuple[str, ...], command: click.Command) -> Iterator[str]:
    path = " ".join(words)
    yield path
    for each in command.params:
        if isinstance(each, click.Argument):
            yield f"{path} {each.make_metavar(click.Context(command))}"
        elif not getattr(each, "hidden", False):
            yield from (f"{path} {name}" for name in (*each.opts, *each.secondary_opts))


def _variables() -> Iterator[str]:
    yield SECRET_VARIABLE
    for _, command in _commands(main, ()):
        for each in command.params:
            if each.envvar:
                yield from [each.envvar] if isinstance(each.envvar, str) else each.envvar


def _operations() -> Iterator[str]:
    """Methods, paths, and the names of what they take."""
    found: dict[str, Any] = json.loads(json.dumps(document()))
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            if method not in ("get", "post", "put", "delete"):
                continue
            name = f"{method.upper()} {path}"
            yield name
            yield from (f"{name} {each['name']}" for each in operation.get("parameters", ()) if "name" in each)
            for content in operation.get("requestBody", {}).get("content", {}).values():
                yield from (f"{name} {each}" for each in _properties(content["schema"], found))


def _properties(schema: dict[str, Any], found: dict[str, Any]) -> Iterable[str]:
    if "$ref" in schema:
        schema = found["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    properties: dict[str, Any] = schema.get("properties", {})
    return properties


def _of_scenarios() -> Iterator[str]:
    yield from (f"file key {name}" for name in FILE_KEYS)
    yield from (f"topic key {each.key}" for each in topic_arguments())
    yield from (f"actor key {name}" for name in ACTOR_KEYS)
    yield from (f"step key {name}" for name in STEP_KEYS)
    for verb in actor_verbs().values():
        yield from _of_verb("actor", verb)
    yield from _of_verb("broker", fault_fields())
    for word in WORDS.values():
        for verb in word.verbs.values():
            yield from _of_verb(word.name, verb)
    yield from (f"word {name}" for name in OTHER_WORDS)
    yield from (f"matcher {name}" for name in MATCHERS)
    for subject in SUBJECTS:
        yield f"expect {subject}"
        names = PATTERN_FIELDS if subject == "journal" else properties_of(subject)
        yield from (f"expect {subject} {name}" for name in names)


def _of_verb(subject: str, verb: Verb) -> Iterator[str]:
    yield f"{subject}: {verb.name}"
    yield from (f"{subject}: {verb.name} {each.key}" for each in verb.arguments if each.key)


def _settings() -> Iterator[str]:
    yield from (f"broker {name}" for name in BROKER)
    for scope, rows in (("topic", TOPIC), ("group", GROUP), ("client metrics", CLIENT_METRICS)):
        yield from (f"{scope} {name}" for name in rows)


def _lines(form: Form) -> Iterator[str]:
    """The kinds of lines of a file, and their columns."""
    name = form.name.partition(" ")[2]
    yield from (f"{name} {column.name}" for column in form.common)
    for kind in form.kinds.values():
        yield f"{name} {kind.name}"
        yield from (f"{name} {kind.name}.{column.name}" for column in kind.columns)
