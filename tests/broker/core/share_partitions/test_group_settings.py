"""Configs of share groups as share partitions read them."""

import pytest

from fakebroker.broker.core.share_partitions.group_settings import ShareGroupSettings, duration_ms
from tests.support.cluster import make_cluster


@pytest.mark.rules("SGP-1")
@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("PT1H30M", 5_400_000),
        ("P1D", 86_400_000),
        ("P2DT3H4M5.006S", 183_845_006),
        ("pt0.5s", 500),
        ("PT-6H3M", -21_420_000),
        ("-PT6H", -21_600_000),
        ("+PT6H", 21_600_000),
    ],
)
def test_durations(text: str, ms: int) -> None:
    """ISO 8601 as Java's Duration reads it."""
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "P", "PT", "1H", "P1Y", "P1H", "PT1D", "PT1H ", "x", "P1DT"])
def test_no_durations(text: str) -> None:
    """What Java does not read either."""
    with pytest.raises(ValueError, match="is not a duration"):
        duration_ms(text)


@pytest.mark.rules("SGC-1")
def test_configs_apply_as_they_are_now() -> None:
    """The group's own, else the broker's, else the default."""
    cluster = make_cluster({"group.share.delivery.count.limit": 7})
    settings = ShareGroupSettings(cluster.nodes[1], "g")
    assert (settings.delivery_limit, settings.lock_duration_ms, settings.limits.window_records) == (7, 30_000, 2000)
    assert (settings.is_read_committed, settings.may_renew, settings.offset_reset) == (False, True, "latest")
    cluster.group_configs["g"] = {
        "share.delivery.count.limit": "3",
        "share.isolation.level": "read_committed",
        "share.renew.acknowledge.enable": "False",
        "share.auto.offset.reset": "by_duration:PT1M",
        "share.partition.max.record.locks": "100",
    }
    assert (settings.limits.delivery_count, settings.limits.window_records) == (3, 100)
    assert (settings.is_read_committed, settings.may_renew, settings.offset_reset) == (True, False, 60_000)
