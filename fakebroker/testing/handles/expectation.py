"""What a test expects of the requests: some in an order, none of others between them, within a time."""

from collections.abc import Generator, Sequence
from functools import lru_cache
from inspect import isawaitable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from fakebroker.broker.engine.faults.patterns import api_names
from fakebroker.broker.engine.journal import Exchange
from fakebroker.broker.engine.unserved import MISSING
from fakebroker.protocol.arguments.forms import JSON, Form, Schema
from fakebroker.protocol.arguments.kinds import Choice, Kind, WrongValue
from fakebroker.protocol.arguments.signatures import fields_of
from fakebroker.protocol.arguments.types import TimeoutS
from fakebroker.protocol.errors import (
    WHERE_ERRORS,
    ErrorCode,
    ExpectationFailed,
    InvalidArgument,
    UnknownThing,
    WaitTimeout,
)
from fakebroker.protocol.pace import AT_ONCE, Pace, finished
from fakebroker.protocol.short_errors import ShortErrors
from fakebroker.protocol.wildcards import is_like
from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.handles.handle import WAIT_S
from fakebroker.testing.journal.request_log import line_of
from fakebroker.testing.literals import ApiName

if TYPE_CHECKING:
    from fakebroker.testing.handles.access import EngineAccess

LAST_SHOWN = 8
MAX_FOUND_SHOWN = 50
REQUESTS_PER_STEP = 1000


class _Apis(Kind):
    """APIs by name, also of those that clients ask for in vain."""

    about = "the name of an API"

    def fits(self, value: Any, form: Form) -> bool:  # noqa: ARG002
        return isinstance(value, str)

    def value(self, value: Any, form: Form) -> Any:
        if not self.fits(value, form):
            raise self.wrong(value, form)
        try:
            _apis(value)
        except InvalidArgument as error:
            raise WrongValue(value, str(error).removeprefix("api: "), error=type(error)) from None
        return value

    def schema(self, form: Form = JSON) -> Schema:  # noqa: ARG002
        return {"type": "string"}


Api = Annotated[ApiName | str, _Apis()]
ErrorText = Annotated[str, Choice([code.name for code in ErrorCode], WHERE_ERRORS, UnknownThing)]


class RequestPattern(NamedTuple):
    """A pattern for requests; None matches any. `api` is a name, or several as "Heartbeat|Offset*"; `error` is a
    name, "NONE" for an answer without errors; `client_id` may have wildcards. With `is_never` no matching request may
    come before the next expected one.
    """

    api: Api | None = None
    error: ErrorText | None = None
    client_id: str | None = None
    group: str | None = None
    topic: str | None = None
    node: int | None = None
    connection: int | None = None
    is_never: bool = False

    def check(self) -> None:
        """Raises InvalidArgument for the first field that no request can have."""
        for name, kind in PATTERN.fields.items():
            try:
                kind.read(getattr(self, name))
            except WrongValue as wrong:
                raise wrong.of(name) from None

    def matches(self, exchange: Exchange) -> bool:
        """Whether a request matches; the cheapest checks come first."""
        return (
            (self.api is None or exchange.api in _apis(self.api))
            and (self.node is None or exchange.node_id == self.node)
            and (self.connection is None or exchange.connection_id == self.connection)
            and (self.client_id is None or is_like(exchange.client_id or "", self.client_id))
            and (self.group is None or self.group in exchange.group_ids)
            and (self.topic is None or self.topic in exchange.topics)
            and (self.error is None or self._has_error(exchange))
        )

    def _has_error(self, exchange: Exchange) -> bool:
        if self.error == "NONE":
            return exchange.is_answered and not exchange.error_names
        return self.error in exchange.error_names

    def __str__(self) -> str:
        fields = {name: value for name, value in self._asdict().items() if name not in ("api", "is_never")}
        named = [f"{name}={value!r}" for name, value in fields.items() if value is not None]
        text = " ".join([self.api or "any request", *named])
        return f"never {text}" if self.is_never else text


PATTERN = fields_of(RequestPattern)


@lru_cache(maxsize=256)
def _apis(pattern: str) -> frozenset[str]:
    """The APIs that a pattern names: of those that are served, and of those that clients ask for in vain."""
    known = [*(api.name for api in APIS.values()), *MISSING.values()]
    return frozenset(api_names("api", pattern, known, UnknownThing))


