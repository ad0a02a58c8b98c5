"""Configs of share groups as share partitions read them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.config_resources import GroupResource
from fakebroker.broker.core.share_partitions.group_settings import ShareGroupSettings
from fakebroker.protocol.errors import KafkaError
from tests.support.cluster import make_cluster


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


@pytest.mark.rules("SGC-1")
@given(
    st.text("PT0123456789.,DHMSdt+- \0", max_size=12).map("by_duration:".__add__) | st.text("latesrmin\0 ", max_size=8)
)
def test_what_may_be_set_can_be_read(text: str) -> None:
    """One function decides both: a value that was taken and could not be read would fail each fetch of the group."""
    cluster = make_cluster()
    resource = GroupResource(cluster.nodes[1], "g")
    values = {"share.auto.offset.reset": text}
    with suppress(KafkaError):
        resource.check(values)
        resource.store(values)
        found = ShareGroupSettings(cluster.nodes[1], "g").offset_reset
        assert isinstance(found, int) if "by_duration" in text else found in ("latest", "earliest")
