"""One operation of the table as an endpoint: arguments in, the power called, its answer out."""

import asyncio
import inspect
from collections.abc import Awaitable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from fakebroker.cli.http.answers import identity, to_json
from fakebroker.cli.http.arguments import Arguments, read
from fakebroker.cli.http.event_stream import ThreadStream, disconnected
from fakebroker.cli.http.json_stream import JsonStream, array_of, is_long, state_of_long
from fakebroker.cli.http.operations import OPERATIONS, Operation, separate_properties
from fakebroker.cli.http.problems import Problem, kafka_problem, shown_value
from fakebroker.cli.http.request_body import body_of
from fakebroker.protocol.arguments.kinds import Kind
from fakebroker.protocol.arguments.signatures import kind_of, unknown_argument
from fakebroker.protocol.errors import KafkaError, UnknownThing, WaitTimeout, nearest
from fakebroker.testing.handles.still_journal import StillJournal
from fakebroker.testing.reflection.members import Member, handles_in, is_handle, parameters_of

if TYPE_CHECKING:
    from fakebroker.testing.broker import AsyncFakeBroker


class Endpoint:
    """An operation; what it needs of its power's signature is read at its first request."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation

    @cached_property
    def arguments(self) -> Arguments:
        """The arguments in query or body."""
        operation = self.operation
        words = operation.power.replace("[]", "").replace("_", ".").split(".")
        title = "".join(word.title() for word in words) + "Arguments"
        member = operation.members[-1]
        if member.is_property and not operation.is_setting:
            return Arguments((), title, member.name)
        parameters = (p for p in parameters_of(member) if p.name not in operation.in_path)
        return Arguments(parameters, title, member.name)

    @cached_property
    def path_kinds(self) -> dict[str, Kind]:
        """The kinds of the path's placeholders."""
        parameters = [p for member in self.operation.members if not member.is_property for p in member.parameters]
        hints = {p.name: p.annotation for p in parameters}
        for member in self.operation.members:  # what picks a handle of a list
            for handle in handles_in(member.returns) if member.is_property else ():
                hints = {**dict(identity(handle)), **hints}
        return {name: kind_of(hints[name]) for name in self.operation.in_path}

    async def answer(self, broker: "AsyncFakeBroker", request: Request) -> Response:
        """Do it. Raises whatever the power raises, and Problem."""
        in_path = {name: _path_value(name, kind, request) for name, kind in self.path_kinds.items()}
        if self.operation.has_body:
            many, given = self.arguments.from_body(await body_of(request))
            no_query(request)
        else:
            many, given = self.arguments.from_query(request.query_params.multi_items())
        try:
            if self.operation.reads_entries:
                return await asyncio.to_thread(self._entries_found, StillJournal(broker.journal), given)
            if self.operation.in_steps is not None:
                every = {**dict.fromkeys(self.arguments.many, many), **given}
                result = self.operation.in_steps(self._target(broker, in_path), every)
            else:
                result = self._call(broker, in_path, many, given)
            if inspect.isawaitable(result):
                result = await while_connected(result, request)
        except KafkaError as error:
            raise kafka_problem(error, {**in_path, **dict.fromkeys(self.arguments.many, many), **given}) from error
        return await self._response(broker, result, request)

    def _entries_found(self, journal: StillJournal, given: dict[str, Any]) -> Response:
        """What a query of the journal finds."""
        name = self.operation.members[-1].name
        found = journal._rows(**given) if name == "rows" and "limit" not in given else getattr(journal, name)(**given)
        return ThreadStream(array_of(found), JSONResponse.media_type)

    def _target(self, broker: Any, in_path: dict[str, Any]) -> Any:
        """What has the power: a handle, or the broker."""
        target = broker
        for member in self.operation.members[:-1]:
            target = getattr(target, member.name)
            if not member.is_property:
                target = target(**{p.name: in_path[p.name] for p in member.parameters if p.name in in_path})
            elif isinstance(target, list):
                target = _picked(member, target, in_path)
        return target

    def _call(self, broker: Any, in_path: dict[str, Any], many: tuple[Any, ...], given: dict[str, Any]) -> Any:
        target, last = self._target(broker, in_path), self.operation.members[-1]
        if self.operation.is_setting:
            setattr(target, last.name, given[last.name])
            return None
        result = getattr(target, last.name)
        if self.operation.power.endswith("[]"):
            return _picked(last, result, in_path)
        if not last.is_property:
            given |= {p.name: in_path[p.name] for p in last.parameters if p.name in in_path}
            result = result(*many, **given)
        return result if self.operation.form is None else self.operation.form(target, result, many, given)

    async def _response(self, broker: "AsyncFakeBroker", result: Any, request: Request) -> Response:
        if self.operation.verb == "GET" and is_handle(type(result)) and getattr(result, "exists", True) is False:
            raise _not_there(self.operation, broker, result)
        if result is None and self.operation.returns in (None, type(None)):
            return Response(status_code=204)
        if isinstance(result, str) and not self.operation.members[-1].is_property:
            return PlainTextResponse(result + "\n")
        if wants_text(request) and has_text(self.operation):
            return PlainTextResponse(await asyncio.to_thread(lambda: f"{result}\n"))
        status = 201 if creates(self.operation) else 200
        result = state_of_long(result, separate_properties())
        if is_long(result):
            return JsonStream(result, separate_properties(), status)
        return JSONResponse(to_json(result, separate_properties()), status)