class Expectation(ShortErrors):
    """Expected requests, in the order of their answers; others may come between them.

    Requests already in the journal count. An expectation does nothing before `within`; `then` and `never` return new
    ones.
    """

    _has_powers = True

    def __init__(self, access: "EngineAccess", patterns: Sequence[RequestPattern], since: int = 0) -> None:
        self._access = access
        self._patterns = tuple(patterns)
        self._since = since

    def __repr__(self) -> str:
        return f"<expectation: {self}>"

    def __str__(self) -> str:
        return ", then ".join(map(str, self._patterns))

    def then(
        self, api: Api | None = None, *, error: ErrorText | None = None, client_id: str | None = None,
        group: str | None = None, topic: str | None = None, node: int | None = None, connection: int | None = None,
    ) -> "Expectation":  # fmt: skip
        """Then expect a matching request."""
        return self._and(RequestPattern(api, error, client_id, group, topic, node, connection))

    def never(
        self, api: Api | None = None, *, error: ErrorText | None = None, client_id: str | None = None,
        group: str | None = None, topic: str | None = None, node: int | None = None, connection: int | None = None,
    ) -> "Expectation":  # fmt: skip
        """Expect no matching request before the next expected one, or, at the end, until `within` is over."""
        return self._and(RequestPattern(api, error, client_id, group, topic, node, connection, is_never=True))

    def within(self, *, s: TimeoutS = WAIT_S) -> Any:
        """Wait up to `s` seconds of real time; gives the requests in order (AsyncFakeBroker: an awaitable of them).

        Raises WaitTimeout, listing the requests seen, if some are missing, and ExpectationFailed for a request
        that must not come.
        """
        progress = self._progress()
        try:
            found = self._access.wait(progress.probe, s, lambda: progress.failure(s))
        except WaitTimeout:
            if progress.is_silent:
                return progress.found
            raise
        return _unless_silent(found, progress) if isawaitable(found) else found

    def _progress(self) -> "_Progress":
        return _Progress(self._access, self._patterns, self._since)

    def _and(self, pattern: RequestPattern) -> "Expectation":
        return Expectation(self._access, (*self._patterns, pattern), self._since)


async def _unless_silent(found: Any, progress: "_Progress") -> list[Exchange]:
    try:
        result: list[Exchange] = await found
    except WaitTimeout:
        if progress.is_silent:
            return progress.found
        raise
    return result


class _Progress:
    """How far an expectation has come; every request is looked at once."""

    def __init__(self, access: "EngineAccess", patterns: tuple[RequestPattern, ...], since: int) -> None:
        self.found: list[Exchange] = []
        self._access = access
        self._patterns = patterns
        self._place = 0  # of the pattern that is next
        self._next_seq = since
        self._seen: list[Exchange] = []
        self._skip()

    @property
    def is_silent(self) -> bool:
        """Whether all expected requests came and only the silence after them was waited for."""
        return self._place == len(self._patterns)

    def probe(self) -> list[Exchange] | None:
        """The requests, once they have all come and there is no silence to wait for."""
        return finished(self.steps(AT_ONCE))

    def steps(self, pace: Pace) -> Generator[None, None, list[Exchange] | None]:
        """The same in steps of REQUESTS_PER_STEP, the units of `pace`."""
        journal = self._access._engine.journal
        since, self._next_seq = self._next_seq, journal.next_seq
        for exchange in journal.requests(since=since):
            self._look_at(exchange)
            if pace.is_over():
                yield
        return self.found if self.is_silent and not self._forbidden else None

    def has_news(self) -> bool | None:
        """True if there is something that was not looked at, else None."""
        return self._access._engine.journal.next_seq != self._next_seq or None

    def failure(self, waited_s: float) -> str:
        """What was waited for, and what came instead."""
        return f"waited {waited_s:g} s for {', then '.join(map(str, self._patterns))}: {self}"

    def _look_at(self, exchange: Exchange) -> None:
        self._seen = [*self._seen[1 - LAST_SHOWN :], exchange]
        if self._place < len(self._patterns) and self._patterns[self._place].matches(exchange):
            self.found.append(exchange)
            self._place += 1
            self._skip()
            return
        for pattern in self._forbidden:
            if pattern.matches(exchange):
                raise ExpectationFailed(f"expected {pattern}, but saw #{exchange.seq} {line_of(exchange)}")

    def _skip(self) -> None:
        """To the next request that is expected; the patterns on the way are forbidden until it comes."""
        begin = self._place
        while self._place < len(self._patterns) and self._patterns[self._place].is_never:
            self._place += 1
        self._forbidden = self._patterns[begin : self._place]

    def __str__(self) -> str:
        wanted = sum(not pattern.is_never for pattern in self._patterns)
        lines = [f"{len(self.found)} of {wanted} seen"]
        lines += [f"  seen: #{each.seq} {line_of(each)}" for each in self.found[-MAX_FOUND_SHOWN:]]
        if self._place < len(self._patterns):
            lines.append(f"  missing: {self._patterns[self._place]}")
        lines.append("the last requests were:" if self._seen else "there were no requests")
        lines += [f"  #{each.seq} {line_of(each)}" for each in self._seen]
        return "\n".join(lines)
