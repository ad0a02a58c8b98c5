"""The engine: all connections of all nodes, one history. Bytes and times come in, bytes go out; it reads no clock."""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from traceback import format_exception, walk_tb
from typing import TYPE_CHECKING

from fakebroker.broker.core.events import ClockMoved
from fakebroker.broker.engine.connection import Connection
from fakebroker.broker.engine.dispatch import LONG_FRAME_BYTES, LONG_LIST_BYTES, REQUEST_LIMIT, Dispatcher
from fakebroker.broker.engine.journal import BrokerStarted, InternalError, Journal, Peer
from fakebroker.broker.engine.stages import Stage, StageKind
from fakebroker.broker.engine.unserved import Unserved
from fakebroker.broker.engine.waiting_works import WaitingWorks
from fakebroker.broker.engine.work import STEPS_OF_VERY_LONG, DueWork, PassesWork, Task, Work, WorksInLine
from fakebroker.protocol.errors import AnswerTooLong
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Address, Listener, listener_settings
from fakebroker.protocol.pace import FIRST_STEP_S, STEP_S, Line, Pace

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.security.authorizer import Authorizer
    from fakebroker.broker.engine.faults.faults import Faults
    from fakebroker.broker.engine.quotas.throttling import ConnectionQuota, NewConnection, Throttling
    from fakebroker.broker.engine.security.key_sets import Fetched, KeySets

DUE_PER_TURN = 100  # deadlines: most make some hundred calls, the end of a session in a very large group 50,000
MOST_UNDER_WAY = 8  # long requests: each holds what its answer is made of, until that is written
MOST_VERY_LONG = 4  # that do not count among those
END_S = 5  # of real time for what must be finished when the broker stops
MAX_ERRORS = 100  # kept
MAX_TRACE_CHARS = 10_000  # of each one's traceback, its end

log = logging.getLogger("fakebroker")


AnyWork = Work | WorksInLine | Task | PassesWork | DueWork


