"""From an API key and version to the functions that read, answer and write it; made when first asked for."""

from collections.abc import Callable, Generator, Iterable
from copy import copy
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, cast

from fakebroker.broker.apis import dialects, handlers
from fakebroker.broker.apis.call import Call, Repeat
from fakebroker.broker.engine.error_response import error_response
from fakebroker.broker.engine.feature_gates import FEATURES, gate
from fakebroker.broker.engine.stages import Handler, Stage, StageKind
from fakebroker.broker.engine.unserved import MISSING, WHY_MISSING
from fakebroker.broker.release import Release
from fakebroker.protocol.errors import AnswerTooLong, CloseConnection, ErrorCode, WireError
from fakebroker.protocol.listeners import Listener
from fakebroker.protocol.pace import Pace, finished
from fakebroker.protocol.schema import FieldSpan
from fakebroker.protocol.schema.emit_locate import has_records, has_varying_bytes
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.dialects import Overlay, overlays_of, versions_with
from fakebroker.protocol.wire.frame import has_tagged_request_header, has_tagged_response_header
from fakebroker.protocol.wire.registry import APIS, Api

if TYPE_CHECKING:
    from fakebroker.broker.engine.connection import Connection
    from fakebroker.protocol.schema import Message
    from fakebroker.protocol.wire.messages.fetch import FetchResponse
    from fakebroker.protocol.wire.messages.share_fetch import ShareFetchResponse

REQUEST_LIMIT = "socket.request.max.bytes"  # the setting for the longest frame
LONG_LIST_BYTES = 128 << 10  # a frame beyond it is read in steps: it may have tens of thousands of entries
LONG_FRAME_BYTES = 1_100_000  # the same of one with records; the largest of ordinary producers are not longer
FIRST_FETCH_OF_BATCHES = 4  # of the versions of Fetch
TEXTS_PER_STEP = 5_000  # of an answer in which one may be too long
MANY_PARTITIONS = 5_000  # of an answer with records: one of more is written in steps

EncodeSteps = Generator[None, None, list[bytes]]
DecodeSteps = Generator[None, None, tuple["Message", int]]
ErrorSteps = Generator[None, None, "Message"]


