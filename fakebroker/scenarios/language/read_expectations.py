"""What `expect` and `wait` say: which thing is meant, and what its properties must be."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from fakebroker.protocol.arguments.kinds import ANYTHING, NAME, NULL, WHOLE
from fakebroker.protocol.arguments.structures import PARTITION, partition_of
from fakebroker.protocol.errors import WHERE_ERRORS, ErrorCode, InvalidArgument, nearest
from fakebroker.scenarios.errors import no_actor
from fakebroker.scenarios.language.declaration import WORDS
from fakebroker.scenarios.language.kinds import ACTOR_PROPERTIES, Reading, Wrong, is_saved, plain, read, shown
from fakebroker.scenarios.language.patterns import is_pattern
from fakebroker.scenarios.language.yaml_file import Items, Node, Scalar, Table
from fakebroker.scenarios.script import Json
from fakebroker.testing.handles.expectation import RequestPattern
from fakebroker.testing.handles.group_wait import STATE_NAMES as GROUP_STATES
from fakebroker.testing.handles.transaction import STATE_NAMES
from fakebroker.testing.reflection.members import members_of

RECORD_PROPERTIES = ("count", "values", "keys", "offsets", "timestamps", "records")
PATTERN_FIELDS = (*(name for name in RequestPattern._fields if name != "is_never"), "never")
SUBJECTS: Mapping[str, str] = {
    "group": "a group by its id",
    "topic": "a topic by its name",
    "partition": "a partition (orders-0)",
    "coordinator": "the coordinator of a group",
    "transaction": "a transactional id",
    "transaction_coordinator": "the coordinator of a transactional id",
    "node": "a broker by its number",
    "fault": "a fault by the name that `as` gave it",
    "hold": "a hold by the name that `as` gave it",
    "clock": "the broker's time of day",
    "actor": "an actor by its name",
    "records": "the records of a topic or a partition",
    "committed": "the committed offsets of a group, by partition",
    "journal": "requests in this order, with others in between",
}
_STATES: Mapping[str, Sequence[str]] = {"group": GROUP_STATES, "transaction": STATE_NAMES}


@cache
def properties_of(subject: str) -> Sequence[str]:
    """What can be expected of a subject, by name; none for those whose keys are free."""
    if subject == "actor":
        return ACTOR_PROPERTIES
    if subject == "records":
        return RECORD_PROPERTIES
    if subject not in WORDS:
        return ()
    members = members_of(WORDS[subject].owner).values()
    return tuple(m.name for m in members if m.is_property or _is_question(m))


def _is_question(member: Any) -> bool:
    """Whether a method gives something, needs no arguments, and takes no time."""
    needed = [p for p in member.parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    return not needed and member.name in ("explain", "explain_policies", "records")


def read_expectation(node: Node, reading: Reading, actors: Sequence[str]) -> tuple[str, dict[str, Json], Any]:
    """Subject, identity and expected properties of `expect: {...}`. Raises Wrong."""
    if not isinstance(node, Table):
        raise Wrong(node, f"should be a mapping: {{group: billing, state: Stable}}, not {shown(node)}")
    subject = next((name for name in node.keys if name in SUBJECTS), None)
    if subject is None:
        first = next(iter(node.keys), "")
        raise Wrong(node, f"the subject is missing; {nearest(first, SUBJECTS)}")
    what = node.entries[subject]
    rest = {name: each for name, each in node.entries.items() if name != subject}
    if subject == "journal":
        return subject, {}, {"requests": _patterns(what, reading), **_free(rest, node, reading, ("since",))}
    identity = _identity(subject, what, reading, actors)
    known = properties_of(subject)
    for name in rest:
        if known and name not in known:
            reading.wrong(node.keys[name], name, f"{subject} has no such property; {nearest(name, known)}")
    if not rest:
        raise Wrong(node, f"nothing is expected of the {subject}; {nearest('', known)}")
    if subject in _STATES and "state" in rest:
        _check_state(rest["state"], subject, reading)
    return subject, identity, {name: read_expected(each, reading, name) for name, each in rest.items()}


def read_expected(node: Node, reading: Reading, key: str = "expect") -> Json:
    """What a value must be, as data; its matchers and saved names are checked, and what is wrong is kept."""
    try:
        value = read(ANYTHING, node, reading)
    except Wrong as wrong:
        reading.wrong(wrong.node, key, wrong.message)
        return None
    _check_matchers(node, reading, key)
    return value


def read_answer(node: Node, reading: Reading, known: Sequence[str]) -> dict[str, Json]:
    """What an answer must be: its fields by name. Raises Wrong."""
    if not isinstance(node, Table):
        raise Wrong(node, f"should be a mapping of fields: {{error: NONE}}, not {shown(node)}")
    for name, key in node.keys.items():
        if name not in known:
            reading.wrong(key, name, f"the answer has no such field; {nearest(name, known)}")
    if "error" in node.entries:
        _check_error(node.entries["error"], reading)
    return {name: read_expected(each, reading, name) for name, each in node.entries.items()}


def _check_error(node: Node, reading: Reading) -> None:
    name = node.value if isinstance(node, Scalar) else None
    if isinstance(name, int | float):
        there = next((f": {each.name}" for each in ErrorCode if each == name), "")
        reading.wrong(node, "error", f"should be the name of an error, not its number{there}")
    if isinstance(name, str) and name[:1] != "$" and name not in ErrorCode.__members__:
        hint = nearest(name, list(ErrorCode.__members__), WHERE_ERRORS)
        reading.wrong(node, "error", f"Kafka has no error {shown(node)}; {hint}")


def _free(rest: Mapping[str, Node], node: Table, reading: Reading, known: Sequence[str]) -> dict[str, Json]:
    for name in rest:
        if name not in known:
            reading.wrong(node.keys[name], name, f"a step with journal has no such key; {nearest(name, known)}")
    return {name: read_expected(each, reading, name) for name, each in rest.items() if name in known}


def _patterns(node: Node, reading: Reading) -> list[Json]:
    if not isinstance(node, Items):
        raise Wrong(node, f"should be a list of requests: [{{api: JoinGroup, error: NONE}}], not {shown(node)}")
    if not node.items:
        raise Wrong(node, "nothing is expected of the journal: [{api: JoinGroup, error: NONE}]")
    found = []
    for each in node.items:
        if not isinstance(each, Table):
            reading.wrong(each, "journal", f"should be a request: {{api: JoinGroup}}, not {shown(each)}")
            continue
        for name, key in each.keys.items():
            if name not in PATTERN_FIELDS:
                reading.wrong(key, name, f"a request has no such field; {nearest(name, PATTERN_FIELDS)}")
        found.append(read_expected(each, reading, "journal"))
        _check_pattern(each, reading)
    return found


def _check_state(node: Node, subject: str, reading: Reading) -> None:
    states = _STATES[subject]
    if isinstance(node, Scalar) and not is_saved(node) and node.value not in states:
        reading.wrong(node, "state", f"there is no {shown(node)}; {nearest(node.text, states)}")


def _check_pattern(node: Table, reading: Reading) -> None:
    """What no request can have, unless that depends on saved values."""
    fields = {name: plain(each) for name, each in node.entries.items() if name in RequestPattern._fields}
    if any(isinstance(value, str) and value[:1] == "$" for value in fields.values()):
        return
    try:
        RequestPattern(**fields).check()
    except InvalidArgument as error:
        text = str(error).removeprefix(f"{error.field}: ")
        reading.wrong(node.keys.get(error.field, node), error.field, text)


def _identity(subject: str, node: Node, reading: Reading, actors: Sequence[str]) -> dict[str, Json]:
    if subject == "clock":
        if not isinstance(node, Scalar) or node.value is not None:
            read(NULL, node, reading)
        return {}
    if subject == "actor":
        name = read(NAME, node, reading)
        if name not in actors:
            raise Wrong(node, no_actor(name, actors))
        return {"name": name}
    if subject in ("fault", "hold"):
        return {"name": saved_thing(node, reading, subject)}
    if subject == "partition":
        found = read(PARTITION, node, reading)
        return {"name": found[0], "index": found[1]} if isinstance(found, tuple) else {"name": found}
    if subject == "records":
        text = read(NAME, node, reading)
        try:
            topic, index = partition_of(text)
        except ValueError:
            return {"name": text}
        return {"name": topic, "index": index}
    if subject == "node":
        return {"node_id": read(WHOLE, node, reading)}
    return {"name" if subject == "topic" else "group_id": read(NAME, node, reading)}


def saved_thing(node: Node, reading: Reading, kind: str) -> str:
    """The name that an earlier step gave a fault or a hold. Raises Wrong."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.value:
        raise Wrong(node, f"should be the name that `as` gave a {kind}, not {shown(node)}")
    name = node.value.removeprefix("$")
    there = [each for each, what in reading.saved.items() if what == kind]
    if name not in there:
        raise Wrong(node, f"no earlier step has `as: {name}` for a {kind}; {nearest(name, there)}")
    return name


