"""Plays a random history on a broker in virtual time: groups whose members come and go, commits, time that passes."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from fakebroker.broker.release import release
from fakebroker.client.scripted.scripted_client import PendingStep, ScriptedClient
from fakebroker.protocol.errors import ErrorCode, FakebrokerError
from fakebroker.protocol.records.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.registry import api as find_api
from fakebroker.testing.virtual_broker import VirtualBroker

SESSION_MS, REBALANCE_MS = 10_000, 20_000
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
_OK, _AGAIN, _FORGOTTEN = int(ErrorCode.NONE), int(ErrorCode.REBALANCE_IN_PROGRESS), int(ErrorCode.UNKNOWN_MEMBER_ID)
_MOVED = {int(ErrorCode.NOT_COORDINATOR), int(ErrorCode.COORDINATOR_NOT_AVAILABLE)}


class HistoryOptions(NamedTuple):
    """What a random history is like."""

    steps: int = 60  # things that happen
    groups: int = 3  # of consumers, beside one of a connector and two simple consumers
    topics: int = 3
    partitions: int = 3
    nodes: int = 2
    longest_days: int = 12  # that the clock advances at once
    has_explicit_retention: bool = True  # some commits say how long they live (OffsetCommit v2-v4)
    deletes: bool = True  # offsets, groups
    deletes_topics: bool = False
    moves: bool = True  # coordinators move or read their log again
    steps_back: bool = False  # the clock
    transactions: bool = False


class _Member:
    """A client that is to be in a group, and what it waits for."""

    def __init__(self, client: ScriptedClient, group_id: str) -> None:
        self.client, self.group_id = client, group_id
        self.step: PendingStep[Any] | None = None
        self.is_joining = False  # else the step is a SyncGroup
        self.is_stable = False


class HistoryPlayer:
    """Plays one history. `after_step` is called after each thing that happens."""

    def __init__(
        self, broker: VirtualBroker, seed: int, options: HistoryOptions, after_step: Callable[[], None]
    ) -> None:
        self.broker, self.options, self.after_step = broker, options, after_step
        self.chance = Random(seed)
        self.topics = [f"topic-{number}" for number in range(options.topics)]
        self.groups = [f"group-{number}" for number in range(options.groups)]
        self.members: list[_Member] = []
        self.producers: list[tuple[str, int]] = []  # open transactions: transactional id, producer id
        self._clients = 0
        lowest, highest = release(broker._engine.cluster.release.name).versions[ApiKey.OFFSET_COMMIT]
        self._commit_versions = range(max(lowest, 1), min(highest, 9) + 1)

    def play(self) -> None:
        """Everything: topics, then so many steps."""
        for topic in self.topics:
            self.broker.create_topic(topic, partitions=self.options.partitions)
        actions = self._actions()
        for _ in range(self.options.steps):
            (action,) = self.chance.choices([each for each, _ in actions], [weight for _, weight in actions])
            action()
            self._settle()
            self.after_step()

    def _actions(self) -> list[tuple[Callable[[], None], float]]:
        options = self.options
        return [
            (self._produce, 6),
            (self._join, 4),
            (self._leave, 2),
            (self._crash, 1),
            (self._resubscribe, 1.5),
            (self._restart_static, 1.5),
            (self._commit, 10),
            (self._commit_simple, 4),
            (self._commit_from_outside, 2),
            (self._fetch, 1),
            (self._pass_time, 3),
            (self._advance, 6),
            (self._delete, 2 if options.deletes else 0),
            (self._delete_topic, 0.5 if options.deletes_topics else 0),
            (self._move, 2 if options.moves else 0),
            (self._step_back, 1 if options.steps_back else 0),
            (self._transaction, 3 if options.transactions else 0),
        ]

    # -- clients -----------------------------------------------------------------------------------------------------

    def _client(self, group_id: str, name: str | None = None, **versions: int) -> ScriptedClient:
        self._clients += 1
        node_id = self.broker.coordinator(group_id).node_id
        return self.broker.client(name or f"client-{self._clients}", versions, node_id)

    def _some_topics(self) -> list[str]:
        return sorted(self.chance.sample(self.topics, self.chance.randint(1, len(self.topics))))

    def _partitions(self, topics: Sequence[str]) -> list[tuple[str, int]]:
        there = [(topic, index) for topic in topics for index in range(self.options.partitions)]
        return self.chance.sample(there, self.chance.randint(1, min(4, len(there))))

    def _produce(self) -> None:
        (topic, partition), *_ = self._partitions(self.topics)
        leader = self.broker.topic(topic).leaders[partition]
        client = self.broker.client("producer", None, leader)
        client.produce(topic, partition, [b"x" * self.chance.randint(0, 9) for _ in range(self.chance.randint(1, 20))])
        client.close()

    def _fetch(self) -> None:
        (topic, partition), *_ = self._partitions(self.topics)
        client = self.broker.client("reader", None, self.broker.topic(topic).leaders[partition])
        ((_, _, _, _, first, _),) = client.list_offsets(topic, partition, "earliest").topics[0].partitions
        client.fetch(topic, partition, first)
        client.close()

    # -- members -----------------------------------------------------------------------------------------------------

    def _join(self) -> None:
        if self.chance.random() < 0.15:
            self._begin("connect", None, "connect", b"\x00\x01anything")
        else:
            group_id = self.chance.choice(self.groups)
            there = [each for each in self.members if each.group_id == group_id]
            if len(there) < 4:
                instance = f"i-{self.chance.randint(1, 3)}" if self.chance.random() < 0.3 else None
                self._begin(group_id, instance)

    def _begin(
        self, group_id: str, instance: str | None, protocol_type: str = "consumer", metadata: bytes | None = None
    ) -> None:
        member = _Member(self._client(group_id), group_id)
        protocols = ["range", "roundrobin"][: self.chance.randint(1, 2)] if metadata is None else ["default"]
        joined = member.client.steps.join(
            group_id,
            self._some_topics(),
            protocols=protocols,
            metadata=metadata,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            group_instance_id=instance if self._knows_static_members else None,
            protocol_type=protocol_type,
        )
        member.step, member.is_joining = member.client.start(joined), True
        self.members.append(member)

    @property
    def _knows_static_members(self) -> bool:
        return self.broker._engine.cluster.release.versions[ApiKey.JOIN_GROUP][1] >= 5

    def _leave(self) -> None:
        member = self._some_member()
        if member is not None:
            member.client.leave()
            self._drop(member)

    def _crash(self) -> None:
        """A member is gone without a word; its session ends while the others go on."""
        member = self._some_member()
        if member is not None:
            self._drop(member)
            for _ in range(SESSION_MS // 3000 + 1):
                self.broker.pass_time(s=3)
                self._settle(rounds=1)

    def _restart_static(self) -> None:
        static = [each for each in self.members if each.is_stable and self._request_of(each).group_instance_id]
        if static:
            member = self.chance.choice(static)
            instance = self._request_of(member).group_instance_id
            self._drop(member)
            self._begin(member.group_id, instance)

    def _resubscribe(self) -> None:
        """A member joins again with other topics."""
        member = self._some_member()
        if member is not None and self._request_of(member).protocol_type == "consumer":
            data = encode_subscription(ConsumerProtocolSubscription(topics=self._some_topics()))
            for protocol in self._request_of(member).protocols:
                protocol.metadata = data
            self._start(member, member.client.steps.rejoin(), is_joining=True)

    def _some_member(self) -> _Member | None:
        stable = [each for each in self.members if each.is_stable]
        return self.chance.choice(stable) if stable else None

    def _request_of(self, member: _Member) -> Any:
        membership = member.client.steps.membership
        assert membership is not None
        return membership.join_request

    def _drop(self, member: _Member) -> None:
        member.client.close()
        self.members.remove(member)

    # -- members go on by themselves ---------------------------------------------------------------------------------

    def _settle(self, rounds: int = 5) -> None:
        """Every member does what it would: it sends heartbeats, rejoins, sends its SyncGroup."""
        for _ in range(rounds):
            waiting = [self._go_on(member) for member in list(self.members)]
            self.broker.pass_time(ms=self.chance.randint(1, 400))
            if not any(waiting):
                return

    def _go_on(self, member: _Member) -> bool:
        """One step of a member, if it can take one; whether it waits for something."""
        try:
            return self._next_step(member)
        except FakebrokerError:
            self._drop(member)
            return False

    def _next_step(self, member: _Member) -> bool:
        if member.step is None:
            return self._heartbeat(member)
        if not member.step.is_done:
            return True
        answer, member.step = member.step.result(), None
        code = answer.error_code
        if code == _OK and member.is_joining:
            if self.chance.random() < 0.03:
                self._drop(member)  # it never sends its SyncGroup
                return False
            self._start(member, member.client.steps.sync(self._assignments(member)), is_joining=False)
        elif code == _OK:
            member.is_stable = True
            return False
        else:
            self._recover(member, code)
        return True

    def _heartbeat(self, member: _Member) -> bool:
        code = member.client.heartbeat().error_code
        if code == _OK:
            return False
        if code == _AGAIN and self.chance.random() < 0.05:
            self._drop(member)  # it never comes back, and the others wait for it
            return False
        self._recover(member, code)
        return True

    def _recover(self, member: _Member, code: int) -> None:
        """Join again, as a new member if the coordinator has forgotten it, at the coordinator of now."""
        member.is_stable = False
        if code in _MOVED:
            node_id = self.broker.coordinator(member.group_id).node_id
            member.client.reconnect(self.broker.node(node_id).address)
        elif code not in (_AGAIN, int(ErrorCode.ILLEGAL_GENERATION)):
            if code != _FORGOTTEN:
                raise FakebrokerError(f"the member gives up: {code}")
            membership = member.client.steps.membership
            assert membership is not None
            membership.member_id = ""
        self._start(member, member.client.steps.rejoin(), is_joining=True)

    def _start(self, member: _Member, flow: Any, *, is_joining: bool) -> None:
        member.is_stable = False
        member.step, member.is_joining = member.client.start(flow), is_joining

    def _assignments(self, member: _Member) -> dict[str, dict[str, list[int]]]:
        """The partitions of all topics, dealt out by the leader."""
        membership = member.client.steps.membership
        assert membership is not None
        ids = list(membership.members)
        found: dict[str, dict[str, list[int]]] = {each: {} for each in ids}
        for number, (topic, index) in enumerate(
            (topic, index) for topic in self.topics for index in range(self.options.partitions)
        ):
            if ids:
                found[ids[number % len(ids)]].setdefault(topic, []).append(index)
        return found

    # -- commits -----------------------------------------------------------------------------------------------------

    def _commit(self) -> None:
        member = self._some_member()
        if member is not None:
            membership = member.client.steps.membership
            assert membership is not None
            self._send_commit(
                member.client, member.group_id, membership.generation_id, membership.member_id,
                membership.join_request.group_instance_id,
            )  # fmt: skip

    def _commit_simple(self) -> None:
        self._commit_as_nobody(f"simple-{self.chance.randint(1, 2)}")

    def _commit_from_outside(self) -> None:
        """As an administrator's tool does; a group with members refuses it."""
        self._commit_as_nobody(self.chance.choice([*self.groups, "connect"]))

    def _commit_as_nobody(self, group_id: str) -> None:
        client = self._client(group_id, "admin")
        self._send_commit(client, group_id, -1, "", None)
        client.close()

    def _send_commit(
        self, client: ScriptedClient, group_id: str, generation: int, member_id: str, instance: str | None
    ) -> None:
        versions = [each for each in self._commit_versions if instance is None or each >= 7]
        version = self.chance.choice(versions)
        fields: dict[str, Any] = {}
        if self.options.has_explicit_retention and 2 <= version <= 4 and self.chance.random() < 0.6:
            fields["retention_time_ms"] = self.chance.randint(1, 20 * 24) * HOUR_MS
        if version >= 7:
            fields["group_instance_id"] = instance
        client_ms = self._client_ms() if version == 1 else -1
        by_topic: dict[str, list[tuple[int, int, int, int, str]]] = {}
        for topic, index in self._partitions(self.topics):
            metadata = self.chance.choice(["", "", "here", "ä" * 5])
            row = (index, self.chance.randint(0, 60), self.chance.randint(-1, 3), client_ms, metadata)
            by_topic.setdefault(topic, []).append(row)
        topics = [{"name": name, "partitions": rows} for name, rows in by_topic.items()]
        client.request(
            "OffsetCommit", version, group_id=group_id, generation_id_or_member_epoch=generation, member_id=member_id,
            topics=topics, **fields,
        )  # fmt: skip

    def _client_ms(self) -> int:
        """A commit timestamp of the client's own, or none."""
        if self.chance.random() < 0.5:
            return -1
        return self.broker.clock.now_ms + self.chance.randint(-2 * DAY_MS, DAY_MS)

    def _transaction(self) -> None:
        """Offsets of a transaction, which stays open, or the end of one that was left open."""
        if self.producers and self.chance.random() < 0.6:
            transactional_id, producer_id = self.producers.pop(self.chance.randrange(len(self.producers)))
            self._ask_transactions(
                transactional_id, "EndTxn", producer_id=producer_id, producer_epoch=0,
                committed=self.chance.random() < 0.7,
            )  # fmt: skip
            return
        group_id, transactional_id = self.chance.choice([*self.groups, "simple-1"]), f"copier-{self._clients}"
        timeout_ms = self.broker._engine.cluster.settings.get_int("transaction.max.timeout.ms")
        begun = self._ask_transactions(transactional_id, "InitProducerId", transaction_timeout_ms=timeout_ms)
        producer = {"producer_id": begun.producer_id, "producer_epoch": begun.producer_epoch}
        self._ask_transactions(transactional_id, "AddOffsetsToTxn", group_id=group_id, **producer)
        client = self._client(group_id, "transactional")
        by_topic: dict[str, list[dict[str, object]]] = {}
        for topic, index in self._partitions(self.topics):
            place = {"partition_index": index, "committed_offset": self.chance.randint(0, 60), "committed_metadata": ""}
            by_topic.setdefault(topic, []).append(place)
        client.request(
            "TxnOffsetCommit", self._newest("TxnOffsetCommit", 3), transactional_id=transactional_id, group_id=group_id,
            member_id="", topics=[{"name": name, "partitions": each} for name, each in by_topic.items()], **producer,
        )  # fmt: skip
        client.close()
        self.producers.append((transactional_id, begun.producer_id))

    def _ask_transactions(self, transactional_id: str, api: str, **fields: Any) -> Any:
        """Ask the coordinator of a transactional id, in the first transaction protocol."""
        node_id = self.broker.transaction_coordinator(transactional_id).node_id
        client = self.broker.client("transactional", node_id=node_id)
        answer = client.request(api, self._newest(api, 3), transactional_id=transactional_id, **fields)
        client.close()
        return answer

    def _newest(self, api: str, version: int) -> int:
        """`version`, or the highest that the release serves."""
        return min(version, self.broker._engine.cluster.release.versions[find_api(api).key][1])

    # -- administration, coordinators, time ---------------------------------------------------------------------------

    def _delete(self) -> None:
        group_id = self.chance.choice([*self.groups, "connect", "simple-1", "simple-2"])
        client = self._client(group_id, "admin")
        if self.chance.random() < 0.6 and ApiKey.OFFSET_DELETE in self.broker._engine.cluster.release.versions:
            client.delete_offsets(group_id, self._partitions(self.topics))
        else:
            client.delete_group(group_id)
        client.close()

    def _delete_topic(self) -> None:
        """A topic is deleted, and made again at once."""
        topic = self.chance.choice(self.topics)
        self.broker.topic(topic).delete()
        self.broker.create_topic(topic, partitions=self.options.partitions)

    def _move(self) -> None:
        """Another node coordinates a group, or the same one reads its log again."""
        group_id = self.chance.choice(self.groups)
        self.broker.coordinator(group_id).move(self.chance.randint(1, self.options.nodes))

    def _pass_time(self) -> None:
        """Some seconds pass for everybody, and members go on meanwhile."""
        for _ in range(self.chance.randint(1, 4)):
            self.broker.pass_time(ms=self.chance.randint(100, 4000))
            self._settle(rounds=1)

    def _advance(self) -> None:
        """The time of day moves: by minutes, hours or days."""
        amounts = [self.chance.randint(1, 59) * MINUTE_MS, self.chance.randint(1, 23) * HOUR_MS]
        amounts.append(self.chance.randint(1, self.options.longest_days) * DAY_MS + self.chance.randint(0, HOUR_MS))
        self.broker.clock.advance(ms=self.chance.choice(amounts))

    def _step_back(self) -> None:
        self.broker.clock.step_back(ms=self.chance.randint(1, 2 * HOUR_MS))
