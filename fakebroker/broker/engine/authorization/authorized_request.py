"""One request on its way through the checks of its API: what is left of it, and what its answer has to say beside."""

from collections.abc import Callable, Generator, Hashable, Iterable
from copy import copy
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from fakebroker.broker.core.security.acls import Operation, ResourceType
from fakebroker.broker.engine.authorization.access import Access
from fakebroker.broker.engine.error_response import ENTRIES, MIRRORS, Mirror, error_entries_in_steps
from fakebroker.broker.engine.faults.entries import Errors, merge_in_steps
from fakebroker.broker.engine.stages import Handler
from fakebroker.protocol.errors import CloseConnection, ErrorCode
from fakebroker.protocol.pace import Pace, finished
from fakebroker.protocol.schema import ZERO_UUID, Message, Struct
from fakebroker.protocol.schema.entities import Entry
from fakebroker.protocol.schema.message import made, with_fields
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.registry import names_by_id

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call
    from fakebroker.broker.core.security.authorizer import Authorizer
    from fakebroker.broker.core.topics import Topics
    from fakebroker.broker.engine.dispatch import Route

Asked = TypeVar("Asked", bound=Message)
Answered = TypeVar("Answered", bound=Message)
T = TypeVar("T")
Refusing = Generator[None, None, list[Entry]]
"""The steps in which entries are refused; they end with what the answer gets for them."""

Finisher = Callable[[Answered], Generator[None, None, None] | None]
"""Changes an answer, at once or in steps."""

QUESTIONS_OF_OPERATIONS = 10  # about one resource, when all that the client may do with it is shown
CODES = {  # what is answered for a refusal, by the type of the resource (AU-4)
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ResourceType.USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
REFUSED_TEXTS = {  # the same in words, in answers that have a message
    ResourceType.TOPIC: "Topic authorization failed.",
    ResourceType.GROUP: "Group authorization failed.",
    ResourceType.CLUSTER: "Cluster authorization failed.",
    ResourceType.TRANSACTIONAL_ID: "Transactional Id authorization failed.",
}
_NAMES = ("name", "topic", "group_id")  # what entries call the resource that they are about
REPEATED_TOPIC = "Duplicate topic name."
# The APIs that answer a refused entry once, however often the request has it (seen on 4.3.1); others as often.
ANSWERED_ONCE = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.OFFSET_COMMIT,
        ApiKey.DELETE_RECORDS,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.DELETE_GROUPS,
        ApiKey.OFFSET_DELETE,
    }
)


