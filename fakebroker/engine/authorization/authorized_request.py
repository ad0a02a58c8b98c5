"""One request on its way through the checks of its API: what is left of it, and what its answer has to say beside."""

from collections.abc import Callable, Generator, Iterable
from copy import copy
from typing import TYPE_CHECKING, Any

from fakebroker.core.security.acls import ResourceType
from fakebroker.engine.authorization.access import Access
from fakebroker.engine.connection_stand_in import ConnectionStandIn
from fakebroker.engine.error_response import ENTRIES, MIRRORS, Mirror, error_entries
from fakebroker.engine.faults.entries import merge
from fakebroker.errors import CloseConnection, ErrorCode

if TYPE_CHECKING:
    from fakebroker.apis.call import Call
    from fakebroker.core.security.authorizer import Authorizer
    from fakebroker.engine.dispatch import Route
    from fakebroker.instant import Instant

CODES = {  # what is answered for a refusal, by the type of the resource (AU-4)
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ResourceType.USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}


class AuthorizedRequest:
    """What the checks of an API make of a request.

    `request` is what is left of it, `answer` what it gets at once, if anything. `handle` takes up the rest. What comes
    of that goes through `finish`.
    """

    def __init__(self, route: "Route", call: "Call", request: Any, authorizer: "Authorizer") -> None:
        self.route = route
        self.call = call
        self.request = request
        self.access = Access(call, authorizer, route.name)
        self.answer: Any = None
        self.handle: Callable[[Call, Any], Any] = route.handle
        self._errors: list[tuple[Mirror, list[Any]]] = []
        self._finishers: list[Callable[[Any], None]] = []

    # What checks do

    def answer_at_once(self, **fields: Any) -> None:
        """The request is answered with an answer of these fields, without its handler."""
        response: Any = self.route.response
        self.answer = response(**fields)

    def refuse(self, resource_type: ResourceType) -> None:
        """The whole request is refused, in its API's own error layout (AV-10)."""
        self.answer = self.route.error_response(self.request, self.route.version, CODES[resource_type])

    def change(self, **fields: Any) -> None:
        """Let the handler have other values in these fields of the request."""
        self.request = with_fields(self.request, **fields)

    def take_out(self, field: str, resource_type: ResourceType, is_refused: Callable[[Any], bool]) -> list[Any]:
        """Refuse some entries of a list of the request; the answer gets errors in their place. Returns what it gets.

        If no entry is left, the request is answered without its handler.
        """
        entries = getattr(self.request, field) or ()
        refused, rest = parted(entries, is_refused)
        if not refused:
            return []
        api_key, version = self.route.api_key, self.route.version
        mirrors = (*MIRRORS.get(api_key, ()), *ENTRIES.get(api_key, ()))
        mirror = next(each for each in mirrors if each.asked == field)
        chosen = with_fields(self.request, **{field: refused})
        errors = error_entries(mirror, self.route.response, chosen, version, CODES[resource_type])
        self.add_errors(mirror, errors)
        self.change(**{field: rest})
        if not rest:
            self.answer_at_once()
        return errors

    def add_errors(self, mirror: Mirror, entries: list[Any]) -> None:
        """The answer gets these entries, in the place of those that stand for the same."""
        self._errors.append((mirror, entries))

    def finish_with(self, finisher: Callable[[Any], None]) -> None:
        """Let `finisher` change the answer to what was handled; it is a shallow copy of the handler's."""
        self._finishers.append(finisher)

    # What the guard does

    @property
    def has_finish(self) -> bool:
        """Whether the handler's answer is not all that the client gets."""
        return bool(self._errors or self._finishers)

    def finish(self, response: Any) -> Any:
        """The answer, of what the handler answered; None: nothing. Raises CloseConnection if that says of errors."""
        if response is None:
            if self._errors:  # as Kafka tells a producer that wants no answers of an error (PD-5)
                raise CloseConnection("a request that wants no answer is not authorized")
            return None
        response = copy(response)
        merge(response, self._errors)
        for finisher in self._finishers:
            finisher(response)
        return response


class FinishingConnection(ConnectionStandIn):
    """In the place of the connection in the call of a handler whose answer is to be finished (apis/call.py)."""

    def __init__(self, connection: Any, authorized: AuthorizedRequest) -> None:
        super().__init__(connection)
        self._finish = authorized.finish

    def answer(self, call: "Call", response: Any) -> None:
        """Finish the answer, and send it."""
        try:
            response = self._finish(response)
        except CloseConnection as error:
            call.is_answered = True
            self._connection.fail(str(error))
        else:
            self._connection.answer(call, response)

    def work(self, call: "Call", steps: Generator[None, None, Any], must_finish: bool) -> None:
        """Go on with the steps, and finish what they return."""
        self._connection.work(call, self._finished(steps), must_finish)

    def _finished(self, steps: Generator[None, None, Any]) -> Generator[None, None, Any]:
        response = yield from steps
        return None if response is None else self._finish(response)

    def watch(self, call: "Call", callback: "Callable[[Instant], None]") -> None:
        """See apis/call.py."""
        self._connection.watch(call, callback)


def parted(entries: Iterable[Any], is_refused: Callable[[Any], bool]) -> tuple[list[Any], list[Any]]:
    """The entries that are refused, and the rest, each in their order."""
    refused, rest = list[Any](), list[Any]()
    for entry in entries:
        (refused if is_refused(entry) else rest).append(entry)
    return refused, rest


def with_fields(message: Any, **fields: Any) -> Any:
    """A shallow copy with other values in these fields."""
    changed = copy(message)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed
