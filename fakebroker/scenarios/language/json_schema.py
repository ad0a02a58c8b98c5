"""The JSON Schema of scenario files, made of the language: editors complete and check with it.

It cannot say everything: that names were saved before, that actors exist, what a file includes. `reading.py` does.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from fakebroker.protocol.arguments.forms import Schema
from fakebroker.protocol.arguments.kinds import Kind, Whole
from fakebroker.protocol.wire.registry import APIS
from fakebroker.scenarios.language.answer_fields import ANSWERED_BY, answer_fields
from fakebroker.scenarios.language.declaration import (
    ACTOR_KEYS,
    ALL_WORDS,
    FILE_KEYS,
    MAX_TIMES,
    OTHER_WORDS,
    RANGE_MS,
    STEP_KEYS,
    WORDS,
    Verb,
    Word,
    actor_verbs,
    fault_fields,
    keys_beside,
    topic_arguments,
)
from fakebroker.scenarios.language.kinds import YAML, with_saved
from fakebroker.scenarios.language.raw_fields import fields_of
from fakebroker.scenarios.language.read_expectations import PATTERN_FIELDS, SUBJECTS, properties_of
from fakebroker.scenarios.language.signatures import Argument

_STEPS: Schema = {"type": "array", "items": {"$ref": "#/$defs/step"}}
_PATTERNS: Schema = {
    "type": "array",
    "items": {"type": "object", "description": f"A request: {', '.join(PATTERN_FIELDS)}."},
}


@cache
def schema_text() -> str:
    """The schema as it is stored in docs/reference/scenario.schema.json."""
    return json.dumps(schema(), indent=1) + "\n"


def schema() -> Schema:
    """The whole schema."""
    special = {
        "parameters": {"type": "object"},
        "topics": _names({"$ref": "#/$defs/topic"}),
        "actors": _names({"$ref": "#/$defs/actor"}),
        "timeline": _STEPS,
    }
    properties = {
        name: _about(special[name] if key.kind is None else with_saved(key.kind.schema(YAML)), key.about)
        for name, key in FILE_KEYS.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A scenario of fakebroker",
        **_table(properties, [name for name, key in FILE_KEYS.items() if key.is_required]),
        "$defs": _definitions(),
    }


def _definitions() -> dict[str, Schema]:
    actor = {name: _about(with_saved(_kind(key.kind).schema(YAML)), key.about) for name, key in ACTOR_KEYS.items()}
    answers = {
        _answer_name(api): _table({name: {} for name in answer_fields(api)}) for api in [None, *ANSWERED_BY.values()]
    }
    return {
        "saved": {"type": "string", "pattern": r"^\$|\$\{"},
        "topic": {"anyOf": [_table(_arguments(topic_arguments())), {"type": "null"}]},
        "actor": {"anyOf": [_table(actor), {"type": "null"}]},
        **answers,
        "expectation": {"type": "object", "anyOf": [_expectation(subject) for subject in SUBJECTS]},
        "step": {"type": "object", "if": _is_of_word(), "then": {"anyOf": list(_steps())}, "else": _actor_step()},
    }


def _is_of_word() -> Schema:
    """A step with a word, rather than an actor: it is there as a word, or there is nothing that could be an actor.

    Some words are keys of other steps, too: their values do not begin with a verb.
    """
    simple = [{"required": [name]} for name in OTHER_WORDS if name != "expect"]
    words = [{"required": [word.name], "properties": {word.name: _text_with(word.verbs)}} for word in WORDS.values()]
    fault = {"required": ["fault"], "properties": {"fault": {"type": "object"}}}
    no_actor = {"patternProperties": {_one_of([*ALL_WORDS, *_known_keys()]): True}, "additionalProperties": False}
    return {"anyOf": [*simple, *words, fault, no_actor]}


def _known_keys() -> list[str]:
    """The keys of actors' steps beside the actor; those of raw requests are missing."""
    return sorted({*STEP_KEYS, *(each.key for verb in actor_verbs().values() for each in verb.arguments)})


def _steps() -> Iterable[Schema]:
    """The forms of a step with a word."""
    for name, about in OTHER_WORDS.items():
        yield _other_step(name, about)
    for word in WORDS.values():
        if word.name == "fault":
            verb = fault_fields()
            fields = _about(_table(_arguments(verb.arguments)), verb.about)
            yield _table({"fault": fields, **_beside(verb)}, ["fault"])
        for verb in word.verbs.values():
            yield _word_step(word, verb)