class Engine:
    """A cluster with its listeners. One thread, one driver; times never go back on the monotonic reading."""

    def __init__(
        self, cluster: "Cluster", listeners: Sequence[Listener], journal: Journal, now: Instant = Instant(0, 0)
    ) -> None:
        self.cluster = cluster
        self.listeners = listeners
        self.journal = journal
        journal.topic_name = self._topic_name
        self.now = now  # of what is being done, or was done last
        self.connections: dict[int, Connection] = {}
        self.errors: list[Exception] = []  # bugs of ours: what handlers and timers raised
        self._failures: dict[tuple[str, str], tuple[Exception, int]] = {}  # the first of each kind, how many
        self.unserved = Unserved(self)
        self.uses_layouts = True  # False, set before clients come, lets all requests go the general way (`Lanes`)
        self.turn_s = STEP_S  # after so long a turn takes up no further request
        self.outbox = cluster.outbox
        self._timers = cluster.timers
        self._passes = PassesWork(self, cluster.timers.passes)
        cluster.timers.passes.on_put_off = self._go_on_with_passes
        cluster.timers.passes.on_error = self.failed
        self._due = DueWork(cluster.timers)
        self.largest_frame_bytes = cluster.settings.get_int(REQUEST_LIMIT)
        self.at_once_bytes = min(self.largest_frame_bytes, LONG_FRAME_BYTES)  # a longer frame is cut out by itself
        self.long_list_bytes = LONG_LIST_BYTES
        self.dispatchers = [Dispatcher(listener, cluster.release) for listener in listeners]
        self._stages: dict[StageKind, Stage | None] = {}
        self._throttling: Throttling | None = None  # made when there are quotas
        self.connection_quota: ConnectionQuota | None = None  # while addresses have quotas
        if cluster.authorizer is not None:
            self.put_stage(StageKind.AUTHORIZATION, _authorization(cluster.authorizer))
        self._faults: Faults | None = None  # made when a test asks for it first
        self._key_sets: KeySets | None = None  # as the faults
        self.fetch: Callable[[str, Callable[[Fetched], None]], None] = _fetch_nothing  # the broker's, from a URL
        self.works: deque[AnyWork] = deque()
        self._waiting = WaitingWorks()  # long requests, until others are through
        self._is_late = False
        self._cuts = 0  # of the steps that were taken before this turn
        self._lines = [WorksInLine(line, self.begin) for line in Line]
        self.on_work: Callable[[], None] = lambda: None  # the driver's: it is to take the steps
        # Connections with something to do for their drivers: to send, to take a turn, to stop reading, to close. In the
        # order in which they got it; None is only there because Python has no ordered set.
        self.to_flush: dict[Connection, None] = {}
        self._connection_count = 0
        self._is_begun = False  # whether the journal has the beginning; one where nothing happens stays empty
        cluster.log_jobs.start(now)
        cluster.on_quotas_changed = self._quotas_changed
        cluster.listener_settings = self._listener_settings
        if cluster.has_client_quotas:
            self._quotas_changed()

    def connect(
        self, listener: Listener, client_host: str, local_address: Address, now: Instant, client_port: int = 0
    ) -> Connection:
        """A client connected to a listener. `client_host` as Kafka writes it ("/127.0.0.1")."""
        self.tick(now)
        self._begin_history()
        self._connection_count += 1
        dispatcher = self.dispatchers[self.listeners.index(listener)]
        peer = Peer(self._connection_count, client_host, listener.node_id, dispatcher.overlays, client_port)
        make: NewConnection = _sasl_connection() if listener.has_sasl else Connection
        if self.connection_quota is not None:
            make = self.connection_quota(listener, client_host) or make
        connection = make(self, listener, peer, local_address, dispatcher)
        self.connections[peer.connection_id] = connection
        return connection

    def add_listener(self, listener: Listener) -> None:
        """Clients may connect to one more listener, which the driver adds to `listeners`."""
        dispatcher = Dispatcher(listener, self.cluster.release)
        self.dispatchers.append(dispatcher)
        for kind, stage in self._stages.items():
            dispatcher.put_stage(kind, stage)

    def put_stage(self, kind: StageKind, stage: Stage | None) -> None:
        """Have requests of every listener, also those to come, go through a stage; None: through none of its kind."""
        self._stages[kind] = stage
        for dispatcher in self.dispatchers:
            dispatcher.put_stage(kind, stage)

    def flush(self) -> None:
        """Let the drivers of all connections in `to_flush` do what there is to do; what comes up meanwhile is next."""
        connections = self.to_flush
        if connections:
            self.to_flush = {}
            for connection in connections:
                connection.driver.flush()
        self.journal.settle()

    def _quotas_changed(self) -> None:
        """Have what the quotas of the cluster are now."""
        if self._throttling is None:
            from fakebroker.broker.engine.quotas.throttling import Throttling

            self._throttling = Throttling(self)
        self._throttling.install()

    @property
    def faults(self) -> "Faults":
        """What a test lets go wrong with requests."""
        if self._faults is None:
            from fakebroker.broker.engine.faults.faults import Faults

            self._faults = Faults(self)
        return self._faults

    @property
    def key_sets(self) -> "KeySets":
        """What signed tokens are checked with."""
        if self._key_sets is None:
            from fakebroker.broker.engine.security.key_sets import KeySets

            self._key_sets = KeySets(self)
        return self._key_sets

    # Long work

    def begin(self, work: AnyWork) -> None:
        """A request turned out to be long, or there is something to do after it."""
        if isinstance(work, Work) and not work.progress.steps_taken:
            step_time = self._timers.passes.step_time
            work.progress.was_cut_short = step_time.step_s < STEP_S or step_time.cuts > self._cuts
            self._cuts = step_time.cuts
        if isinstance(work, Work) and self._has_to_wait(work):
            self._waiting.add(work)
            self._limit_first_steps()
        else:
            self._give_place(work)
        self.on_work()

    def _give_place(self, work: AnyWork) -> None:
        """Let it be under way, and with it all further works of its request."""
        if isinstance(work, Work):
            work.progress.is_under_way = True
        self._add_work(work)

    def _has_to_wait(self, work: Work) -> bool:
        """Whether a work needs a place, and others wait for one or have all of them."""
        needs_place = not work.progress.is_under_way and work.line is None
        return needs_place and (bool(self._waiting) or self._are_many_under_way())

    def _are_many_under_way(self) -> bool:
        """Whether a further long request has to wait: each holds what it was read to, and what its answer is made of.

        Not counted are those that wait in a line to unpack or to pack, holding little; and a few of those that take
        very long, so that they do not keep all others waiting.
        """
        counted, left = len(self._lines[Line.WRITING]), MOST_VERY_LONG
        for work in self.works:
            if isinstance(work, Work):
                if work.progress.steps_taken >= STEPS_OF_VERY_LONG and left:
                    left -= 1
                else:
                    counted += work.progress.places
        return counted >= MOST_UNDER_WAY

    def _go_on_with_waiting(self, now: Instant) -> None:
        """Let those that wait have their short turns, and their places, if there is room."""
        passes = self._timers.passes
        passes.step_time.step_s = FIRST_STEP_S
        self._waiting.have_turns(now, passes.stopwatch, self._give_place)
        while not self._are_many_under_way() and (work := self._waiting.take()) is not None:
            self._give_place(work)
        self._limit_first_steps()

    def set_late(self, is_late: bool) -> None:
        """While clients wait longer than a step for their turns, these are as short as can be: a request or two."""
        self._is_late = is_late
        self.turn_s = 0 if is_late else STEP_S
        self._limit_first_steps()

    def _limit_first_steps(self) -> None:
        self._timers.passes.step_time.step_s = FIRST_STEP_S if self._is_late or self._waiting else STEP_S

    def _add_work(self, work: AnyWork) -> None:
        """A work's next step comes after those of all others that are there."""
        if not isinstance(work, Work) or work.line is None:
            self.works.append(work)
        elif self._lines[work.line].join(work):
            self.works.append(self._lines[work.line])

    def _go_on_with_passes(self) -> None:
        if not self._passes.is_at_work and self._passes not in self.works:
            self.begin(self._passes)

    def step(self, now: Instant) -> None:
        """One step of the work that has waited longest. The driver calls it as long as there are `works`."""
        self.tick(now)
        work = self.works.popleft()
        self._timers.passes.step_time.step_s = STEP_S
        try:
            if work.step(now):
                self._add_work(work)
        finally:  # whatever goes wrong with one, the others go on
            self._cuts = self._timers.passes.step_time.cuts
            self._limit_first_steps()
            if self._waiting:
                self._go_on_with_waiting(now)
        if self.outbox:
            self.drain()

    def end_works(self, now: Instant) -> None:
        """All clients are gone, and no driver takes steps any more: do at once what must be finished.

        What is in a line or comes to one ends: much of it could take minutes. So does what is left after END_S.
        """
        self.works += self._waiting.take_all()
        stopwatch = self._timers.passes.stopwatch
        ends_s, ended = stopwatch() + END_S, 0
        while self.works:
            work = self.works[0]
            is_late = isinstance(work, Work) and stopwatch() > ends_s
            if isinstance(work, WorksInLine) or (isinstance(work, Work) and is_late):
                work.end()
                self.works.popleft()
                ended += is_late
            else:
                self.step(now)
        if ended:
            log.warning("%d requests of clients that have gone were not finished: %g s were over", ended, END_S)

    # Time

    def next_deadline(self) -> tuple[int | None, int | None]:
        """When something is due next: on the wall reading, and on the monotonic one."""
        timers = self._timers
        return timers.wall.next_due_ms(), timers.mono.next_due_ms()

    def next_wakeup_hint(self) -> tuple[int, int]:
        """When to `tick` next, as `next_deadline`, but free of cost: it may be too early, and NEVER_MS is never."""
        return self._timers.wall.earliest_ms, self._timers.mono.earliest_ms

    def tick(self, now: Instant) -> None:
        """It is `now`: what is due runs. Requests of the same moment come after it.

        Of passes over much that is stored, and of very many deadlines, a part runs; the rest is among `works`.
        """
        timers = self._timers
        if timers.mono.earliest_ms <= now.mono_ms or timers.wall.earliest_ms <= now.wall_ms:
            timers.passes.limit()
            self._run_due(now, timers.passes.pace(DUE_PER_TURN - 1))
            timers.passes.lift_limit()
            if self._due.is_left(now) and self._due not in self.works:
                self.begin(self._due)
        self.now = now

    def advance_to(self, target: Instant) -> None:
        """Let time pass to `target`: everything due on the way runs in due order, each at its own moment.

        The readings may move by different amounts: each goes at the same pace until it reaches its target. Passes that
        the last turns began end before that, and those that begin now end at their own moment.
        """
        passes = self._timers.passes
        passes.is_unlimited = True
        self._passes.finish(self.now)
        self._run_due(target)
        passes.is_unlimited = False

    def _run_due(self, target: Instant, pace: Pace | None = None) -> None:
        """Run what is due, up to the end of a step; what remains is late."""
        for moment, action in self._timers.pop_due(self.now, target):
            self.now = moment
            self.run(action, moment)
            if pace is not None and pace.is_over():
                break
        self.now = target

    def move_clock(self, target: Instant, how: str) -> None:
        """A test moves the time of day to that of `target`; `how` is for the journal (`ClockMoved`).

        Forwards, what is due on the way runs, as in `advance_to`. Backwards, nothing runs; what is compared with stored
        times is due when its time comes again, and periodic jobs go on at their pace.
        """
        by_ms = target.wall_ms - self.now.wall_ms
        self._passes.finish(self.now)
        self._begin_history()
        self.journal.event(ClockMoved(self.now.wall_ms, target.wall_ms, how), self.now)
        if by_ms >= 0:
            self.advance_to(target)
        else:
            self.now = target
            self.cluster.wall_time_went_back(-by_ms, target)

    # What connections need

    def run(self, action: Callable[[Instant], None], now: Instant) -> None:
        """Run something that is nobody's request; what it raises is kept, what it caused is noted."""
        try:
            action(now)
        except Exception as error:
            self.failed(error)
        if self.outbox:
            self.drain()

    def drain(self) -> None:
        """Note in the journal what happened in the core."""
        self._begin_history()
        for event in self.outbox:
            self.journal.event(event, self.now)
        self.outbox.clear()

    @property
    def beginning(self) -> BrokerStarted:
        """What broker this is."""
        return BrokerStarted(self.cluster.release.name, self.cluster.settings.given())

    def _begin_history(self) -> None:
        """Before anything else is noted: what broker this is."""
        if not self._is_begun:
            self._is_begun = True
            self.journal.event(self.beginning, self.now)

    def failed(self, error: Exception) -> None:
        """A bug of ours, or of a function of the test's: logged with its traceback and kept for the test, unless there
        are too many already. Others of its type by the same lines of code are counted in a note of the first.

        The traceback becomes a note, text that `stop()` shows with the exception: the frames themselves would hold
        on to the request and all that came of it. An answer too long for the protocol is no bug: it is logged only.
        """
        if isinstance(error, AnswerTooLong):
            log.warning("answered with an error instead: %s", error)
            return
        self.journal.event(InternalError(type(error).__name__, str(error)), self.now)
        kind = _kind_of(error)
        first, count = self._failures.get(kind, (None, 0))
        if first is not None and any(each is first for each in self.errors):
            self._failures[kind] = first, count + 1
            first.__notes__[1:] = [f"and {count} more of this kind"]
            log.error("internal error, as before: %r", error)
            _drop_frames(error)
            return
        log.error("internal error", exc_info=error)
        trace = "".join(format_exception(error))
        _drop_frames(error)
        if len(self.errors) < MAX_ERRORS:
            error.add_note(f"in the broker:\n{trace[-MAX_TRACE_CHARS:]}")
            self.errors.append(error)
            self._failures[kind] = error, 1

    def _topic_name(self, topic_id: bytes) -> str | None:
        topic = self.cluster.topics.by_id(topic_id)
        return None if topic is None else topic.name

    def forget(self, connection: Connection) -> None:
        """The connection is gone."""
        self.connections.pop(connection.peer.connection_id, None)

    def _listener_settings(self, node_id: int) -> dict[str, str]:
        protocols = self.cluster.nodes[node_id].settings.get_str("listener.security.protocol.map")
        return listener_settings([each for each in self.listeners if each.node_id == node_id], protocols)

    def sibling(self, listener: Listener, node_id: int) -> Listener | None:
        """The listener of a node that corresponds to `listener`: same name and dialects, same place among such; or
        None.
        """
        if listener.node_id == node_id:
            return listener
        alike = [x for x in self.listeners if x.dialects == listener.dialects and x.name == listener.name]
        index = [x for x in alike if x.node_id == listener.node_id].index(listener)
        candidates = [x for x in alike if x.node_id == node_id]
        return candidates[min(index, len(candidates) - 1)] if candidates else None


def _authorization(authorizer: "Authorizer") -> Stage:
    """The stage that has an authorizer asked before each handler."""
    from fakebroker.broker.engine.authorization.stage import AuthorizationStage

    return AuthorizationStage(authorizer)


def _fetch_nothing(url: str, then: "Callable[[Fetched], None]") -> None:
    then(OSError(f"a bare engine cannot fetch {url}"))


def _sasl_connection() -> type[Connection]:
    """The class of connections that have to log in."""
    from fakebroker.broker.engine.security.sasl_connection import SaslConnection

    return SaslConnection


def _kind_of(error: Exception) -> tuple[str, str]:
    """The type of an exception, and the lines of code that it came by."""
    lines = [f"{frame.f_code.co_filename}:{number}" for frame, number in walk_tb(error.__traceback__)]
    return type(error).__name__, "\n".join(lines)


def _drop_frames(error: BaseException) -> None:
    """Let go of the frames that an exception came through, and of the exceptions that led to it."""
    error.__traceback__ = error.__cause__ = error.__context__ = None
    for part in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        _drop_frames(part)
