"""Configs, ACLs, credentials, tokens and quotas in a data directory: each change is kept, and costs what it changes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakebroker import VirtualBroker
from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.config_resources import BrokerResource, GroupResource, MetricsResource
from fakebroker.broker.core.quotas.client_quotas import make_entity
from fakebroker.broker.core.security.delegation_tokens import Limits
from fakebroker.broker.core.security.principals import Principal
from fakebroker.broker.core.security.scram import ScramCredential
from fakebroker.broker.settings import declare
from tests.support.data_directories import SMALL, Life, kept
from tests.support.rights import AUTHORIZER, rule
from tests.support.work_counter import calls_of

CONFIG = {**SMALL, **AUTHORIZER, "super.users": "User:ANONYMOUS", "delegation.token.secret.key": "secret"}
ALICE = Principal("alice")
FEW, MANY = 20, 420


def _node(cluster: Cluster) -> Any:
    return next(iter(cluster.nodes.values()))


def _acl(cluster: Cluster, n: int, wanted: bool) -> None:
    assert cluster.authorizer is not None
    acls = cluster.authorizer.acls
    (acls.add if wanted else acls.remove)(rule("READ", name=f"t{n}"))


def _scram(cluster: Cluster, n: int, wanted: bool) -> None:
    name, mechanism = f"user{n // 2}", ("SCRAM-SHA-256", "SCRAM-SHA-512")[n % 2]
    if wanted:
        cluster.credentials.set_scram(name, mechanism, ScramCredential(b"salt", b"stored", b"server", 4096 + n))
    elif mechanism in cluster.credentials.scram_of(name):
        cluster.credentials.remove_scram(name, mechanism)


def _token(cluster: Cluster, n: int, wanted: bool) -> None:
    tokens, limits = cluster.credentials.tokens, Limits(1_000_000, 1000 + n, 0)
    if wanted:
        tokens.create(f"token{n}", "secret", ALICE, ALICE, [("User", "bob")], -1, limits, 1000)
    else:
        tokens.remove(f"token{n}")


def _quota(cluster: Cluster, n: int, wanted: bool) -> None:
    key = ("producer_byte_rate", "consumer_byte_rate")[n % 2]
    cluster.client_quotas.alter(make_entity({"user": f"u{n // 2}"}), {key: n + 1.0 if wanted else None})


def _group(cluster: Cluster, n: int, wanted: bool) -> None:
    GroupResource(_node(cluster), f"g{n}").store({"share.record.lock.duration.ms": "30000"} if wanted else {})


def _metrics(cluster: Cluster, n: int, wanted: bool) -> None:
    MetricsResource(cluster, f"m{n}").store({"interval.ms": "1000"} if wanted else {})


def _broker(cluster: Cluster, n: int, wanted: bool) -> None:
    """All configs of a broker are one entry."""
    node = _node(cluster)
    resource = BrokerResource(node, ("", str(node.id))[n % 2])
    rest = {name: value for name, value in resource.own.items() if name != "log.retention.ms"}
    resource.store(rest | ({"log.retention.ms": str(n)} if wanted else {}))


ENTRIES: dict[str, Callable[[Cluster, int, bool], None]] = {
    "acl": _acl, "scram": _scram, "token": _token, "quota": _quota, "group": _group, "metrics": _metrics,
}  # fmt: skip
ANY = {**ENTRIES, "broker": _broker}
changes = st.lists(st.tuples(st.sampled_from(list(ANY)), st.integers(0, 5), st.booleans()), max_size=30)


def change(life: Life, kind: str, n: int, wanted: bool) -> None:
    """Have an entry, or have it no more, in a turn of its own."""
    life.broker._call(lambda: ANY[kind](life.cluster, n, wanted))


def with_tokens(broker: VirtualBroker) -> dict[str, Any]:
    return kept(broker) | {"tokens": sorted(broker._engine.cluster.credentials.state().tokens)}


@pytest.mark.random
@settings(max_examples=10, deadline=None)
@given(changes)
def test_every_change_of_an_entry_is_kept(history: list[tuple[str, int, bool]]) -> None:
    """What is added, changed and removed again is there, or not, after a kill at any moment."""
    with TemporaryDirectory() as folder:
        life = Life(Path(folder) / "data", config=CONFIG)
        for step in history:
            change(life, *step)
        with life.after_kill() as after:
            assert with_tokens(after) == with_tokens(life.broker)
        life.broker.stop()


@pytest.mark.parametrize("kind", ENTRIES)
def test_a_change_looks_at_no_other_entry(kind: str, tmp_path: Path) -> None:
    """Hundreds of thousands of entries fit into some MB of requests, and there may be a change each millisecond."""
    life, costs = Life(tmp_path / "data", config=CONFIG), []
    for first, last in ((0, FEW), (FEW, MANY)):
        for n in range(first, last):
            change(life, kind, n, True)
        costs += [calls_of(partial(change, life, kind, MANY, wanted)) for wanted in (True, False)]
    added, removed, added_to_many, removed_from_many = costs
    assert added_to_many < added + (MANY - FEW) / 4
    assert removed_from_many < removed + (MANY - FEW) / 4
    life.broker.stop()


def test_a_change_that_no_record_can_hold_keeps_no_other_from_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is an error of the broker, which is logged; what the same turn has changed beside it is kept."""
    life = Life(tmp_path / "data", config=CONFIG)
    tokens = life.cluster.credentials.tokens

    def turn() -> None:
        _quota(life.cluster, 1, True)
        tokens.create("long", "secret", Principal("x" * 40_000), ALICE, [], -1, Limits(1_000_000, 1000, 0), 1000)
        _token(life.cluster, 2, True)
        life.cluster.topics.create("beside")

    life.broker._call(turn)
    assert "a change is not kept, since the metadata log cannot have it" in caplog.text
    with life.after_kill() as after:
        cluster = after._engine.cluster
        assert [each.token_id for each in cluster.credentials.tokens] == ["token2"]
        assert (len(list(cluster.client_quotas)), cluster.topics.get("beside") is not None) == (1, True)
    life.broker.stop()


def test_a_config_that_no_record_can_hold_keeps_nothing_else_of_its_topic_from_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic's partitions and other configs are written with each of its changes, whatever is wrong with one."""
    monkeypatch.setattr(declare, "MAX_STRING_BYTES", 50_000)
    life = Life(tmp_path / "data", config=CONFIG)
    life.broker.create_topic("t")
    topic = life.cluster.topics.get("t")
    assert topic is not None
    too_long = "leader.replication.throttled.replicas"

    def turn(values: dict[str, str]) -> None:
        topic.config.replace(values)
        life.cluster.metadata_changed(topic)

    life.broker._call(lambda: turn({too_long: ",".join(f"0:{n}" for n in range(7_000))}))
    assert "a change is not kept, since the metadata log cannot have it" in caplog.text
    life.broker._call(lambda: topic.add_partitions([[0], [0]]))
    life.broker._call(lambda: turn({**topic.config.own, "retention.ms": "12345"}))
    with life.after_kill() as after:
        kept = after._engine.cluster.topics.get("t")
        assert kept is not None
        assert (len(kept.partitions), kept.config.own) == (3, {"retention.ms": "12345"})
    life.broker.stop()
