"""Any request about offsets, in any state and version: it is answered, row by row, and the log says the same."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.offset_delete import OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from fakebroker.protocol.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from fakebroker.protocol.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.support.chance import examples
from tests.support.offsets import WEEK, OffsetsCluster, state_of
from tests.support.time import DAY, MINUTE

INT64, INT32 = st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1)
TOPICS = st.sampled_from(["t", "u", "none", "", "__consumer_offsets"])
INDEXES = st.sampled_from([0, 1, 3, 4, -1, 2**31 - 1])
GROUPS = st.sampled_from(["g", "g", "g", "", "ünïcode \U0001f600"])
METADATA = st.none() | st.text(st.characters(codec="utf-8"), max_size=20) | st.just("x" * 4097)
WHO = st.sampled_from(["nobody", "member", "wrong generation", "stranger", "static"])
ROWS = st.lists(st.tuples(TOPICS, INDEXES, INT64, INT32, METADATA), max_size=6)

STEPS = st.one_of(
    st.tuples(st.just("commit"), st.integers(1, 10), GROUPS, WHO, ROWS, st.just(-1) | INT64),
    st.tuples(st.just("txn"), st.integers(0, 4), GROUPS, WHO, ROWS),
    st.tuples(st.just("fetch"), st.integers(1, 10), GROUPS, st.none() | ROWS, st.booleans()),
    st.tuples(st.just("delete"), GROUPS, ROWS),
    st.tuples(st.just("join"), st.sampled_from([(), ("t",), ("t", "u")])),
    st.tuples(st.just("sync")),
    st.tuples(st.just("leave")),
    st.tuples(st.just("end"), st.booleans()),
    st.tuples(st.just("wait"), st.sampled_from([1, MINUTE, DAY, WEEK])),
)


def who(lab: OffsetsCluster, kind: str, version: int) -> dict[str, Any]:
    """The fields by which a commit says who it comes from."""
    group = lab.found()
    member = next(iter(group.members), "m") if group else "m"
    generation = group.generation if group else 0
    fields = {
        "nobody": (-1, "", None),
        "member": (generation, member, None),
        "wrong generation": (generation + 1, member, None),
        "stranger": (generation, "stranger", None),
        "static": (generation, member, "i" if version >= 7 else None),
    }[kind]
    return dict(zip(("generation", "member_id", "group_instance_id"), fields, strict=True))


def commit(lab: OffsetsCluster, version: int, group_id: str, kind: str, rows: list[Any], retention_ms: int) -> None:
    fields = who(lab, kind, version)
    fields["generation_id_or_member_epoch"] = fields.pop("generation")
    own = retention_ms if version == 1 else -1
    topics = [
        OffsetCommitRequestTopic(
            **lab.named(name, version),
            partitions=[(index, offset, epoch if version >= 6 else -1, own, metadata)],
        )
        for name, index, offset, epoch, metadata in rows
    ]
    answer = lab.ask(
        "OffsetCommit",
        version,
        group_id=group_id,
        topics=topics,
        **fields,
        **({"retention_time_ms": retention_ms} if 2 <= version <= 4 else {}),
    )
    answered = [index for topic in answer.topics for index, _ in topic.partitions]
    assert sorted(answered) == sorted(index for _, index, *_ in rows)


def txn(lab: OffsetsCluster, version: int, group_id: str, kind: str, rows: list[Any]) -> None:
    fields = who(lab, kind, 7 if version >= 3 else 0)
    fields["generation_id"] = fields.pop("generation")
    topics = [
        TxnOffsetCommitRequestTopic(
            name=name,
            partitions=[
                TxnOffsetCommitRequestPartition(
                    partition_index=index, committed_offset=offset, committed_metadata=metadata
                )
            ],
        )
        for name, index, offset, _, metadata in rows
    ]
    answer = lab.ask(
        "TxnOffsetCommit",
        version,
        transactional_id="tx",
        group_id=group_id,
        producer_id=7,
        producer_epoch=0,
        topics=topics,
        **(fields if version >= 3 else {}),
    )
    answered = [entry.partition_index for topic in answer.topics for entry in topic.partitions]
    assert sorted(answered) == sorted(index for _, index, *_ in rows)  # a topic named twice is merged (OC-22)


def fetch(lab: OffsetsCluster, version: int, group_id: str, rows: list[Any] | None, stable: bool) -> None:
    options = {"require_stable": stable} if version >= 7 else {}
    if version == 1 and rows is None:
        rows = []
    asked = None if rows is None else [(name, [index]) for name, index, *_ in rows]
    if version < 8:
        topics = (
            [OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in asked]
            if asked is not None
            else None
        )
        answer = lab.ask("OffsetFetch", version, group_id=group_id, topics=topics, **options)
        found = answer.topics
    else:
        entries = None
        if asked is not None:
            entries = [
                OffsetFetchRequestTopics(**lab.named(name, version), partition_indexes=indexes)
                for name, indexes in asked
            ]
        groups = [OffsetFetchRequestGroup(group_id=group_id, topics=entries)]
        (answer,) = lab.ask("OffsetFetch", version, groups=groups, **options).groups
        found = answer.topics
    assert answer.error_code == ErrorCode.NONE
    if asked is not None:
        assert sorted(row[0] for topic in found for row in topic.partitions) == sorted(i for _, (i,) in asked)


def delete(lab: OffsetsCluster, group_id: str, rows: list[Any]) -> None:
    topics = [
        OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index)])
        for name, index, *_ in rows
    ]
    answer = lab.ask("OffsetDelete", 0, group_id=group_id, topics=topics)
    answered = [entry.partition_index for topic in answer.topics for entry in topic.partitions]
    assert sorted(answered) == sorted([] if answer.error_code else [row[1] for row in rows])


def take(lab: OffsetsCluster, step: tuple[Any, ...]) -> None:
    kind, *args = step
    group = lab.found()
    member = next(iter(group.members), None) if group else None
    requests: dict[str, Callable[..., None]] = {"commit": commit, "txn": txn, "fetch": fetch, "delete": delete}
    if kind in requests:
        requests[kind](lab, *args)
    elif kind == "join":
        lab.join(topics=args[0], member_id=member or "")
    elif kind == "sync" and group and member:
        lab.sync(member)
    elif kind == "leave" and member:
        lab.leave(member)
    elif kind == "end":
        lab.shard().replay_end_transaction_marker(7, args[0], lab.now)
    elif kind == "wait":
        lab.wait(args[0])


@examples(60)
@given(st.lists(STEPS, max_size=20))
def test_any_history_of_requests(history: list[tuple[Any, ...]]) -> None:
    """Nothing breaks, every row that was asked is answered, and a reader of the log finds what OffsetFetch tells."""
    lab = OffsetsCluster(settings={"transaction.partition.verification.enable": False})
    for step in history:
        take(lab, step)
    for group_id in ("g", "", "ünïcode \U0001f600"):
        stored_offsets = lab.offsets(group_id)
        reread = lab.reread(group_id).group(group_id)
        if "end" not in {step[0] for step in history}:  # the lab ends transactions without a marker in the log
            assert stored_offsets == ({} if reread is None else {stored[:2]: stored[2] for stored in reread.offsets})
    assert state_of(lab.shard()).keys() <= {"g", "", "ünïcode \U0001f600"}
