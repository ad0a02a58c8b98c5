"""An API's own error layout, where its module has no `error_response` of its own (AV-10).

Most answers have an error code at the top, and that is all they need. In the others the code stands in entries that
mirror those of the request, so that the client can tell which topic or group it is about: a `Mirror` says which list
mirrors which, and what is repeated of each entry. Both are found by what the fields mean. As in Kafka's
`getErrorResponse`, nothing else is filled in.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from fakebroker.broker.apis.handlers import handler
from fakebroker.broker.engine.subjects import FORGOTTEN
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.entities import Entry, field_of, fields_of, inner_of
from fakebroker.protocol.schema.message import Declaration, made
from fakebroker.protocol.schema.types import ArrayOf, Entity, FieldSpec, Primitive
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.registry import APIS

Answered = TypeVar("Answered", bound=Message)
Kind = type[Declaration] | Primitive  # of what is in a list
Entries = Generator[None, None, list[Entry]]  # the steps in which they are made

ENTRIES_PER_STEP = 2000
_AT_ONCE = 20  # entries, between two looks at the pace
ITSELF = ""  # in place of a field's name, where the request's entry is a bare value
# What entries are about: those of an answer repeat it.
_SUBJECTS: tuple[Entity, ...] = (
    "configResource",
    "configResourceType",
    "coordinatorKey",
    "groupId",
    "partitionIndex",
    "producerId",
    "topicId",
    "topicName",
    "transactionalId",
    "userName",
)


class Mirror(NamedTuple):
    """The entries of the answer's list `answered` stand for those of the request's list `asked`, in their order."""

    answered: str
    asked: str  # "dirs.topics": the topics of all dirs
    repeated: dict[str, str]  # field of the answer's entry -> field of the request's entry, or ITSELF
    inner: "Mirror | None" = None  # the same between the lists in the entries


def mirrors_between(answer: type[Declaration], request: type[Declaration], *, outermost: bool) -> Iterator[Mirror]:
    """Which lists of the answer have an error code for each entry of which lists of the request.

    `outermost`: in entries that have entries of their own, such as groups with topics, the code is that of the former.
    """
    for spec in _lists(answer):
        element = inner_of(spec)
        if element is None or not fields_of(element, "errorCode"):
            continue
        for path, asked in _asked_about(element, request):
            mirror = _mirror(spec, element, path, asked, outermost=outermost)
            if mirror is not None:
                yield mirror


def _mirror(
    answered: FieldSpec, element: type[Declaration], path: str, asked: FieldSpec, *, outermost: bool
) -> Mirror | None:
    has_own_code = field_of(element, "errorCode") is not None
    inner_request, inner = inner_of(asked), None
    if inner_request is not None and not (has_own_code and outermost):
        inner = next(mirrors_between(element, inner_request, outermost=outermost), None)
    if inner is None and not has_own_code:
        return None
    return Mirror(answered.name, path, _repeated(element, asked), inner)


def _asked_about(element: type[Declaration], request: type[Declaration]) -> list[tuple[str, FieldSpec]]:
    """The lists of the request that entries of the answer stand for, each with its path.

    Entries that do not say what they are about stand for those of the only list.
    """
    lists = [(spec.name, spec) for spec in _lists(request)]
    if not any(fields_of(element, each) for each in _SUBJECTS):
        return lists if len(lists) == 1 else []
    found = [each for each in lists if _repeated(element, each[1])]
    return found or [
        (f"{name}.{deeper.name}", deeper)
        for name, spec in lists
        if (inner := inner_of(spec)) is not None
        for deeper in _lists(inner)
        if _repeated(element, deeper)
    ]


def _lists(declaration: type[Declaration]) -> list[FieldSpec]:
    return [spec for spec in declaration.fields if isinstance(spec.type, ArrayOf) and spec.name != FORGOTTEN]


def _repeated(element: type[Declaration], asked: FieldSpec) -> dict[str, str]:
    """What an entry of the answer repeats of the request's: the fields that mean the same."""
    inner = inner_of(asked)
    repeated = {}
    for entity in _SUBJECTS:
        answered = field_of(element, entity)
        there = None if inner is None else field_of(inner, entity)
        if answered is not None and (there is not None or asked.entity == entity):
            repeated[answered.name] = ITSELF if there is None else there.name
    return repeated


