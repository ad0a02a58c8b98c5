"""What consumer, share and streams groups do alike: members that are silent, and those that a test evicts."""

from types import SimpleNamespace
from typing import Any

import pytest

from fakebroker.broker.core.events import Transition
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.offsets_codec import Format
from fakebroker.protocol.records.offsets_topic import stored_offset
from tests.support.consumer_groups import OneConsumerGroup
from tests.support.groups import OneGroup
from tests.support.share_groups import OneShareGroup
from tests.support.streams_groups import OneStreamsGroup

KINDS = pytest.mark.parametrize("kind", [OneConsumerGroup, OneShareGroup, OneStreamsGroup])
SESSION_MS = 45_000


def refuse(*_: object) -> ErrorCode:
    return ErrorCode.NOT_ENOUGH_REPLICAS


@KINDS
@pytest.mark.rules("CGT-2", "SGH-20", "STM-1")
def test_a_silent_member_whose_removal_cannot_be_stored_is_removed_later(
    kind: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays a member for as long, and is removed half a second after the last attempt."""
    lab = kind()
    lab.join("m1")
    with monkeypatch.context() as patched:
        patched.setattr(lab.shard, "write_records", refuse)
        lab.wait(SESSION_MS)
        lab.wait(100)
        assert list(lab.group.members) == ["m1"]
    lab.wait(399)
    assert list(lab.group.members) == ["m1"]
    lab.wait(1)

    assert lab.group.is_empty
    assert lab.group.state_reason == "member m1 timed out"


@KINDS
@pytest.mark.rules("ST-8")
def test_records_that_do_not_fit_into_a_batch(kind: type[Any]) -> None:
    """A step whose records are larger than max.message.bytes of the topic is refused whole with -1."""
    lab = kind()
    lab.join("m1")
    epoch = lab.group.group_epoch
    lab.cluster.topics.internal("__consumer_offsets").config.replace({"max.message.bytes": "70"})
    with pytest.raises(KafkaError) as caught:
        lab.group.remove_member("m1", lab.now, "a test wants it")
    assert caught.value.code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert lab.group.group_epoch == epoch
    lab.cluster.topics.internal("__consumer_offsets").config.replace({})
    lab.group.remove_member("m1", lab.now, "a test wants it")
    assert lab.group.is_empty


@KINDS
def test_a_test_evicts_members_only(kind: type[Any]) -> None:
    """KeyError for a stranger, and nothing changes."""
    lab = kind()
    lab.join("m1")
    epoch = lab.group.group_epoch

    with pytest.raises(KeyError):
        lab.group.evict("stranger", lab.now)
    assert lab.group.group_epoch == epoch
    lab.group.evict("m1", lab.now)

    assert lab.group.is_empty
    assert lab.group.state_reason == "member m1 was evicted by a test"


@KINDS
def test_a_group_that_is_loaded_tells_its_state(kind: type[Any]) -> None:
    """The journal has the state in which it was found in the log, and why."""
    lab = kind()
    lab.join("m1")
    group = lab.reload()

    transitions = [each for each in lab.cluster.outbox if isinstance(each, Transition)]
    assert transitions[-1].reason == "loaded from the log"
    assert transitions[-1].after == group.state == group.present_state()


@pytest.mark.parametrize("kind", [OneGroup, OneConsumerGroup, OneShareGroup, OneStreamsGroup])
@pytest.mark.parametrize("end", ["die", "unload"])
def test_every_kind_of_group_ends_its_offsets_and_timers(kind: type[Any], end: str) -> None:
    """Repeated commits become rows, whichever kind it is and however it ends, and no timer of it is armed."""
    lab = kind()
    lab.join("m1")
    group, rows = lab.group, [stored_offset("t", 0, 5, commit_ms=0)]
    template = group.offsets.repeatable("g", rows, None, Format())
    group.offsets.repeat(template, [7], lab.now, SimpleNamespace(append_records=lambda _records, _now: 0))

    getattr(group, end)(lab.now)

    assert group.offsets.latest_of(template) is None
    assert [(*stored[:3],) for stored in group.offsets] == [("t", 0, 7)]
    timers = lab.timers if kind is OneGroup else lab.cluster.timers
    owners = [id(owner) for owner in group.timer_owners()]
    assert [each for each in timers.mono.armed() if id(each.owner) in owners] == []
