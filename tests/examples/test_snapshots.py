"""Snapshots and forks: back to a moment, and the same history under other rules."""

from pathlib import Path

from fakebroker import FakeBroker
from fakebroker.testing.snapshot.snapshot import Snapshot


def test_back_to_before_and_another_course(fakebroker: FakeBroker, tmp_path: Path) -> None:
    """A snapshot is restored after eight days; a fork lives through two days under a retention of one."""
    fakebroker.create_topic("orders")
    client = fakebroker.client("a")
    client.commit({("orders", 0): 42}, group_id="billing")

    before = fakebroker.snapshot()
    fakebroker.clock.advance(days=8)
    assert fakebroker.group("billing").offsets == {}

    fakebroker.restore(before)
    assert fakebroker.group("billing").offsets == {("orders", 0): 42}

    with before.fork(config={"offsets.retention.minutes": 1440}) as other:
        other.clock.advance(days=2)
        assert other.group("billing").offsets == {}
        assert other.bootstrap != fakebroker.bootstrap
    assert fakebroker.group("billing").offsets == {("orders", 0): 42}

    before.save(tmp_path / "incident.fakebroker")
    with Snapshot.load(tmp_path / "incident.fakebroker").fork() as again:
        assert again.group("billing").offsets == {("orders", 0): 42}
