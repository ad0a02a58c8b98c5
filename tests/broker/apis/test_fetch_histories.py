"""Sessions do not read partitions without news, and requests like the one before are not decoded: nobody may see that.

Random histories of a cluster are played twice, as they are, and with sessions that read every partition each time and
requests that are all decoded. What clients are answered, and when, must be equal byte by byte.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core import broker_life, elections
from fakebroker.broker.core.logs.fetching import FetchParams
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.topics import Partition
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.frame import decode_response, encode_request
from fakebroker.protocol.wire.framing import with_length
from tests.support.engine import Client, SimEngine
from tests.support.fetches import At, fetch_request
from tests.support.frames import frames
from tests.support.time import T0

NODES = (1, 2, 3)
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


class Lab:
    """Three brokers; topic "t" has four partitions with a replica at each, and some records."""

    def __init__(self, as_release: str, *, uses_layouts: bool) -> None:
        self.sim = SimEngine({"replica.selector.class": RACK_AWARE}, as_release=as_release, node_ids=NODES, seed=1)
        self.sim.engine.uses_layouts = uses_layouts
        self.cluster = self.sim.cluster
        for node_id, rack in zip(NODES, "abc", strict=True):
            self.cluster.nodes[node_id].settings.set_own("broker.rack", rack)
        for partition in self.cluster.topics.create("t", 4, 3).partitions:
            for _ in range(2):
                partition.log.append(batch(), self.now)

    @property
    def now(self) -> Instant:
        return self.sim.network.now


class Consumer:
    """A client of node 1, in a session or without. While one of its requests waits it sends the next on another
    connection.
    """

    def __init__(self, lab: Lab, *, has_session: bool) -> None:
        self.lab = lab
        self.has_session = has_session
        self.session, self.epoch = 0, 0 if has_session else -1
        self.waiting: list[tuple[Client, int, int]] = []  # with the version, and the epoch in the request
        self.idle: list[Client] = []

    def fetch(self, changed: list[At], forgotten: list[At], version: int, **fields: Any) -> None:
        if self.has_session and not self.session:  # nothing is known of it: all that is to be read is listed
            changed = [*(At(number) for number in range(4)), *changed]
        request = fetch_request(
            self.lab.cluster,
            *changed,
            version=version,
            session=self.session,
            epoch=self.epoch,
            forget=forgotten if self.session else (),
            **fields,
        )
        client = self.idle.pop() if self.idle else self.lab.sim.client()
        client.socket.send(with_length(encode_request(request, version, 1, "test")))
        self.waiting.append((client, version, self.epoch))
        if self.session:
            self.epoch += 1

    def take(self) -> list[str]:
        """The answers that have come since, in the order of their requests; the session goes on as they say."""
        taken, waiting = [], self.waiting
        self.waiting = []
        for client, version, epoch in waiting:
            arrived = frames(client.socket.take())
            if not arrived:
                self.waiting.append((client, version, epoch))
                continue
            self.idle.append(client)
            taken.append(arrived[0].hex())
            self._go_on(decode_response(ApiKey.FETCH, version, arrived[0])[1], epoch)
        return taken

    def _go_on(self, answer: Any, epoch: int) -> None:
        if self.has_session and answer.session_id != self.session:
            was_overtaken = answer.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH and epoch < self.epoch - 1
            if not was_overtaken:
                self.session, self.epoch = answer.session_id, 1 if answer.session_id else 0


def partition_of(lab: Lab, number: int) -> Partition | None:
    topic = lab.cluster.topics.get("t" if number < 4 else "u")
    return None if topic is None else topic.partition(number % 4)


def batch(producer_id: int = -1) -> bytes:
    in_transaction = producer_id >= 0
    return build_batch(
        [Record(0, T0, None, b"v" * 30)],
        transactional=in_transaction,
        producer_id=producer_id,
        producer_epoch=0 if in_transaction else -1,
        base_sequence=0 if in_transaction else -1,
    )


def change_topics(lab: Lab, what: str) -> None:
    """Topic "u" comes and goes, "t" too, and is made again with other partitions."""
    topics = lab.cluster.topics
    name = what[-1]
    topic = topics.get(name)
    if what.startswith("make") and topic is None:
        topics.create(name, 2, 3)
    elif what.startswith("delete") and topic is not None:
        topics.delete(name, lab.now)
    elif what.startswith("grow") and topic is not None and len(topic.partitions) < 6:
        topic.add_partitions([[1, 2, 3]])
    elif what.startswith("zstd") and topic is not None:
        topic.config.replace({} if topic.config.own else {"compression.type": "zstd"})


def change_log(lab: Lab, log: PartitionLog, what: str, number: int) -> None:
    now = lab.now
    if what == "append":
        log.append(batch(), now)
    elif what == "transaction":
        log.append(batch(producer_id=number), now)
    elif what == "end":
        log.append_marker(number, 0, now, commit=True, coordinator_epoch=0)
    elif what == "hold":
        log.limit_high_watermark(max(log.log_start_offset, log.log_end_offset - number), now)
    elif what == "release":
        log.limit_high_watermark(None, now)
    elif what == "start":
        log.advance_log_start(min(log.log_start_offset + 1, log.high_watermark), now)
    elif what == "truncate":
        log.truncate(max(log.log_end_offset - number, 0), now)
    elif what == "segments":
        log.delete_segments(1, now)


def change_leader(lab: Lab, partition: Partition, what: str, node_id: int) -> None:
    now = lab.now
    if what == "lead":
        partition.lead(node_id, now)
    elif what == "nobody":
        partition.lead(-1, now)
    elif what == "preferred":
        elections.elect_preferred(partition, now)
    elif what == "unclean":
        elections.elect_unclean(partition, now)
    elif what == "reassign":
        elections.reassign(partition, [one for one in NODES if one != node_id], now)
    elif what == "everywhere":
        elections.reassign(partition, [node_id, *(one for one in NODES if one != node_id)], now)
    elif what == "in sync":
        elections.set_in_sync(partition, [node_id] if node_id in partition.replicas else partition.replicas, now)
    elif what == "zombie" and partition.leader > 0 and partition.leader != node_id:
        leader = lab.cluster.nodes[partition.leader]
        broker_life.become_zombie(lab.cluster, leader, partition, node_id, 50, now)


def change_node(lab: Lab, what: str, node_id: int) -> None:
    cluster, now = lab.cluster, lab.now
    node = cluster.nodes[node_id]
    if what == "stop":
        cluster.stop_node(node_id, now)
    elif what == "kill":
        cluster.kill_node(node_id, now)
    elif what == "begin":
        cluster.start_node(node_id, now)
    elif what == "freeze":
        cluster.freeze_node(node_id, now)
    elif what == "thaw":
        cluster.thaw_node(node_id, now)
    elif what == "cut off" and not node.is_cut_off:
        broker_life.cut_off(cluster, node, now)
    elif what == "rejoin" and node.is_cut_off:
        broker_life.rejoin(cluster, node, now)


numbers = st.integers(0, 5)
positions = st.builds(
    At,
    partition=st.integers(0, 4),
    offset=st.integers(-1, 6),
    max_bytes=st.sampled_from([-1, 0, 100, 1 << 20, 1 << 20]),
    epoch=st.sampled_from([-1, -1, -1, 0, 1]),
    last_epoch=st.sampled_from([-1, -1, -1, 0, 1]),
    topic=st.sampled_from(["t", "t", "u"]),
)
terms = st.fixed_dictionaries(
    {
        "older": st.sampled_from([0, 0, 1, 3, 5]),  # by so many versions than the first request
        "wait": st.sampled_from([0, 0, 30]),
        "min_bytes": st.sampled_from([0, 1, 1, 150]),
        "max_bytes": st.sampled_from([1 << 20, 1 << 20, 150, -1]),
        "committed": st.sampled_from([False, False, True]),
        "replica": st.sampled_from([-1, -1, -1, -1, 2]),
        "rack": st.sampled_from(["", "", "", "b"]),
    }
)
of_topics = ["make u", "make t", "delete u", "delete t", "grow t", "zstd t"]
of_logs = ["append", "append", "append", "transaction", "end", "hold", "release", "start", "truncate", "segments"]
of_leaders = ["lead", "nobody", "preferred", "unclean", "reassign", "everywhere", "in sync", "zombie"]
of_nodes = ["stop", "kill", "begin", "freeze", "thaw", "cut off", "rejoin"]
events = st.one_of(
    st.tuples(st.just("topics"), st.sampled_from(of_topics), numbers),
    st.tuples(st.just("log"), st.sampled_from(of_logs), numbers),
    st.tuples(st.just("log"), st.sampled_from(of_logs), numbers),
    st.tuples(st.just("leader"), st.sampled_from(of_leaders), numbers),
    st.tuples(st.just("node"), st.sampled_from(of_nodes), numbers),
    st.tuples(st.just("pass"), st.sampled_from([10, 60, 10_000]), numbers),
)
requests: st.SearchStrategy[Any] = st.one_of(
    st.tuples(st.just("catch up"), st.none(), st.just(0)),
    st.tuples(st.just("fetch"), st.tuples(st.lists(positions, max_size=2), st.just([])), st.just(0)),
    st.tuples(st.just("fetch"), st.tuples(st.lists(positions), st.lists(positions, max_size=1)), st.integers(0, 1)),
)
quiet: st.SearchStrategy[Any] = st.tuples(st.just("fetch"), st.just(([], [])), st.just(0))
moves = st.tuples(st.just("move"), st.integers(-1, 2), st.sampled_from([0, 0, 0, 0, 0, 0, 0, 1]))
rounds = st.tuples(st.one_of(requests, quiet), quiet, events, st.one_of(events, quiet), quiet)


def fetch(lab: Lab, client: Consumer, version: int, kind: str, what: Any, fields: dict[str, Any]) -> None:
    """A request of the session, with `version` at most."""
    if kind == "catch up":
        known = [(number, partition_of(lab, number)) for number in range(6)]
        ends = [At(n % 4, one.log.high_watermark, topic=one.topic.name) for n, one in known if one is not None]
        what = ends, []
    changed, forgotten = what
    version -= fields["older"]
    if version < 12:
        changed = [at._replace(last_epoch=-1) for at in changed]
    if version < 9:
        changed = [at._replace(epoch=-1) for at in changed]
    client.fetch(changed, forgotten, version, **{name: fields[name] for name in fields if name != "older"})


def happen(lab: Lab, kind: str, what: Any, more: int) -> None:
    """One event of a history."""
    if kind == "topics":
        change_topics(lab, what)
    elif kind == "pass":
        lab.sim.network.advance(what)
    elif kind == "node":
        change_node(lab, what, more % 3 + 1)
    elif (partition := partition_of(lab, more)) is not None:
        if kind == "log":
            change_log(lab, partition.log, what, more)
        else:
            change_leader(lab, partition, what, more % 3 + 1)


def played(
    release: str, version: int, terms: tuple[Any, Any], history: list[Any], *, has_session: bool, uses_layouts: bool
) -> list[Any]:
    """What the client was answered after each step, or how the cluster refused it."""
    lab = Lab(release, uses_layouts=uses_layouts)
    client, seen = Consumer(lab, has_session=has_session), []
    for kind, what, more in history:
        try:
            if kind in ("fetch", "catch up"):
                fetch(lab, client, version, kind, what, terms[more])
            else:
                happen(lab, kind, what, more)
        except KafkaError as error:
            seen.append([repr(error)])
        seen.append(client.take())
    lab.sim.network.advance(1000)
    assert not lab.sim.engine.errors, lab.sim.engine.errors
    return [*seen, client.take()]


@pytest.mark.rules("FS-4", "FS-5", "FS-6", "FS-7", "FS-11", "FT-4", "FT-5")
@given(
    history=st.lists(rounds, max_size=8),
    terms=st.tuples(terms, terms),
    version=st.sampled_from([12, 17]),
    release=st.sampled_from(["4.3", "3.9"]),
)
def test_nobody_sees_which_partitions_a_session_reads(
    history: list[Any], terms: tuple[Any, Any], version: int, release: str
) -> None:
    """The same answers at the same times, whatever happens to topics, logs, leaders and nodes between the requests."""
    steps = [one for some in history for one in some]
    found = played(release, version, terms, steps, has_session=True, uses_layouts=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FetchParams, "only_changes_count", property(lambda _: False))
        assert found == played(release, version, terms, steps, has_session=True, uses_layouts=False)


@pytest.mark.rules("FT-4", "FT-5", "FT-6", "FT-7", "FT-8")
@given(
    history=st.lists(st.tuples(moves, moves, moves, st.one_of(moves, events)), max_size=10),
    terms=st.tuples(terms, terms),
    asked=st.lists(positions, min_size=1, max_size=3),
    version=st.sampled_from([12, 17]),
    release=st.sampled_from(["4.3", "3.9"]),
)
def test_nobody_sees_which_requests_are_decoded(
    history: list[Any], terms: tuple[Any, Any], asked: list[At], version: int, release: str
) -> None:
    """The same without a session, for a client that reads the same partitions from other offsets."""
    steps: list[tuple[str, Any, Any]] = []
    for kind, what, more in (one for some in history for one in some):
        if kind == "move":
            changed = [at._replace(offset=max(at.offset + what, -1)) for at in asked]
            steps.append(("fetch", (changed, []), more))
        else:
            steps.append((kind, what, more))
    found = played(release, version, terms, steps, has_session=False, uses_layouts=True)
    assert found == played(release, version, terms, steps, has_session=False, uses_layouts=False)