class Route:
    """How one version of one API is served on one listener: bare functions, called once per request.

    `decode` may raise anything; `explain` then says what was wrong with the bytes.
    """

    __slots__ = (
        "_decode_in_steps",
        "_encode_in_steps",
        "_error_response",
        "_locate",
        "_of_long_frames",
        "api_key",
        "decode",
        "encode",
        "handle",
        "has_records",
        "has_stored_records",
        "has_tagged_answer",
        "has_tagged_header",
        "has_varying_bytes",
        "is_loaded",
        "name",
        "repeat",
        "request",
        "response",
        "version",
    )

    def __init__(
        self, api: Api | Overlay, version: int, module: "ModuleType | _Unloadable", body_version: int | None = None
    ) -> None:
        """`body_version`: as what the bodies are read and written, if not as the `version` in the header."""
        request, response = api.request, api.response
        body_version = version if body_version is None else body_version
        self.api_key = api.key
        self.version = version
        self.name = api.name
        self.request = request
        self.response = response
        self.decode: Callable[[bytes, int], tuple[Message, int]] = request.decoder(body_version)
        self.has_records = has_records(response)
        # Those of old formats are converted for each answer.
        self.has_stored_records = self.has_records and (api.key != ApiKey.FETCH or version >= FIRST_FETCH_OF_BATCHES)
        # An answer may be large that has records, or tells the leader of a group what all members sent.
        is_large = self.has_records or api.key == ApiKey.JOIN_GROUP
        self.encode: Callable[[Message], bytes | list[bytes]] = (
            response.piecer(body_version) if is_large else response.encoder(body_version)
        )
        self.handle: Handler = module.handle
        self._error_response: Callable[[Message | None, int, ErrorCode], Message | ErrorSteps] = getattr(
            module, "error_response", partial(error_response, response)
        )
        # What makes the next requests like one cheap (`Lanes`); None where the API has nothing of the kind.
        self.repeat: Callable[[Call, Message, Message], Repeat | None] | None = getattr(module, "repeat", None)
        self.has_varying_bytes = self.repeat is not None and has_varying_bytes(request, body_version)
        self._locate: Callable[[bytes, int], list[FieldSpan]] | None = None
        self.is_loaded = not isinstance(module, _Unloadable)
        self._encode_in_steps: Callable[[Message], EncodeSteps] | None = None
        self._decode_in_steps: Callable[[bytes, int], DecodeSteps] | None = None
        self._of_long_frames: Route | None = None
        self.has_tagged_header = has_tagged_request_header(api.key, version)
        self.has_tagged_answer = has_tagged_response_header(api.key, version)

    def of_long_frames(self, size_bytes: int) -> "Route":
        """The same for a frame that takes long to read: what it decodes are the steps in which the request is read.

        Of ApiVersions in a version that we do not have the body is not looked at; records are read as one piece.
        """
        if self.api_key == ApiKey.API_VERSIONS or (self.api_key == ApiKey.PRODUCE and size_bytes <= LONG_FRAME_BYTES):
            return self
        if self._of_long_frames is None:
            self._of_long_frames = route = copy(self)
            # `_handle_when_read` alone reads what this returns.
            route.decode = lambda frame, offset: (cast("Message", self._read(frame, offset)), offset)
            route.handle, route.repeat = self._handle_when_read, None
        return self._of_long_frames

    def with_handler(self, handle: Handler) -> "Route":
        """The same with another handler; all its requests go the general way."""
        route = copy(self)
        route.handle, route.repeat, route._of_long_frames = handle, None, None
        return route

    def locate(self, frame: bytes, offset: int) -> list[FieldSpan]:
        """Where the varying fields of a request stand whose body begins at `offset`. It was decoded before."""
        if self._locate is None:
            self._locate = self.request.locator(self.version)
        return self._locate(frame, offset)

    def _handle_when_read(self, call: Call, steps: "Message") -> None:
        connection = cast("Connection", call.connection)  # no stage has had the request yet
        connection.read(call, cast("Generator[None, None, Message]", steps), self.handle)

    def _read(self, frame: bytes, offset: int) -> Generator[None, None, "Message"]:
        """The request in a frame, in steps. Raises CloseConnection saying what is wrong with the bytes."""
        from fakebroker.protocol.schema.codec_errors import decode_failure

        if self._decode_in_steps is None:
            self._decode_in_steps = self.request.stepwise_decoder(self.version)
        try:
            request, _ = yield from self._decode_in_steps(frame, offset)
        except MemoryError:
            raise CloseConnection(f"there is no memory for its {len(frame)} bytes") from None
        except Exception as error:
            raise CloseConnection(str(decode_failure(self.request, self.version, frame, error))) from None
        return request

    def encode_in_steps(self, response: "Message") -> EncodeSteps:
        """The pieces of a long answer. Records of few partitions are few pieces, which are not copied: at once."""
        if self.has_records and _partitions_in(response) < MANY_PARTITIONS:
            return _at_once(cast("list[bytes]", self.encode(response)))
        if self._encode_in_steps is None:
            self._encode_in_steps = self.response.stepwise_encoder(self.version)
        return self._encode_in_steps(response)

    def error_response(self, request: "Message | None", code: ErrorCode) -> "Message":
        """The answer in which everything that was asked for failed; None: the request was not read (AV-10)."""
        return finished(self.error_in_steps(request, code))

    def error_in_steps(self, request: "Message | None", code: ErrorCode) -> ErrorSteps:
        """The same in steps: it may have an entry for each of millions in the request."""
        error = self._error_response(request, self.version, code)
        return (yield from error) if isinstance(error, Generator) else error

    def explain(self, frame: bytes, offset: int, error: Exception) -> str:
        """What is wrong with a body that `decode` raised `error` for."""
        try:
            self.request.decode(frame, self.version, offset)
        except WireError as explained:
            return str(explained)
        return f"{self}: {error!r}"

    def fault_of(self, response: "Message", error: Exception) -> Exception:
        """What `error` means, which was raised when `response` was written: AnswerTooLong if that was too long."""
        return finished(self.fault_in_steps(response, error))

    def fault_in_steps(self, response: "Message", error: Exception) -> Generator[None, None, Exception]:
        """The same in steps: all of the answer may have to be looked at."""
        from fakebroker.protocol.schema.codec_errors import long_strings

        if isinstance(error, AnswerTooLong | MemoryError):
            return error
        pace = Pace(TEXTS_PER_STEP)
        for is_long in long_strings(type(response), response):
            if is_long:
                return AnswerTooLong(f"{self}: a string in the answer is too long")
            if pace.is_over():
                yield
        return error

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"


def _partitions_in(response: "Message") -> int:
    """How many partitions an answer with records has: that of a Fetch, or of a ShareFetch."""
    topics = cast("FetchResponse | ShareFetchResponse", response).responses
    return sum(len(topic.partitions) for topic in topics)


def _at_once(pieces: list[bytes]) -> EncodeSteps:
    return pieces
    yield  # makes it a generator


