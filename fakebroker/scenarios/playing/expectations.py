"""What the subjects of `expect` show: properties of handles, of actors, records, committed offsets, the journal."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fakebroker.protocol.errors import InvalidArgument, UnknownThing, nearest
from fakebroker.scenarios.errors import no_actor
from fakebroker.scenarios.language.read_expectations import PATTERN_FIELDS
from fakebroker.scenarios.playing.answer_views import record_view
from fakebroker.scenarios.playing.matching import is_matcher, mismatches, shown
from fakebroker.scenarios.playing.value_views import value_view
from fakebroker.testing.handles.expectation import RequestPattern
from fakebroker.testing.journal.request_log import line_of

if TYPE_CHECKING:
    from fakebroker.broker.engine.journal import Exchange
    from fakebroker.scenarios.playing.actors import ActorClient
    from fakebroker.scenarios.playing.worlds import World

Json = Any
LAST_SHOWN = 6
_OF_POWERS = ("group", "topic", "coordinator", "transaction", "transaction_coordinator", "node")
_COLUMNS = {"timestamp": "timestamp_ms"}


class Expectations:
    """Compares what there is with what a scenario expects. `things` are holds and faults by their names."""

    def __init__(self, world: "World", actors: Mapping[str, "ActorClient"], things: Mapping[str, Any]) -> None:
        self._world = world
        self._actors = actors
        self._things = things
        self.since_seq = 0  # the journal counts from here

    def problems(self, subject: str, identity: Mapping[str, Json], expected: Mapping[str, Json]) -> list[str]:
        """A sentence for each property that is not as expected. Raises UnknownThing for what cannot be asked."""
        if subject == "journal":
            return self._journal(expected)
        seen = self._seen(subject, identity, list(expected))
        if subject == "committed":
            seen = {name: _offset_of(expected.get(name), value) for name, value in seen.items()}
        return mismatches(expected, seen)

    def _seen(self, subject: str, identity: Mapping[str, Json], names: Sequence[str]) -> Mapping[str, Json]:
        if subject == "actor":
            return _picked(self._actor(identity).shown(), names, "an actor")
        powers = self._world.powers
        if subject == "records":
            return _picked(_records(powers, identity), names, "records")
        if subject == "committed":
            return _committed(powers, identity)
        return {name: value_view(_property(self._handle(powers, subject, identity), name)) for name in names}

    def _handle(self, powers: Any, subject: str, identity: Mapping[str, Json]) -> Any:
        which = list(identity.values())
        if subject in ("fault", "hold", "snapshot"):
            name = str(which[0]) if which else ""
            if name not in self._things:
                hint = nearest(name, list(self._things))
                raise UnknownThing(subject, name, f"{subject}: no step has defined {name!r}; {hint}")
            return self._things[name]
        if subject == "partition":
            return powers.topic(which[0]).partition(which[1])
        if subject == "clock":
            return powers.clock
        find: Callable[..., Any] | None = getattr(powers, subject, None)
        if subject not in _OF_POWERS or find is None:
            raise UnknownThing("expect", subject, f"{self._world.name} cannot be asked about a {subject}")
        return find(*which)

    def _actor(self, identity: Mapping[str, Json]) -> "ActorClient":
        name = str(next(iter(identity.values()), ""))
        if name not in self._actors:
            raise UnknownThing("actor", name, no_actor(name, self._actors))
        return self._actors[name]

    def _journal(self, expected: Mapping[str, Json]) -> list[str]:
        """Requests in this order, others between them; `never`: none of these before the next."""
        broker = self._world.broker
        if broker is None:
            raise UnknownThing("expect", "journal", f"{self._world.name} has no journal")
        rows, since = expected.get("requests", ()), expected.get("since", self.since_seq)
        patterns = [_pattern(row) for row in rows]
        return _out_of_order(patterns, broker.journal.requests(since=since))


def _offset_of(expected: Json, seen: Json) -> Json:
    """A committed offset as it is compared: the number alone, unless fields are expected."""
    return seen if isinstance(expected, Mapping) and not is_matcher(expected) else seen["offset"]


def _property(handle: Any, name: str) -> Any:
    """A property of a handle, or what a method gives that needs no arguments ("explain")."""
    known = [each for each in dir(type(handle)) if each[0] != "_"] + [each for each in vars(handle) if each[0] != "_"]
    if name not in known:
        raise UnknownThing("expect", name, f"{name}: {handle!r} has no such property; {nearest(name, known)}")
    value = getattr(handle, name)
    if not callable(value):
        return value
    try:
        return value()
    except TypeError:
        raise UnknownThing("expect", name, f"{name!r} of {handle!r} is an action, which cannot be expected") from None


def _picked(view: Mapping[str, Json], names: Sequence[str], whose: str) -> Mapping[str, Json]:
    for name in names:
        if name not in view:
            raise UnknownThing("expect", name, f"{name}: {whose} has no such property; {nearest(name, view)}")
    return view


def _records(powers: Any, identity: Mapping[str, Json]) -> dict[str, Json]:
    topic, *partition = identity.values()
    stored = powers.topic(topic).records(*partition)
    rows = [record_view(each) | {"partition": each.partition} for each in stored]
    columns = {
        f"{name}s": [row[_COLUMNS.get(name, name)] for row in rows] for name in ("offset", "key", "value", "timestamp")
    }
    return {"records": rows, "count": len(rows), **columns}


def _committed(powers: Any, identity: Mapping[str, Json]) -> dict[str, Json]:
    (group_id, *_) = identity.values()
    return {f"{each.topic}-{each.partition}": value_view(each) for each in powers.group(group_id).committed}


def _pattern(row: Mapping[str, Json]) -> RequestPattern:
    fields = {"is_never" if name == "never" else name: value for name, value in row.items()}
    for name in fields:
        if name not in RequestPattern._fields:
            hint = nearest(name, PATTERN_FIELDS)
            raise InvalidArgument("journal", dict(row), f"{name}: a request has no such field; {hint}")
    pattern = RequestPattern(**fields)
    pattern.check()
    return pattern


def _out_of_order(patterns: list[RequestPattern], requests: "Sequence[Exchange]") -> list[str]:
    """What is missing, or came where it never should."""
    forbidden: list[RequestPattern] = []
    left = list(patterns)
    _skip(left, forbidden)
    for exchange in requests:
        if left and left[0].matches(exchange):
            left.pop(0)
            forbidden.clear()
            _skip(left, forbidden)
            continue
        for pattern in forbidden:
            if pattern.matches(exchange):
                return [f"journal: expected {pattern}, but saw #{exchange.seq} {line_of(exchange)}"]
    if not left:
        return []
    last = [line_of(each) for each in requests[-LAST_SHOWN:]]
    where = "nothing before it" if len(left) == len(patterns) else f"after the {len(patterns) - len(left)} before it"
    return [f"journal: expected {left[0]} ({where}), but saw {shown(last)}"]


def _skip(left: list[RequestPattern], forbidden: list[RequestPattern]) -> None:
    while left and left[0].is_never:
        forbidden.append(left.pop(0))