class AuthorizedRequest(Generic[Asked, Answered]):
    """What the checks of an API make of a request (`Asked`) and its answer (`Answered`).

    `request` is what is left of it, `answer` what it gets at once, if anything. `handle` takes up the rest. What comes
    of that goes through `finish`. `is_by_id`: its version names topics by their ids alone.

    The handler sees only entries that were judged and allowed. `take_out` asks about every entry that is left; no count
    and no other field of the request spares an entry. What Kafka refuses before it looks at rights
    (`take_out_repeated`) leaves the request first and is never handed on.
    """

    def __init__(self, route: "Route", call: "Call", request: Asked, authorizer: "Authorizer") -> None:
        self.route = route
        self.call = call
        self.request = request
        self.access = Access(call, authorizer, route.name)
        self.answer: Answered | None = None
        self.handle: Handler = route.handle
        self.is_by_id = names_by_id(route.api_key, route.version)
        self._errors: Errors = []
        self._finishers: list[Finisher[Answered]] = []

    # What checks do

    def answer_at_once(self, **fields: object) -> None:
        """The request is answered with an answer of these fields, without its handler."""
        self.answer = made(self.route.response, fields)

    def refuse(self, resource_type: ResourceType, text: str | None = None) -> Generator[None, None, Answered]:
        """The whole request is refused, in its API's own error layout (AV-10), with this text where it has messages.

        Returns the answer, which may have an entry for each of the request: in steps.
        """
        refusal = yield from self.route.error_in_steps(self.request, CODES[resource_type])
        if text is not None:
            yield from text_put(refusal, text, self.access.pace)
        self.answer = cast("Answered", refusal)
        return self.answer

    def change(self, **fields: object) -> None:
        """Let the handler have other values in these fields of the request."""
        self.request = with_fields(self.request, **fields)

    def take_out(
        self, field: str, resource_type: ResourceType, is_refused: Callable[[T], bool], text: str | None = None
    ) -> Refusing:
        """Refuse some entries of a list of the request; the answer gets errors in their place. Returns what it gets.

        Every entry is judged by `is_refused`. If none is left, the request is answered without its handler.
        """
        return (yield from self._take_out(field, CODES[resource_type], is_refused, text))

    def take_out_denied(
        self, field: str, operation: Operation, resource_type: ResourceType, text: str | None = None
    ) -> Refusing:
        """The same of entries with whose resource the client may not do it. Ids of unknown topics need nothing."""
        topics = self.call.cluster.topics

        def is_denied(entry: object) -> bool:
            name = name_in(entry, topics, self.is_by_id)
            return name is not None and not self.access.may(operation, resource_type, name)

        return (yield from self.take_out(field, resource_type, is_denied, text))

    def take_out_repeated(self, field: str, key: Callable[[T], Hashable], text: str, *, once: bool) -> Refusing:
        """Refuse entries that the request has more than once, before their rights are looked at, as Kafka does.

        `once`: each is answered once, else as often as the request has it.
        """
        last, repeated = dict[Hashable, T](), set[Hashable]()
        for each in getattr(self.request, field):
            named = key(each)
            if named in last:
                repeated.add(named)
            last[named] = each
            if self.access.pace.is_over():
                yield
        if not repeated:
            return []

        def is_repeated(entry: T) -> bool:
            return key(entry) in repeated

        def is_answered(entry: T) -> bool:
            return not once or last[key(entry)] is entry

        return (yield from self._take_out(field, ErrorCode.INVALID_REQUEST, is_repeated, text, is_answered))

    def take_out_invalid(self, field: str, is_invalid: Callable[[T], bool], text: str) -> Refusing:
        """Refuse entries that Kafka finds invalid before it looks at their rights."""
        return (yield from self._take_out(field, ErrorCode.INVALID_REQUEST, is_invalid, text))

    def _take_out(
        self,
        field: str,
        code: ErrorCode,
        is_refused: Callable[[T], bool],
        text: str | None,
        is_answered: Callable[[T], bool] | None = None,
    ) -> Refusing:
        """In steps: a frame of 1 MB may name 300,000 resources.

        An id that was unknown may be that of a topic which another client made between two steps, so what is left is
        asked once more then, all at once: `Access` has most of the answers.
        """
        refused, rest, errors, pace = list[T](), list[T](), list[Entry](), self.access.pace
        topics = self.call.cluster.topics
        creation = topics.last_creation
        for entry in getattr(self.request, field) or ():
            if not is_refused(entry):
                rest.append(entry)
            elif is_answered is None or is_answered(entry):
                refused.append(entry)
            if pace.is_over():
                errors += yield from self._error_entries(field, refused, code, text)
                refused = []
                yield
        errors += yield from self._error_entries(field, refused, code, text)
        if topics.last_creation != creation:  # no step comes between this and the handler
            late, rest = finished(parted(rest, is_refused, pace))
            errors += finished(self._error_entries(field, late, code, text))
        if errors:
            self._errors.append((self._mirror(field), errors))
        self._keep(field, rest)
        return errors

    def _error_entries(self, field: str, refused: list[T], code: ErrorCode, text: str | None) -> Refusing:
        """In steps: one topic may have a million partitions."""
        if not refused:
            return []
        chosen, mirror = with_fields(self.request, **{field: refused}), self._mirror(field)
        errors = yield from error_entries_in_steps(mirror, self.route.response, chosen, self.route.version, code)
        if text is not None:
            yield from text_put(errors, text, self.access.pace)
        return errors

    def _mirror(self, field: str) -> Mirror:
        classes = self.route.response, self.route.request
        mirrors = (*MIRRORS.between(*classes), *ENTRIES.between(*classes))
        return next(each for each in mirrors if each.asked == field)

    def _keep(self, field: str, rest: list[T]) -> None:
        if len(rest) < len(getattr(self.request, field) or ()):
            self.change(**{field: rest})
            if not rest:
                self.answer_at_once()

    def finish_with(self, finisher: Finisher[Answered]) -> None:
        """Let `finisher` change the answer to what was handled, at once or in the steps that it returns.

        The answer is a shallow copy of the handler's.
        """
        self._finishers.append(finisher)

    # What the stage does

    def finish(self, response: Answered | None) -> Generator[None, None, Answered | None]:
        """The answer, of what the handler answered; None: nothing. Raises CloseConnection if that says of errors."""
        if response is None:
            if self._errors:  # as Kafka tells a producer that wants no answers of an error (PD-5)
                raise CloseConnection("a request without an answer is not authorized")
            return None
        if not self._errors and not self._finishers:
            return response
        response = copy(response)  # the handler may keep its own
        if self.route.api_key in ANSWERED_ONCE:
            yield from merge_in_steps(response, self._errors)
        else:
            for mirror, entries in self._errors:
                add_entries(response, mirror.answered, entries)
        for finisher in self._finishers:
            steps = finisher(response)
            if steps is not None:
                yield from steps
        return response

    def end(self) -> None:
        """The request is over. Finishers refer to it: a cycle would keep all of it until the collector comes by."""
        self._finishers.clear()


