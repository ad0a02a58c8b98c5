"""A copy of the data directory of a Kafka answers as the Kafka did."""

import shutil
from pathlib import Path

import pytest

from fakebroker import Snapshot
from fakebroker.protocol.errors import Unavailable
from tests.support.alike_clusters import NEWER_KINDS, answers, fill
from tests.support.real_kafka import OLDER_VERSION, VERSION, needs_kafka, running_kafka

SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "metadata.log.max.snapshot.interval.ms": 1000,
}


@pytest.mark.parametrize("version", [pytest.param(each, marks=needs_kafka(each)) for each in (VERSION, OLDER_VERSION)])
def test_it_answers_as_kafka(version: str, tmp_path: Path) -> None:
    """Groups, offsets, topics and committed records are those of the Kafka; eight days later offsets have expired."""
    kinds = NEWER_KINDS if version == VERSION else ()
    with running_kafka(SETTINGS, version) as kafka:
        fill(kafka.bootstrap, simple_groups=200, kinds=kinds)
        before = answers(kafka.bootstrap)
        with pytest.raises(Unavailable, match="is in use by a running broker"):
            Snapshot.from_data(kafka.data)
        kafka.stop()
        shutil.copytree(kafka.data, tmp_path / "data")
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "data").rglob("*")}

    with Snapshot.from_data(tmp_path / "data").fork() as broker:
        found = answers(broker.bootstrap)
        for name, wanted in before.items():
            assert {
                key: (found[name].get(key), each) for key, each in wanted.items() if found[name].get(key) != each
            } == {}
            assert found[name].keys() == wanted.keys()
        assert broker.snapshot().state.options.as_release.startswith(version[:3])
        assert len(broker.groups) >= 200
        broker.clock.advance(days=8)
        assert broker.group("simple-0").offsets == {}
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "data").rglob("*")} == files
