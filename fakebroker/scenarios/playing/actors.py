"""Actors: scripted clients with the steps that they have begun and whose answers are not looked at yet."""

import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fakebroker.client.connection import ConnectionLost, Pending
from fakebroker.client.requesting import Flow
from fakebroker.client.scripted.scripted_client import PendingStep, ScriptedClient, ScriptedClients
from fakebroker.client.share_acknowledgements import AcquiredRecord
from fakebroker.protocol.errors import FakebrokerError, InvalidArgument, UnknownThing, WireError, nearest, wrong_name
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.building import built
from fakebroker.protocol.wire.framing import with_length
from fakebroker.protocol.wire.registry import APIS, api
from fakebroker.scenarios.language.actor_verbs import ActorVerbs
from fakebroker.scenarios.language.declaration import SPECIAL_VERBS, actor_verbs
from fakebroker.scenarios.playing.answer_views import NONE, answer_view, record_view
from fakebroker.scenarios.playing.arguments import as_taken, signature_of
from fakebroker.scenarios.playing.consumer_member_loop import ConsumerMemberLoop
from fakebroker.scenarios.playing.member_loop import MemberLoop, Options
from fakebroker.scenarios.playing.raw_requests import bytes_of_hex, read_field
from fakebroker.scenarios.script import Actor, ClientStep

if TYPE_CHECKING:
    from fakebroker.scenarios.playing.happening_log import ActorWatch
    from fakebroker.scenarios.playing.worlds import World

Json = Any

# What an actor does itself, beside the steps of its scripted client.
OWN_VERBS = frozenset(name for name in vars(ActorVerbs) if name[0] != "_" and name not in SPECIAL_VERBS)

_LOOPS: Mapping[str, type[MemberLoop]] = {"classic": MemberLoop, "consumer": ConsumerMemberLoop}

_CORRELATION_ID = struct.Struct(">i")
_WITH_RECORDS = frozenset({"Fetch", "ShareFetch"})  # the APIs whose steps give records


class Outstanding:
    """A step that an actor has begun. Its answer is looked at when a step of the timeline asks for it."""

    due_ms = None  # it waits for its answer

    def __init__(self, step: ClientStep, began_ms: int, taken: PendingStep[Any], had_connection: bool) -> None:
        self.step = step
        self.began_ms = began_ms
        self.had_connection = had_connection
        self._taken = taken

    @property
    def is_done(self) -> bool:
        """Whether it was answered, or never will be."""
        return self._taken.is_done

    def advance(self) -> None:
        """Go on with the answers that have come."""
        self._taken.advance()

    def view(self) -> dict[str, Json]:
        """The answer as a scenario speaks of it. `closed` says whether the connection was lost, then there is `why`.

        Raises what was wrong with the step itself.
        """
        error, last = self._taken.error, self._taken.last
        if isinstance(error, ConnectionLost):
            return {"closed": True, "why": str(error)}
        if isinstance(error, InvalidArgument | WireError) or (error and (last is None or last.response is None)):
            raise error
        if error is not None and not isinstance(error, FakebrokerError):
            raise error
        return {"closed": False} | _view_of(self._taken.value, last)


