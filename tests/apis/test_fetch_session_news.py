"""Sessions do not read partitions without news: nobody may see that.

Random histories of a cluster are played twice, as they are and with sessions that read every partition each time. What
clients are answered, and when, must be equal byte by byte.
"""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakebroker.core import broker_life, elections
from fakebroker.core.logs.fetching import FetchParams
from fakebroker.core.logs.log import PartitionLog
from fakebroker.core.topics import Partition
from fakebroker.errors import KafkaError
from fakebroker.records.batch import build_batch
from fakebroker.records.record_codec import Record
from tests.support.fetches import At, Fetches, Pending
from tests.support.time import T0

Make = Callable[..., Any]
NODES = (1, 2, 3)
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


class Client:
    """One client of node 1 that fetches in a session; it makes a new one where it has none."""

    def __init__(self, lab: Fetches) -> None:
        self.lab = lab
        self.session = 0
        self.epoch = 0
        self.sent: list[Pending] = []

    def fetch(self, changed: list[At], forgotten: list[At], **fields: Any) -> None:
        pending = self.lab.fetch(*changed, session=self.session, epoch=self.epoch, forget=forgotten, **fields)
        self.sent.append(pending)
        self.epoch += 1

    def take(self) -> list[str]:
        """The answers that have come since, in the order of their requests; the session goes on as they say."""
        answered = [one for one in self.sent if not one.is_parked]
        self.sent = [one for one in self.sent if one.is_parked]
        for one in answered:
            if not one.response.session_id:
                self.session = self.epoch = 0
            elif not self.session:
                self.session, self.epoch = one.response.session_id, 1
        return [repr(one.response) for one in answered]


def partition_of(lab: Fetches, number: int) -> Partition | None:
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


def change_topics(lab: Fetches, what: str) -> None:
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


def change_log(lab: Fetches, log: PartitionLog, what: str, number: int) -> None:
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


def change_leader(lab: Fetches, partition: Partition, what: str, node_id: int) -> None:
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


def change_node(lab: Fetches, what: str, node_id: int) -> None:
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
    st.tuples(st.just("leader"), st.sampled_from(of_leaders), numbers),
    st.tuples(st.just("node"), st.sampled_from(of_nodes), numbers),
    st.tuples(st.just("pass"), st.sampled_from([10, 60, 10_000]), numbers),
)
requests = st.one_of(
    st.tuples(st.just("catch up"), st.none(), st.just(0)),
    st.tuples(st.just("fetch"), st.tuples(st.lists(positions, max_size=2), st.just([])), st.just(0)),
    st.tuples(st.just("fetch"), st.tuples(st.lists(positions), st.lists(positions, max_size=1)), st.integers(0, 1)),
)
quiet = st.tuples(st.just("fetch"), st.just(([], [])), st.just(0))
rounds = st.tuples(st.one_of(requests, quiet), quiet, events, st.one_of(events, quiet), quiet)


def fetch(lab: Fetches, client: Client, version: int, kind: str, what: Any, fields: dict[str, Any]) -> None:
    """A request of the session, with `version` at most."""
    if kind == "catch up":
        known = [(number, partition_of(lab, number)) for number in range(6)]
        ends = [At(n % 4, one.log.high_watermark, topic=one.topic.name) for n, one in known if one is not None]
        what = ends, []
    changed, forgotten = what
    if version == 12:  # its session is continued in older versions as well, which cannot tell a divergence
        changed = [at._replace(last_epoch=-1) for at in changed]
    version -= fields["older"]
    if version < 9:
        changed = [at._replace(epoch=-1) for at in changed]
    client.fetch(changed, forgotten, version=version, **{name: fields[name] for name in fields if name != "older"})


def happen(lab: Fetches, kind: str, what: str, more: int) -> None:
    """One event of a history."""
    if kind == "topics":
        change_topics(lab, what)
    elif kind == "pass":
        lab.wait(what)
    elif kind == "node":
        change_node(lab, what, more % 3 + 1)
    elif (partition := partition_of(lab, more)) is not None:
        if kind == "log":
            change_log(lab, partition.log, what, more)
        else:
            change_leader(lab, partition, what, more % 3 + 1)


def played(make_call: Make, release: str, version: int, terms: tuple[Any, Any], history: list[Any]) -> list[Any]:
    """What the client was answered after each step, or how the cluster refused it."""
    lab = Fetches(make_call, release, node_ids=NODES, replica_selector_class=RACK_AWARE)
    for node_id, rack in zip(NODES, "abc", strict=True):
        lab.cluster.nodes[node_id].settings.set_own("broker.rack", rack)
    client, seen = Client(lab), []
    client.fetch([At(number) for number in range(4)], [], version=version)
    for kind, what, more in history:
        seen.append(client.take())
        try:
            if kind in ("fetch", "catch up"):
                fetch(lab, client, version, kind, what, terms[more])
            else:
                happen(lab, kind, what, more)
        except KafkaError as error:
            seen.append([repr(error)])
    lab.wait(1000)
    return [*seen, client.take()]


@pytest.mark.rules("FS-4", "FS-5", "FS-6", "FS-7", "FS-11", "FT-4", "FT-5")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # make_call keeps nothing
@given(
    history=st.lists(rounds, max_size=8),
    terms=st.tuples(terms, terms),
    version=st.sampled_from([12, 17]),
    release=st.sampled_from(["4.3", "3.9"]),
)
def test_nobody_sees_that_partitions_are_not_read(
    make_call: Make, history: list[Any], terms: tuple[Any, Any], version: int, release: str
) -> None:
    """The same answers at the same times, whatever happens to topics, logs, leaders and nodes between the requests."""
    steps = [one for some in history for one in some]
    found = played(make_call, release, version, terms, steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FetchParams, "only_changes_count", property(lambda _: False))
        assert found == played(make_call, release, version, terms, steps)
