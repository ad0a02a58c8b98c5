"""A clone of a running Kafka answers as it did."""

from pathlib import Path
from typing import Any

import pytest

from fakebroker import Snapshot
from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.testing.clone.cloning import clone
from fakebroker.testing.clone.options import CloneOptions
from tests.support.alike_clusters import NEWER_KINDS, answers, fill
from tests.support.real_kafka import OLDER_VERSION, VERSION, needs_kafka, running_kafka

SETTINGS = {"group.initial.rebalance.delay.ms": 0}


@pytest.mark.parametrize("version", [pytest.param(each, marks=needs_kafka(each)) for each in (VERSION, OLDER_VERSION)])
def test_a_clone_answers_as_kafka(version: str, tmp_path: Path) -> None:
    """Groups, offsets, topics and committed records are those of the Kafka; eight days later offsets have expired."""
    kinds = NEWER_KINDS if version == VERSION else ()
    with running_kafka(SETTINGS, version) as kafka:
        fill(kafka.bootstrap, simple_groups=30, kinds=kinds)
        before = answers(kafka.bootstrap)
        with ClusterClient(kafka.bootstrap) as cluster:
            done = clone(cluster, CloneOptions(last_records=10**6), tmp_path / "state.fbs")
        after = answers(kafka.bootstrap)

    assert done.problems == []
    with Snapshot.load(tmp_path / "state.fbs").fork() as broker:
        found = answers(broker.bootstrap)
        assert before == after
        assert {name: _differences(found[name], before[name]) for name in before} == {name: {} for name in before}
        assert broker.snapshot().state.options.as_release.startswith(version[:3])
        broker.clock.advance(days=8)
        assert broker.group("simple-0").offsets == {}


def _differences(found: dict[Any, Any], wanted: dict[Any, Any]) -> dict[Any, tuple[Any, Any]]:
    return {key: (found.get(key), wanted.get(key)) for key in {**found, **wanted} if found.get(key) != wanted.get(key)}