async def while_connected(waiting: Awaitable[Any], request: Request) -> Any:
    """The result that the caller waits for. If the caller hangs up first, nothing reads what this raises."""
    waits, leaves = asyncio.ensure_future(waiting), asyncio.ensure_future(disconnected(request.receive))
    try:
        await asyncio.wait((waits, leaves), return_when=asyncio.FIRST_COMPLETED)
        if waits.done():
            return waits.result()
        raise WaitTimeout("the client disconnected")
    finally:
        waits.cancel()
        leaves.cancel()


def _picked(member: Member, handles: list[Any], in_path: dict[str, Any]) -> Any:
    """The handle of a list that the path names. Raises UnknownThing."""
    (kind,) = handles_in(member.returns)
    names = [name for name, _ in identity(kind) if name in in_path]
    for handle in handles:
        if all(getattr(handle, name) == in_path[name] for name in names):
            return handle
    value, others = in_path[names[-1]], [str(getattr(handle, names[-1])) for handle in handles]
    detail = f"there is no {names[-1]} {shown_value(value)!r} in {member.name}; {nearest(str(value), others)}"
    raise UnknownThing(names[-1], value, detail)


def creates(operation: Operation) -> bool:
    """Whether it makes a new thing."""
    return operation.verb in ("PUT", "POST") and is_handle(operation.members[-1].returns)


def has_text(operation: Operation) -> bool:
    """Whether what it gives has a form for people: its class says how it is printed."""
    returns = operation.returns
    return isinstance(returns, type) and not is_handle(returns) and "__str__" in vars(returns)


def wants_text(request: Request) -> bool:
    """Whether the caller prefers text to JSON."""
    return request.headers.get("accept", "").startswith("text/plain")


def no_query(request: Request) -> None:
    """Raises Problem for a field in the query of a request that takes its fields in a body."""
    for name in request.query_params:
        detail = f"{request.method} takes its fields in a JSON body, not {shown_value(name)!r} in the query"
        raise Problem(422, "unknown-field", detail, field=shown_value(name))


def only_query(request: Request, known: Sequence[str]) -> None:
    """Raises Problem for a field of the query that is not `known`."""
    for name in request.query_params:
        if name not in known:
            detail = f"{shown_value(name)}: {unknown_argument(request.url.path, name, known)}"
            raise Problem(422, "unknown-field", detail, field=shown_value(name))


def _path_value(name: str, kind: Kind, request: Request) -> Any:
    try:
        text = unquote(request.path_params[name], errors="strict")
    except UnicodeDecodeError:
        raise Problem(404, "not-found", f"{name} in the path is not UTF-8", field=name) from None
    return read(name, kind, kind.parsed(text))


def _not_there(operation: Operation, broker: "AsyncFakeBroker", handle: Any) -> UnknownThing:
    """The error for a handle of something that does not exist, with what there is."""
    name, _ = identity(type(handle))[0]
    value = getattr(handle, name)
    what, others = operation.members[-1].name, _others(operation, broker, name)
    return UnknownThing(name, value, f"there is no {what} {shown_value(value)!r}; {nearest(str(value), others)}")


def _others(operation: Operation, broker: "AsyncFakeBroker", name: str) -> list[str]:
    """The names of the things at the path above."""
    above = operation.path.rpartition("/")[0]
    lists: Mapping[str, str] = {row.path: row.power for row in OPERATIONS if row.verb == "GET"}
    return [str(getattr(each, name)) for each in attrgetter(lists[above])(broker)] if above in lists else []
