"""Clones with few rights: what may not be read is listed, and the rest is cloned."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeBroker, Snapshot
from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.testing.clone.cloning import Cloned, clone
from fakebroker.testing.clone.options import CloneOptions
from tests.support.alike_clusters import answers, fill
from tests.testing.clone.test_cloning import FEW_PARTITIONS, SECRET

ME = "User:ANONYMOUS"


@pytest.fixture
def guarded() -> Iterator[tuple[FakeBroker, dict[str, Any]]]:
    """A broker with some of everything, what it answers, and then without any right."""
    with FakeBroker(profile="kafka", config=FEW_PARTITIONS, acls=[]) as broker:
        broker.acls.allow(ME, "ALL", topic="*")
        broker.acls.allow(ME, "ALL", group="*")
        broker.acls.allow(ME, "ALL", transactional_id="*")
        broker.acls.allow(ME, "ALL", cluster=True)
        fill(broker.bootstrap)
        before = answers(broker.bootstrap, has_records=False)
        broker.acls.clear()
        yield broker, before


def cloned(broker: FakeBroker, out: Path, options: CloneOptions = CloneOptions()) -> Cloned:
    with ClusterClient(broker.bootstrap, retry_pause_ms=1) as cluster:
        return clone(cluster, options, out)


def test_groups_that_may_not_be_read_are_listed(guarded: Any, tmp_path: Path) -> None:
    """Without a look into internal topics groups come from the admin APIs; what they refuse is a sentence each."""
    broker, before = guarded
    broker.acls.allow(ME, "DESCRIBE", cluster=True)
    broker.acls.allow(ME, "DESCRIBE", group="*")
    broker.acls.deny(ME, "DESCRIBE", group="simple-3")
    for topic in ("orders", "payments"):
        broker.acls.allow(ME, "DESCRIBE", topic=topic)
    done = cloned(broker, tmp_path / "x")

    refused = "group 'simple-3' is left out: the coordinator of 'simple-3': GROUP_AUTHORIZATION_FAILED"
    assert any(each.startswith(refused) for each in done.problems)
    assert "the settings of broker 1 are left out: CLUSTER_AUTHORIZATION_FAILED" in done.problems
    assert "__consumer_offsets cannot be read: offsets count as committed at the time of the clone" in done.problems
    with Snapshot.load(tmp_path / "x").fork() as clone_of_it:
        found = answers(clone_of_it.bootstrap, has_records=False)
        states = {each: clone_of_it.group(each).state for each in found["groups"]}
    assert list(found["topics"]) == ["orders", "payments"]
    assert found["groups"].keys() == before["groups"].keys() - {"simple-3"}
    for group_id, (kind, protocol_type, described, offsets) in found["groups"].items():
        wanted = before["groups"][group_id]
        assert (kind, protocol_type) == wanted[:2]
        if kind != "share":
            assert offsets == wanted[3], group_id
        if group_id == "members":
            assert described == wanted[2]
    assert states["sharing"] == states["next"] == states["streaming"] == "Empty"


def test_start_offsets_of_share_groups_are_cloned(guarded: Any, tmp_path: Path) -> None:
    """A share group goes on where it was, as far as DescribeShareGroupOffsets says."""
    broker, before = guarded
    broker.acls.allow(ME, "DESCRIBE", cluster=True)
    broker.acls.allow(ME, "DESCRIBE", group="*")
    broker.acls.allow(ME, "DESCRIBE", topic="*")
    broker.acls.deny(ME, "DESCRIBE", topic="__consumer_offsets")
    cloned(broker, tmp_path / "x", CloneOptions(groups=("sharing",)))

    with Snapshot.load(tmp_path / "x").fork() as clone_of_it:
        found = answers(clone_of_it.bootstrap, has_records=False)["groups"]["sharing"]
    lag = re.compile(r"(, )?lag=\d+")  # is not cloned: it counts acknowledgements
    assert str(found[3]) == lag.sub("", str(before["groups"]["sharing"][3]))
    assert "start_offset=5" in str(found[3])


def test_records_that_may_not_be_read_are_listed(guarded: Any, tmp_path: Path) -> None:
    """The offsets of such a partition stay, without its records."""
    broker, before = guarded
    broker.acls.allow(ME, "DESCRIBE", cluster=True)
    broker.acls.allow(ME, "DESCRIBE", topic="orders")
    broker.acls.allow(ME, "READ", topic="payments")
    done = cloned(broker, tmp_path / "x", CloneOptions(last_records=100, anonymise=True, secret=SECRET))

    assert any("the records of orders-0 are left out" in each for each in done.problems)
    assert not any("records of payments" in each for each in done.problems)
    with Snapshot.load(tmp_path / "x").fork() as clone_of_it:
        ranges = answers(clone_of_it.bootstrap)["ranges"]
    names = {"orders", "payments"}
    assert sorted(ranges.values()) == sorted(each for place, each in before["ranges"].items() if place.topic in names)


def test_without_any_right(guarded: Any, tmp_path: Path) -> None:
    """A clone has no topics and groups then, and the broker's settings are said to be missing."""
    done = cloned(guarded[0], tmp_path / "x")

    assert (done.topics, done.groups) == (0, 0)
    assert any("the settings of broker 1 are left out" in each for each in done.problems)
