"""A member that acts by itself: it joins, assigns if it leads, syncs, heartbeats, and joins again when it has to.

`MemberLoop` runs the life of a member, a generator that yields requests (`Ask`) and pauses (`Sleep`), on timers of the
play: in virtual time nothing waits. What a real consumer would retry, it retries; what ends a real consumer ends it.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

from fakebroker.client.connection import ConnectionLost
from fakebroker.client.requesting import Flow
from fakebroker.client.scripted.scripted_client import PendingStep, ScriptedClient
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, UnknownThing, nearest
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.records.consumer_protocol import decode_subscription
from fakebroker.scenarios.playing.assignors import ASSIGNORS

RETRY_MS = 100  # retry.backoff.ms of Kafka's clients
REQUEST_TIMEOUT_MS = 30_000  # request.timeout.ms

_COORDINATOR_GONE = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
_JOIN_AGAIN = (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)


class Ask(NamedTuple):
    """A step of a client, and how long its answer may take; `client` None: of the connection to the coordinator."""

    flow: Flow[Any]
    within_ms: int = REQUEST_TIMEOUT_MS
    client: ScriptedClient | None = None


class Sleep(NamedTuple):
    """Nothing is done for a time."""

    ms: int


Life = Generator[Ask | Sleep, Any, None]


class Options(NamedTuple):
    """How a member consumes; `poll_interval_ms` None: it fetches nothing."""

    group_id: str
    topics: Sequence[str]
    protocols: Sequence[str] = ("range",)
    session_timeout_ms: int = 45_000
    rebalance_timeout_ms: int = 300_000
    heartbeat_interval_ms: int = 3_000
    group_instance_id: str | None = None
    poll_interval_ms: int | None = None
    auto_commit_interval_ms: int | None = None
    group_protocol: str = "classic"


class _Stopped(FakebrokerError):
    """The member is to leave."""


class _CoordinatorGone(FakebrokerError):
    """Another broker coordinates the group, or none for the moment."""


class _Fatal(FakebrokerError):
    """An error after which a consumer gives up."""


class MemberLoop:
    """One member. `advance` goes on with what has come and what is due; `due_ms` says when it is to be called."""

    def __init__(
        self, client: ScriptedClient, options: Options, addresses: Sequence[Address], now: Callable[[], int]
    ) -> None:
        """`addresses` are those of brokers, first that which it is connected to; `now` is the monotonic time in ms.

        Raises UnknownThing for a protocol that it cannot assign by.
        """
        for protocol in options.protocols:
            if protocol not in ASSIGNORS:
                hint = nearest(protocol, list(ASSIGNORS))
                raise UnknownThing("protocols", protocol, f"protocols: there is no assignor {protocol!r}; {hint}")
        self.failure: str | None = None  # the error that ended it
        self.is_over = False
        self.is_paused = False
        self.positions: dict[tuple[str, int], int] = {}
        self.consumed = 0  # how many records
        self._client = client
        self._options = options
        self._addresses = list(addresses)
        self._address: Address | None = self._addresses[0]  # where it is connected
        self._now = now
        self._is_stopping = False
        self._is_leaving = False
        self._has_joined = False
        self._is_settled = False  # it has its partitions, and nothing says that it has to join again
        self._asked: PendingStep[Any] | None = None
        self._asking = client  # the connection that it goes over
        self._leaders: dict[tuple[str, int], Address] = {}  # where its partitions are read
        self._readers: dict[Address, ScriptedClient] = {}  # connections to other leaders than the coordinator
        self._until_ms = now()
        self._life = self._live()
        self._resume(lambda: next(self._life))

    # What a step of the timeline does to it

    def pause(self) -> None:
        """Do nothing until `resume`; answers that come meanwhile are read then."""
        self.is_paused = True

    def resume(self) -> None:
        """Go on, with everything that has come and is due meanwhile."""
        self.is_paused = False
        self.advance()

    def stop(self) -> None:
        """Leave the group as soon as the answer that it waits for has come; paused, it goes on for that."""
        self._is_stopping = True
        self.resume()

    def end(self) -> None:
        """End at once, without a word."""
        self.is_over = True
        self._life.close()
        self._close_readers()

    # Time

    @property
    def due_ms(self) -> int | None:
        """When it does something next by itself."""
        return None if self.is_over or self.is_paused else self._until_ms

    def advance(self) -> None:
        """Go on with the answer that has come, or when the time is over."""
        while not self.is_over and not self.is_paused and self._go_on():
            pass

    def _go_on(self) -> bool:
        """One step of its life; whether there was anything to do."""
        asked = self._asked
        if asked is None:
            if self._is_stopping and not self._is_leaving:
                self._resume(lambda: self._life.throw(_Stopped()))
            elif self._now() >= self._until_ms:
                self._resume(lambda: self._life.send(None))
            else:
                return False
            return True
        asked.advance()
        if not asked.is_done and self._now() >= self._until_ms:
            self._asking.close()  # its answer takes too long: the connection is given up
            asked.advance()
        if not asked.is_done:
            return False
        self._asked = None
        error = asked.error
        if error is None and self._is_stopping and not self._is_leaving:
            error = _Stopped()
        self._resume((lambda: self._life.send(asked.value)) if error is None else (lambda: self._life.throw(error)))
        return True

    def _resume(self, resume: Callable[[], Ask | Sleep]) -> None:
        """Run its life up to the next request or pause."""
        try:
            wanted = resume()
        except StopIteration:
            self.is_over = True
        except Exception as error:  # as a step of a scripted client ends: an answer may be anything
            self.is_over = True
            self.failure = str(error) if isinstance(error, FakebrokerError) else repr(error)
        else:
            if isinstance(wanted, Sleep):
                self._until_ms = self._now() + wanted.ms
            else:
                self._until_ms = self._now() + wanted.within_ms
                self._asking = wanted.client or self._client
                self._asked = PendingStep(self._asking, wanted.flow)

    # Its life

    def _live(self) -> Life:
        """Until it is stopped: be a member, and begin anew where the coordinator is then."""
        try:
            while True:
                try:
                    yield from self._find_coordinator()
                    yield from self._be_member()
                except (ConnectionLost, OSError):
                    yield Sleep(RETRY_MS)
                    yield from self._reconnect()
                except _CoordinatorGone:
                    yield Sleep(RETRY_MS)
        except _Stopped:
            yield from self._leave()

    def _find_coordinator(self) -> Life:
        """Ask any broker, and connect to the coordinator."""
        while True:
            answer = yield Ask(self._client.steps.find_coordinator(self._options.group_id))
            found = answer.coordinators[0] if answer.coordinators else answer
            if found.error_code == ErrorCode.NONE:
                break
            self._give_up_on(found.error_code, (*_COORDINATOR_GONE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
            yield Sleep(RETRY_MS)
        address = Address(found.host, found.port)
        if address != self._address:
            self._connect(address)

    def _reconnect(self) -> Life:
        """To the next broker that accepts."""
        while True:
            self._addresses.append(self._addresses.pop(0))
            try:
                return self._connect(self._addresses[0])
            except OSError:
                yield Sleep(RETRY_MS)

    def _connect(self, address: Address) -> None:
        self._address = None
        self._client.reconnect(address)
        self._address = address

    def _be_member(self) -> Life:
        """Join and stay, over all rebalances. Raises _CoordinatorGone when another broker coordinates."""
        while True:
            if self._is_settled or (yield from self._join_and_sync()):
                self._is_settled = True  # also over a change of the coordinator: it goes on with its generation
                yield from self._stay()
                self._is_settled = False

    def _join_and_sync(self) -> Generator[Ask | Sleep, Any, bool]:
        """Whether it is in a generation, with its partitions."""
        options, steps = self._options, self._client.steps
        within_ms = options.rebalance_timeout_ms + REQUEST_TIMEOUT_MS
        flow: Flow[Any] = steps.rejoin() if self._has_joined else self._first_join()
        self._has_joined = True
        joined = yield Ask(flow, within_ms)
        if not (yield from self._is_good(joined.error_code)):
            return False
        assignments = yield from self._assignments(joined)
        synced = yield Ask(steps.sync(assignments), within_ms)
        if not (yield from self._is_good(synced.error_code)):
            return False
        yield from self._start_positions()
        return True

    def _first_join(self) -> Flow[Any]:
        options = self._options
        return self._client.steps.join(
            options.group_id,
            options.topics,
            protocols=options.protocols,
            session_timeout_ms=options.session_timeout_ms,
            rebalance_timeout_ms=options.rebalance_timeout_ms,
            group_instance_id=options.group_instance_id,
        )

    def _assignments(self, joined: Any) -> Generator[Ask | Sleep, Any, dict[str, dict[str, list[int]]]]:
        """What the leader assigns; nothing if this member does not lead, or has to skip it (KIP-814)."""
        membership = self._client.steps.membership
        assert membership is not None
        if not membership.is_leader or getattr(joined, "skip_assignment", False):
            return {}
        topics_of = {each: decode_subscription(data).topics for each, data in membership.members.items()}
        wanted = sorted({topic for topics in topics_of.values() for topic in topics})
        answer = yield Ask(self._client.steps.metadata(topics=wanted))
        partitions = {each.name: len(each.partitions) for each in answer.topics if each.partitions}
        return ASSIGNORS[membership.protocol_name or self._options.protocols[0]](topics_of, partitions)

    def _stay(self) -> Life:
        """Heartbeats, fetches and commits until the member has to join again."""
        options = self._options
        every = {
            self._beat: self._heartbeat_interval_ms,
            self._poll: options.poll_interval_ms,
            self._commit: options.auto_commit_interval_ms,
        }
        due = {act: self._now() + ms for act, ms in every.items() if ms is not None}
        while True:
            act = min(due, key=lambda each: due[each])
            yield Sleep(max(0, due[act] - self._now()))
            due[act] = self._now() + (every[act] or 0)
            if not (yield from act()):
                yield from self._commit()
                return

    @property
    def _heartbeat_interval_ms(self) -> int:
        return self._options.heartbeat_interval_ms

    def _beat(self) -> Generator[Ask | Sleep, Any, bool]:
        answer = yield Ask(self._client.steps.heartbeat(), self._options.session_timeout_ms)
        return (yield from self._is_good(answer.error_code))

    def _commit(self) -> Generator[Ask | Sleep, Any, bool]:
        if self._options.auto_commit_interval_ms is None or not self.positions:
            return True
        answer = yield Ask(self._client.steps.commit(self.positions))
        codes = [row[1] for topic in answer.topics for row in topic.partitions]
        return (yield from self._is_good(max(codes, default=0)))

    def _leave(self) -> Life:
        """Commit, and leave; a static member stays in the group until its session times out."""
        yield from self._leaving(self._client.steps.membership is not None and bool(self._client.member_id))

    def _farewell(self) -> Life:
        """What it says when it leaves."""
        if self._options.group_instance_id is None:
            yield Ask(self._client.steps.leave())

    def _leaving(self, is_member: bool) -> Life:
        self._is_leaving = True
        try:
            if is_member:
                yield from self._commit()
                yield from self._farewell()
        except (ConnectionLost, _CoordinatorGone, _Fatal):
            pass
        finally:
            self._close_readers()

    def _close_readers(self) -> None:
        for reader in self._readers.values():
            reader.close()

    def _is_good(self, code: int) -> Generator[Ask | Sleep, Any, bool]:
        """Whether there is no error; False: join again. Raises _CoordinatorGone and _Fatal."""
        membership = self._client.steps.membership
        if code == ErrorCode.NONE:
            return True
        self._check_coordinator(code)
        self._give_up_on(code, (*_JOIN_AGAIN, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        if code == ErrorCode.UNKNOWN_MEMBER_ID and membership is not None:
            membership.member_id, membership.generation_id, membership.assignment = "", -1, {}
            self.positions.clear()
        if code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            yield Sleep(RETRY_MS)
        return False

    def _check_coordinator(self, code: int) -> None:
        if code in _COORDINATOR_GONE:
            raise _CoordinatorGone(ErrorCode(code).name)

    def _give_up_on(self, code: int, allowed: Sequence[int]) -> None:
        if code not in allowed:
            raise _Fatal(ErrorCode(code).name)

    # What it reads

    def _start_positions(self) -> Life:
        """Where it begins to read each of its partitions: at the committed offset, or at the beginning."""
        self.positions.clear()
        yield from self._add_positions(self._assigned())

    def _assigned(self) -> list[tuple[str, int]]:
        return [(topic, index) for topic, indexes in self._client.assignment.items() for index in indexes]

    def _add_positions(self, mine: list[tuple[str, int]]) -> Life:
        """Where it begins to read these partitions, which it did not have before."""
        if self._options.poll_interval_ms is None or not mine:
            return
        answer = yield Ask(self._client.steps.committed(self._options.group_id, mine))
        self.positions |= {
            (topic.name, row[0]): row[1] for topic in answer.topics for row in topic.partitions if row[1] >= 0
        }
        for topic_name, index in mine:
            if (topic_name, index) not in self.positions:
                listed = yield from self._at_leader(
                    topic_name, index, lambda steps, of=(topic_name, index): steps.list_offsets(*of, "earliest")
                )
                first = listed.topics[0].partitions[0][4] if listed is not None else 0
                self.positions[topic_name, index] = max(0, first)

    def _poll(self) -> Generator[Ask | Sleep, Any, bool]:
        """Fetch what is there of each partition. After an error it asks for the leaders again next time."""
        for (topic, index), position in list(self.positions.items()):
            records = yield from self._at_leader(
                topic, index, lambda steps, of=(topic, index, position): steps.fetch(*of)
            )
            if records:
                self.consumed += len(records)
                self.positions[topic, index] = records[-1].offset + 1
        return True

    def _at_leader(self, topic: str, index: int, make: Callable[..., Flow[Any]]) -> Generator[Ask | Sleep, Any, Any]:
        """What the leader of a partition answers; None if it cannot be reached, or answers with an error."""
        if (topic, index) not in self._leaders:
            yield from self._find_leaders(topic)
        address = self._leaders.get((topic, index))
        if address is None:
            return None
        is_other = address != self._address
        try:
            reader = self._reader(address) if is_other else self._client
            return (yield Ask(make(reader.steps), client=reader))
        except _Stopped:
            raise
        except (FakebrokerError, OSError) as error:
            del self._leaders[topic, index]
            if isinstance(error, ConnectionLost) and not is_other:
                raise
            return None

    def _find_leaders(self, topic: str) -> Life:
        answer = yield Ask(self._client.steps.metadata(topics=[topic]))
        places = {each.node_id: Address(each.host, each.port) for each in answer.brokers}
        for found in answer.topics:
            for each in found.partitions:
                if each.leader_id in places:
                    self._leaders[topic, each.partition_index] = places[each.leader_id]

    def _reader(self, address: Address) -> ScriptedClient:
        reader = self._readers.get(address)
        if reader is None or reader.steps.connection.closed_reason is not None:
            reader = self._readers[address] = self._client.another(address)
        return reader