def name_in(entry: object, topics: "Topics", is_by_id: bool = False) -> str | None:
    """The resource that an entry of a request names: itself, a field, or the topic of an id; None for an unknown id.

    `is_by_id`: only an id can name it, and the zero id is an unknown one, too.
    """
    if isinstance(entry, str):
        return entry
    for field in _NAMES:
        name = getattr(entry, field, None)
        if name:
            return str(name)
    topic_id = getattr(entry, "topic_id", ZERO_UUID)
    return None if is_by_id and topic_id == ZERO_UUID else topic_name("", topic_id, topics)


def topic_name(name: str, topic_id: bytes, topics: "Topics") -> str | None:
    """The topic of that name, or else of that id, "" without either; None for an unknown id."""
    if name or topic_id == ZERO_UUID:
        return name
    topic = topics.by_id(topic_id)
    return None if topic is None else topic.name


def add_entries(response: Message, field: str, entries: list[Entry]) -> None:
    """Put entries behind those of a list of an answer; the list itself may be the handler's."""
    setattr(response, field, [*getattr(response, field), *entries])


def parted(
    entries: Iterable[T], is_refused: Callable[[T], bool], pace: Pace
) -> Generator[None, None, tuple[list[T], list[T]]]:
    """The entries that are refused, and the rest, each in their order; in steps, at the pace of the request."""
    refused, rest = list[T](), list[T]()
    for entry in entries:
        (refused if is_refused(entry) else rest).append(entry)
        if pace.is_over():
            yield
    return refused, rest


def show_operations(
    entries: Iterable[T], operations_of: Callable[[T], int], field: str, pace: Pace
) -> Generator[None, None, None]:
    """Put what the client may do with each entry into its field, in steps: each is a dozen questions."""
    for entry in entries:
        setattr(entry, field, operations_of(entry))
        if pace.is_over(QUESTIONS_OF_OPERATIONS):
            yield


def text_put(answer: object, text: str, pace: Pace) -> Generator[None, None, None]:
    """Set the message of every part of an answer that has an error code and a message; in steps."""
    if isinstance(answer, list):
        for each in answer:
            yield from text_put(each, text, pace)
            if pace.is_over():
                yield
        return
    for spec in answer.fields if isinstance(answer, Struct) else ():
        value = getattr(answer, spec.name)
        if spec.name == "error_message":
            setattr(answer, spec.name, text)
        elif isinstance(value, list):
            yield from text_put(value, text, pace)