class ActorClient:
    """One actor. It connects when it takes its first step."""

    def __init__(self, spec: Actor, world: "World", clients: ScriptedClients, watch: "ActorWatch") -> None:
        self.spec = spec
        self.name = spec.name
        self.outstanding: list[Outstanding] = []
        self._world = world
        self._clients = clients
        self._watch = watch
        self._client: ScriptedClient | None = None
        self._node = spec.node
        self.loop: MemberLoop | None = None

    @property
    def client(self) -> ScriptedClient:
        """Its scripted client, connected now if it has not been. Raises OSError when the node does not accept."""
        if self._client is None:
            spec = self.spec
            self._client = self._clients.client(spec.client_id, spec.versions, self._address(), spec.credentials)
            self._client.steps.connection.watch = self._watch
        return self._client

    @property
    def is_connected(self) -> bool:
        """Whether it has a connection."""
        return self._client is not None and self._client.steps.connection.closed_reason is None

    @property
    def member_id(self) -> str:
        """Its member id, "" while it has none."""
        return self._client.member_id if self._client is not None else ""

    def begin(self, step: ClientStep, arguments: Mapping[str, Json], began_ms: int) -> Outstanding:
        """Take a step of the scripted client. Raises InvalidArgument for arguments that it does not have."""
        client = self.client
        had_connection = self.is_connected
        self._watch.shows_handshakes = step.verb == "request"
        try:
            flow = self._flow(client, step.verb, arguments)
            taken = Outstanding(step, began_ms, PendingStep(client, flow), had_connection)
        finally:
            self._watch.shows_handshakes = False
        self.outstanding.append(taken)
        return taken

    def connect(self, node: int | None = None) -> None:
        """Connect again, to another node if one is given. Raises OSError when the node does not accept."""
        self._node = self._node if node is None else node
        if self._client is None:
            self.client  # noqa: B018 (it connects)
        else:
            self._client.reconnect(self._address())

    def disconnect(self) -> None:
        """Close the connection, as a crash does; one that consumes ends."""
        if self.loop is not None:
            self.loop.end()
        if self._client is not None:
            self._client.close()

    def consume(self, now: Callable[[], int], nodes: int, **options: Any) -> MemberLoop:
        """Begin to act as a member by itself. Raises FakebrokerError while it does so already."""
        if self.loop is not None and not self.loop.is_over:
            raise FakebrokerError(f"{self.name} is already consuming; stop it first")
        try:
            wanted = Options(**options)
        except TypeError as error:
            raise InvalidArgument("consume", options, f"consume: {error}") from None
        own = [] if self._node is None else [self._world.address_of(self._node)]
        addresses = own + self._world.first_addresses(nodes)
        kind = _LOOPS.get(wanted.group_protocol)
        if kind is None:
            text = wrong_name("group_protocol", wanted.group_protocol, _LOOPS)
            raise UnknownThing("group_protocol", wanted.group_protocol, text)
        self.loop = kind(self.client, wanted, addresses, now)
        return self.loop

    def consuming(self) -> MemberLoop:
        """The member that acts by itself. Raises FakebrokerError if it does not."""
        if self.loop is None or self.loop.is_over:
            why = f": {self.loop.failure}" if self.loop is not None and self.loop.failure else ""
            raise FakebrokerError(f"{self.name} is not consuming{why}")
        return self.loop

    def be_quiet(self) -> None:
        """What happens to its connection from now on is not part of the play."""
        self._watch.be_quiet()

    def shown(self) -> dict[str, Json]:
        """Its properties as a scenario speaks of them."""
        client = self._client
        membership = client.steps.membership if client else None
        return {
            "client_id": self.spec.client_id,
            "member_id": self.member_id,
            "generation_id": client.generation_id if client else -1,
            "member_epoch": client.member_epoch if client else -1,
            "is_leader": client.is_leader if client else False,
            "protocol": membership.protocol_name if membership else None,
            "assignment": client.assignment if client else {},
            "active_tasks": client.active_tasks if client else {},
            "standby_tasks": client.standby_tasks if client else {},
            "is_connected": self.is_connected,
            "closed_reason": client.steps.connection.closed_reason if client else None,
            "outstanding": sum(not each.is_done for each in self.outstanding),
            "node": self._node,
            "is_consuming": self.loop is not None and not self.loop.is_over,
            "consumed": self.loop.consumed if self.loop else 0,
            "failure": self.loop.failure if self.loop else None,
        }

    def _address(self) -> Any:
        return None if self._node is None else self._world.address_of(self._node)

    def _flow(self, client: ScriptedClient, verb: str, arguments: Mapping[str, Json]) -> Flow[Any]:
        if verb not in actor_verbs():
            raise UnknownThing("verb", verb, f"there is no verb {verb!r}; {nearest(verb, list(actor_verbs()))}")
        if verb == "request":
            return _request(client, dict(arguments))
        function = getattr(client.steps, verb)
        given = {name: as_taken(function, name, value) for name, value in arguments.items()}
        if verb == "produce" and self._world.wall_ms >= 0:
            given.setdefault("timestamp_ms", self._world.wall_ms)
        try:
            signature_of(function).bind(**given)
        except TypeError as error:
            raise InvalidArgument(verb, given, f"{verb}: {error}") from None
        flow: Flow[Any] = function(**given)
        return flow


def _request(client: ScriptedClient, arguments: dict[str, Json]) -> Flow[Any]:
    """A raw request: an API, a version and its fields, or a whole frame as `hex`, without its length."""
    name, version = arguments.pop("api_name"), arguments.pop("version", None)
    found = next((each for each in APIS.values() if each.name == name), None)
    if found is None:
        return client.steps.request(name, version)  # which says what there is
    if "hex" in arguments:
        return _raw(client, found.key, version or 0, bytes_of_hex(arguments["hex"], "hex"))
    return client.steps.ask(built(found.request, arguments, read_field), version)


def _raw(client: ScriptedClient, api_key: int, version: int, frame: bytes) -> Flow[Any]:
    """Send a frame as it is; its answer is read as one of this API and version."""
    correlation_id = _CORRELATION_ID.unpack_from(frame, 4)[0] if len(frame) >= 8 else 0
    pending = client.steps.connection.expect(api_key, version, correlation_id)
    client.steps.connection.send_bytes(with_length(frame))
    return (yield pending)


def _view_of(value: Any, last: Pending | None) -> dict[str, Json]:
    """The view of what a step gave: an answer, or the records of a fetch; `last` is the request that was sent last."""
    if last is None or last.response is None or (value is None and api(last.api_key).name == "ApiVersions"):
        return {"error": NONE}
    view = answer_view(value if isinstance(value, Message) else last.response, last.version)
    if api(last.api_key).name in _WITH_RECORDS:
        view["records"] = [_record_view(each) for each in value] if _is_records(value) else []
    return view


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Record | AcquiredRecord) for each in value)


def _record_view(record: Record | AcquiredRecord) -> dict[str, Json]:
    """A record of an answer; one that was acquired with its partition and how often it was delivered."""
    view = record_view(record)
    if isinstance(record, AcquiredRecord):
        view |= {"partition": f"{record.topic}-{record.partition}", "delivery_count": record.delivery_count}
    return view
