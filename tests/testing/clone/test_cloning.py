"""Clones of a broker: what they answer, what is left out, and what happens when the broker goes away."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeBroker, InvalidArgument, Snapshot
from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.cluster.errors import ClusterError
from fakebroker.client.cluster.links import Links
from fakebroker.testing.clone import work_folder
from fakebroker.testing.clone.cloning import Cloned, Progress, clone, work_folder_of
from fakebroker.testing.clone.options import CloneOptions
from tests.support.alike_clusters import answers, fill

FEW_PARTITIONS = {
    "offsets.topic.num.partitions": 3,
    "share.coordinator.state.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "group.initial.rebalance.delay.ms": 0,
}
SECRET = b"a secret of the tests"
ALL_RECORDS = CloneOptions(last_records=1_000_000)


@pytest.fixture(scope="module")
def source() -> Iterator[FakeBroker]:
    """A broker with some of everything."""
    with FakeBroker(profile="kafka", config=FEW_PARTITIONS) as broker:
        fill(broker.bootstrap)
        yield broker


def cloned(source: FakeBroker, out: Path, options: CloneOptions = CloneOptions(), **kwargs: Any) -> Cloned:
    with ClusterClient(source.bootstrap, retry_pause_ms=1) as cluster:
        return clone(cluster, options, out, **kwargs)


def answers_of_clone(out: Path, **options: Any) -> dict[str, Any]:
    with Snapshot.load(out).fork() as broker:
        return answers(broker.bootstrap, **options)


def test_a_clone_answers_as_its_source(source: FakeBroker, tmp_path: Path) -> None:
    """Groups of all kinds with members and offsets, topics with ids, offsets and committed records are the same."""
    out = tmp_path / "state.fbs"
    done = cloned(source, out, ALL_RECORDS)

    assert answers_of_clone(out) == answers(source.bootstrap)
    assert (done.topics, done.partitions, done.groups, done.problems) == (3, 6, 9, [])
    assert done.records == 5 * (4 + 5 + 6 + 4 + 5) - 5 + 2  # five were deleted
    assert not work_folder_of(out).exists()


def test_without_records_offsets_stay(source: FakeBroker, tmp_path: Path) -> None:
    """A clone without records has the same groups, and partitions with the same start and end."""
    cloned(source, tmp_path / "x")
    wanted = answers(source.bootstrap, has_records=False)

    assert answers_of_clone(tmp_path / "x", has_records=False) == wanted
    with Snapshot.load(tmp_path / "x").fork() as broker:
        assert broker.topic("orders").records() == []
        assert broker.group("simple-0").view().offsets[0].lag == 19


def test_settings_are_cloned(source: FakeBroker, tmp_path: Path) -> None:
    """The clone has the settings of topics, groups, and the broker, and expires offsets as the source would."""
    cloned(source, tmp_path / "x")
    state = Snapshot.load(tmp_path / "x").state

    assert state.options.config["offsets.topic.num.partitions"] == "3"
    assert next(each for each in state.cluster.topics if each.name == "payments").config == {
        "cleanup.policy": "compact"
    }
    assert state.cluster.group_configs == {"sharing": {"share.auto.offset.reset": "earliest"}}
    assert state.cluster.cluster_id == source.snapshot().state.cluster.cluster_id


def test_time_moves_in_a_clone(source: FakeBroker, tmp_path: Path) -> None:
    """After eight days offsets of groups without members are gone, and the clone says why."""
    cloned(source, tmp_path / "x")
    with Snapshot.load(tmp_path / "x").fork() as broker:
        assert broker.group("simple-0").offsets
        broker.clock.advance(days=8)
        assert broker.group("simple-0").offsets == {}
        assert "expired" in str(broker.group("simple-0").explain())


def test_last_records(source: FakeBroker, tmp_path: Path) -> None:
    """With a number of records only the batches of the last offsets are there; the log starts where it did."""
    cloned(source, tmp_path / "x", CloneOptions(last_records=3))
    found = answers_of_clone(tmp_path / "x")
    wanted = answers(source.bootstrap)

    assert found["ranges"] == wanted["ranges"]
    for partition, records in found["records"].items():
        if partition.topic != "events":
            assert records == wanted["records"][partition][-len(records) :]
            assert 3 <= len(records) <= 6


def test_since(source: FakeBroker, tmp_path: Path) -> None:
    """With a time only the batches from it on are there; a time after all records gives none."""
    first_ms = answers(source.bootstrap)["records"]["orders", 0][0][1]
    cloned(source, tmp_path / "x", CloneOptions(since_ms=first_ms + 2_000))
    cloned(source, tmp_path / "y", CloneOptions(since_ms=first_ms + 10**9))

    offsets = [record[0] for record in answers_of_clone(tmp_path / "x")["records"]["orders", 0]]
    assert offsets == list(range(8, 20))
    assert not any(answers_of_clone(tmp_path / "y")["records"].values())


def test_patterns(source: FakeBroker, tmp_path: Path) -> None:
    """Patterns choose topics and groups; offsets of topics that are left out are left out."""
    done = cloned(source, tmp_path / "x", CloneOptions(topics=("pay*",), groups=("simple-?", "next")))
    found = answers_of_clone(tmp_path / "x")

    assert list(found["topics"]) == ["payments"]
    assert sorted(found["groups"]) == ["next", *(f"simple-{n}" for n in range(5))]
    assert {topic for *_, offsets in found["groups"].values() for topic, _ in offsets} == {"payments"}
    assert (done.topics, done.groups) == (1, 6)


def test_without_payloads(source: FakeBroker, tmp_path: Path) -> None:
    """Values become zeros of the same size, equal keys stay equal; offsets and times stay, and no text is left."""
    cloned(source, tmp_path / "x", ALL_RECORDS._replace(without_payloads=True, secret=SECRET))
    content = (tmp_path / "x").read_bytes()
    found, wanted = answers_of_clone(tmp_path / "x")["records"], answers(source.bootstrap)["records"]

    keys: dict[bytes, set[bytes]] = {}
    for partition, records in wanted.items():
        for mine, other in zip(found[partition], records, strict=True):
            assert mine[:2] == other[:2]
            assert mine[3] == bytes(len(other[3]))
            assert [name for name, _ in mine[4]] == [name for name, _ in other[4]]
            keys.setdefault(other[2], set()).add(mine[2])
    assert all(len(each) == 1 for each in keys.values())
    assert len({each for some in keys.values() for each in some}) == len(keys)
    assert b"value-" not in content
    assert b"key-" not in content


@pytest.mark.parametrize("message_format", ["0.9.0", "0.10.2", "2.8"])
def test_without_payloads_of_old_formats(message_format: str, tmp_path: Path) -> None:
    """No key and no value is left of them either."""
    with FakeBroker(as_release="2.8", config=FEW_PARTITIONS) as broker:
        topic = broker.create_topic("orders", config={"message.format.version": message_format})
        for number in range(3):
            topic.produce(f"value-{number}".encode(), key=f"key-{number}".encode())
        done = cloned(broker, tmp_path / "x", ALL_RECORDS._replace(without_payloads=True, secret=SECRET))

    assert done.records == 3
    content = (tmp_path / "x").read_bytes()
    assert b"value-" not in content
    assert b"key-" not in content


def test_anonymise(source: FakeBroker, tmp_path: Path) -> None:
    """No name of a topic, group, member or client is left, and offsets are those of the source."""
    options = CloneOptions(anonymise=True, secret=SECRET)
    cloned(source, tmp_path / "x", options)
    content = (tmp_path / "x").read_bytes()
    found = answers_of_clone(tmp_path / "x", has_records=False)
    wanted = answers(source.bootstrap, has_records=False)

    names = ["orders", "payments", "events", "simple-", "members", "streaming", "sharing", "metadata 1", "sharer"]
    assert [each for each in names if each.encode() in content] == []
    assert sorted(found["ranges"].values()) == sorted(wanted["ranges"].values())
    assert sorted(offset for group in found["groups"].values() for offset in _committed(group)) == sorted(
        offset for group in wanted["groups"].values() for offset in _committed(group)
    )
    assert sorted(kind for kind, *_ in found["groups"].values()) == sorted(
        kind for kind, *_ in wanted["groups"].values()
    )
    cloned(source, tmp_path / "y", options)
    assert answers_of_clone(tmp_path / "y", has_records=False)["groups"].keys() == found["groups"].keys()


def _committed(group: Any) -> list[int]:
    kind, _, _, offsets = group
    return [] if kind == "share" else [row[1] for _, rows in offsets for row in rows]


def test_a_clone_resumes(source: FakeBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the broker goes away, what was cloned is kept; the next run makes the same file as one run does."""
    cloned(source, tmp_path / "whole", ALL_RECORDS)
    wanted = answers_of_clone(tmp_path / "whole")
    sent = _count_requests(monkeypatch)
    cloned(source, tmp_path / "other", ALL_RECORDS)
    needed, out = sent[0], tmp_path / "state.fbs"

    interruptions = 0
    for _ in range(needed):
        sent[0], sent[1] = 0, needed // 4
        try:
            cloned(source, out, ALL_RECORDS)
            break
        except ClusterError:
            interruptions += 1
    sent[1] = -1
    assert interruptions >= 3
    assert answers_of_clone(out) == wanted
    assert not work_folder_of(out).exists()


