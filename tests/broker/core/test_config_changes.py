"""Changes of configs against a plain model: a dict of lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core import config_changes
from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.config_changes import APPEND, DELETE, SET, SUBTRACT, Change, apply
from fakebroker.broker.core.config_resources import TOPIC_RESOURCE, resource
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import KafkaError

LIST_CONFIG, DEFAULT = "leader.replication.throttled.replicas", ()
ITEMS = st.lists(st.sampled_from(["0:1", "1:1", "2:1", "3:2"]), unique=True)
OPERATIONS = st.tuples(st.sampled_from([SET, DELETE, APPEND, SUBTRACT]), ITEMS)


def expected(present: tuple[str, ...] | None, operation: int, items: list[str]) -> tuple[str, ...] | None:
    """What a list config is after one operation; None: not set."""
    if operation == DELETE:
        return None
    if operation == SET:
        return tuple(items)
    base = list(DEFAULT if present is None else present)
    if operation == APPEND:
        return tuple(base + [item for item in items if item not in base])
    return tuple(item for item in base if item not in items)


@pytest.mark.rules("IA-1", "IA-2", "IA-3", "IA-4")
@given(st.lists(OPERATIONS, max_size=8))
def test_any_history_of_a_list(history: list[tuple[int, list[str]]]) -> None:
    """After any history the topic's list is the model's, other configs stay, and checking alone changes nothing."""
    cluster = Cluster(Settings(), release())
    topic = cluster.topics.create("t", 1, config={"retention.ms": "7"})
    present: tuple[str, ...] | None = None
    for operation, items in history:
        change = Change(LIST_CONFIG, operation, None if operation == DELETE else ",".join(items))
        for validate_only in (True, False):
            before = dict(topic.config.own)
            apply(resource(cluster.nodes[1], TOPIC_RESOURCE, "t"), [change], validate_only, replace=False)
            assert not validate_only or topic.config.own == before
        present = expected(present, operation, items)
        assert topic.config.get_list(LIST_CONFIG) == (DEFAULT if present is None else present)
        assert (LIST_CONFIG in topic.config.own) == (present is not None)
        assert topic.config.get_int("retention.ms") == 7


class CountedName(str):
    """A name that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        CountedName.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_many_changes_are_checked_in_linear_time() -> None:
    """A request with thousands of configs compares each name with few others, not with all of them."""
    cluster = Cluster(Settings(), release())
    cluster.topics.create("t", 1)
    changes = [Change(CountedName(f"n{number}"), SET, "1") for number in range(1000)]
    CountedName.compared = 0
    with pytest.raises(KafkaError):
        apply(resource(cluster.nodes[1], TOPIC_RESOURCE, "t"), changes, validate_only=True, replace=True)

    assert CountedName.compared < 10_000


@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
def test_long_lists_are_changed_in_linear_time(monkeypatch: pytest.MonkeyPatch, operation: int) -> None:
    """Each item of a list is compared with few of those that are added or taken away."""
    cluster = Cluster(Settings(), release())
    cluster.topics.create("t", 1)
    topic = resource(cluster.nodes[1], TOPIC_RESOURCE, "t")
    name = "leader.replication.throttled.replicas"
    apply(
        topic,
        [Change(name, SET, ",".join(f"{number}:1" for number in range(1000)))],
        validate_only=False,
        replace=False,
    )
    monkeypatch.setattr(config_changes, "_items", lambda text: [CountedName(item) for item in text.split(",")])
    CountedName.compared = 0
    more = ",".join(f"{number}:2" for number in range(1000))
    apply(topic, [Change(name, operation, more)], validate_only=True, replace=False)

    assert CountedName.compared < 10_000
