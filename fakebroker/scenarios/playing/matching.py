"""Whether what is there is what a scenario expects; for each difference a sentence with its path.

A mapping must be contained; an empty one is only equal to an empty one, and null stands for what is not there. Lists
have the same length and match element by element, other values are equal; a number stands for a list of so many
elements. A mapping whose one key is a matcher's name is that matcher: {at_least: 3}.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from operator import ge, le
from typing import Any

from fakebroker.scenarios.language.patterns import is_found
from fakebroker.scenarios.playing.secret_values import holds_secret, is_secret, secret_fields
from fakebroker.testing.exchanges.redaction import REDACTED

Json = Any
MAX_SHOWN_CHARS = 200
_NAMES = ("name", "client_id", "member_id", "group_id", "topic", "value", "offset")  # what mappings are called by


def mismatches(expected: Json, seen: Json) -> list[str]:
    """A sentence for each difference; none if all is as expected."""
    return list(_differences(expected, seen, ""))


def is_matcher(expected: Json) -> bool:
    """Whether a value is a matcher: a mapping with a matcher's name as its one key."""
    return isinstance(expected, Mapping) and len(expected) == 1 and next(iter(expected)) in MATCHERS


def shown(value: Json) -> str:
    """A value in a sentence, on one line, cut when it is long."""
    text = _text(value)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}..."


def counted(seen: Sequence[Json]) -> str:
    """A list in a sentence about its length: how many there are, and their names: 2 (a, b)."""
    if not seen:
        return "none"
    names = next((found for key in _NAMES if len(set(found := _named(seen, key))) == len(seen)), None)
    return f"{len(seen)} ({', '.join(names)})" if names else f"{len(seen)}: {shown(seen)}"


def _named(seen: Sequence[Json], key: str) -> list[str]:
    """What each mapping of a list has under a key; values that are no mappings are their own names."""
    if any(isinstance(each, list | tuple) or (isinstance(each, Mapping) and key not in each) for each in seen):
        return []
    return [shown(each[key] if isinstance(each, Mapping) else each) for each in seen]


def _differences(expected: Json, seen: Json, path: str) -> Iterator[str]:
    if is_matcher(expected):
        [(name, argument)] = expected.items()
        yield from MATCHERS[name](argument, seen, path)
    elif isinstance(expected, Mapping):
        yield from _in_mapping(expected, seen, path)
    elif isinstance(expected, list | tuple):
        yield from _in_list(expected, seen, path)
    elif _is_number(expected) and isinstance(seen, list):
        if len(seen) != expected:
            yield f"{path or 'it'}: expected {expected}, but saw {counted(seen)}"
    elif not equal(expected, seen):
        is_record = isinstance(seen, Mapping) and "value" in seen and equal(expected, seen["value"])
        hint = f"; a record is a mapping: {{value: {shown(expected)}}}" if is_record and not is_secret(seen) else ""
        yield _sentence(path, shown(expected), seen) + hint


def equal(expected: Json, seen: Json) -> bool:
    """Whether two plain values are equal; true is not 1, and 1 is 1.0."""
    if isinstance(expected, bool) or isinstance(seen, bool):
        return expected is seen
    return bool(expected == seen)


def _in_mapping(expected: Mapping[str, Json], seen: Json, path: str) -> Iterator[str]:
    if not isinstance(seen, Mapping):
        yield _sentence(path, shown(expected), seen) + _matcher_hint(expected)
        return
    if not expected and seen:
        yield _sentence(path, "an empty mapping", seen)
    by_text = {str(key): value for key, value in seen.items()}
    for key, value in expected.items():
        inner = f"{path}.{key}".removeprefix(".")
        if str(key) in by_text:
            yield from _differences(value, by_text[str(key)], inner)
        elif value is not None:
            there = ", ".join(by_text) or "nothing"
            wanted = REDACTED if str(key) in secret_fields() else _wanted(value)
            yield f"{inner}: expected {wanted}, but it is missing; there is {there}"


def _matcher_hint(expected: Mapping[str, Json]) -> str:
    """For a key that was meant to be a matcher: how that is written."""
    near = [found for key in expected for found in get_close_matches(str(key), list(MATCHERS), 1)]
    return f"; did you mean the matcher {near[0]!r}?" if near else ""


def _in_list(expected: Json, seen: Json, path: str) -> Iterator[str]:
    if not isinstance(seen, list | tuple):
        yield _sentence(path, shown(expected), seen)
    elif len(seen) != len(expected):
        yield _sentence(path, f"{_count(len(expected))}, {shown(expected)}", seen)
    else:
        for index, (want, have) in enumerate(zip(expected, seen, strict=True)):
            yield from _differences(want, have, f"{path}[{index}]")


