"""An engine without sockets, and clients that speak frames to it."""

from collections.abc import Mapping
from typing import Any

from fakebroker.broker.engine.engine import Engine
from fakebroker.broker.engine.journal import Journal
from fakebroker.protocol.listeners import Address, Listener
from fakebroker.protocol.wire.frame import decode_response
from fakebroker.protocol.wire.registry import api
from fakebroker.serve.sim.network import SimNetwork
from fakebroker.serve.sim.sim_socket import SimSocket
from tests.support.cluster import make_cluster
from tests.support.frames import JOIN, frames, request
from tests.support.time import START


class Client:
    """A client that sends requests by field names."""

    def __init__(self, socket: SimSocket) -> None:
        self.socket = socket

    @property
    def close_reason(self) -> str:
        reason = self.socket.connection.close_reason
        assert reason is not None, "still open"
        return reason

    def ask(self, name: str, version: int, **fields: Any) -> Any:
        """The answer to a request; None when there is none yet."""
        self.socket.send(request(name, version, **fields))
        return self.answer(name, version)

    def answer(self, name: str, version: int) -> Any:
        """What has arrived, as the one answer to a request."""
        arrived = frames(self.socket.take())
        if not arrived:
            return None
        (frame,) = arrived
        return decode_response(api(name).key, version, frame)[1]

    def join(self, group_id: str = "g", version: int = 3, member_id: str = "") -> Any:
        """A JoinGroup of a consumer."""
        return self.ask("JoinGroup", version, **{**JOIN, "group_id": group_id, "member_id": member_id})


class SimEngine:
    """An engine with one listener per node, in virtual time; errors of its own fail the test that looks for them."""

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        profile: str = "test",
        as_release: str = "4.3",
        node_ids: tuple[int, ...] = (1,),
        listeners: list[Listener] | None = None,
        seed: int = 0,
    ) -> None:
        self.cluster = make_cluster(settings, as_release, profile=profile, node_ids=node_ids, seed=seed)
        listeners = listeners or [Listener(node_id, "127.0.0.1", 9091 + node_id) for node_id in node_ids]
        self.journal = Journal()
        self.engine = Engine(self.cluster, listeners, self.journal, START)
        self.network = SimNetwork.around(self.engine)

    def client(self, listener: Listener | None = None) -> Client:
        return Client(self.network.connect(listener))

    def bare_connection(self) -> Any:
        """A connection that nobody drives: the test gives the turns."""
        return self.engine.connect(self.engine.listeners[0], "/127.0.0.1", Address("127.0.0.1", 9092), START)