class Dispatcher:
    """The routes of one listener. `routes` is keyed by the first four bytes of a request's header as one number.

    Stages come before the handlers of the routes that they concern (`put_stage`): so faults, quotas and rights cost
    nothing while there are none.
    """

    def __init__(self, listener: Listener, release: Release) -> None:
        self._release = release
        self.overlays = overlays_of(listener.dialects)
        listener.versions = versions_with(self.overlays.values(), versions_served(release))
        self.listener = listener
        self.routes: dict[int, Route] = {}
        self._plain: dict[int, Route] = {}  # without stages
        self._stages: dict[StageKind, Stage] = {}
        self._newer_code: int | None = None  # of the ApiVersions that there is not which was asked for last

    def put_stage(self, kind: StageKind, stage: Stage | None) -> None:
        """From the next request on have this stage of its kind; None: none."""
        if stage is None:
            self._stages.pop(kind, None)
        else:
            self._stages[kind] = stage
        self.routes.clear()  # the same dictionary: a turn that is going on has it in its hands

    def find(self, code: int) -> Route:
        """The route for a code that `routes` does not have yet. CloseConnection for what is not served (AV-4)."""
        route = _behind(self._stages.values(), self._plain_route(code))
        if route.is_loaded:
            self.routes[code] = route
        return route

    def find_for(self, code: int, login: Stage) -> Route:
        """The route for a code with one more stage, for a connection that logs in; it is not kept."""
        return _behind([*self._stages.values(), login], self._plain_route(code))

    def _plain_route(self, code: int) -> Route:
        route = self._plain.get(code)
        if route is None:
            route = self._new_route(code)
            if route.is_loaded:
                self._plain[code] = route
        return route

    def _newer_api_versions(self, code: int, version: int, served: tuple[int, int]) -> Route:
        """A route in the place of that for another such version: a client can name 65,000, and has not logged in."""
        if self._newer_code is not None:
            self._plain.pop(self._newer_code, None)
            self.routes.pop(self._newer_code, None)
        self._newer_code = code
        return _newer_api_versions(version, served)

    def _new_route(self, code: int) -> Route:
        api_key, version = code >> 16, (code & 0x7FFF) - (code & 0x8000)
        served = self.listener.versions.get(api_key)
        if served is None:
            raise CloseConnection(_why_not(api_key, self._release))
        lowest, highest = served
        overlay = self.overlays.get((api_key, version))
        if overlay is not None:
            route = Route(overlay, version, _loaded(lambda: dialects.handler(overlay)))
        elif lowest <= version <= highest:
            route = Route(APIS[api_key], version, _loaded(lambda: handlers.handler(api_key)))
            if api_key in FEATURES:
                gate(route)
        elif api_key == ApiKey.API_VERSIONS:
            route = self._newer_api_versions(code, version, served)
        else:
            name = APIS[api_key].name
            raise CloseConnection(f"{name} v{version} is not supported; this broker supports v{lowest} to v{highest}")
        return route


def _behind(stages: Iterable[Stage], route: Route) -> Route:
    """The route behind those stages that concern it; itself if none does."""
    concerned = sorted((stage for stage in stages if stage.concerns(route)), key=lambda stage: stage.kind)
    if not concerned:
        return route
    from fakebroker.broker.engine.exchange import begin_exchange

    return route.with_handler(partial(begin_exchange, route, concerned))


class _Unloadable:
    """The handler of an API whose module cannot be loaded now: every request is answered with UNKNOWN_SERVER_ERROR."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def handle(self, _call: Call, _request: "Message") -> "Message":
        """Raises what loading raised."""
        raise self.error


def _loaded(load: Callable[[], ModuleType]) -> "ModuleType | _Unloadable":
    """The module that `load` gives, or what stands in for it: no client is to blame for a file that cannot be read."""
    try:
        return load()
    except Exception as error:
        return _Unloadable(error)


def _why_not(api_key: int, release: Release) -> str:
    """Why an API is not served, by its name in Kafka."""
    if api_key in MISSING:
        return f"{MISSING[api_key]} ({api_key}) is not supported: {WHY_MISSING}"
    known = APIS.get(api_key)
    if known is not None:
        return f"{known.name} ({api_key}) is not supported: Kafka {release.name} does not have it"
    return f"API key {api_key} is not supported: Kafka 4.3 has no such API"


def versions_served(release: Release) -> dict[int, tuple[int, int]]:
    """What a release advertised, cut to what we have."""
    versions = {}
    for api_key, (lowest, highest) in release.versions.items():
        api = APIS.get(api_key)
        if api is not None and max(lowest, api.min) <= min(highest, api.max):
            versions[api_key] = (max(lowest, api.min), min(highest, api.max))
    return versions


def _newer_api_versions(version: int, served: tuple[int, int]) -> Route:
    """ApiVersions of a version we do not have: the body is not looked at, the answer names our range in v0 (AV-6).

    What its header is, `protocol/wire/frame.py` says.
    """
    from fakebroker.protocol.wire.messages.api_versions import ApiVersion, ApiVersionsResponse

    lowest, highest = served
    entry = ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=lowest, max_version=highest)
    answer = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[entry])
    route = Route(APIS[ApiKey.API_VERSIONS], version, handlers.handler(ApiKey.API_VERSIONS), body_version=0)
    route.decode = lambda _frame, offset: (cast("Message", None), offset)
    route.handle = lambda _call, _request: answer
    return route
