"""UpdateFeatures: all changes of a request or none, and what ApiVersions shows then."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.cluster_state import build_cluster, cluster_state
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

Ask = Callable[..., Any]


def update(*changes: tuple[str, int, int], validate_only: bool = False) -> UpdateFeaturesRequest:
    updates = [FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=t) for name, level, t in changes]
    return UpdateFeaturesRequest(feature_updates=updates, validate_only=validate_only)


@pytest.mark.rules("UF-2")
@pytest.mark.parametrize("version", [1, 2])
def test_lower_and_raise(ask: Ask, cluster: Cluster, version: int) -> None:
    """A level of 0 is not finalized any more; each change has a new epoch. v1 has a result for each entry."""
    for level, upgrade_type in ((0, 2), (1, 1)):
        before = cluster.features.epoch
        answer = ask(cluster, update(("share.version", level, upgrade_type), ("group.version", 1, 1)), version)
        assert (answer.error_code, answer.error_message) == (0, None)
        results = [(each.feature, each.error_code, each.error_message) for each in answer.results]
        assert results == [("share.version", 0, "NONE"), ("group.version", 0, "NONE")] * (version < 2)
        assert cluster.features.finalized().get("share.version", 0) == level
        assert cluster.features.epoch > before


@pytest.mark.rules("UF-1")
@pytest.mark.parametrize("version", [1, 2])
def test_one_bad_entry_refuses_all(ask: Ask, cluster: Cluster, version: int) -> None:
    """95 for the whole request and no results; nothing is changed."""
    before = cluster.features.state()
    for bad in (("nothing", 1, 1), ("group.version", 9, 1), ("group.version", 0, 1), ("group.version", 1, 0)):
        answer = ask(cluster, update(("share.version", 0, 2), bad), version)
        assert (answer.error_code, answer.results) == (ErrorCode.INVALID_UPDATE_VERSION, [])
        assert bad[0] in answer.error_message
    assert cluster.features.state() == before


@pytest.mark.rules("UF-2")
@pytest.mark.parametrize("version", [0, 1, 2])
def test_no_entries(ask: Ask, cluster: Cluster, version: int) -> None:
    """Nothing to do is no error, and no change."""
    answer = ask(cluster, UpdateFeaturesRequest(), version)
    assert (answer.error_code, answer.error_message, answer.results) == (0, None, [])
    assert cluster.features.state().changes == 0


@pytest.mark.rules("UF-1", "UF-2")
def test_validate_only(ask: Ask, cluster: Cluster) -> None:
    """A dry run answers what the change would, and changes nothing."""
    before = cluster.features.state()
    assert ask(cluster, update(("share.version", 0, 2), validate_only=True), 1).error_code == 0
    assert (
        ask(cluster, update(("share.version", 0, 1), validate_only=True), 1).error_code
        == ErrorCode.INVALID_UPDATE_VERSION
    )
    assert cluster.features.state() == before


@pytest.mark.rules("UF-5")
def test_v0_never_lowers(ask: Ask, cluster: Cluster) -> None:
    """It is an upgrade, even with allow_downgrade; the same level is fine."""
    for level, code in ((0, ErrorCode.INVALID_UPDATE_VERSION), (1, 0)):
        entry = FeatureUpdateKey(feature="share.version", max_version_level=level, allow_downgrade=True)
        assert ask(cluster, UpdateFeaturesRequest(feature_updates=[entry]), 0).error_code == code


@pytest.mark.rules("UF-5")
def test_the_last_of_two_entries_counts(ask: Ask, cluster: Cluster) -> None:
    """A feature that is named twice has two results and one change."""
    answer = ask(cluster, update(("share.version", 0, 2), ("share.version", 1, 1)), 1)
    assert [each.error_code for each in answer.results] == [0, 0]
    assert cluster.features.level("share.version") == 1


@pytest.mark.rules("UF-3")
def test_levels_are_durable(ask: Ask, cluster: Cluster) -> None:
    """They are part of the cluster's state."""
    ask(cluster, update(("transaction.version", 1, 2), ("kraft.version", 1, 1)), 2)
    again = build_cluster(cluster_state(cluster), Settings(profile="test"), release(), Instant(0, 0))
    assert again.features.state() == cluster.features.state()
    assert again.features.finalized()["transaction.version"] == 1


@pytest.mark.rules("UF-3")
def test_before_4_0_there_are_none(ask: Ask) -> None:
    """An older release knows no feature here."""
    cluster = Cluster(Settings(), release("3.9"))
    assert ask(cluster, update(("metadata.version", 21, 1)), 1).error_code == ErrorCode.INVALID_UPDATE_VERSION
