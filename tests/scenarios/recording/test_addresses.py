"""Answers that say where brokers are."""

from fakebroker.protocol.listeners import Address
from fakebroker.protocol.wire.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from fakebroker.protocol.wire.messages.find_coordinator import FindCoordinatorResponse
from fakebroker.protocol.wire.registry import APIS
from fakebroker.scenarios.recording.addresses import brokers_in, names_addresses


def test_which_answers_name_brokers() -> None:
    """Those with a broker's id, host and port together, from the version on that has them."""
    first = {
        api.name: next(version for version in range(api.min, api.max + 1) if names_addresses(api.key, version))
        for api in APIS.values()
        if names_addresses(api.key, api.max)
    }

    assert first == {
        "Produce": 10,
        "Fetch": 16,
        "Metadata": 0,
        "FindCoordinator": 0,
        "DescribeCluster": 0,
        "ShareFetch": 0,
        "ShareAcknowledge": 0,
    }
    assert names_addresses(3, APIS[3].max + 1)  # of a version that is not known
    assert not names_addresses(9999, 0)


def test_brokers_are_found_where_the_version_has_them() -> None:
    """A coordinator stands at the top of old answers; a broker that is nowhere is none."""
    old = FindCoordinatorResponse(node_id=1, host="h", port=9092)
    nowhere = DescribeClusterResponse(brokers=[DescribeClusterBroker(broker_id=2, host="", port=-1)])
    cluster = DescribeClusterResponse(brokers=[DescribeClusterBroker(broker_id=2, host="h", port=9)])

    assert brokers_in(3, old) == [(1, Address("h", 9092))]
    assert brokers_in(4, old) == []
    assert brokers_in(0, nowhere) == []
    assert brokers_in(0, cluster) == [(2, Address("h", 9))]