def _count_requests(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """[how many requests were sent, after how many the broker is away (-1: never)]."""
    sent = [0, -1]
    send = Links.send

    def counted(self: Any, *arguments: Any, **options: Any) -> Any:
        sent[0] += 1
        if 0 <= sent[1] < sent[0]:
            raise ClusterError("the broker is away")
        return send(self, *arguments, **options)

    monkeypatch.setattr(Links, "send", counted)
    return sent


def test_a_folder_of_another_clone_is_refused(source: FakeBroker, tmp_path: Path) -> None:
    """The folder of another clone, a damaged one, and one of something else are refused with the way out."""
    out = tmp_path / "x"
    folder = work_folder_of(out)
    work_folder.WorkFolder(folder, {"cluster": "other", "options": []}).close()
    with pytest.raises(InvalidArgument, match=r"x\.part is a clone of another cluster; remove it, or use --restart"):
        cloned(source, out)
    (folder / "clone.json").write_text("{")
    with pytest.raises(InvalidArgument, match=r"x\.part is damaged"):
        cloned(source, out)
    (folder / "clone.json").unlink()
    with pytest.raises(InvalidArgument, match=r"x\.part is no unfinished clone"):
        cloned(source, out)


def test_progress(source: FakeBroker, tmp_path: Path) -> None:
    """Each step says how far it is, up to its end."""
    seen: list[Progress] = []
    cloned(source, tmp_path / "x", ALL_RECORDS, tell=seen.append)

    last = {each.what: each for each in seen}
    assert {"topics", "partitions", "logs", "groups"} <= last.keys()
    assert all(each.done == each.total for each in last.values())


def test_a_cluster_of_several_brokers(tmp_path: Path) -> None:
    """Brokers, racks, replicas and leaders are those of the source; a broker that is stopped there is stopped here."""
    with FakeBroker(nodes=3, node_id=5, racks=["a", "b", "c"], config=FEW_PARTITIONS) as source:
        source.create_topic("orders", partitions=4, replication_factor=2)
        source.node(6).stop()
        source.topic("orders").produce("one", partition=1)
        wanted = source.snapshot().state.cluster
        cloned(source, tmp_path / "x", ALL_RECORDS)
    clone_of_it = Snapshot.load(tmp_path / "x").fork()
    found = clone_of_it.snapshot().state.cluster

    assert [(each.id, each.alive, each.own.get("broker.rack")) for each in found.nodes] == [
        (5, True, "a"),
        (6, False, None),
        (7, True, "c"),
    ]
    for mine, partition in zip(found.topics[0].partitions, wanted.topics[0].partitions, strict=True):
        assert mine.leader in partition.isr
        assert set(mine.isr) == set(partition.isr)
    with clone_of_it as broker:
        assert len(broker.topic("orders").records()) == 1