def _is_number(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(number: int) -> str:
    return "1 element" if number == 1 else f"{number} elements"


def _any(argument: Json, seen: Json, path: str) -> Iterator[str]:
    if (seen is not None) is not bool(argument):
        yield _sentence(path, "any value" if argument else "null", seen)


def _bound(words: str, holds: Callable[[Json, Json], bool]) -> Callable[[Json, Json, str], Iterator[str]]:
    """The matcher of a bound of numbers and texts; of a list it is that of its length."""

    def differences(argument: Json, seen: Json, path: str) -> Iterator[str]:
        number = len(seen) if isinstance(seen, list) else seen
        if not (_comparable(argument, number) and holds(number, argument)):
            yield _sentence(path, f"{words} {shown(argument)}", seen)

    return differences


def _contains(argument: Json, seen: Json, path: str) -> Iterator[str]:
    if isinstance(seen, str):
        is_there = isinstance(argument, str) and argument in seen
    elif isinstance(seen, list | tuple):
        is_there = any(not mismatches(argument, each) for each in seen)
    else:
        is_there = isinstance(seen, Mapping) and any(str(key) == str(argument) for key in seen)
    if not is_there:
        yield _sentence(path, f"something that contains {shown(argument)}", seen)


def _matches(argument: Json, seen: Json, path: str) -> Iterator[str]:
    if not isinstance(seen, str) or not is_found(argument, seen):
        yield _sentence(path, f"text that matches {shown(argument)}", seen)


def _not(argument: Json, seen: Json, path: str) -> Iterator[str]:
    if not mismatches(argument, seen):
        yield _sentence(path, f"anything but {_wanted(argument)}", seen)


def _one_of(argument: Json, seen: Json, path: str) -> Iterator[str]:
    if all(mismatches(each, seen) for each in argument):
        yield _sentence(path, f"one of {', '.join(map(_wanted, argument))}", seen)


def _unordered(argument: Json, seen: Json, path: str) -> Iterator[str]:
    """Each expected element finds one of its own; which are given to which is found by augmenting paths."""
    if not isinstance(seen, list | tuple) or len(seen) != len(argument):
        yield _sentence(path, f"in any order {shown(argument)}", seen)
        return
    fits = [[index for index, have in enumerate(seen) if not mismatches(want, have)] for want in argument]
    taken: dict[int, int] = {}  # index in `seen` -> index in `argument`

    def give(wanted: int, tried: list[int]) -> bool:
        for index in fits[wanted]:
            if index not in tried:
                tried.append(index)
                if index not in taken or give(taken[index], tried):
                    taken[index] = wanted
                    return True
        return False

    for wanted, want in enumerate(argument):
        if not give(wanted, []):
            yield _sentence(path, f"in any order {shown(argument)}: {_wanted(want)} is missing", seen)
            return


MATCHERS: Mapping[str, Callable[[Json, Json, str], Iterator[str]]] = {
    "any": _any,
    "at_least": _bound("at least", ge),
    "at_most": _bound("at most", le),
    "contains": _contains,
    "matches": _matches,
    "not": _not,
    "one_of": _one_of,
    "unordered": _unordered,
}


def _comparable(argument: Json, seen: Json) -> bool:
    numbers = [isinstance(each, int | float) and not isinstance(each, bool) for each in (argument, seen)]
    return all(numbers) or (isinstance(argument, str) and isinstance(seen, str))


def _wanted(expected: Json) -> str:
    """What is expected, as far as it is no secret."""
    if is_matcher(expected):
        [(name, argument)] = expected.items()
        return f"{name.replace('_', ' ')} {shown(argument)}"
    return shown(expected)


def _sentence(path: str, expected: str, seen: Json) -> str:
    count = f"{len(seen)}: " if isinstance(seen, list) and len(seen) > 1 else ""
    if holds_secret(seen):  # what was expected may be as secret
        expected = REDACTED
    return f"{path or 'it'}: expected {expected}, but saw {count}{shown(seen)}"


def _text_of(key: Json, value: Json) -> str:
    return REDACTED if str(key) in secret_fields() and value is not None else _text(value)


def _text(value: Json) -> str:
    """As YAML writes it in one line."""
    if is_secret(value):
        return REDACTED
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_text_of(key, each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value) if isinstance(value, str) and (not value or value != value.strip()) else str(value)