class Mirrors(Mapping[int, tuple[Mirror, ...]]):
    """The mirrors of released APIs, by their keys; found when first looked up.

    `between` has those of dialects, too, whose messages have other fields.
    """

    def __init__(self, has: Callable[[int], bool], *, outermost: bool = False) -> None:
        self._has = has
        self._outermost = outermost
        self._found: dict[int, tuple[Mirror, ...] | None] = {}
        self._of_drafts: dict[tuple[type[Message], type[Message]], tuple[Mirror, ...]] = {}

    def between(self, response: type[Message], request: type[Message]) -> tuple[Mirror, ...]:
        """The mirrors between the two classes, released ones or a dialect's; none if the API has none."""
        api_key = response.api_key
        if APIS[api_key].request is request and APIS[api_key].response is response:
            return self.get(api_key, ())
        if not self._has(api_key):
            return ()
        found = self._of_drafts.get((response, request))
        if found is None:
            found = tuple(mirrors_between(response, request, outermost=self._outermost))
            self._of_drafts[response, request] = found
        return found

    def __getitem__(self, api_key: int) -> tuple[Mirror, ...]:
        if api_key not in self._found:
            self._found[api_key] = self._find(api_key)
        found = self._found[api_key]
        if found is None:
            raise KeyError(api_key)
        return found

    def _find(self, api_key: int) -> tuple[Mirror, ...] | None:
        if api_key not in APIS or not self._has(api_key):
            return None
        api = APIS[api_key]
        return tuple(mirrors_between(api.response, api.request, outermost=self._outermost))

    def __iter__(self) -> Iterator[int]:
        return filter(self._has, APIS)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _needs_entries(api_key: int) -> bool:
    """Whether some version has no code at the top, and the API's module does not make such an answer itself."""
    api = APIS[api_key]
    has_all = all(has_code(api.response, version) for version in range(api.min, api.max + 1))
    return not has_all and not hasattr(handler(api_key), "error_response")


# Where the code stands in entries, in versions that have none at the top. Those of DescribeLogDirs, v0 to v2, are the
# broker's directories and stand for nothing that was asked for.
MIRRORS: Final = Mirrors(_needs_entries, outermost=True)

# Entries that have a code beside that at the top, or below that of `MIRRORS`, for a fault that means some of them only:
# what stands in the entries of Fetch is made by its module.
_WITH_ENTRIES = frozenset(
    {
        ApiKey.FETCH,
        ApiKey.OFFSET_FETCH,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.OFFSET_DELETE,
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    }
)
ENTRIES: Final = Mirrors(_WITH_ENTRIES.__contains__)

# Where Kafka fills the entries, too, although there is a code at the top (seen on 4.3.1).
_BESIDE_TOP = frozenset(
    {ApiKey.ELECT_LEADERS, ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS}
)
BESIDE_TOP: Final = Mirrors(_BESIDE_TOP.__contains__)


def error_response(
    response: type[Answered], request: Message | None, version: int, code: ErrorCode
) -> Generator[None, None, Answered]:
    """The answer of class `response` in which everything that `request` asked for failed with `code`; in steps."""
    is_at_top = has_code(response, version)
    answer: Answered = made(response, {"error_code": int(code)} if is_at_top else {})
    if request is None:  # its body was not looked at
        return answer
    for mirror in (BESIDE_TOP if is_at_top else MIRRORS).between(response, type(request)):
        entries = yield from error_entries_in_steps(mirror, response, request, version, code)
        getattr(answer, mirror.answered).extend(entries)
    return answer


