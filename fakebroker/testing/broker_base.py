"""What every broker has, whatever serves it: its options, the engine (a new one after each `reset`), snapshots, errors.

`broker.py` has the brokers with sockets, `virtual_broker.py` the one in virtual time.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from fakebroker.broker.core import broker_life
from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.engine.clock import BrokerClock
from fakebroker.broker.engine.engine import Engine
from fakebroker.broker.engine.journal import Journal
from fakebroker.broker.engine.server import EngineServer
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.arguments.types import Secret
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Listener
from fakebroker.serve.host_reads import HostReads
from fakebroker.serve.listener_options import FIRST_NODE_ID, bootstrap, checked_nodes, use_settings
from fakebroker.testing.handles.broker_control import BrokerControl

if TYPE_CHECKING:
    from fakebroker.broker.core.security.acls import Acl
    from fakebroker.broker.engine.security.key_sets import Fetched
    from fakebroker.client.scripted.driver import Driver
    from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
    from fakebroker.serve.storage.broker_storage import BrokerStorage
    from fakebroker.testing.snapshot.snapshot import Snapshot

T = TypeVar("T")
SASL_LISTENER: Mapping[str, object] = {"listeners": "SASL_PLAINTEXT://:9092"}  # of a broker with users


@contextmanager
def noted_on(error: BaseException | None) -> Iterator[None]:
    """The end of a `with` block: an internal error of the broker does not hide the one that the block ended with."""
    try:
        yield
    except Exception as internal:
        if error is None:
            raise
        error.add_note(f"the broker also had an internal error: {internal!r}")


class BrokerBase(BrokerControl):
    """A broker on an `EngineServer`. A subclass says how `call` and `wait` reach the engine; to make one, it hands over
    the options, which are checked (SettingError, UnknownRelease, InvalidArgument for bad nodes, racks and seed), makes
    its server, and hands over that (`_serve_by`).
    """

    _server: EngineServer
    _engine: Engine

    def __init__(
        self,
        nodes: int,
        racks: Sequence[str | None] | None,
        config: Mapping[str, object] | None,
        seed: int,
        profile: str,
        as_release: str,
        users: Mapping[str, str] | None = None,
        acls: Sequence[Mapping[str, object]] | None = None,
        node_id: int = FIRST_NODE_ID,
    ) -> None:
        self._users: Mapping[str, str] = dict(users or {})
        self._acls: Sequence[Acl] = ()
        self._config: dict[str, object] = dict(SASL_LISTENER if users else {}) | dict(config or {})
        if acls is not None:
            from fakebroker.testing.acl_option import AUTHORIZER, STANDARD_AUTHORIZER, read_acls

            self._acls = read_acls(acls)
            self._config[AUTHORIZER] = self._config.get(AUTHORIZER) or STANDARD_AUTHORIZER
        if any("oauthbearer" in name for name in self._config):
            from fakebroker.serve.security_options import check_key_sets

            check_key_sets(self._config)
        self._host_reads = HostReads(lambda: self._config)
        self._profile = profile
        self._release, self._seed = release(as_release), seed
        self._node_ids, self._racks = checked_nodes(nodes, racks, node_id)
        self._first_options = self._config, self._profile, self._release, self._seed, self._racks
        self._scripted_clients: ScriptedClients | None = None  # made by the first `client()`
        self._storage: BrokerStorage | None = None  # that keeps its state, if it has a data directory
        self.errors: list[Exception] = []  # internal errors (bugs of the broker); `stop` raises them again

    def _serve_by(self, server: EngineServer, journal: Journal) -> None:
        """Make the first engine, which this server will serve."""
        self._server = server
        self._listeners = server.ports.listeners
        use_settings(self._listeners, Settings(self._config, profile=self._profile))
        self._ring = journal
        self._engine = self._first_engine()
        server.prepare(self._engine)

    @property
    def bootstrap(self) -> str:
        """The value of bootstrap.servers: "127.0.0.1:PORT" for each node, for the first listener's name.

        The addresses are those of this machine; the HTTP API answers with the advertised ones, if there are any. Raises
        InvalidArgument before the ports are known.
        """
        self._check_ports()
        return bootstrap(self._listeners)

    def bootstrap_of(self, listener: str) -> str:
        """The same for another listener, by its name: "SSL". Raises InvalidArgument for an unknown listener."""
        self._check_ports()
        return bootstrap(self._listeners, listener)

    def __repr__(self) -> str:
        name = type(self).__name__
        if not self._has_ports():
            return f"<{name} not started>"
        nodes = len(self._node_ids)
        state = "" if self.is_running else ", stopped"
        return f"<{name} {bootstrap(self._listeners)}, {nodes} node{'' if nodes == 1 else 's'}{state}>"

    def _has_ports(self) -> bool:
        return all(listener.port for listener in self._listeners)

    def _check_ports(self) -> None:
        if not self._has_ports():
            text = f"not started: use `with {type(self).__name__}() as broker` or start()"
            raise InvalidArgument("bootstrap", None, text)

    @property
    def listeners(self) -> Sequence[Listener]:
        """The listeners of the broker; their ports are known once it was started."""
        return self._listeners

    @property
    def is_running(self) -> bool:
        """Whether clients can connect."""
        return self._server.is_serving

    @property
    def _broker_clock(self) -> BrokerClock:
        """The clock itself; to be used inside `call`."""
        return self._server.clock

    def client(
        self,
        client_id: str | None = "client",
        versions: Mapping[str, int] | None = None,
        node_id: int | None = None,
        *,
        user: str | None = None,
        password: Secret | None = None,
        mechanism: str | None = None,
        token: Secret | None = None,
    ) -> "ScriptedClient":
        """A scripted client of one node, by default the first: every request is a step (client/scripted/).

        `versions` pins APIs to versions. It does not find coordinators and leaders: with several nodes
        `node_id=broker.coordinator("billing").node_id` is the node that serves the group; others answer NOT_COORDINATOR
        (16). Its steps block until the broker has answered: with an AsyncFakeBroker, call them in `asyncio.to_thread`.
        All clients of a broker belong to one thread at a time.

        With `user` and `password` it logs in now, with PLAIN or the given `mechanism`; with `token` it uses
        OAUTHBEARER. After a reconnect it logs in again before its next request. Raises LoginRefused with the broker's
        message, InvalidArgument for an incomplete login.
        """
        from fakebroker.client.login import Credentials
        from fakebroker.client.scripted.scripted_client import ScriptedClients

        if self._scripted_clients is None:
            self._scripted_clients = ScriptedClients(self._make_driver())
        credentials = Credentials.of(user, password, mechanism, token)
        address = None if node_id is None else self.node(node_id).address
        client = self._scripted_clients.client(client_id, versions, address, credentials)
        if credentials is not None:
            client.start(client.steps.log_in_first()).result()
        return client

    @abstractmethod
    def _make_driver(self) -> "Driver":
        """What connects the scripted clients."""

    def reset(self) -> None:
        """Restore the initial state: no topics, no groups, no history, and the machine's time.

        Clients are disconnected.

        Works on a running or stopped broker. Ports and waits stay; options and nodes are the original ones, even after
        a `restore`, and all nodes are alive. Raises OSError if another process has taken a port of a stopped node; then
        nothing is changed.
        """
        self._call(self._reset)

    def _first_engine(self) -> Engine:
        """The engine of a new cluster, or of the one that the data directory has. Raises InvalidArgument."""
        if self._storage is None:
            return self._new_engine()
        clock, settings = self._server.clock, Settings(self._config, profile=self._profile)
        cluster = self._storage.begin(settings, self._release, self._seed, clock, self._new_cluster, self._add_options)
        return self._engine_of(cluster, clock.now())

    def _new_engine(self) -> Engine:
        cluster = self._new_cluster()
        self._add_options(cluster)
        return self._engine_of(cluster, self._server.clock.now())

    def _new_cluster(self) -> Cluster:
        settings = Settings(self._config, profile=self._profile)
        return Cluster(settings, self._release, self._seed, self._node_ids, self._racks)

    def _add_options(self, cluster: Cluster) -> None:
        """Add the users and ACLs that the options name."""
        for name, password in self._users.items():
            cluster.credentials.add_user(name, password, self._seed)
        for acl in self._acls:
            assert cluster.authorizer is not None
            cluster.authorizer.acls.add(acl)

    def _engine_of(self, cluster: Cluster, now: Instant) -> Engine:
        engine = Engine(cluster, self._listeners, self._ring, now)
        engine.errors = self.errors
        engine.fetch = self._fetch_if_allowed
        return engine

    def _fetch_if_allowed(self, url: str, then: "Callable[[Fetched], None]") -> None:
        if refusal := self._host_reads.refusal(url):
            then(PermissionError(refusal))
        else:
            self._fetch(url, then)

    def _limit_host_reads(self) -> None:
        """Let clients name no files and addresses any more that the broker would read (`HostReads`).

        It goes on reading those that its settings name now.
        """
        nodes = self._engine.cluster.nodes.values()
        self._host_reads.limit(*(node.settings.dynamic(cluster=False) for node in nodes))

    @abstractmethod
    def _fetch(self, url: str, then: "Callable[[Fetched], None]") -> None:
        """Get what a URL gives for the engine, which goes on meanwhile; `then` is called where it runs."""

    def _reset(self) -> None:
        server = self._server
        server.open_nodes(self._node_ids)
        present = self._config, self._profile, self._release, self._seed, self._racks
        self._config, self._profile, self._release, self._seed, self._racks = self._first_options
        cluster = self._new_cluster()
        self._add_options(cluster)
        try:
            self._store_instead(cluster, server.clock.after_reset())
        except BaseException:
            self._config, self._profile, self._release, self._seed, self._racks = present
            raise

        def change() -> None:
            server.drop_listeners(self._node_ids)
            server.clock.reset()

        self._begin_anew(change, lambda: self._engine_of(cluster, server.clock.now()))

    def _store_instead(self, cluster: Cluster, now: Instant) -> None:
        """Let the data directory, if there is one, have another cluster.

        Raises InvalidArgument; then it has the present one, and the nodes that are dead refuse clients again.
        """
        if self._storage is None:
            return
        try:
            self._storage.replace(cluster, now)
        except BaseException:
            self._close_nodes_but([node.id for node in self._engine.cluster.nodes.values() if node.has_process])
            raise

    def _close_nodes_but(self, node_ids: Collection[int]) -> None:
        for node_id in dict.fromkeys(listener.node_id for listener in self._listeners):
            if node_id not in node_ids:
                self._server.close_node(node_id)

    def _begin_anew(self, change: Callable[[], None], make_engine: Callable[[], Engine]) -> None:
        """Go on with another engine after a change of clock and listeners, without clients and history."""
        if self.is_running:
            self._server.drop_clients()
        self._ring.clear()
        change()
        self._engine = make_engine()
        if self.is_running:
            self._server.use(self._engine)
            self._ring.begin(self._engine.beginning)
        else:
            self._server.prepare(self._engine)

    def _take_snapshot(self) -> "Snapshot":
        from fakebroker.testing.snapshot.snapshot import take
        from fakebroker.testing.snapshot.state import Options, texts

        racks = None if self._racks is None else tuple(self._racks)
        options = Options(texts(self._config), self._profile, self._release.name, self._seed, self._node_ids, racks)
        return take(options, self._engine.cluster, self._server.clock)

    def _restore(self, snapshot: "Snapshot") -> None:
        """First everything that can fail, then the change."""
        from fakebroker.testing.snapshot.restoring import FittedListeners, check_nodes, restored_cluster, settings_for

        state, clock = snapshot.state, self._server.clock
        options = state.options
        check_nodes(options.node_ids, self._node_ids)
        now = Instant(state.clock.wall_ms, clock.now().mono_ms)
        config = settings_for(self._first_options[0], snapshot)
        cluster = restored_cluster(snapshot, now, config)
        alive = [node.id for node in state.cluster.nodes if node.alive]
        fitted = FittedListeners(self._server, self._node_ids, list(cluster.nodes))
        try:
            self._server.open_nodes(alive)
            self._store_instead(cluster, now)
        except BaseException:
            fitted.close()
            raise
        self._config, self._profile, self._seed = config, options.profile, options.seed
        self._release, self._racks = cluster.release, options.racks

        def change() -> None:
            fitted.use()
            clock.restore(*state.clock)

        if not self.is_running:
            cluster.decoded_batches = snapshot.decoded  # the start loads the same logs again
        self._begin_anew(change, lambda: self._engine_of(cluster, now))
        self._close_nodes_but(alive)
        self._engine.drain()

    def _run(self, function: Callable[[], T]) -> T:
        """Run something on the engine's thread, then send the answers and set the timers that it led to.

        What it caused in the core is in the journal when this returns, with the time at which it happened.
        """
        if not self.is_running:
            try:
                return function()
            finally:
                self._note_events()
                self._ring.end()  # perhaps nothing else is ever observed
                if self._storage is not None:
                    self._storage.write_while_stopped(self._server.clock.now())
        self._engine.tick(self._server.clock.now())
        try:
            return function()
        finally:
            self._note_events()
            self._server.flush()

    def _note_events(self) -> None:
        if self._engine.outbox:
            self._engine.drain()

    def _stop_storage(self) -> None:
        if self._storage is not None:
            self._storage.stop(self._server.clock.now())

    def _resume_storage(self) -> None:
        if self._storage is not None:
            self._storage.resume()

    def _restart_nodes(self) -> None:
        cluster = self._engine.cluster
        broker_life.restart_all(cluster, self._server.clock.now())
        cluster.decoded_batches = None

    def _close_clients(self) -> None:
        """The scripted clients' connections end with the broker."""
        if self._scripted_clients is not None:
            self._scripted_clients.close()
            self._scripted_clients = None

    def _raise_errors(self) -> None:
        """Raise what the broker's own code raised, once."""
        errors = self.errors.copy()
        self.errors.clear()
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise ExceptionGroup("internal errors of the broker", errors)
