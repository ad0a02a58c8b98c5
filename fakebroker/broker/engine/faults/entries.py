"""A fault that means some entries of a request only: these get the error, the others are applied and answered as ever.

`mirrors_of` says where an API has error codes in entries. `split` parts the request; `merge` puts the entries with the
error into the answer to the rest. Requests that change nothing are not parted but asked as a whole (`ASKED_WHOLE`):
where a list that is empty means everything, or that is kept in a session, what is left would be another request.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, TypeVar, cast

from fakebroker.broker.apis import fetch
from fakebroker.broker.engine.error_response import (
    ENTRIES,
    MIRRORS,
    Mirror,
    element_of,
    error_entries_in_steps,
    getter,
    value_of,
)
from fakebroker.broker.engine.faults.naming import NOTHING, Named, named_by, named_in, names_in, topic_named
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Pace, has_any, listed
from fakebroker.protocol.schema import ZERO_UUID, Message
from fakebroker.protocol.schema.entities import Entry
from fakebroker.protocol.schema.message import Declaration, made, with_fields
from fakebroker.protocol.schema.types import FieldSpec
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.fetch import FetchRequest, FetchTopic, ForgottenTopic

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call
    from fakebroker.broker.core.logs.fetch_sessions import SessionPartition as Known
    from fakebroker.broker.core.logs.fetching import PartitionFetch
    from fakebroker.broker.core.topics import Topics

ENTRIES_PER_STEP = 5_000
ASKED_WHOLE = (ApiKey.FETCH, ApiKey.METADATA, ApiKey.OFFSET_FETCH)

Chosen = Callable[[Named], bool]
Asked = TypeVar("Asked", bound=Message | None)
Part = TypeVar("Part")
Errors = list[tuple[Mirror, list[Entry]]]
SessionPartition = tuple[str | bytes, int]
NameAndId = tuple[str, bytes]
NamedInSession = dict[SessionPartition, NameAndId]
Places = dict[tuple[object, ...], int]  # of entries in a list, by the values of some of their fields
Splitting = Generator[None, None, tuple[Part | None, Part | None]]


def mirrors_of(response: type[Message], request: type[Message], *, of_groups: bool) -> tuple[Mirror, ...]:
    """Where the answers of an API have error codes in entries: `of_groups`, in entries that are groups."""
    mirrors = MIRRORS.between(response, request)
    if of_groups:
        return tuple(each for each in mirrors if "group_id" in each.repeated)
    return ENTRIES.between(response, request) or mirrors


class Parts:
    """A request in two: `chosen` is what a fault means, `rest` what it leaves; None if that is nothing."""

    def __init__(self, mirrors: tuple[Mirror, ...], chosen: Message | None, rest: Message | None) -> None:
        self.mirrors = mirrors
        self.chosen = chosen
        self.rest = rest

    def errors(self, response: type[Message], version: int, code: ErrorCode) -> Generator[None, None, Errors]:
        """The entries of the answer (of class `response`) for what is chosen; in steps, as they may be very many."""
        if self.chosen is None:
            return []
        if isinstance(self.chosen, FetchRequest):
            return [(self.mirrors[0], list((yield from fetch.partition_errors(self.chosen, code))))]
        errors: Errors = []
        for mirror in self.mirrors:
            entries = yield from error_entries_in_steps(mirror, response, self.chosen, version, code)
            errors.append((mirror, entries))
        return errors


def parts_of(
    request: Message, mirrors: tuple[Mirror, ...], is_chosen: Chosen, topics: "Topics", pace: Pace
) -> Generator[None, None, Parts]:
    """The parts of a request by what is chosen; in steps, as its entries may be very many."""
    declaration = type(request)
    for mirror in mirrors:
        if value_of(declaration, request, mirror.asked.partition(".")[0]):
            start = named_by(declaration, request, NOTHING, topics)
            splitter = _Splitter(is_chosen, topics, pace)
            return Parts(mirrors, *(yield from splitter.split(declaration, request, mirror, start)))
    return Parts(mirrors, None, request)


class _Splitter:
    """Splits entries by what is chosen, at the pace of the request."""

    def __init__(self, is_chosen: Chosen, topics: "Topics", pace: Pace) -> None:
        self._is_chosen = is_chosen
        self._topics = topics
        self._pace = pace

    def split(self, declaration: type[Declaration], entry: Part, mirror: Mirror, named: Named) -> Splitting[Part]:
        """The entry with only what is chosen, and with only what is not; None for one that has nothing left."""
        return self._split_list(declaration, entry, mirror.asked.split("."), mirror.inner, named)

    def _split_list(
        self, declaration: type[Declaration], entry: Part, path: list[str], inner: Mirror | None, named: Named
    ) -> Splitting[Part]:
        name, *deeper = path
        spec = next(each for each in declaration.fields if each.name == name)
        chosen, rest = [], []
        for each in value_of(declaration, entry, name) or ():
            if deeper or inner:
                here = named_in(spec, each, named, self._topics)
                element = element_of(declaration, name)
                part, other = yield from self._split_deeper(element, each, deeper, inner, here)
            else:
                is_meant = yield from self._is_meant(spec, each, named)
                part, other = (each, None) if is_meant else (None, each)
            chosen += [] if part is None else [part]
            rest += [] if other is None else [other]
            if self._pace.is_over():
                yield
        if not chosen:
            return None, entry
        return with_fields(entry, **{name: chosen}), with_fields(entry, **{name: rest}) if rest else None

    def _split_deeper(
        self, element: type[Declaration], entry: Part, path: list[str], inner: Mirror | None, named: Named
    ) -> Splitting[Part]:
        if path:
            return self._split_list(element, entry, path, inner, named)
        assert inner is not None
        return self.split(element, entry, inner, named)

    def _is_meant(self, spec: FieldSpec, entry: object, named: Named) -> Generator[None, None, bool]:
        """Whether anything that the entry names is chosen."""
        return has_any(names_in(spec, entry, named, self._topics), self._is_chosen, self._pace)


def merge_in_steps(answer: Message, errors: Errors) -> Iterator[None]:
    """Put entries with an error into an answer, in the place of those that stand for the same.

    In steps: the entries may be very many.
    """
    pace = Pace(ENTRIES_PER_STEP)
    for mirror, entries in errors:
        yield from _merge(type(answer), answer, mirror, entries, pace)


def _merge(
    declaration: type[Declaration], answer: Entry, mirror: Mirror, entries: list[Entry], pace: Pace
) -> Iterator[None]:
    element = element_of(declaration, mirror.answered)
    there = list(getattr(answer, mirror.answered) or ())
    positions = _Positions(element, mirror, there)
    for entry in entries:
        position = yield from positions.of(entry, pace)
        if position is None:
            positions.append(entry)
        elif mirror.inner is None:
            there[position] = entry
        else:
            there[position] = copy(there[position])  # the handler may keep its own
            yield from _merge(element, there[position], mirror.inner, getattr(entry, mirror.inner.answered), pace)
        if pace.is_over():
            yield
    setattr(answer, mirror.answered, there)


class _Positions:
    """Where the entries of a list stand, found by what they stand for: clients may name a million of them.

    A topic goes by its name or by its id, and the other field is empty: an entry is looked up by the fields it has.
    """

    def __init__(self, element: type[Declaration], mirror: Mirror, there: list[Entry]) -> None:
        self._element = element
        self._repeated = tuple(mirror.repeated)
        self._there = there
        self._by_fields: dict[tuple[str, ...], Places] = {}
        self._getters = {field: getter(element, field) for field in self._repeated}

    def of(self, entry: Entry, pace: Pace) -> Generator[None, None, int | None]:
        """The position of the first that stands for the same; None: there is none."""
        values = zip(self._repeated, self._values(entry, self._repeated), strict=True)
        fields = tuple(field for field, value in values if _says_something(value))
        fields = fields or self._repeated  # one that names nothing stands for itself, not for the first
        if fields not in self._by_fields:
            self._by_fields[fields] = yield from self._found_by(fields, pace)
        return self._by_fields[fields].get(self._values(entry, fields))

    def _found_by(self, fields: tuple[str, ...], pace: Pace) -> Generator[None, None, Places]:
        """Where all entries stand by these fields; in steps: nothing is appended meanwhile."""
        places: Places = {}
        for position, one in enumerate(self._there):
            places.setdefault(self._values(one, fields), position)
            if pace.is_over():
                yield
        return places

    def append(self, entry: Entry) -> None:
        """Put an entry at the end of the list."""
        for fields, positions in self._by_fields.items():
            positions.setdefault(self._values(entry, fields), len(self._there))
        self._there.append(entry)

    def _values(self, entry: Entry, fields: tuple[str, ...]) -> tuple[object, ...]:
        getters = self._getters
        return tuple([getters[field](entry) for field in fields])


def _says_something(value: object) -> bool:
    """Whether a field names something: a number, a text, or an id that is not all zeros."""
    return isinstance(value, int) or any(cast("Sequence[object]", value or ()))


def with_session(call: "Call", request: Asked, pace: Pace) -> Generator[None, None, Asked]:
    """A Fetch request that names the partitions of its session, too (FS-4); every other request as it is."""
    named = yield from named_with_session(call, request, pace)
    if named is None:
        return request
    row = element_of(FetchTopic, "partitions")
    topics = (
        FetchTopic(topic=name, topic_id=topic_id, partitions=[made(row, {"partition": index})])
        for (_, index), (name, topic_id) in named.items()
    )
    return with_fields(request, topics=(yield from listed(topics, pace)))


def names_of_session(named: NamedInSession, topics: "Topics") -> Iterator[Named]:
    """Everything that a Fetch of a session names, by what `named_with_session` found."""
    if not named:
        return iter((NOTHING,))
    return (Named(topic=topic_named(*each, topics), partition=index) for (_, index), each in named.items())


def named_with_session(
    call: "Call", request: Message | None, pace: Pace
) -> Generator[None, None, NamedInSession | None]:
    """What a Fetch reads: its own partitions and those of its session, less what it forgets; in steps.

    Returns name and id of the topic by topic and index; None if the request is of no session, or no Fetch.
    """
    if not isinstance(request, FetchRequest) or not request.session_id or request.session_epoch <= 0:
        return None
    session = call.node.fetch_sessions.get(request.session_id, str(call.principal))
    if session is None:
        return None
    named: NamedInSession = {}
    for key, name_and_id in _read_by(list(session.partitions.values()), request):  # others may change the session
        named[key] = name_and_id
        if pace.is_over():
            yield
    for key in _forgotten_by(request):
        named.pop(key, None)
        if pace.is_over():
            yield
    return named


def _read_by(known: "list[Known]", request: FetchRequest) -> Iterator[tuple[SessionPartition, NameAndId]]:
    """What the session has, and then what the request adds to it."""
    for each in known:
        one = each.fetch
        yield (_topic_key(one), one.partition), (one.topic, one.topic_id)
    for topic in request.topics:
        for entry in topic.partitions:
            yield (_topic_key(topic), entry[0]), (topic.topic, topic.topic_id)


def _forgotten_by(request: FetchRequest) -> Iterator[SessionPartition]:
    return ((_topic_key(topic), index) for topic in request.forgotten_topics_data for index in topic.partitions)


def _topic_key(topic: "PartitionFetch | FetchTopic | ForgottenTopic") -> str | bytes:
    """What a Fetch calls a topic: its id, or before those its name."""
    return topic.topic_id if topic.topic_id != ZERO_UUID else topic.topic