def _other_step(name: str, about: str) -> Schema:
    forms: Mapping[str, Schema] = {
        "expect": {"$ref": "#/$defs/expectation"},
        "wait": {"$ref": "#/$defs/expectation"},
        "pass": with_saved(RANGE_MS.schema(YAML)),
        "any_order": _STEPS,
        "repeat": with_saved(Whole(1, MAX_TIMES).schema(YAML)),
        "include": {"type": "string"},
    }
    beside = {"expect": ("within",), "wait": ("within",), "repeat": ("steps",), "include": ("with",)}.get(name, ())
    properties = {name: _about(forms[name], about), **{key: _step_key(key) for key in ("note", *beside)}}
    return _table(properties, [name, "steps"] if name == "repeat" else [name])


def _word_step(word: Word, verb: Verb) -> Schema:
    """A step with a word of the broker: its text begins with the verb."""
    end = r"\s+\S" if word.identity else r"(\s|$)"
    text = {"type": "string", "pattern": f"^{verb.name}{end}"}
    return _table({word.name: _about(text, verb.about), **_arguments(verb.arguments), **_beside(verb)}, [word.name])


def _actor_step() -> Schema:
    """A step of an actor, whose name is the one key that is not declared: its text begins with the verb.

    The verb says which other keys there are, and what is wrong is said of that verb alone.
    """
    verbs, known = actor_verbs(), _known_keys()
    others: Schema = {_one_of(known): True}
    about = f"Begins with one of {', '.join(verbs)}."  # which editors show
    no_verb = {"patternProperties": others, "additionalProperties": _text_with(verbs) | {"patternErrorMessage": about}}
    return {
        "properties": {name: {} for name in known},
        "propertyNames": {"not": {"enum": [word for word in ALL_WORDS if word not in known]}},
        "allOf": [
            *({"if": _some_text([name], others), "then": _of_actor(verb)} for name, verb in verbs.items()),
            {"if": _some_text(verbs, others), "then": {}, "else": no_verb},
        ],
    }


def _of_actor(verb: Verb) -> Schema:
    properties = {**_arguments(verb.arguments), **_beside(verb)}
    if verb.name == "request":
        names = {name for api in APIS.values() for name in fields_of(api.name)}
        properties = {**{name: {} for name in [*sorted(names), "hex"]}, **properties}
    text = _text_with([verb.name]) | {"patternErrorMessage": f"{verb.name} has no such key."}
    return {"properties": properties, "additionalProperties": _about(text, verb.about)}


def _some_text(verbs: Iterable[str], others: Schema) -> Schema:
    """That there is a key beside `others` whose text begins with one of the verbs."""
    return {"not": {"patternProperties": others, "additionalProperties": {"not": _text_with(verbs)}}}


def _one_of(names: Iterable[str]) -> str:
    return f"^({'|'.join(names)})$"


def _text_with(verbs: Iterable[str]) -> Schema:
    """A text that begins with one of the verbs."""
    return {"type": "string", "pattern": rf"^({'|'.join(verbs)})(\s|$)"}


def _expectation(subject: str) -> Schema:
    if subject == "journal":
        return _table({"journal": _about(_PATTERNS, SUBJECTS[subject]), "since": {}}, ["journal"])
    schema: Schema = {"type": ["string", "integer", "null"], "description": SUBJECTS[subject]}
    known: dict[str, Schema] = {name: {} for name in properties_of(subject)}
    table = _table({**known, subject: schema}, [subject])
    return table if known else table | {"additionalProperties": True}


def _names(value: Schema) -> Schema:
    """A list of names, or a mapping of names to what they are."""
    names = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    return {"anyOf": [names, {"type": "object", "additionalProperties": value}, {"type": "null"}]}


def _arguments(arguments: Sequence[Argument]) -> dict[str, Schema]:
    return {each.key: with_saved(each.kind.schema(YAML)) for each in arguments}


def _beside(verb: Verb) -> dict[str, Schema]:
    answer: Schema = {"$ref": f"#/$defs/{_answer_name(ANSWERED_BY.get(verb.name))}"}
    is_answer = not verb.power
    return {key: answer if key == "expect" and is_answer else _step_key(key) for key in keys_beside(verb)}


def _answer_name(api_name: str | None) -> str:
    return "answer" if api_name is None else f"answer_{api_name}"


def _step_key(key: str) -> Schema:
    special: Mapping[str, Schema] = {"expect": {}, "with": {"type": "object"}, "steps": _STEPS}
    if key in special:
        return special[key]
    return with_saved(_kind(STEP_KEYS[key].kind).schema(YAML)) if key not in ("note", "as") else {"type": "string"}


def _table(properties: Mapping[str, Schema], required: Sequence[str] = ()) -> Schema:
    table: dict[str, Any] = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return table | ({"required": list(required)} if required else {})


def _about(schema: Schema, about: str) -> Schema:
    return {**schema, "description": about} if about else schema


def _kind(kind: Kind | None) -> Kind:
    assert kind is not None
    return kind