def error_entries_in_steps(
    mirror: Mirror, response: type[Message], request: Message, version: int, code: ErrorCode
) -> Entries:
    """The entries of the answer for everything in the list of the request that `mirror` names.

    In steps: a request may have millions.
    """
    pace = Pace(ENTRIES_PER_STEP)
    return _mirror_of_list(mirror, response, type(request), version, code, pace)([request])


def has_code(declaration: type[Declaration], version: int) -> bool:
    """Whether a message, or an entry of a list, has an error code in that version."""
    return _code_field(declaration, version) is not None


def _code_field(declaration: type[Declaration], version: int) -> str | None:
    """The name of the field with the error code."""
    there = (spec for spec in declaration.fields if spec.versions.includes(version))
    return next((spec.name for spec in there if spec.entity == "errorCode"), None)


def _mirror_of_list(
    mirror: Mirror, answer: type[Declaration], request: Kind, version: int, code: ErrorCode, pace: Pace
) -> Callable[[Sequence[object]], Entries]:
    """What makes the entries of `mirror.answered` for all entries that some of the declaration `request` hold.

    A request may have hundreds of thousands of them: what is the same for all is found out here, once.
    """
    way = []
    for name in mirror.asked.split("."):
        way.append(getter(request, name))
        request = kind_in(request, name)
    element, inner = element_of(answer, mirror.answered), mirror.inner
    one = _mirror_of_one(mirror, element, request, version, code)
    inner_entries = None if inner is None else _mirror_of_list(inner, element, request, version, code, pace)

    def mirrored(parents: Sequence[object]) -> Entries:
        for held in way:
            parents = [entry for parent in parents for entry in held(parent) or ()]
        entries: list[Entry] = []
        if inner is None or inner_entries is None:
            for at in range(0, len(parents), _AT_ONCE):
                part = parents[at : at + _AT_ONCE]
                entries += [one(parent, {}) for parent in part]
                if pace.is_over(len(part)):
                    yield
            return entries
        for parent in parents:
            entries.append(one(parent, {inner.answered: (yield from inner_entries([parent]))}))
            if pace.is_over():
                yield
        return entries

    return mirrored


def _mirror_of_one(
    mirror: Mirror, element: type[Declaration], request: Kind, version: int, code: ErrorCode
) -> Callable[[object, dict[str, Any]], Entry]:
    """What makes the answer's entry, of the declaration `element`, for one of the request's, of `request`.

    It is given the values that are known beside, which are its own from then on.
    """
    repeated = [(field, getter(request, name)) for field, name in mirror.repeated.items()]
    code_field = None if mirror.inner else _code_field(element, version)

    def mirrored(entry: object, values: dict[str, Any]) -> Entry:
        for field, get in repeated:
            if (value := get(entry)) is not None:
                values[field] = value
        if code_field:
            values[code_field] = int(code)
        return made(element, values)  # type: ignore[no-any-return]

    return mirrored


def kind_in(declaration: Kind, name: str) -> Kind:
    """What the entries of the list of that name are."""
    assert not isinstance(declaration, Primitive)
    kind = next(spec.type for spec in declaration.fields if spec.name == name)
    assert isinstance(kind, ArrayOf)
    return kind.element


def element_of(declaration: Kind, name: str) -> type[Declaration]:
    """The declaration of the entries of the list of that name, which are structures or rows."""
    element = kind_in(declaration, name)
    assert not isinstance(element, Primitive)
    return element


def value_of(declaration: Kind, entry: object, name: str) -> Any:
    """A field of an entry: of a structure, a row (a plain tuple), or a bare value."""
    return getter(declaration, name)(entry)


def getter(declaration: Kind, name: str) -> Callable[[Any], Any]:
    """What takes that field of an entry."""
    if isinstance(declaration, Primitive):
        return lambda entry: entry
    if declaration.is_row:
        return itemgetter([spec.name for spec in declaration.fields].index(name))
    return attrgetter(name)