def _check_matchers(node: Node, reading: Reading, key: str) -> None:
    """Keep what is wrong with the matchers in an expected value."""
    if isinstance(node, Items):
        for each in node.items:
            _check_matchers(each, reading, key)
    elif isinstance(node, Table):
        if len(node.entries) > 1 and all(name in MATCHERS for name in node.entries):
            reading.wrong(node, key, f"a matcher must be the only key, but there are {' and '.join(node.entries)}")
        for name, each in node.entries.items():
            if len(node.entries) == 1 and name in MATCHERS and not MATCHERS[name].fits(each):
                reading.wrong(each, key, f"the matcher {name} takes {MATCHERS[name].takes}, not {shown(each)}")
            _check_matchers(each, reading, key)


def _is_saved(node: Node) -> bool:
    return isinstance(node, Scalar) and isinstance(node.value, str) and node.value[:1] == "$"


def _is_number(node: Node) -> bool:
    is_number = isinstance(node, Scalar) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
    return is_number or _is_saved(node)


def _is_flag(node: Node) -> bool:
    return isinstance(node, Scalar) and isinstance(node.value, bool)


def _is_pattern(node: Node) -> bool:
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return False
    return is_pattern(node.value)


def _is_list(node: Node) -> bool:
    return isinstance(node, Items) or _is_saved(node)


class Matcher(NamedTuple):
    """What is given to a matcher, and what that makes of it; `playing/matching.py` matches."""

    about: str
    takes: str = "a value"
    fits: Callable[[Node], bool] = lambda _node: True


MATCHERS: Mapping[str, Matcher] = {
    "any": Matcher("anything but null; with `false`, null", "true or false", _is_flag),
    "at_least": Matcher("at least this number", "a number", _is_number),
    "at_most": Matcher("at most this number", "a number", _is_number),
    "contains": Matcher("a string that contains this, a list with this element, or a mapping with this key"),
    "matches": Matcher(
        "a string in which this regular expression (RE2 syntax) is found", "a regular expression", _is_pattern
    ),
    "not": Matcher("anything else"),
    "one_of": Matcher("one of the elements of this list", "a list", _is_list),
    "unordered": Matcher("a list with these elements, in any order", "a list", _is_list),
}
